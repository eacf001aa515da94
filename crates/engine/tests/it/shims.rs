//! Commands as shims keep them: they survive the hosts that began them and end when the test says so.
//!
//! Owns what a test sees and does of commands; what a host sees stands in `port`. A command of one key is begun once:
//! a host that would begin one again, after it was forgotten or under another text, fails the test.

mod port;

pub(crate) use port::Process;

use crate::ports::VirtualClock;
use holon_domain::command::{CapturedStream, CommandEnd, CommandFailure, CommandOutput};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::{TaskId, Timestamp};
use holon_engine::ports::{Clock, CommandOrder, KeptOutput};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// All commands there ever were.
#[derive(Debug)]
pub(crate) struct Shims {
    clock: Arc<VirtualClock>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    commands: BTreeMap<String, Command>,
    /// Begun, and not shown to the test yet.
    unseen: VecDeque<String>,
    /// Stopped before they were begun.
    barred: BTreeSet<String>,
    /// Whether forgetting waits for the test.
    holds_forgets: bool,
    told: Told,
}

/// What hosts said of commands, in order.
#[derive(Debug, Default, Clone)]
pub(crate) struct Told {
    /// Which were to stop, with the grace they were given.
    pub(crate) stops: Vec<(String, u64)>,
    /// Which hosts asked to forget.
    pub(crate) forgets: Vec<(String, KeptOutput)>,
    /// Which homes were swept, and against which names.
    pub(crate) sweeps: Vec<(String, Vec<String>)>,
    /// What nobody knew of and a sweep ended.
    pub(crate) swept: Vec<String>,
    /// What no host may do.
    wrong: Vec<String>,
}

#[derive(Debug)]
struct Command {
    order: CommandOrder,
    began: Timestamp,
    standing: Standing,
    on_stop: OnStop,
    on_input: OnInput,
    on_question: OnQuestion,
    /// Whether it was asked to end while it ran.
    stopping: bool,
    /// Whether its end is found by a call that is called off at the same moment.
    outruns: bool,
    stdout: String,
    stderr: String,
    given: Vec<TaskInput>,
    asked: Vec<u64>,
    looks: Vec<TaskOutput>,
    callers: usize,
    watchers: usize,
    /// Set once no host can find it any more: whether its output is still there.
    forgotten: Option<KeptOutput>,
}

#[derive(Debug, Clone)]
enum Standing {
    Runs,
    Ended(CommandOutput),
    NotStarted(CommandFailure),
    Lost(String),
}

/// What a command does when it is asked to end.
#[derive(Debug, Clone, Copy)]
enum OnStop {
    Ends,
    /// It has to be killed.
    OutlivesItsGrace,
    /// Not even that helps before the test says so.
    Clings,
    /// It was done before it was asked.
    IsDone,
}

/// What becomes of the question whether a command runs that does.
#[derive(Debug, Clone, Copy)]
enum OnQuestion {
    Answers,
    /// It cannot be proven.
    IsSilent,
    /// Whoever asks waits for ever.
    KeepsWaiting,
}

/// What a command does with input.
#[derive(Debug, Clone)]
enum OnInput {
    Takes,
    Refuses(String),
    /// It is given, and nobody hears of it.
    TakesInSilence,
}

