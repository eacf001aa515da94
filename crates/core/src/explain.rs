//! Builds the explanation of an agent for people: the scheduler's assessment with the rows it is based on.

mod decisions;

use crate::assess::{AssessmentInput, NextAction, assess, describe, suspension};
use crate::delegation::stuck_task_words;
use crate::summary::{note_stuck_tasks, work_item_view};
use crate::timer::TimerCost;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::delegation::ActiveChild;
use holon_domain::explanation::{Explanation, PlannedWake, UnservedInput};
use holon_domain::feed::EventRecord;
use holon_domain::queue::{QueueEntry, QueueView};
use holon_domain::timer::{DueAction, MissedSlotPolicy, TimerRecord};
use holon_domain::trigger::WakeHint;
use holon_domain::turn::{Phase, SuspensionReason};
use holon_domain::wait::{WaitRecord, WakeSource};
use holon_domain::work_item::WorkItemRecord;
use holon_domain::{Timestamp, limits, text};

/// Rows beside the agent's own that an explanation shows. The reader bounds each list.
#[derive(Debug, Clone, Default)]
pub struct ExplainedRows {
    /// The queued message that has waited longest.
    pub oldest: Option<QueueEntry>,
    /// Entries of the due queue, soonest first.
    pub due: Vec<(Timestamp, DueAction)>,
    /// Active waits, oldest first.
    pub waits: Vec<WaitRecord>,
    pub hints: Vec<WakeHint>,
    /// Active timers, oldest first.
    pub timers: Vec<TimerRecord>,
    pub current: Option<WorkItemRecord>,
    /// Recent events of the agent, newest first.
    pub events: Vec<EventRecord>,
    /// Children whose tasks have not ended, oldest first.
    pub children: Vec<ActiveChild>,
}

/// Explains the state of an agent from its row, its queue and the given rows.
#[must_use]
pub fn explain(agent: &AgentRecord, queue: &QueueView, rows: ExplainedRows) -> Explanation {
    let mut assessment = assess(AssessmentInput::new(agent, queue));
    note_stuck_tasks(&mut assessment.posture, &rows.children);
    Explanation {
        agent_id: agent.identity.agent_id.clone(),
        status: assessment.status,
        woken_by: wake_conditions(agent, &assessment.next, &rows),
        scheduling_posture: assessment.posture,
        closure: assessment.closure,
        planned: planned_wakes(agent, &rows),
        pending: queue.pending,
        oldest_unserved: rows.oldest.map(unserved_input),
        current_work_item: rows
            .current
            .map(|item| work_item_view(agent, &item).list_entry()),
        waiting_intents: rows.waits,
        pending_wake_hints: rows.hints,
        decisions: decisions::describe(&rows.events),
    }
}

fn unserved_input(entry: QueueEntry) -> UnservedInput {
    let message = entry.envelope;
    UnservedInput {
        preview: text::preview(&message.summary(), limits::EVENT_PREVIEW_BYTES),
        message_id: message.id,
        kind: message.kind,
        priority: message.priority,
        created_at: message.created_at,
    }
}

fn planned_wakes(agent: &AgentRecord, rows: &ExplainedRows) -> Vec<PlannedWake> {
    let planned = rows.due.iter();
    let planned = planned.map(|(at, due)| PlannedWake {
        at: *at,
        what: match due {
            DueAction::RestOver {
                reason: Some(reason),
            } => format!("{}: {reason}", describe(due)),
            DueAction::TimerFire { timer_id, .. } => {
                let timer = rows.timers.iter().find(|timer| timer.id == *timer_id);
                format!("{}{}", describe(due), timer_words(agent, timer))
            }
            _ => describe(due),
        },
    });
    planned.collect()
}

/// Describes what a timer uses in a day, and that its next slot is passed over while its last tick waits.
fn timer_words(agent: &AgentRecord, timer: Option<&TimerRecord>) -> String {
    let Some(timer) = timer else {
        return String::new();
    };
    let cost = TimerCost::of(timer, agent).map(|cost| format!(" ({})", cost.words()));
    let waits = timer.queued_tick.is_some() && timer.missed != MissedSlotPolicy::All;
    let waits = if waits {
        ", unless its last tick still waits in the queue then"
    } else {
        ""
    };
    format!("{}{waits}", cost.unwrap_or_default())
}

/// Lists the events that would wake the agent, from its next action and its active waits.
fn wake_conditions(agent: &AgentRecord, next: &NextAction, rows: &ExplainedRows) -> Vec<String> {
    let id = &agent.identity.agent_id;
    match next {
        NextAction::Stay
            if agent.lifecycle == Lifecycle::Deleting || agent.archived_at.is_some() =>
        {
            return Vec::new();
        }
        NextAction::Stay => return vec![format!("only a start: holon agent start {id}")],
        NextAction::Boot => return vec!["the end of the making of its home".to_owned()],
        NextAction::Turn if suspension(agent).is_some() => return suspension_ends(agent),
        NextAction::Turn | NextAction::Take | NextAction::Tick(_) => {
            return vec!["nothing is needed: it goes on by itself".to_owned()];
        }
        NextAction::Pace { .. } | NextAction::RestUntil { .. } | NextAction::Rest => {}
    }
    let mut causes = vec![
        "any message, from an operator or from outside".to_owned(),
        format!("a wake: holon wake {id} REASON"),
    ];
    let stuck = rows.children.iter().filter_map(stuck_task_words);
    let stuck: Vec<String> = stuck.collect();
    let ending = u64::from(agent.active_tasks).saturating_sub(stuck.len() as u64);
    if ending > 0 {
        causes.push(format!("the end of {}", text::pluralize(ending, "task")));
    }
    let start = |words| format!("a start of a child: {words}");
    causes.extend(stuck.into_iter().map(start));
    causes.extend(rows.waits.iter().map(wait_words));
    causes
}

/// Lists what ends the suspension of the open turn. No message passes a budget, so only a change of the budget or its
/// time ends a suspension by one.
fn suspension_ends(agent: &AgentRecord) -> Vec<String> {
    match agent.open_turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::Suspended {
            reason: SuspensionReason::BudgetReached,
            error,
            pause,
            ..
        }) => {
            let time = pause.map(|pause| format!("the time {}", pause.until));
            let change = format!("a change of the budget, not a message: {error}");
            time.into_iter().chain([change]).collect()
        }
        Some(_) | None => vec!["a message of an operator, at once".to_owned()],
    }
}

fn wait_words(wait: &WaitRecord) -> String {
    let sources: Vec<String> = wait
        .wake_sources
        .iter()
        .map(|source| source_words(wait, source))
        .collect();
    let item = wait
        .work_item_id
        .as_ref()
        .map_or_else(String::new, |item| format!(" of {item}"));
    let waiting_for = text::preview(&wait.waiting_for, limits::EVENT_PREVIEW_BYTES);
    format!(
        "{} (the wait {}{item}: {waiting_for})",
        sources.join(", or "),
        wait.id
    )
}

fn source_words(wait: &WaitRecord, source: &WakeSource) -> String {
    match source {
        WakeSource::TaskResult { task_id } => format!("the end of {task_id}"),
        WakeSource::ExternalIngress {
            source: Some(source),
            ..
        } => format!("an event or a wake from {source}"),
        WakeSource::ExternalIngress { source: None, .. } => {
            "any event or wake from outside".to_owned()
        }
        WakeSource::Timer { wake_at } => format!("the time {wake_at}"),
        WakeSource::OperatorInput => wait.answer_words(),
        WakeSource::SystemTick => "a tick of the runtime".to_owned(),
    }
}
