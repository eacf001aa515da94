//! Assertions that hold for an agent's rows after any history.

use crate::world::{Outcome, World};
use holon_core::Reply;
use holon_core::assess::is_self_caused;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::block::calls_of;
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::event::Event;
use holon_domain::intent::Intent;
use holon_domain::log::LogEntry;
use holon_domain::message::{MessageKind, Priority};
use holon_domain::queue::QueueStatus;
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_domain::tool::ToolErrorKind;
use holon_domain::turn::{OpenTurn, Phase};
use holon_domain::{TaskId, limits};
use std::collections::BTreeMap;

/// Asserts that a stale outcome leaves one event and nothing else.
pub(crate) fn assert_dropped(before: AgentRecord, after: &World, sent: &Outcome) {
    assert_eq!(sent.reply, Ok(Reply::Unchanged));
    let [Fact::EventRecorded { event, .. }] = sent.facts.as_slice() else {
        panic!("a stale outcome led to {:?}", sent.facts);
    };
    assert!(matches!(event, Event::EffectOutcomeDropped(_)));
    let mut expected = before;
    expected.counters.events += 1;
    assert_eq!(after.agent, expected);
}

/// Asserts that an operator message has no outcome while it waits or is worked on, and exactly one afterwards.
pub(crate) fn assert_outcomes(world: &World) {
    let owed: Vec<u64> = world
        .agent
        .open_turn
        .iter()
        .flat_map(|turn| turn.owes.iter().map(|owed| owed.seq))
        .collect();
    for kept in world.messages.values() {
        let (seq, status) = (kept.entry.seq, kept.entry.status);
        let open = owed.contains(&seq) || status == QueueStatus::Queued;
        let expects = kept.entry.envelope.owes_outcome() && !open;
        assert_eq!(kept.outcome.is_some(), expects, "message {seq}, {status:?}");
    }
    let named: usize = world.briefs.iter().map(|brief| brief.settles.len()).sum();
    let settled = world
        .messages
        .values()
        .filter(|kept| kept.outcome.is_some());
    assert_eq!(named, settled.count(), "a brief names what it settles");
}

/// Asserts that every call has exactly one result in its own turn, unless it is still to run.
fn assert_results(world: &World) {
    let mut results: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (turn, entry) in &world.log {
        if let LogEntry::ToolResult { call_id, .. } = entry {
            results.entry(call_id.as_str()).or_default().push(*turn);
        }
    }
    let in_hand = world.agent.open_turn.as_ref().map(|turn| &turn.phase);
    for (at, (turn, entry)) in world.log.iter().enumerate() {
        let LogEntry::AssistantRound { blocks, .. } = entry else {
            continue;
        };
        for (index, call) in calls_of(blocks).enumerate() {
            let waits = matches!(in_hand, Some(Phase::RunningTool { round_entry, call_index, .. })
                if *round_entry == at as u64 + 1 && index >= *call_index);
            let expected: &[u64] = if waits { &[] } else { &[*turn] };
            let found = results.remove(call.id.as_str()).unwrap_or_default();
            assert_eq!(
                found,
                expected,
                "results of call {index} of entry {}",
                at + 1
            );
        }
    }
    assert!(results.is_empty(), "results of unknown calls: {results:?}");
}

pub(crate) fn assert_rows_agree(world: &World) {
    assert_eq!(world.violations(), []);
    assert_outcomes(world);
    assert_results(world);
    assert_tasks(world);
    assert_no_command_is_left(world);
    assert_patches_are_finished(world);
    assert_interjections(world);
    if let Some(turn) = &world.agent.open_turn {
        let in_bounds = turn.rounds < turn.max_rounds
            || turn.rounds == turn.max_rounds && runs_before_rest(world, turn);
        assert!(in_bounds, "an open turn has rounds left");
    }
    let own = world.in_status(QueueStatus::Queued).into_iter();
    let own = own.filter(|entry| is_self_caused(&entry.envelope)).count();
    assert_eq!(world.agent.self_caused_queued, own as u64);
    if world.agent.pace.is_some() && world.agent.lifecycle == Lifecycle::Runnable {
        let head = world.queue().known_head().cloned();
        let head = head.expect("what is paced is queued");
        assert_eq!(head.envelope.priority, Priority::Background);
    }
    assert!(world.agent.open_turn.as_ref().is_none_or(|turn| {
        turn.followups <= limits::FOLLOWUPS_PER_TURN
            && turn.output_limit_hits <= limits::OUTPUT_LIMIT_RECOVERIES
    }));
}

/// Returns true if the turn runs a call of a round that ends with a rest, which needs no further round.
fn runs_before_rest(world: &World, turn: &OpenTurn) -> bool {
    let place = turn.phase.call();
    let entry = place.and_then(|place| world.log.get(usize::try_from(place.round_entry).ok()? - 1));
    let Some((_, LogEntry::AssistantRound { intents, .. })) = entry else {
        return false;
    };
    let last = intents.last();
    matches!(last, Some(Ok(Intent::Sleep { .. } | Intent::WaitFor(_))))
}

