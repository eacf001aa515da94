//! Invariants of an agent's rows after every decision. Tests and the simulation check them; recovery uses the lists of
//! awaited effects and due entries.

mod work;

pub use work::StoredWork;

use crate::occupancy;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::queue::QueueView;
use holon_domain::task::{TaskKind, TaskRecord, TaskStatus};
use holon_domain::turn::Phase;
use holon_domain::workspace::Occupancy;

/// An invariant that the rows of an agent violate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {found}")]
pub struct Violation {
    pub rule: &'static str,
    /// Description of the state that violates it.
    pub found: String,
}

/// Stored rows of an agent that its own row is checked against.
#[derive(Debug, Clone, Default)]
pub struct StoredRows {
    /// Numbers of the open effects.
    pub effects: Vec<u64>,
    /// Numbers of the due entries.
    pub due: Vec<u64>,
    /// Active tasks of the agent.
    pub tasks: Vec<TaskRecord>,
    /// Positions of the dequeued messages.
    pub dequeued: Vec<u64>,
    /// Positions of the held messages.
    pub held: Vec<u64>,
    /// Work items, waits, timers and hints.
    pub work: StoredWork,
    /// Number of stored failed attempts.
    pub attempts: u32,
    /// Execution root that the agent occupies.
    pub occupancy: Option<Occupancy>,
}

/// Returns true if messages may wait for this agent: it may not run, has an open turn, or is paced. One commit settles
/// a bounded number of messages, and the next one goes on with the rest.
fn may_have_queued(agent: &AgentRecord) -> bool {
    let idle = agent.lifecycle == Lifecycle::Runnable && agent.open_turn.is_none();
    let paced = agent.pace.is_some_and(|pace| pace.due.is_some());
    !idle || paced || agent.unsignalled.is_some()
}

/// Checks an agent's row against the rows stored beside it.
#[must_use]
pub fn check(agent: &AgentRecord, queue: &QueueView, stored: &StoredRows) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut expect = |holds: bool, rule: &'static str, detail: &dyn Fn() -> String| {
        if !holds {
            found.push(Violation {
                rule,
                found: detail(),
            });
        }
    };
    let awaited_effects = awaited_effects(agent, &stored.tasks);
    expect(
        stored.effects == awaited_effects,
        "the open effects are exactly those a state waits for",
        &|| format!("open {:?}, awaited {awaited_effects:?}", stored.effects),
    );
    let mut awaited_due = awaited_due(agent);
    awaited_due.extend(stored.work.due());
    awaited_due.sort_unstable();
    let mut due = stored.due.clone();
    due.sort_unstable();
    expect(
        due == awaited_due,
        "the due entries are exactly those a state waits for",
        &|| format!("stored {due:?}, awaited {awaited_due:?}"),
    );
    let in_turn: Vec<u64> = agent
        .open_turn
        .iter()
        .map(|turn| turn.message_seq)
        .collect();
    expect(
        stored.dequeued == in_turn,
        "exactly the open turn's message is dequeued",
        &|| format!("dequeued {:?}, in turn {in_turn:?}", stored.dequeued),
    );
    let mut held = agent.held.clone();
    held.sort_unstable();
    expect(
        stored.held == held,
        "exactly those messages are held that the agent names",
        &|| format!("held {:?}, named {held:?}", stored.held),
    );
    let stopped = matches!(agent.lifecycle, Lifecycle::Stopped | Lifecycle::Deleting);
    expect(
        !(stopped && agent.open_turn.is_some()),
        "an agent that may not run has no open turn",
        &|| format!("{:?} with an open turn", agent.lifecycle),
    );
    let pauses = agent.rest.is_some() || agent.pace.is_some();
    expect(
        !(pauses && agent.open_turn.is_some()),
        "an agent with an open turn neither rests nor is paced",
        &|| format!("rest {:?}, pace {:?}", agent.rest, agent.pace),
    );
    expect(
        queue.pending == 0 || may_have_queued(agent),
        "a runnable agent at rest has nothing queued",
        &|| format!("{} queued", queue.pending),
    );
    expect(
        queue.interjections <= queue.pending,
        "interjections are part of the queue",
        &|| format!("{} of {}", queue.interjections, queue.pending),
    );
    found.extend(check_occupancy(agent, stored.occupancy.as_ref()));
    found.extend(check_attempts(agent, stored.attempts));
    found.extend(check_tasks(agent, &stored.tasks));
    found.extend(work::check(agent, queue, &stored.work));
    found
}

