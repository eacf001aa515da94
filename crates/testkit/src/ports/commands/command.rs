//! One command: its behaviour towards hosts, and its output.

use holon_domain::Timestamp;
use holon_domain::command::{CapturedStream, CommandEnd, CommandFailure, CommandOutput};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_engine::ports::{CommandOrder, OutputRetention};

/// A command and its behaviour.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) order: CommandOrder,
    pub(super) began: Timestamp,
    pub(super) state: FakeState,
    pub(super) on_stop: OnStop,
    pub(super) on_input: OnInput,
    pub(super) on_liveness_check: OnLivenessCheck,
    /// True if it was asked to end while it ran.
    pub(super) stopping: bool,
    /// True if it ends at the moment its call is cancelled, so that the call still reports its end.
    pub(super) outruns: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Input it was given, each number once.
    pub(super) given: Vec<TaskInput>,
    /// Numbers of all input that hosts sent, including repetitions.
    pub(super) asked: Vec<u64>,
    /// Queries for its output.
    pub(super) looks: Vec<TaskOutput>,
    /// Number of `run` calls that wait for it.
    pub(super) callers: usize,
    /// Number of `watch` calls that wait for it.
    pub(super) watchers: usize,
    /// Set once it was forgotten: hosts no longer find it, and its output may be gone.
    pub(super) forgotten: Option<OutputRetention>,
}

/// The state of a command, with its end.
#[derive(Debug, Clone)]
pub(super) enum FakeState {
    Runs,
    Ended(CommandOutput),
    NotStarted(CommandFailure),
    Lost(String),
}

/// Reaction of a command to a stop.
#[derive(Debug, Clone, Copy)]
pub(super) enum OnStop {
    Ends,
    /// It ends when it is killed after its grace.
    OutlivesItsGrace,
    /// It runs until the test ends it.
    Clings,
    /// It exits with status 0 just before the stop reaches it.
    IsDone,
}

/// Answer to a host that probes a running command.
#[derive(Debug, Clone, Copy)]
pub(super) enum OnLivenessCheck {
    Answers,
    /// It cannot be proven alive.
    IsSilent,
    /// The probe never returns.
    KeepsWaiting,
}

/// Reaction of a command to input.
#[derive(Debug, Clone)]
pub(super) enum OnInput {
    Takes,
    Refuses(String),
    /// It takes the input, and the host gets no answer.
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

    /// Path of an output file, as a real command would have it.
    pub(super) fn path(&self, ending: &str) -> String {
        let key = &self.order.key;
        format!("{}/task-output/{}.{ending}", key.agent_home, key.name)
    }
}
