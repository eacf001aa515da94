//! The shell: the only async code of the engine. It performs effects and commits their outcomes; it decides nothing.
//!
//! Work leaves a commit through a hook that runs after COMMIT, so it does not depend on a waiting caller. An outcome
//! that cannot be written yet is kept and retried; the kernel drops a stale outcome.

mod aside;
mod clock;
mod command;
mod due;
mod effect;
mod patch;
mod probe;
mod removal;
mod round;
mod scope;
mod settle;
mod task;
mod tool;
mod upkeep;
mod work;

use self::aside::TakeBacks;
pub(crate) use self::clock::ClockWatch;
use self::patch::PatchLocks;
use self::probe::PROBES_AT_ONCE;
use crate::conduct::Conduct;
use crate::error::Error;
use crate::kernel::{HandleResult, Kernel, Refusal, Work};
use crate::ports::Ports;
use crate::stalled::Stalled;
use holon_core::input::NewAgent;
use holon_core::{Input, Reply, Stamp};
use holon_domain::agent::RunEnd;
use holon_domain::consequence::Consequence;
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::intent::AfterRestart;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::{AgentId, Entropy, Timestamp};
use holon_store::{Ledger, Store, WriteError, commit};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pause after a decision broke a rule of the runtime, before the agent is checked.
const AFTER_A_FAULT_MS: u64 = 1_000;
/// Assumed size of an input in a batch when its real size is not worth computing.
const OUTCOME_BYTES: usize = 16 << 10;

/// The shared state of a running host. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Shell(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) kernel: Kernel,
    pub(crate) ports: Ports,
    pub(crate) conduct: Conduct,
    runtime: tokio::runtime::Handle,
    running: Mutex<HashMap<(AgentId, EffectId), CancellationToken>>,
    /// Calls whose patches are being applied or finished.
    patch_locks: PatchLocks,
    /// Bounds the commands that are probed at the same time during boot.
    probes: Semaphore,
    /// Agents with an outcome that the full disk cannot take.
    pub(crate) stalled: Stalled,
    take_backs: TakeBacks,
    /// Temporary agents that this process created or found. With `Scope::Run` their work is performed too.
    temporary: Mutex<BTreeSet<AgentId>>,
    /// Agents whose workspace was already warned about in the log.
    warned: Mutex<BTreeSet<AgentId>>,
    tasks: TaskTracker,
    /// Runs with a temporary agent, and the removals of such agents.
    removals: TaskTracker,
    /// Wakes the due loop when an earlier time was set.
    due_set: Notify,
    /// Counts removed agents, for tasks that wait for a removal.
    removed: watch::Sender<u64>,
    /// Set when recovery is done.
    up: AtomicBool,
    /// Cancelled when a shutdown begins; no new work is started.
    draining: CancellationToken,
    /// Cancelled when the drain has used up its time.
    halted: CancellationToken,
}