/// Checks the execution root that the agent occupies.
fn check_occupancy(agent: &AgentRecord, stored: Option<&Occupancy>) -> Option<Violation> {
    let held = agent.occupancy.as_ref();
    let holds = occupancy::is_settled(agent) && stored == held;
    (!holds).then(|| Violation {
        rule: "an agent occupies the execution root that its state calls for, or none",
        found: format!("{held:?} as {:?}, stored {stored:?}", agent.lifecycle),
    })
}

/// Checks the number of failed attempts in the agent's row.
fn check_attempts(agent: &AgentRecord, kept: u32) -> Option<Violation> {
    let turn = agent.open_turn.as_ref();
    let counted = turn.map_or(0, |turn| turn.failed_attempts);
    (kept != counted).then(|| Violation {
        rule: "exactly those failed attempts are kept that the open turn counts",
        found: format!("kept {kept}, counted {counted}"),
    })
}

/// Checks the agent's row against its active tasks.
fn check_tasks(agent: &AgentRecord, tasks: &[TaskRecord]) -> Vec<Violation> {
    let may_run = match agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Runnable => true,
        Lifecycle::Stopped | Lifecycle::Deleting => false,
    };
    // A child sends its own end in every lifecycle state of its parent.
    let is_child = |task: &TaskRecord| task.kind == TaskKind::ChildAgentTask;
    let being_stopped = |task: &TaskRecord| task.status == TaskStatus::Cancelling || is_child(task);
    let rules = [
        (
            usize::try_from(agent.active_tasks) == Ok(tasks.len()),
            "the agent counts exactly its tasks that are not over",
        ),
        (
            tasks
                .iter()
                .all(|task| task.effect.is_some() || is_child(task)),
            "a task that is not over is watched or being stopped",
        ),
        (
            may_run || tasks.iter().all(being_stopped),
            "a task of an agent that may not run is being stopped",
        ),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds);
    let found = |(_, rule)| Violation {
        rule,
        found: format!("{} of {:?}: {tasks:?}", agent.active_tasks, agent.lifecycle),
    };
    broken.map(found).collect()
}

/// Lists the effects that states of the agent wait for.
pub(crate) fn awaited_effects(agent: &AgentRecord, tasks: &[TaskRecord]) -> Vec<u64> {
    let of_turn = agent.open_turn.as_ref().and_then(|turn| match turn.phase {
        Phase::CallingModel { effect } | Phase::RunningTool { effect, .. } => Some(effect),
        Phase::BackingOff { .. } | Phase::Suspended { .. } | Phase::Sending { .. } => None,
    });
    let of_tasks = tasks.iter().filter_map(|task| task.effect);
    let of_home = agent.home.effect().into_iter();
    let mut all: Vec<u64> = of_home
        .chain(of_turn)
        .chain(of_tasks)
        .chain(agent.detached_effects())
        .chain(agent.outbox.effects())
        .collect();
    all.sort_unstable();
    all
}

/// Lists the due entries that states of the agent wait for.
pub(crate) fn awaited_due(agent: &AgentRecord) -> Vec<u64> {
    let of_turn = agent.open_turn.as_ref().and_then(|turn| turn.phase.due());
    let of_rest = agent
        .rest
        .as_ref()
        .and_then(|rest| rest.wake)
        .and_then(|wake| wake.due);
    let of_pace = agent.pace.and_then(|pace| pace.due);
    let of_home = agent.home.removal_retry().map(|retry| retry.due);
    let of_ticks = agent.work.tick_pause.and_then(|pause| pause.due);
    let of_hints = agent.work.hint_pause.and_then(|pause| pause.due);
    let of_work = of_ticks
        .into_iter()
        .chain(of_hints)
        .chain(agent.work.catch_up);
    let of_pauses = of_rest
        .into_iter()
        .chain(of_pace)
        .chain(of_home)
        .chain(of_work)
        .chain(agent.outbox.dues());
    let mut all: Vec<u64> = of_turn.into_iter().chain(of_pauses).collect();
    all.sort_unstable();
    all
}