impl Shims {
    pub(crate) fn new(clock: Arc<VirtualClock>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            state: Mutex::default(),
            changed: watch::Sender::default(),
        })
    }

    /// The next command that was begun.
    pub(crate) async fn next(self: &Arc<Self>) -> Shim {
        let name = self.until(|state| state.unseen.pop_front()).await;
        Shim {
            shims: Arc::clone(self),
            name,
        }
    }

    /// Whether nothing was begun that the test has not seen.
    pub(crate) fn is_quiet(&self) -> bool {
        self.look(|state| state.unseen.is_empty())
    }

    /// What hosts said so far.
    pub(crate) fn told(&self) -> Told {
        self.look(|state| state.told.clone())
    }

    /// Forgetting waits until the test lets it go on.
    pub(crate) fn hold_forgets(&self, hold: bool) {
        self.change(|state| state.holds_forgets = hold);
    }

    /// Returns once hosts have asked to forget this many commands; says which.
    pub(crate) async fn forgets(&self, count: usize) -> Vec<(String, KeptOutput)> {
        self.until(|state| {
            let forgets = &state.told.forgets;
            (forgets.len() >= count).then(|| forgets.clone())
        })
        .await
    }

    /// Returns once hosts have asked this many commands to end; says which.
    pub(crate) async fn stops(&self, count: usize) -> Vec<(String, u64)> {
        self.until(|state| {
            let stops = &state.told.stops;
            (stops.len() >= count).then(|| stops.clone())
        })
        .await
    }

    /// Fails the test if a host did what none may do.
    pub(crate) fn check(&self) {
        let wrong = self.look(|state| state.told.wrong.clone());
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

/// One command, in the hands of the test.
#[derive(Debug)]
pub(crate) struct Shim {
    shims: Arc<Shims>,
    name: String,
}

impl Shim {
    /// Its name, which is that of its task unless it is one of several.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The task it is or would become.
    pub(crate) fn task_id(&self) -> TaskId {
        TaskId::from_stored(&self.name)
    }

    pub(crate) fn cmd(&self) -> String {
        self.of(|command| command.order.command.cmd.clone())
    }

    /// It prints, and goes on.
    pub(crate) fn prints(&self, text: &str) {
        self.with(|command| command.stdout.push_str(text));
    }

    /// It complains, and goes on.
    pub(crate) fn complains(&self, text: &str) {
        self.with(|command| command.stderr.push_str(text));
    }

    /// It ends with this status.
    pub(crate) fn exits(&self, status: i32) {
        let now = self.shims.clock.now();
        self.with(|command| command.end(CommandEnd::Exited { status }, now));
    }

    /// It prints its last words and ends well.
    pub(crate) fn ends(&self, words: &str) {
        self.prints(words);
        self.exits(0);
    }

    /// It could not be started.
    pub(crate) fn cannot_start(&self, failure: CommandFailure) {
        self.with(|command| command.standing = Standing::NotStarted(failure));
    }

    /// Nobody can account for it any more.
    pub(crate) fn is_lost(&self, reason: &str) {
        self.with(|command| command.standing = Standing::Lost(reason.to_owned()));
    }

    /// It runs, and cannot be proven to.
    pub(crate) fn falls_silent(&self, silent: bool) {
        let on_question = if silent {
            OnQuestion::IsSilent
        } else {
            OnQuestion::Answers
        };
        self.with(|command| command.on_question = on_question);
    }

    /// Nobody is told whether it runs.
    pub(crate) fn leaves_it_open_whether_it_runs(&self) {
        self.with(|command| command.on_question = OnQuestion::KeepsWaiting);
    }

    /// It ends when it is killed and not before.
    pub(crate) fn outlives_its_grace(&self) {
        self.with(|command| command.on_stop = OnStop::OutlivesItsGrace);
    }

    /// It ends when the test says so and not before.
    pub(crate) fn clings(&self) {
        self.with(|command| command.on_stop = OnStop::Clings);
    }

    /// It is done by itself at the moment it is asked to end.
    pub(crate) fn is_done_when_it_is_asked_to_end(&self) {
        self.with(|command| command.on_stop = OnStop::IsDone);
    }

    /// Whoever waits for it when the call is called off hears of its end in the same moment.
    pub(crate) fn ends_as_its_call_is_called_off(&self) {
        self.with(|command| command.outruns = true);
    }

    pub(crate) fn refuses_input(&self, reason: &str) {
        self.with(|command| command.on_input = OnInput::Refuses(reason.to_owned()));
    }

    /// Input is given to it, and whoever gave it never hears so.
    pub(crate) fn takes_input_in_silence(&self, silence: bool) {
        let on_input = if silence {
            OnInput::TakesInSilence
        } else {
            OnInput::Takes
        };
        self.with(|command| command.on_input = on_input);
    }

    /// What it was given: each number once.
    pub(crate) fn given(&self) -> Vec<TaskInput> {
        self.of(|command| command.given.clone())
    }

    /// The numbers of all input hosts came with, once this many came.
    pub(crate) async fn asked_to_take(&self, count: usize) -> Vec<u64> {
        let enough = |command: &Command| command.asked.len() >= count;
        self.until(enough).await;
        self.of(|command| command.asked.clone())
    }

    /// What was asked about its output.
    pub(crate) fn looks(&self) -> Vec<TaskOutput> {
        self.of(|command| command.looks.clone())
    }

    /// Whether it ended, was lost, or never was.
    pub(crate) fn is_over(&self) -> bool {
        self.of(|command| !matches!(command.standing, Standing::Runs))
    }

    /// Returns once nobody waits for it in a call.
    pub(crate) async fn let_go(&self) {
        self.until(|command| command.callers == 0).await;
    }

    /// Returns once somebody waits for it in a call.
    pub(crate) async fn waited_for(&self) {
        self.until(|command| command.callers > 0).await;
    }

    /// Returns once somebody watches it as a task.
    pub(crate) async fn watched(&self) {
        self.until(|command| command.watchers > 0).await;
    }

    /// How many wait for it in a call, and how many watch it as a task.
    pub(crate) fn followers(&self) -> (usize, usize) {
        self.of(|command| (command.callers, command.watchers))
    }

    fn with(&self, change: impl FnOnce(&mut Command)) {
        self.shims.change(|state| {
            let command = state.commands.get_mut(&self.name);
            change(command.expect("it was begun"));
        });
    }

    fn of<T>(&self, look: impl FnOnce(&Command) -> T) -> T {
        self.shims.look(|state| {
            let command = state.commands.get(&self.name);
            look(command.expect("it was begun"))
        })
    }

    async fn until(&self, wanted: impl Fn(&Command) -> bool + Send + Sync) {
        let look = |state: &mut State| {
            let command = state.commands.get(&self.name)?;
            wanted(command).then_some(())
        };
        self.shims.until(look).await;
    }
}

impl Command {
    fn new(order: CommandOrder, began: Timestamp) -> Self {
        Self {
            order,
            began,
            standing: Standing::Runs,
            on_stop: OnStop::Ends,
            on_input: OnInput::Takes,
            on_question: OnQuestion::Answers,
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

    fn end(&mut self, end: CommandEnd, now: Timestamp) {
        self.standing = Standing::Ended(CommandOutput {
            end,
            stdout: self.captured(&self.stdout, "log"),
            stderr: self.captured(&self.stderr, "stderr.log"),
            duration_ms: now.millis_since(self.began),
            leftovers: 0,
            survivors: 0,
            stopped: self.stopping,
        });
    }

    fn captured(&self, text: &str, ending: &str) -> CapturedStream {
        CapturedStream {
            head: text.to_owned(),
            total_bytes: text.len() as u64,
            path: Some(self.path(ending)),
            ..CapturedStream::default()
        }
    }

    fn path(&self, ending: &str) -> String {
        let key = &self.order.key;
        format!("{}/task-output/{}.{ending}", key.agent_home, key.name)
    }
}
