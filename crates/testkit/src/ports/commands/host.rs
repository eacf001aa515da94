//! The commands as a host's port. After its crash a host sees and does nothing more.

use super::command::{Command, FakeState, OnInput, OnLivenessCheck, OnStop};
use super::{FakeCommands, State};
use async_trait::async_trait;
use holon_domain::command::{
    CommandEnd, CommandFailure, FoundRunning, RunningCommand, StreamPart, TaskStreams, UnknownCause,
};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::task::TaskReport;
use holon_engine::ports::{
    AliveCommand, Clock, CommandHost, CommandKey, CommandOrder, CommandProbe, CommandRun,
    InputRefusal, LatePolicy, OutputRetention,
};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The command port of one host.
#[derive(Debug, Clone)]
pub struct FakeCommandHost {
    commands: Arc<FakeCommands>,
    gone: CancellationToken,
}

/// Counts a waiting caller until it is dropped.
struct WaitingCaller {
    commands: Arc<FakeCommands>,
    name: String,
    count: fn(&mut Command) -> &mut usize,
}

impl WaitingCaller {
    fn new(
        commands: &Arc<FakeCommands>,
        name: &str,
        count: fn(&mut Command) -> &mut usize,
    ) -> Self {
        let waiting = Self {
            commands: Arc::clone(commands),
            name: name.to_owned(),
            count,
        };
        waiting.add(1);
        waiting
    }

    fn add(&self, by: isize) {
        self.commands.change(|state| {
            if let Some(command) = state.commands.get_mut(&self.name) {
                let count = (self.count)(command);
                *count = count.saturating_add_signed(by);
            }
        });
    }
}

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        self.add(-1);
    }
}

impl State {
    /// Returns a command that hosts can still find.
    fn found(&self, name: &str) -> Option<&Command> {
        let command = self.commands.get(name);
        command.filter(|command| command.forgotten.is_none())
    }

    /// Finds a command or starts it.
    fn claim(&mut self, order: &CommandOrder, clock: &dyn Clock) -> Result<(), CommandFailure> {
        let name = &order.key.name;
        if self.barred.contains(name) {
            return Err(CommandFailure::Cancelled);
        }
        if let Some(known) = self.commands.get(name) {
            let same = known.order.key == order.key
                && known.order.command.cmd == order.command.cmd
                && known.order.when_late == order.when_late;
            if !same {
                self.log.wrong.push(format!("{name} is another: {order:?}"));
            }
            if known.forgotten.is_some() {
                self.log.wrong.push(format!("{name} was begun twice"));
            }
            return Ok(());
        }
        self.unseen.push_back(name.clone());
        let command = Command::new(order.clone(), clock.now());
        self.commands.insert(name.clone(), command);
        Ok(())
    }
}

impl FakeCommands {
    async fn over(&self, name: &str) -> FakeState {
        self.until(|state| match state.found(name) {
            Some(command) => match &command.state {
                FakeState::Runs => None,
                over => Some(over.clone()),
            },
            None => Some(FakeState::Lost("it was never started".to_owned())),
        })
        .await
    }

    /// Builds the reply for a call whose time is up.
    fn late(&self, order: &CommandOrder) -> Result<CommandRun, CommandFailure> {
        let now = self.clock.now();
        self.change(|state| {
            let command = state.commands.get_mut(&order.key.name);
            let command = command.expect("it was begun");
            match order.when_late {
                LatePolicy::Continue => Ok(CommandRun::Running(RunningCommand {
                    workdir: order.context.workspace.cwd.clone(),
                    started_at: command.began,
                    found: FoundRunning::AfterWait,
                    stdout: command.captured(&command.stdout, "log"),
                    stderr: command.captured(&command.stderr, "stderr.log"),
                })),
                LatePolicy::Stop => {
                    command.end(CommandEnd::TimedOut, now);
                    run_of(command.state.clone())
                }
            }
        })
    }

    async fn report(&self, name: &str) -> TaskReport {
        let lost = |reason: String| TaskReport::Lost {
            reason,
            stdout: self.look(|state| {
                let command = state.commands.get(name);
                command.map_or_else(Default::default, |command| {
                    command.captured(&command.stdout, "log")
                })
            }),
            stderr: Default::default(),
        };
        match self.over(name).await {
            FakeState::Ended(output) => TaskReport::Ended(output),
            FakeState::NotStarted(failure) => lost(failure.to_string()),
            FakeState::Lost(reason) => lost(reason),
            FakeState::Runs => lost("it runs and is over".to_owned()),
        }
    }