/// Asserts that every task begins once and ends at most once, and that its result is queued once unless it was stopped.
fn assert_tasks(world: &World) {
    let mut told: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
    for event in &world.events {
        match event {
            Event::TaskCreated(made) => told.entry(made.task_id.to_string()).or_default().0 += 1,
            Event::TaskStatusUpdated(moved) if moved.status.is_terminal() => {
                told.entry(moved.task_id.to_string()).or_default().1 += 1;
            }
            Event::TaskResultReceived(result) => {
                told.entry(result.task_id.to_string()).or_default().2 += 1;
            }
            _ => {}
        }
    }
    for task in &world.tasks {
        let ends = u32::from(task.status.is_terminal());
        let with_agent = task.stop.is_some_and(|order| order.with_agent);
        let goes = world.agent.lifecycle == Lifecycle::Deleting;
        let told_late = match (with_agent, goes) {
            (false, _) => 0,
            // A task that ends while its agent is being removed leaves no message.
            (true, true) => told.get(task.id.as_str()).map_or(0, |found| found.2),
            (true, false) => ends,
        };
        let results = u32::from(task.terminal_reentry) * ends + told_late;
        let found = told.remove(task.id.as_str()).unwrap_or_default();
        assert_eq!(found, (1, ends, results), "begun, over, told: {task:?}");
        let queued = world.messages.values().filter(|kept| {
            kept.entry.envelope.kind == MessageKind::TaskResult
                && kept.entry.envelope.task_id.as_ref() == Some(&task.id)
        });
        assert_eq!(queued.count(), results as usize, "results of {task:?}");
        assert!(
            task.status != TaskStatus::Cancelling || !task.terminal_reentry,
            "to be told although it is being stopped: {task:?}"
        );
        assert_followed(world, task);
    }
    assert!(told.is_empty(), "unknown tasks: {told:?}");
}

/// Asserts that the command of a cancelled call is a task, that its batch is or was stopped, and that no command uses a
/// home that is being removed.
fn assert_no_command_is_left(world: &World) {
    for (_, entry) in &world.log {
        let LogEntry::ToolResult {
            call_id, envelope, ..
        } = entry
        else {
            continue;
        };
        let kind = envelope.error().map(|error| error.kind);
        let called_off = matches!(
            kind,
            Some(ToolErrorKind::RunAborted | ToolErrorKind::OutcomeUnknown)
        );
        if called_off && world.begun.contains(call_id) {
            let id = TaskId::of_call(call_id);
            let has_task = world.tasks.iter().any(|task| task.id == id);
            let was_stopped = world.events.iter().any(|event| {
                matches!(event, Event::CommandBatchStopped(e) if e.tool_call_id == *call_id)
            });
            let is_stopped = world.batches().iter().any(|open| {
                matches!(&open.effect, Effect::StopBatch { call_id: of, .. } if of == call_id)
            });
            assert!(has_task || was_stopped || is_stopped, "{entry:?}");
        }
    }
    let mut open = world.effects.values();
    let home_goes = open.any(|open| open.effect == Effect::RemoveHome);
    assert!(!(home_goes && world.agent.active_tasks > 0), "{world:?}");
}

/// Asserts that each patch and batch of a cancelled turn has one effect of the current generation, and that the home with its
/// journal stays.
fn assert_patches_are_finished(world: &World) {
    let open = [world.patches(), world.batches()].concat();
    for record in &open {
        assert_eq!(record.generation, world.agent.generation, "{record:?}");
        let same = open.iter().filter(|other| other.effect == record.effect);
        assert_eq!(same.count(), 1, "{record:?}");
    }
    let mut all = world.effects.values();
    let home_goes = all.any(|open| open.effect == Effect::RemoveHome);
    assert!(open.is_empty() || !home_goes, "{world:?}");
}

/// Asserts that an active task is watched or stopped as its status says, by an effect of the current generation.
fn assert_followed(world: &World, task: &TaskRecord) {
    let following = world.following(task);
    let by = following.map(|open| &open.effect);
    match task.status {
        TaskStatus::Queued | TaskStatus::Running => {
            let due = task.command().is_some_and(|spec| spec.starts_in.is_some());
            match by {
                Some(Effect::StartTask { task_id }) => assert!(due && *task_id == task.id),
                Some(Effect::WatchTask { task_id }) => assert!(!due && *task_id == task.id),
                other => panic!("{} is followed by {other:?}", task.id),
            }
        }
        TaskStatus::Cancelling => {
            assert!(matches!(by, Some(Effect::StopTask { task_id, .. }) if *task_id == task.id));
        }
        TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => assert_eq!(by, None),
    }
    if let Some(open) = following {
        assert_eq!(open.generation, world.agent.generation, "{task:?}");
    }
}

/// Asserts that a message that joined a turn is in the log once, and that no admitted message is dropped.
fn assert_interjections(world: &World) {
    let mut entered: BTreeMap<u64, u32> = BTreeMap::new();
    for (_, entry) in &world.log {
        if let LogEntry::Interjection { message_seq, .. } = entry {
            *entered.entry(*message_seq).or_default() += 1;
        }
    }
    for kept in world.messages.values() {
        let (seq, status) = (kept.entry.seq, kept.entry.status);
        let times = u32::from(status == QueueStatus::Interjected);
        let found = entered.get(&seq).copied().unwrap_or_default();
        assert_eq!(found, times, "message {seq}, {status:?}");
    }
}