impl std::ops::Deref for Shell {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Shell {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        kernel: Kernel,
        ports: Ports,
        conduct: Conduct,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            kernel,
            ports,
            conduct,
            runtime: tokio::runtime::Handle::current(),
            running: Mutex::default(),
            patch_locks: PatchLocks::default(),
            probes: Semaphore::new(PROBES_AT_ONCE),
            stalled: Stalled::default(),
            take_backs: TakeBacks::default(),
            temporary: Mutex::default(),
            warned: Mutex::default(),
            tasks: TaskTracker::new(),
            removals: TaskTracker::new(),
            due_set: Notify::new(),
            removed: watch::channel(0).0,
            up: AtomicBool::new(false),
            draining: CancellationToken::new(),
            halted: CancellationToken::new(),
        }))
    }

    /// Marks recovery as done; inputs of clients are accepted from now on.
    pub(crate) fn note_up(&self) {
        self.up.store(true, Ordering::Release);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    /// Hands one input to the writer and returns after its commit. If the commit cannot be confirmed, the agents it
    /// touched are checked in the background.
    ///
    /// A decision that fails twice in the same way (contradictory rows, a panic) puts its agent aside, because the next
    /// caller would meet the same fault.
    pub(crate) async fn submit(
        &self,
        agent_id: &AgentId,
        sender: Sender,
        input: Input,
    ) -> Result<Reply, Error> {
        let (input, touched) = (Arc::new(input), Touched::default());
        let seen = self.take_backs.of(agent_id);
        let mut outcome = self.try_submit(agent_id, sender, &input, &touched).await;
        if matches!(outcome, Err(Error::Internal { .. })) {
            outcome = self.try_submit(agent_id, sender, &input, &touched).await;
        }
        if let Err(Error::Internal { message }) = outcome {
            self.put_aside(agent_id, message.clone(), seen).await;
            outcome = Err(Error::AgentAside {
                agent_id: agent_id.clone(),
                reason: message,
            });
        }
        if outcome == Err(Error::CommitUnknown) {
            for agent_id in touched.all(agent_id) {
                self.spawn_clear_up(agent_id);
            }
        }
        match sender {
            Sender::Runtime => outcome,
            Sender::Client => self.hide_private(agent_id, outcome).await,
        }
    }

    /// Hands one input to the writer once. The input is shared, so that running the decision again copies no answer.
    pub(super) async fn try_submit(
        &self,
        agent_id: &AgentId,
        sender: Sender,
        input: &Arc<Input>,
        touched: &Touched,
    ) -> Result<Reply, Error> {
        let (bytes, input) = (input_bytes(input), Arc::clone(input));
        let handle = match sender {
            Sender::Runtime => Kernel::handle,
            Sender::Client => Kernel::handle_for_client,
        };
        let (shell, id) = (self.clone(), agent_id.clone());
        self.decide(agent_id, bytes, touched, move |ledger, now, entropy| {
            handle(&shell.kernel, ledger, &id, &input, now, entropy)
        })
        .await
    }

    /// Runs the kernel on one agent inside the next commit, and starts the work that the commit asks for.
    pub(super) async fn decide(
        &self,
        agent_id: &AgentId,
        bytes: usize,
        touched: &Touched,
        mut handle: impl FnMut(&mut dyn Ledger, Timestamp, &mut dyn Entropy) -> HandleResult
        + Send
        + 'static,
    ) -> Result<Reply, Error> {
        let (shell, touched) = (self.clone(), touched.clone());
        let seen = self.take_backs.of(agent_id);
        let handled = commit(self.store.as_ref(), bytes, move |ledger| -> HandleResult {
            let mut entropy = shell.ports.entropy.source();
            let now = shell.ports.clock.now();
            let handled = handle(ledger, now, entropy.as_mut())?;
            Ok(handled.inspect(|handled| {
                touched.add(&handled.work);
                shell.dispatch_after(ledger, handled.work.clone());
            }))
        })
        .await;
        match handled {
            Ok(Ok(handled)) => Ok(handled.reply),
            Ok(Err(refusal)) => Err(refused(agent_id, refusal)),
            Err(error) => Err(self.write_about_failed(agent_id, error, seen).await),
        }
    }

    /// Creates an agent and returns after the commit.
    pub(crate) async fn create(&self, new: NewAgent) -> Result<(), Error> {
        let shell = self.clone();
        let agent_id = new.identity.agent_id.clone();
        if new.run.is_some_and(|run| run.when_over == RunEnd::Remove) {
            self.note_temporary(agent_id.clone());
        }
        let made = commit(self.store.as_ref(), 0, move |ledger| {
            let mut entropy = shell.ports.entropy.source();
            let now = shell.ports.clock.now();
            let work = shell
                .kernel
                .create(ledger, new.clone(), now, entropy.as_mut())?;
            shell.dispatch_after(ledger, work);
            Ok(())
        })
        .await;
        if matches!(made, Err(WriteError::CommitUnknown)) {
            self.spawn_clear_up(agent_id.clone());
        }
        made.map_err(|error| match error {
            WriteError::Store(holon_store::Error::AgentExists { .. }) => Error::AgentConflict {
                agent_id,
                reason: "the name is taken".to_owned(),
            },
            other => write_failed(other),
        })
    }

    fn dispatch_after(&self, ledger: &mut dyn Ledger, work: Work) {
        let shell = self.clone();
        ledger.after_commit(Box::new(move || shell.dispatch(work)));
    }

    /// Starts the work that a commit asks for. Runs on the writer's thread, so it only spawns tasks.
    fn dispatch(&self, work: Work) {
        for key in work.closed {
            if let Some(token) = self.lock_running().remove(&key) {
                token.cancel();
            }
        }
        if work.due.is_some() {
            self.due_set.notify_one();
        }
        for (agent_id, reason) in work.faulty {
            let (shell, seen) = (self.clone(), self.take_backs.of(&agent_id));
            self.spawn(async move { shell.put_aside(&agent_id, reason, seen).await });
        }
        // Effects that are not started now stay open in the store; the next boot starts them.
        if self.draining.is_cancelled() {
            return self.decline(work.effects.into_values());
        }
        for effect in work.effects.into_values() {
            self.begin(effect);
        }
        for agent_id in work.unfinished {
            let shell = self.clone();
            self.spawn(async move { drop(shell.settle(&agent_id, Input::Continue).await) });
        }
    }

    /// Declines tool calls during shutdown. The refusal is recorded, because the next boot could not tell such a call
    /// from one that was interrupted. Calls that the next boot resumes anyway are left to it.
    fn decline(&self, effects: impl Iterator<Item = EffectRecord>) {
        for record in effects {
            if let Effect::RunTool { .. } = record.effect {
                let shell = self.clone();
                self.spawn(async move { shell.decline_call(record).await });
            }
        }
    }

    async fn decline_call(&self, record: EffectRecord) {
        let Some(run) = self.tool_run(&record).await else {
            return;
        };
        match run.action.after_restart() {
            AfterRestart::TakenUp => return,
            AfterRestart::Proven => {}
        }
        let error = ToolError::new(
            ToolErrorKind::NotStarted,
            "the host was going down before this call began; it had no effect",
        )
        .hint("make the call again if it is still wanted")
        .retryable();
        let finished = Input::ToolFinished {
            stamp: Stamp::of(&record),
            consequence: Consequence::Result(ToolEnvelope::failure(run.call.name, error)),
            duration_ms: 0,
        };
        self.settle(&record.agent_id, finished).await;
    }

    fn begin(&self, effect: EffectRecord) {
        let token = CancellationToken::new();
        self.lock_running()
            .insert((effect.agent_id.clone(), effect.id), token.clone());
        let shell = self.clone();
        self.spawn(async move { shell.perform(effect, token).await });
    }

    /// Removes a temporary agent whose request is answered. A drain waits for it before it begins.
    pub(crate) fn remove_afterwards(&self, agent_id: AgentId) {
        let shell = self.clone();
        let removal = async move {
            shell.settle(&agent_id, Input::Delete).await;
            shell.wait_removed(&agent_id).await;
            shell.remove_if_aside(&agent_id).await;
        };
        self.removals.spawn_on(removal, &self.runtime);
    }

    /// Spawns a run with a temporary agent. A drain waits for it before it begins.
    pub(crate) fn spawn_temporary(&self, run: impl Future<Output = ()> + Send + 'static) {
        self.removals.spawn_on(run, &self.runtime);
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(future, &self.runtime);
    }

    fn lock_running(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<(AgentId, EffectId), CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn pause(&self, millis: u64) {
        let until = self.ports.clock.elapsed() + Duration::from_millis(millis);
        tokio::select! {
            () = self.ports.clock.sleep_until(until) => {}
            () = self.halted.cancelled() => {}
        }
    }
}

/// The origin of an input, which limits the agents it can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A client of the control plane. It can act on public agents only.
    Client,
    /// The runtime itself, about any agent.
    Runtime,
}