    fn kill(&self, name: &str, signal: i32) {
        let now = self.clock.now();
        self.change(|state| {
            if let Some(command) = state.commands.get_mut(name)
                && matches!(command.state, FakeState::Runs)
            {
                command.end(CommandEnd::Signalled { signal }, now);
            }
        });
    }

    /// Asks a command to end. One that was not started can never start.
    async fn end(&self, name: &str, grace_ms: u64) {
        let now = self.clock.now();
        let on_stop = self.change(|state| {
            state.log.stops.push((name.to_owned(), grace_ms));
            if !state.commands.contains_key(name) {
                state.barred.insert(name.to_owned());
            }
            let command = state.commands.get_mut(name);
            let command = command.filter(|command| command.forgotten.is_none())?;
            if matches!(command.state, FakeState::Runs) {
                match command.on_stop {
                    OnStop::IsDone => command.end(CommandEnd::Exited { status: 0 }, now),
                    OnStop::Ends | OnStop::OutlivesItsGrace | OnStop::Clings => {
                        command.stopping = true;
                    }
                }
            }
            Some(command.on_stop)
        });
        match on_stop {
            Some(OnStop::Ends) => self.kill(name, 15),
            Some(OnStop::OutlivesItsGrace) => {
                let killed_at = self.clock.elapsed() + Duration::from_millis(grace_ms);
                tokio::select! {
                    _ = self.over(name) => {}
                    () = self.clock.sleep_until(killed_at) => self.kill(name, 9),
                }
            }
            Some(OnStop::Clings | OnStop::IsDone) | None => {}
        }
    }
}

fn run_of(state: FakeState) -> Result<CommandRun, CommandFailure> {
    match state {
        FakeState::Ended(output) => Ok(CommandRun::Ended(output)),
        FakeState::NotStarted(failure) => Err(failure),
        FakeState::Lost(reason) => Err(CommandFailure::Lost {
            reason,
            output_tail: String::new(),
        }),
        FakeState::Runs => Err(CommandFailure::Cancelled),
    }
}

fn part(command: &Command, text: &str, ending: &str, after: Option<u64>) -> StreamPart {
    let at = usize::try_from(after.unwrap_or(0)).expect("a small offset");
    StreamPart {
        head: text.get(at..).unwrap_or_default().to_owned(),
        at: at as u64,
        next_offset: text.len() as u64,
        total_bytes: text.len() as u64,
        path: Some(command.path(ending)),
        ..StreamPart::default()
    }
}

impl FakeCommandHost {
    /// Creates a port to these commands. When `gone` is cancelled the host counts as crashed, and its calls never
    /// return.
    #[must_use]
    pub fn new(commands: Arc<FakeCommands>, gone: CancellationToken) -> Self {
        Self { commands, gone }
    }

    /// Awaits the work unless the host has crashed; then it never returns.
    async fn living<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            () = self.gone.cancelled() => std::future::pending().await,
            done = work => done,
        }
    }
}

#[async_trait]
impl CommandHost for FakeCommandHost {
    async fn was_begun(&self, key: &CommandKey) -> bool {
        let begun = async { self.commands.look(|state| state.found(&key.name).is_some()) };
        self.living(begun).await
    }

