//! The shell: the only async code of the engine. It performs effects and commits their outcomes; it decides nothing.
//!
//! Work leaves a commit through a hook that runs after COMMIT, so it does not depend on a waiting caller. An outcome
//! that cannot be written yet is kept and retried; the kernel drops a stale outcome.

mod aside;
mod batch;
mod boot;
mod child;
mod clock;
mod command;
mod conceal;
mod dispatch;
mod due;
mod effect;
mod images;
mod keyed_run;
mod lanes;
mod memory;
mod outbound;
mod outcome;
mod patch;
mod probe;
mod removal;
mod renewal;
mod retention;
mod round;
mod scope;
mod submit;
mod task;
mod tool;
mod turn_log;
mod web;
mod work;

use self::aside::TakeBackCounts;
pub(crate) use self::child::StoredUsers;
pub(crate) use self::clock::ClockWatch;
pub(crate) use self::command::task_key;
use self::due::FaultyAgents;
use self::outbound::RouteGates;
use self::patch::PatchLocks;
use self::probe::PROBES_AT_ONCE;
pub use self::round::MODEL_CALL_LOG;
pub(crate) use self::submit::{Sender, TouchedAgents, engine_error};
use self::turn_log::TurnLogs;
use crate::conduct::Conduct;
use crate::deltas::Deltas;
use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::meters::{CommitTimes, EndedTurns};
use crate::ports::Ports;
use crate::request_trail::RequestTrails;
use crate::run_once::KeyedRuns;
use crate::stalled::StalledAgents;
use holon_core::Input;
use holon_domain::AgentId;
use holon_domain::effect::EffectId;
use holon_store::{MemoryReads, Store};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pause after a decision broke a rule of the runtime, before the agent is checked.
const AFTER_A_FAULT_MS: u64 = 1_000;

/// Removals that a task that waits for one may be behind. Beyond that it reads its agent again.
const REMOVALS_KEPT: usize = 256;

/// The shared state of a running host. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Shell(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) kernel: Kernel,
    pub(crate) ports: Ports,
    pub(crate) memory: Memory,
    pub(crate) conduct: Conduct,
    runtime: tokio::runtime::Handle,
    running: Mutex<HashMap<(AgentId, EffectId), CancellationToken>>,
    /// Calls whose patches are being applied or finished.
    patch_locks: PatchLocks,
    /// Bounds the commands that are probed at the same time during boot.
    probes: Semaphore,
    /// Agents with an outcome that the full disk cannot take.
    pub(crate) stalled: StalledAgents,
    pub(crate) deltas: Deltas,
    pub(crate) commit_times: CommitTimes,
    pub(crate) ended_turns: EndedTurns,
    /// Bounds the attempts at the same time on one route.
    route_gates: RouteGates,
    take_backs: TakeBackCounts,
    faulty: FaultyAgents,
    turn_logs: TurnLogs,
    request_trails: RequestTrails,
    /// Temporary agents that this process created or found. With `Scope::Run` their work is performed too.
    temporary: Mutex<BTreeSet<AgentId>>,
    /// Agents whose workspace was already warned about in the log.
    warned: Mutex<BTreeSet<AgentId>>,
    spawned: TaskTracker,
    /// Runs with a temporary agent, and the removals of such agents.
    removals: TaskTracker,
    /// Runs with a temporary agent whose requests have keys.
    pub(crate) keyed_runs: KeyedRuns,
    /// Wakes the due loop when an earlier time was set.
    due_set: Notify,
    /// Names removed agents, for tasks that wait for a removal.
    removed: broadcast::Sender<AgentId>,
    /// Set when recovery is done.
    up: AtomicBool,
    /// Cancelled when a shutdown begins to wait for temporary agents, before it drains.
    closing: CancellationToken,
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
        let reads: Arc<dyn MemoryReads> = Arc::<dyn Store>::clone(&store);
        Self(Arc::new(Inner {
            memory: Memory::new(reads, &ports),
            store,
            kernel,
            ports,
            conduct,
            runtime: tokio::runtime::Handle::current(),
            running: Mutex::default(),
            patch_locks: PatchLocks::default(),
            probes: Semaphore::new(PROBES_AT_ONCE),
            stalled: StalledAgents::default(),
            deltas: Deltas::default(),
            commit_times: CommitTimes::default(),
            ended_turns: EndedTurns::new(),
            route_gates: RouteGates::default(),
            take_backs: TakeBackCounts::default(),
            faulty: FaultyAgents::default(),
            turn_logs: TurnLogs::default(),
            request_trails: RequestTrails::default(),
            temporary: Mutex::default(),
            warned: Mutex::default(),
            spawned: TaskTracker::new(),
            removals: TaskTracker::new(),
            keyed_runs: KeyedRuns::default(),
            due_set: Notify::new(),
            removed: broadcast::channel(REMOVALS_KEPT).0,
            up: AtomicBool::new(false),
            closing: CancellationToken::new(),
            draining: CancellationToken::new(),
            halted: CancellationToken::new(),
        }))
    }

    /// Marks recovery as done; inputs of clients are accepted from now on.
    pub(crate) fn mark_up(&self) {
        self.up.store(true, Ordering::Release);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    /// Removes a temporary agent whose request is answered. A drain waits for it before it begins.
    pub(crate) fn remove_afterwards(&self, agent_id: AgentId) {
        let shell = self.clone();
        let removal = async move {
            shell.submit_until_committed(&agent_id, Input::Delete).await;
            shell.wait_removed(&agent_id).await;
            shell.remove_if_aside(&agent_id, None).await;
        };
        self.removals.spawn_on(removal, &self.runtime);
    }

    /// Spawns a run with a temporary agent. A drain waits for it before it begins.
    pub(crate) fn spawn_temporary(&self, run: impl Future<Output = ()> + Send + 'static) {
        self.removals.spawn_on(run, &self.runtime);
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.spawned.spawn_on(future, &self.runtime);
    }

    /// Returns once a shutdown begins.
    pub(crate) async fn drains(&self) {
        self.draining.cancelled().await;
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
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

#[cfg(test)]
pub(crate) mod tests;
