//! Commands that outlive the hosts that started them and end when the test says so.
//!
//! Owns the commands and records the hosts' requests. `host` is the port of a host, `handle` the test's control of one
//! command, `command` the state of a command. A command key is started once: a host that starts it again, after it was
//! forgotten or with another text, fails the test.

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

/// All commands that were ever started. Shared by the hosts of one test, also across crashes.
#[derive(Debug)]
pub struct FakeCommands {
    clock: Arc<ManualClock>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    commands: BTreeMap<String, Command>,
    /// Started commands that the test has not taken with `next` yet.
    unseen: VecDeque<String>,
    /// Commands that were stopped before they started, so they must never start.
    barred: BTreeSet<String>,
    /// True if forgetting waits for the test.
    holds_forgets: bool,
    log: CommandLog,
}

/// The requests of hosts about commands, in order.
#[derive(Debug, Default, Clone)]
pub struct CommandLog {
    /// Names of commands to stop, each with its grace in milliseconds.
    pub stops: Vec<(String, u64)>,
    /// Names of commands to forget.
    pub forgets: Vec<(String, OutputRetention)>,
    /// Swept homes, each with the names that stay.
    pub sweeps: Vec<(String, Vec<String>)>,
    /// Names of commands that a sweep ended.
    pub swept: Vec<String>,
    /// Violations of the port's contract.
    wrong: Vec<String>,
}

impl FakeCommands {
    /// Creates the set without any command. Start times are read from this clock.
    #[must_use]
    pub fn new(clock: Arc<ManualClock>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            state: Mutex::default(),
            changed: watch::Sender::default(),
        })
    }

    /// Waits for the next command that a host starts.
    pub async fn next(self: &Arc<Self>) -> FakeCommand {
        let name = self.until(|state| state.unseen.pop_front()).await;
        FakeCommand {
            commands: Arc::clone(self),
            name,
        }
    }

    /// Returns true if the test has taken every started command with `next`.
    pub fn is_quiet(&self) -> bool {
        self.look(|state| state.unseen.is_empty())
    }

    /// Returns the hosts' requests so far.
    pub fn log(&self) -> CommandLog {
        self.look(|state| state.log.clone())
    }

    /// Makes forgetting wait while `hold` is true.
    pub fn hold_forgets(&self, hold: bool) {
        self.change(|state| state.holds_forgets = hold);
    }

    /// Waits until hosts have asked to forget this many commands, and returns them.
    pub async fn forgets(&self, count: usize) -> Vec<(String, OutputRetention)> {
        self.until(|state| {
            let forgets = &state.log.forgets;
            (forgets.len() >= count).then(|| forgets.clone())
        })
        .await
    }

    /// Waits until hosts have asked to stop this many commands, and returns them.
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
    /// When a host did.
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

    /// Calls `look` after every change until it returns a value.
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
