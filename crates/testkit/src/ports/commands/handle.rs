//! The test's control of one command.

use super::command::{Command, FakeState, OnInput, OnLivenessCheck, OnStop};
use super::{FakeCommands, State};
use holon_domain::TaskId;
use holon_domain::command::{CommandEnd, CommandFailure};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_engine::ports::Clock;
use std::sync::Arc;

/// One command that a host started, controlled by the test. By default it runs, takes input, is proven alive, and ends
/// when it is stopped.
#[derive(Debug)]
pub struct FakeCommand {
    pub(super) commands: Arc<FakeCommands>,
    pub(super) name: String,
}

impl FakeCommand {
    /// Name of its task, unless its call is a batch.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The task it is, or becomes when it outlives its call.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        TaskId::from_stored(&self.name)
    }

    /// Returns the command line.
    #[must_use]
    pub fn cmd(&self) -> String {
        self.of(|command| command.order.command.cmd.clone())
    }

    /// Adds to its standard output.
    pub fn prints(&self, text: &str) {
        self.with(|command| command.stdout.push_str(text));
    }

    /// Adds to its standard error.
    pub fn complains(&self, text: &str) {
        self.with(|command| command.stderr.push_str(text));
    }

    /// Ends it with this exit status.
    pub fn exits(&self, status: i32) {
        let now = self.commands.clock.now();
        self.with(|command| command.end(CommandEnd::Exited { status }, now));
    }

    /// Adds to its standard output and ends it with status 0.
    pub fn ends(&self, words: &str) {
        self.prints(words);
        self.exits(0);
    }

    /// Makes its start fail.
    pub fn cannot_start(&self, failure: CommandFailure) {
        self.with(|command| command.state = FakeState::NotStarted(failure));
    }

    /// Loses it: hosts can no longer find out how it ended.
    pub fn is_lost(&self, reason: &str) {
        self.with(|command| command.state = FakeState::Lost(reason.to_owned()));
    }

    /// While silent it runs, but hosts cannot prove it alive.
    pub fn falls_silent(&self, silent: bool) {
        let on_liveness_check = if silent {
            OnLivenessCheck::IsSilent
        } else {
            OnLivenessCheck::Answers
        };
        self.with(|command| command.on_liveness_check = on_liveness_check);
    }

    /// Makes probes of this command never return.
    pub fn leaves_it_open_whether_it_runs(&self) {
        self.with(|command| command.on_liveness_check = OnLivenessCheck::KeepsWaiting);
    }

    /// A stop ends it only when it is killed after its grace.
    pub fn outlives_its_grace(&self) {
        self.with(|command| command.on_stop = OnStop::OutlivesItsGrace);
    }

    /// A stop does not end it; only the test does.
    pub fn clings(&self) {
        self.with(|command| command.on_stop = OnStop::Clings);
    }

    /// It exits with status 0 just before a stop reaches it.
    pub fn is_done_when_it_is_asked_to_end(&self) {
        self.with(|command| command.on_stop = OnStop::IsDone);
    }

    /// It exits with status 0 at the moment its call is cancelled, so the call still reports its end.
    pub fn ends_as_its_call_is_called_off(&self) {
        self.with(|command| command.outruns = true);
    }

    /// Refuses input with this reason.
    pub fn refuses_input(&self, reason: &str) {
        self.with(|command| command.on_input = OnInput::Refuses(reason.to_owned()));
    }

    /// While silent it takes input, but the host gets no answer.
    pub fn takes_input_in_silence(&self, silence: bool) {
        let on_input = if silence {
            OnInput::TakesInSilence
        } else {
            OnInput::Takes
        };
        self.with(|command| command.on_input = on_input);
    }

    /// Returns the input it was given, each number once.
    #[must_use]
    pub fn given(&self) -> Vec<TaskInput> {
        self.of(|command| command.given.clone())
    }

    /// Waits until hosts have sent this many inputs and returns their numbers, including repetitions.
    pub async fn asked_to_take(&self, count: usize) -> Vec<u64> {
        let enough = |command: &Command| command.asked.len() >= count;
        self.until(enough).await;
        self.of(|command| command.asked.clone())
    }

    /// Returns the queries for its output so far.
    #[must_use]
    pub fn looks(&self) -> Vec<TaskOutput> {
        self.of(|command| command.looks.clone())
    }

    /// Returns true if it no longer runs: it ended, was lost, or could not be started.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.of(|command| !matches!(command.state, FakeState::Runs))
    }

    /// Returns once no call waits for it.
    pub async fn let_go(&self) {
        self.until(|command| command.callers == 0).await;
    }

    /// Returns once a call waits for it.
    pub async fn waited_for(&self) {
        self.until(|command| command.callers > 0).await;
    }

    /// Returns once a host watches it as a task.
    pub async fn watched(&self) {
        self.until(|command| command.watchers > 0).await;
    }

    /// Number of calls that wait for it, and of hosts that watch it as a task.
    #[must_use]
    pub fn followers(&self) -> (usize, usize) {
        self.of(|command| (command.callers, command.watchers))
    }

    fn with(&self, change: impl FnOnce(&mut Command)) {
        self.commands.change(|state| {
            let command = state.commands.get_mut(&self.name);
            change(command.expect("it was begun"));
        });
    }

    fn of<T>(&self, look: impl FnOnce(&Command) -> T) -> T {
        self.commands.look(|state| {
            let command = state.commands.get(&self.name);
            look(command.expect("it was begun"))
        })
    }

    async fn until(&self, wanted: impl Fn(&Command) -> bool + Send + Sync) {
        let look = |state: &mut State| {
            let command = state.commands.get(&self.name)?;
            wanted(command).then_some(())
        };
        self.commands.until(look).await;
    }
}
