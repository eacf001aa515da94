//! Commands that outlive the hosts that began them and end when the test says so.
//!
//! Owns the commands and what hosts did to them. What a host sees stands in `host`, what a test does with one command
//! in `handle`, what a command is in `command`. A command of one key is begun once: a host that would begin one again,
//! after it was forgotten or with another text, fails the test.

mod command;
mod handle;
mod host;

pub use handle::FakeCommand;
pub use host::FakeCommandHost;

use super::ManualClock;
use command::Command;
use holon_engine::ports::OutputRetention;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Every command that was ever begun. Shared by the hosts of one test, also across their crashes.
#[derive(Debug)]
pub struct FakeCommands {
    clock: Arc<ManualClock>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    commands: BTreeMap<String, Command>,
    /// Begun, and not given to the test by `next` yet.
    unseen: VecDeque<String>,
    /// Stopped before they were begun, so they must never begin.
    barred: BTreeSet<String>,
    /// Whether forgetting waits for the test.
    holds_forgets: bool,
    log: CommandLog,
}

/// What hosts asked of commands, in order.
#[derive(Debug, Default, Clone)]
pub struct CommandLog {
    /// Names of commands that were to stop, each with its grace in milliseconds.
    pub stops: Vec<(String, u64)>,
    /// Names of commands that were to be forgotten.
    pub forgets: Vec<(String, OutputRetention)>,
    /// Homes that were swept, each with the names that were to stay.
    pub sweeps: Vec<(String, Vec<String>)>,
    /// Names of commands that a sweep ended.
    pub swept: Vec<String>,
    /// Violations of the port's contract.
    wrong: Vec<String>,
}

impl FakeCommands {
    /// No commands yet. They take their times from this clock.
    #[must_use]
    pub fn new(clock: Arc<ManualClock>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            state: Mutex::default(),
            changed: watch::Sender::default(),
        })
    }

    /// Waits for the next command that a host begins.
    pub async fn next(self: &Arc<Self>) -> FakeCommand {
        let name = self.until(|state| state.unseen.pop_front()).await;
        FakeCommand {
            commands: Arc::clone(self),
            name,
        }
    }

    /// Whether no command was begun that the test has not taken with `next`.
    pub fn is_quiet(&self) -> bool {
        self.look(|state| state.unseen.is_empty())
    }

    /// What hosts asked so far.
    pub fn log(&self) -> CommandLog {
        self.look(|state| state.log.clone())
    }

    /// While held, forgetting waits.
    pub fn hold_forgets(&self, hold: bool) {
        self.change(|state| state.holds_forgets = hold);
    }

    /// Returns once hosts have asked to forget this many commands; says which.
    pub async fn forgets(&self, count: usize) -> Vec<(String, OutputRetention)> {
        self.until(|state| {
            let forgets = &state.log.forgets;
            (forgets.len() >= count).then(|| forgets.clone())
        })
        .await
    }

    /// Returns once hosts have asked this many commands to end; says which.
    pub async fn stops(&self, count: usize) -> Vec<(String, u64)> {
        self.until(|state| {
            let stops = &state.log.stops;
            (stops.len() >= count).then(|| stops.clone())
        })
        .await
    }

    /// Fails the test if a host violated the contract of the port.
    ///
    /// # Panics
    /// When it did.
    pub fn check(&self) {
        let wrong = self.look(|state| state.log.wrong.clone());
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut state);
        drop(state);
        self.changed.send_modify(|count| *count += 1);
        changed
    }

    /// Looks after every change until there is an answer.
    async fn until<T>(&self, mut look: impl FnMut(&mut State) -> Option<T> + Send) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            self.check();
            let found = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                look(&mut state)
            };
            if let Some(found) = found {
                return found;
            }
            let changed = changes.changed().await;
            changed.expect("the shims keep a sender of their own");
        }
    }
}
