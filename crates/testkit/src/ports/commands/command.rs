//! One command: what it does when a host deals with it, and what it printed.

use holon_domain::Timestamp;
use holon_domain::command::{CapturedStream, CommandEnd, CommandFailure, CommandOutput};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_engine::ports::{CommandOrder, OutputRetention};

/// A command and how it behaves.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) order: CommandOrder,
    pub(super) began: Timestamp,
    pub(super) state: FakeState,
    pub(super) on_stop: OnStop,
    pub(super) on_input: OnInput,
    pub(super) on_liveness_check: OnLivenessCheck,
    /// Whether it was asked to end while it ran.
    pub(super) stopping: bool,
    /// Whether it ends at the very moment its call is cancelled, so that the call still reports its end.
    pub(super) outruns: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Input it was given, each number once.
    pub(super) given: Vec<TaskInput>,
    /// Numbers of all input that hosts came with, also again.
    pub(super) asked: Vec<u64>,
    /// Queries for its output.
    pub(super) looks: Vec<TaskOutput>,
    /// How many `run` calls wait for it.
    pub(super) callers: usize,
    /// How many `watch` calls wait for it.
    pub(super) watchers: usize,
    /// Set once it was forgotten: hosts no longer find it, and its output may be gone.
    pub(super) forgotten: Option<OutputRetention>,
}

/// Whether a command runs, and how it ended if not.
#[derive(Debug, Clone)]
pub(super) enum FakeState {
    Runs,
    Ended(CommandOutput),
    NotStarted(CommandFailure),
    Lost(String),
}

/// What a command does when it is asked to end.
#[derive(Debug, Clone, Copy)]
pub(super) enum OnStop {
    Ends,
    /// It ends when it is killed after its grace.
    OutlivesItsGrace,
    /// It goes on until the test ends it.
    Clings,
    /// It exits with status 0 just before the stop reaches it.
    IsDone,
}

/// What a host is told when it asks whether a running command is alive.
#[derive(Debug, Clone, Copy)]
pub(super) enum OnLivenessCheck {
    Answers,
    /// It cannot be proven to be alive.
    IsSilent,
    /// The host waits for ever.
    KeepsWaiting,
}

/// What a command does with input.
#[derive(Debug, Clone)]
pub(super) enum OnInput {
    Takes,
    Refuses(String),
    /// It takes the input, and the host is never told.
    TakesInSilence,
}

impl Command {
    pub(super) fn new(order: CommandOrder, began: Timestamp) -> Self {
        Self {
            order,
            began,
            state: FakeState::Runs,
            on_stop: OnStop::Ends,
            on_input: OnInput::Takes,
            on_liveness_check: OnLivenessCheck::Answers,
            stopping: false,
            outruns: false,
            stdout: String::new(),
            stderr: String::new(),
            given: Vec::new(),
            asked: Vec::new(),
            looks: Vec::new(),
            callers: 0,
            watchers: 0,
            forgotten: None,
        }
    }

    pub(super) fn end(&mut self, end: CommandEnd, now: Timestamp) {
        self.state = FakeState::Ended(CommandOutput {
            end,
            stdout: self.captured(&self.stdout, "log"),
            stderr: self.captured(&self.stderr, "stderr.log"),
            duration_ms: now.millis_since(self.began),
            leftovers: 0,
            survivors: 0,
            stopped: self.stopping,
        });
    }

    pub(super) fn captured(&self, text: &str, ending: &str) -> CapturedStream {
        CapturedStream {
            head: text.to_owned(),
            total_bytes: text.len() as u64,
            path: Some(self.path(ending)),
            ..CapturedStream::default()
        }
    }

    /// Where its output would stand on disk.
    pub(super) fn path(&self, ending: &str) -> String {
        let key = &self.order.key;
        format!("{}/task-output/{}.{ending}", key.agent_home, key.name)
    }
}