/// The agents that a commit made decisions about, readable also if the commit is unconfirmed. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Touched(Arc<Mutex<BTreeSet<AgentId>>>);

impl Touched {
    fn add(&self, work: &Work) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(work.touched.iter().cloned());
    }

    /// Returns the agents of the commit, always including the agent of the input.
    pub(crate) fn all(&self, of: &AgentId) -> BTreeSet<AgentId> {
        let mut all = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        all.insert(of.clone());
        all
    }
}

/// Estimates the size of an input in a batch.
fn input_bytes(input: &Input) -> usize {
    match input {
        Input::Admit(ingress) => match &ingress.body {
            holon_domain::message::Body::Text { text }
            | holon_domain::message::Body::Brief { text, .. } => text.len(),
            holon_domain::message::Body::Json { .. } => OUTCOME_BYTES,
        },
        Input::RoundAnswered { answer, .. } => answer.bytes(),
        Input::Configure { .. }
        | Input::HomePrepared { .. }
        | Input::HomeRemoved { .. }
        | Input::RoundFailed { .. }
        | Input::ToolFinished { .. }
        | Input::Received(_)
        | Input::Deliver { .. }
        | Input::Defer { .. }
        | Input::TaskEnded { .. }
        | Input::PatchFinished { .. }
        | Input::DueCame { .. }
        | Input::ClockSetBack { .. }
        | Input::Start
        | Input::Stop
        | Input::Delete
        | Input::Recover { .. }
        | Input::TakeUp
        | Input::GiveUp { .. }
        | Input::CallerLeft { .. }
        | Input::ModelsChanged
        | Input::WakeHint(_)
        | Input::Work(_)
        | Input::Continue => OUTCOME_BYTES,
    }
}

fn refused(agent_id: &AgentId, refusal: Refusal) -> Error {
    match refusal {
        Refusal::NotFound => Error::AgentNotFound {
            agent_id: agent_id.clone(),
        },
        Refusal::Rejected(rejection) => rejection.into(),
    }
}

pub(crate) fn write_failed(error: WriteError) -> Error {
    match error {
        WriteError::Overloaded => Error::Overloaded,
        WriteError::DiskFull => Error::DiskFull,
        WriteError::CommitUnknown => Error::CommitUnknown,
        WriteError::StoreLost(lost) => lost.into(),
        WriteError::Closed => Error::ShuttingDown,
        WriteError::Panicked { message } => Error::Internal { message },
        WriteError::Store(
            holon_store::Error::Contradiction { what: message }
            | holon_store::Error::Encode { reason: message },
        ) => Error::Internal { message },
        WriteError::Store(error) => error.into(),
    }
}