    async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        let (commands, name) = (&self.commands, &order.key.name);
        let run = async {
            commands.change(|state| state.claim(&order, commands.clock.as_ref()))?;
            let _waiting = WaitingCaller::new(commands, name, |command| &mut command.callers);
            let began = commands.look(|state| state.commands.get(name).map(|found| found.began));
            let began = began.expect("it was begun");
            let elapsed = commands.clock.elapsed();
            let ran_ms = commands.clock.now().millis_since(began);
            let left_ms = order.command.yield_time_ms.saturating_sub(ran_ms);
            let late_at = elapsed + Duration::from_millis(left_ms);
            tokio::select! {
                biased;
                over = commands.over(name) => run_of(over),
                () = cancel.cancelled() => {
                    let now = commands.clock.now();
                    commands.change(|state| {
                        let command = state.commands.get_mut(name).expect("it was begun");
                        if command.outruns {
                            command.end(CommandEnd::Exited { status: 0 }, now);
                        }
                        run_of(command.state.clone())
                    })
                }
                () = commands.clock.sleep_until(late_at) => {
                    commands.late(&order)
                }
            }
        };
        self.living(run).await
    }

    async fn probe(&self, key: &CommandKey) -> CommandProbe {
        let probe = self.commands.until(|state| {
            let Some(command) = state.found(&key.name) else {
                return Some(CommandProbe::NeverStarted);
            };
            match (&command.state, command.on_liveness_check) {
                (FakeState::Runs, OnLivenessCheck::Answers) => {
                    Some(CommandProbe::Running(AliveCommand {
                        started_at: command.began,
                        output_path: Some(command.path("log")),
                        stderr_path: Some(command.path("stderr.log")),
                    }))
                }
                (FakeState::Runs, OnLivenessCheck::IsSilent) => {
                    Some(CommandProbe::Unknown(UnknownCause::SupervisorSilent))
                }
                (FakeState::NotStarted(failure), _) => {
                    Some(CommandProbe::StartFailed(failure.clone()))
                }
                (FakeState::Lost(_), _) => {
                    Some(CommandProbe::Unknown(UnknownCause::SupervisorDied))
                }
                (FakeState::Runs, OnLivenessCheck::KeepsWaiting) => None,
                (FakeState::Ended(_), _) => Some(CommandProbe::Ended(())),
            }
        });
        self.living(probe).await
    }

    async fn watch(&self, key: &CommandKey) -> TaskReport {
        let _waiting =
            WaitingCaller::new(&self.commands, &key.name, |command| &mut command.watchers);
        self.living(self.commands.report(&key.name)).await
    }

    async fn stop(&self, key: &CommandKey, grace_ms: u64) -> TaskReport {
        let stopped = async {
            self.commands.end(&key.name, grace_ms).await;
            self.commands.report(&key.name).await
        };
        self.living(stopped).await
    }

    async fn input(&self, key: &CommandKey, input: &TaskInput) -> Result<u64, InputRefusal> {
        let refused = |reason: &str| InputRefusal {
            reason: reason.to_owned(),
            taken: 0,
        };
        let taken = async {
            let on_input = self.commands.change(|state| {
                let command = state.commands.get_mut(&key.name)?;
                command.asked.push(input.number);
                let given = &mut command.given;
                let again = given.iter().any(|known| known.number == input.number);
                if !again && !matches!(command.on_input, OnInput::Refuses(_)) {
                    given.push(input.clone());
                }
                Some(command.on_input.clone())
            });
            match on_input {
                Some(OnInput::Takes) => Ok(input.input.len() as u64),
                Some(OnInput::TakesInSilence) => std::future::pending().await,
                Some(OnInput::Refuses(reason)) => Err(refused(&reason)),
                None => Err(refused("it was never started")),
            }
        };
        self.living(taken).await
    }

    async fn printed(
        &self,
        key: &CommandKey,
        query: &TaskOutput,
        _max_bytes: usize,
    ) -> Result<TaskStreams, String> {
        let printed = async {
            self.commands.change(|state| {
                let command = state.commands.get_mut(&key.name);
                let kept =
                    command.filter(|found| found.forgotten != Some(OutputRetention::Dropped));
                let command = kept.ok_or_else(|| "its output is not kept".to_owned())?;
                command.looks.push(query.clone());
                let stderr = part(
                    command,
                    &command.stderr,
                    "stderr.log",
                    query.stderr_after_byte,
                );
                Ok(TaskStreams {
                    combined: None,
                    output: part(command, &command.stdout, "log", query.after_byte),
                    stderr: Some(stderr),
                })
            })
        };
        self.living(printed).await
    }

    async fn forget(&self, key: &CommandKey, output: OutputRetention) {
        let forgotten = async {
            let log = (key.name.clone(), output);
            self.commands.change(|state| state.log.forgets.push(log));
            let free = |state: &mut State| (!state.holds_forgets).then_some(());
            self.commands.until(free).await;
            self.commands.change(|state| {
                if let Some(command) = state.commands.get_mut(&key.name) {
                    command.forgotten = Some(output);
                }
            });
        };
        self.living(forgotten).await;
    }

    async fn sweep(&self, agent_home: &str, known: &[String]) {
        let swept = async {
            self.commands.change(|state| {
                let log = (agent_home.to_owned(), known.to_vec());
                state.log.sweeps.push(log);
                for (name, command) in &mut state.commands {
                    let here = command.order.key.agent_home == agent_home;
                    if here && command.forgotten.is_none() && !known.contains(name) {
                        command.forgotten = Some(OutputRetention::Kept);
                        state.log.swept.push(name.clone());
                    }
                }
            });
        };
        self.living(swept).await;
    }
}
