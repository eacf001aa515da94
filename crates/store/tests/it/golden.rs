//! Golden rows: one stored row of every kind ever written, as text. They are never edited, only added to. This build
//! must read each without losing a field.

use holon_domain::agent::{AgentRecord, AgentRow};
use holon_domain::attempt::AttemptRecord;
use holon_domain::brief::{BriefRow, BriefText};
use holon_domain::delivery::{DeliveryRecord, DeliveryTarget, DeliveryTrigger};
use holon_domain::effect::Effect;
use holon_domain::event::Event;
use holon_domain::intent::{HostAction, Intent, TriggerIntent, WorkIntent, WorkQuery};
use holon_domain::log::LogEntry;
use holon_domain::memory::{EpisodeRecord, MemoryQuery, WorkingMemoryState};
use holon_domain::message::MessageEnvelope;
use holon_domain::task::{TaskKind, TaskRecord, TaskStatus};
use holon_domain::timer::{DueAction, TimerRecord, TimerSchedule};
use holon_domain::trigger::{TriggerRecord, TriggerStatus, WakeHint};
use holon_domain::turn::Phase;
use holon_domain::wait::{WaitKind, WaitRecord, WaitStatus};
use holon_domain::work_item::{DeliverySummaryRow, PlanStatus, ReportText, WorkItemRecord};
use holon_domain::workspace::Occupancy;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;

fn rows(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("a list of rows")
}

/// Renamed fields: old and new name. The old name is still read and no longer written.
const RENAMED: &[(&str, &str)] = &[
    ("timeout_ms", "yield_time_ms"),
    ("continue_on_result", "terminal_reentry"),
];

/// Returns a field by the name in the row or by its current name.
fn field<'a>(row: &'a serde_json::Map<String, Value>, key: &str) -> Option<&'a Value> {
    let now = || RENAMED.iter().find(|(old, _)| *old == key);
    row.get(key)
        .or_else(|| now().and_then(|(_, new)| row.get(*new)))
}

/// Returns true if `new` contains everything in `old`; it may contain more.
fn says_all(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old
            .iter()
            .all(|(key, value)| field(new, key).is_some_and(|found| says_all(value, found))),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| says_all(old, new))
        }
        (old, new) => old == new,
    }
}

/// Reads every row as `T`, checks that nothing is lost, and returns the names of the kinds found.
fn read_all<T: DeserializeOwned + Serialize>(
    text: &str,
    name: impl Fn(&T) -> &'static str,
) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for row in rows(text) {
        let read: T =
            serde_json::from_value(row.clone()).unwrap_or_else(|error| panic!("{error}: {row}"));
        let again = serde_json::to_value(&read).expect("is written");
        assert!(says_all(&row, &again), "lost a field:\n{row}\n{again}");
        names.insert(name(&read));
    }
    names
}

#[test]
fn every_kind_of_event_that_was_stored_is_read_as_that_kind() {
    let mut found = BTreeSet::new();
    for row in rows(include_str!("../golden/events.json")) {
        let (kind, version) = (
            row["kind"].as_str().expect("a kind"),
            row["version"].as_u64().expect("a version"),
        );
        let event = Event::decode(
            kind,
            u32::try_from(version).expect("small"),
            &row["data"].to_string(),
        );
        assert!(
            !matches!(event, Event::Unknown { .. }),
            "{row} is not known"
        );
        let again: Value =
            serde_json::from_str(&event.encode().expect("is written")).expect("JSON");
        assert!(
            says_all(&row["data"], &again),
            "lost a field:\n{row}\n{again}"
        );
        found.insert((kind.to_owned(), u32::try_from(version).expect("small")));
    }
    let known: BTreeSet<(String, u32)> = Event::KINDS
        .iter()
        .map(|(kind, version)| ((*kind).to_owned(), *version))
        .collect();
    assert!(
        known.is_subset(&found),
        "without a golden row: {:?}",
        known.difference(&found).collect::<Vec<_>>()
    );
}

#[test]
fn every_kind_of_log_entry_that_was_stored_is_read() {
    let found = read_all(
        include_str!("../golden/log.json"),
        |entry: &LogEntry| match entry {
            LogEntry::IncomingMessage { .. } => "incoming_message",
            LogEntry::Frame(_) => "frame",
            LogEntry::Interjection { .. } => "interjection",
            LogEntry::AssistantRound { .. } => "assistant_round",
            LogEntry::ToolResult { .. } => "tool_result",
            LogEntry::ContinuationPrompt { .. } => "continuation_prompt",
            LogEntry::Recap(_) => "recap",
            LogEntry::ThreadFold(_) => "thread_fold",
            LogEntry::Shortened(_) => "shortened",
            LogEntry::RuntimeFailure { .. } => "runtime_failure",
        },
    );
    assert_eq!(found.len(), 10, "{found:?}");
}

#[test]
fn every_kind_of_effect_that_was_stored_is_read() {
    let found = read_all(
        include_str!("../golden/effects.json"),
        |effect: &Effect| match effect {
            Effect::PrepareHome
            | Effect::CallModel { .. }
            | Effect::StartTask { .. }
            | Effect::WatchTask { .. }
            | Effect::StopTask { .. }
            | Effect::FinishPatch { .. }
            | Effect::StopBatch { .. }
            | Effect::CleanWorktree { .. }
            | Effect::SubmitDelivery { .. }
            | Effect::RemoveHome
            | Effect::Deliver { .. }
            | Effect::RunTool { .. } => effect.name(),
        },
    );
    assert_eq!(found.len(), 12, "{found:?}");
}

#[test]
fn an_effect_that_was_stored_with_its_call_is_read_without_its_place() {
    for row in rows(include_str!("../golden/effects_with_calls.json")) {
        let effect: Effect = serde_json::from_value(row).expect("is read");
        let place = (0, 0);
        let Effect::RunTool {
            round_entry,
            call_index,
            ..
        } = effect
        else {
            panic!("a tool's effect: {effect:?}");
        };
        assert_eq!((round_entry, call_index), place, "the open turn knows it");
    }
}

#[test]
fn every_kind_of_intent_that_was_stored_is_read() {
    let found = read_all(
        include_str!("../golden/intents.json"),
        |intent: &Intent| match intent {
            Intent::Sleep { .. } => "sleep",
            Intent::Enqueue { .. } => "enqueue",
            Intent::NotifyOperator { .. } => "notify_operator",
            Intent::AgentGet => "agent_get",
            Intent::TaskList => "task_list",
            Intent::TaskStatus { .. } => "task_status",
            Intent::TaskStop { .. } => "task_stop",
            Intent::TaskInput { .. } => "task_input",
            Intent::TaskOutput(_) => "task_output",
            Intent::Message { .. } => "message",
            Intent::SpawnAgent(_) => "spawn_agent",
            Intent::Host(HostAction::PrepareChild(_)) => "files of a child",
            Intent::Host(HostAction::ExecCommand(_)) => "exec_command",
            Intent::Host(HostAction::ExecCommandBatch(_)) => "exec_command_batch",
            Intent::Host(HostAction::ApplyPatch(_)) => "apply_patch",
            Intent::Host(HostAction::TaskInput(_)) => "given input",
            Intent::Host(HostAction::TaskOutput(_)) => "output that is read",
            Intent::Host(HostAction::WritePlan) => "a plan that is written",
            Intent::Host(HostAction::LookAtFiles { .. }) => "files that are looked at",
            Intent::Host(HostAction::WorkQuery(_)) => "work that is read",
            Intent::Host(HostAction::Memory(_)) => "memory that is read",
            Intent::Host(HostAction::UseWorkspace(_)) => "use_workspace",
            Intent::Host(HostAction::WebFetch(_)) => "web_fetch",
            Intent::Host(HostAction::WebSearch(_)) => "web_search",
            Intent::Host(HostAction::ViewImage { .. }) => "view_image",
            Intent::CreateWorkItem(_) => "create_work_item",
            Intent::WaitFor(_) => "wait_for",
            Intent::Work(WorkIntent::Pick { .. }) => "pick",
            Intent::Work(WorkIntent::Update { .. }) => "update",
            Intent::Work(WorkIntent::Complete { .. }) => "complete",
            Intent::Work(WorkIntent::CancelWait { .. }) => "cancel_wait",
            Intent::Work(WorkIntent::CreateTimer(_)) => "create_timer",
            Intent::Work(WorkIntent::CreateTimerAfter { .. }) => "create_timer_after",
            Intent::Work(WorkIntent::CancelTimer { .. }) => "cancel_timer",
            Intent::Trigger(TriggerIntent::Create { .. }) => "create trigger",
            Intent::Trigger(TriggerIntent::Cancel { .. }) => "cancel trigger",
            Intent::WorkQuery(WorkQuery::Item { .. }) => "item",
            Intent::WorkQuery(WorkQuery::Items { .. }) => "items",
            Intent::WorkQuery(WorkQuery::Timers { .. }) => "timers",
            Intent::Memory(MemoryQuery::Search(_)) => "memory search",
            Intent::Memory(MemoryQuery::Get(_)) => "memory get",
        },
    );
    assert_eq!(found.len(), 36, "{found:?}");
}

#[test]
fn every_kind_of_task_that_was_stored_is_read_in_every_status() {
    let tasks = include_str!("../golden/tasks.json");
    let kinds = read_all(tasks, |task: &TaskRecord| match task.kind {
        TaskKind::CommandTask => "command_task",
        TaskKind::ChildAgentTask => "child_agent_task",
        TaskKind::SleepJob => "sleep_job",
        TaskKind::SubagentTask => "subagent_task",
        TaskKind::WorktreeSubagentTask => "worktree_subagent_task",
    });
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    let statuses = read_all(tasks, |task: &TaskRecord| match task.status {
        TaskStatus::Queued => "queued",
        TaskStatus::Running => "running",
        TaskStatus::Cancelling => "cancelling",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
        TaskStatus::Interrupted => "interrupted",
    });
    assert_eq!(statuses.len(), 7, "{statuses:?}");
}

#[test]
fn every_kind_of_due_entry_that_was_stored_is_read() {
    let found = read_all(
        include_str!("../golden/due.json"),
        |due: &DueAction| match due {
            DueAction::RestOver { .. } => "rest_over",
            DueAction::ProviderPauseOver { .. } => "backoff_over",
            DueAction::PaceOver => "pace_over",
            DueAction::RemovalRetry => "removal_retry",
            DueAction::WorkTick => "work_tick",
            DueAction::HintTick => "hint_tick",
            DueAction::Recheck { .. } => "recheck",
            DueAction::WaitOver { .. } => "wait_over",
            DueAction::TimerFire { .. } => "timer_fire",
            DueAction::CatchUp => "unpark",
            DueAction::DeliveryRetry { .. } => "delivery_retry",
        },
    );
    assert_eq!(found.len(), 11, "{found:?}");
}

#[test]
fn every_kind_of_work_wait_timer_and_hint_that_was_stored_is_read() {
    let items = include_str!("../golden/work_items.json");
    let plans = read_all(items, |item: &WorkItemRecord| match item.plan_status {
        PlanStatus::Draft => "draft",
        PlanStatus::Ready => "ready",
        PlanStatus::NeedsInput => "needs_input",
    });
    assert_eq!(plans.len(), 3, "{plans:?}");
    let summaries = include_str!("../golden/delivery_summaries.json");
    let texts = read_all(summaries, |summary: &DeliverySummaryRow| {
        match summary.text {
            ReportText::Round(_) => "round",
            ReportText::Words(_) => "words",
        }
    });
    assert_eq!(texts.len(), 2, "{texts:?}");
    let waits = include_str!("../golden/waits.json");
    let kinds = read_all(waits, |wait: &WaitRecord| match wait.kind {
        WaitKind::Task => "task",
        WaitKind::External => "external",
        WaitKind::Operator => "operator",
        WaitKind::Timer => "timer",
    });
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    let statuses = read_all(waits, |wait: &WaitRecord| match wait.status {
        WaitStatus::Active => "active",
        WaitStatus::Resolved => "resolved",
        WaitStatus::Cancelled => "cancelled",
        WaitStatus::Expired => "expired",
    });
    assert_eq!(statuses.len(), 4, "{statuses:?}");
    let timers = include_str!("../golden/timers.json");
    let schedules = read_all(timers, |timer: &TimerRecord| match timer.schedule {
        TimerSchedule::Once { .. } => "once",
        TimerSchedule::Every { .. } => "every",
        TimerSchedule::Cron { .. } => "cron",
    });
    assert_eq!(schedules.len(), 3, "{schedules:?}");
    read_all(include_str!("../golden/hints.json"), |_: &WakeHint| "hint");
}

#[test]
fn every_kind_of_external_trigger_that_was_stored_is_read() {
    let rows = include_str!("../golden/external_triggers.json");
    let found = read_all(rows, |trigger: &TriggerRecord| match trigger.status {
        TriggerStatus::Active => "active",
        TriggerStatus::Revoked => "revoked",
    });
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn every_kind_of_occupancy_that_was_stored_is_read() {
    let rows = include_str!("../golden/occupancies.json");
    let found = read_all(
        rows,
        |held: &Occupancy| {
            if held.releasing { "releasing" } else { "held" }
        },
    );
    assert_eq!(found.len(), 2, "{found:?}");
}

fn phase_of(agent: &AgentRecord) -> &'static str {
    agent
        .open_turn
        .as_ref()
        .map_or("none", |turn| match turn.phase {
            Phase::CallingModel { .. } => "calling_model",
            Phase::BackingOff { .. } => "backing_off",
            Phase::Suspended { .. } => "suspended",
            Phase::RunningTool { .. } => "running_tool",
            Phase::Sending { .. } => "sending",
        })
}

/// Collects the columns of a record in one object.
fn columns_of(agent: &AgentRecord) -> Value {
    let mut all = serde_json::to_value(&agent.settings).expect("is written");
    let state = serde_json::to_value(agent).expect("is written");
    let object = all.as_object_mut().expect("an object");
    object.extend(state.as_object().expect("an object").clone());
    object.insert("counters".to_owned(), serde_json::json!(agent.counters));
    all
}

/// Removes moved fields from an old row, and checks that their values are in the new place.
fn take_moved(row: &mut Value, read: &AgentRecord, kept: &[AttemptRecord]) {
    let row = row.as_object_mut().expect("a row");
    let effect = row.remove("home_effect").and_then(|id| id.as_u64());
    assert_eq!(read.home.effect(), effect, "{row:?}");
    let identity = row["identity"].as_object_mut().expect("an identity");
    let temporary = identity.remove("temporary") == Some(Value::Bool(true));
    assert_eq!(read.is_temporary(), temporary, "{row:?}");
    assert_eq!(read.is_removed_with_process(), temporary, "{row:?}");
    if let Some(turn) = row.get_mut("open_turn") {
        let attempts = turn.as_object_mut().expect("a turn").remove("attempts");
        assert_eq!(attempts, Some(serde_json::json!(kept)), "{turn}");
    }
}

#[test]
fn every_form_of_agent_that_was_stored_whole_is_read() {
    let mut phases = BTreeSet::new();
    for mut row in rows(include_str!("../golden/agents.json")) {
        let columns = AgentRow {
            record: &row.to_string(),
            settings: None,
            counters: None,
        };
        let read = AgentRecord::from_row(columns).unwrap_or_else(|error| panic!("{error}: {row}"));
        let (split, attempts) = AgentRecord::split_legacy_row(&row.to_string()).expect("is split");
        assert_eq!(split, read);
        let counted = read.open_turn.as_ref();
        let counted = counted.map_or(0, |turn| turn.failed_attempts as usize);
        assert_eq!(counted, attempts.len());
        take_moved(&mut row, &read, &attempts);
        let again = columns_of(&read);
        assert!(says_all(&row, &again), "lost a field:\n{row}\n{again}");
        phases.insert(phase_of(&read));
    }
    assert_eq!(phases.len(), 4, "{phases:?}");
}

#[test]
fn every_form_of_agent_that_was_stored_in_columns_is_read() {
    let mut phases = BTreeSet::new();
    for row in rows(include_str!("../golden/agents_split.json")) {
        let counters = serde_json::from_value(row["counters"].clone()).expect("counters");
        let columns = AgentRow {
            record: &row["record"].to_string(),
            settings: Some(&row["settings"].to_string()),
            counters: Some(counters),
        };
        let read = AgentRecord::from_row(columns).unwrap_or_else(|error| panic!("{error}: {row}"));
        let again = serde_json::json!({
            "settings": read.settings, "counters": read.counters, "record": read,
        });
        assert!(says_all(&row, &again), "lost a field:\n{row}\n{again}");
        phases.insert(phase_of(&read));
    }
    assert_eq!(phases.len(), 5, "{phases:?}");
}

#[test]
fn every_form_of_message_attempt_and_brief_that_was_stored_is_read() {
    read_all(
        include_str!("../golden/messages.json"),
        |_: &MessageEnvelope| "message",
    );
    read_all(
        include_str!("../golden/attempts.json"),
        |_: &AttemptRecord| "attempt",
    );
    let briefs = include_str!("../golden/briefs.json");
    let texts = read_all(briefs, |brief: &BriefRow| match brief.text {
        BriefText::Round(_) => "round",
        BriefText::Words(_) => "words",
        BriefText::Report(_) => "report",
    });
    assert_eq!(texts.len(), 3, "{texts:?}");
}

#[test]
fn an_event_of_another_build_is_stored_and_read_as_it_is() {
    let mut scribe = crate::samples::Scribe::new("a");
    let (mut db, no) = crate::with_agent(&scribe.record);
    scribe.record.counters.events = 1;
    let event = Event::Unknown {
        kind: "from_later".to_owned(),
        version: 7,
        data: serde_json::json!({ "x": [1] }),
    };
    let fact = holon_domain::decision::Fact::EventRecorded {
        seq: 1,
        at: crate::samples::at(5),
        event: event.clone(),
    };
    crate::apply(&mut db, no, &scribe.fact(fact).decide()).expect("writes");
    let query = holon_domain::feed::EventQuery {
        limit: 9,
        ..holon_domain::feed::EventQuery::default()
    };
    let page = db.reader().events(no, query).expect("reads");
    assert_eq!(
        (page.events[0].event.clone(), page.events[0].at),
        (event, crate::samples::at(5))
    );
}

#[test]
fn every_delivery_and_target_that_was_stored_is_read() {
    let deliveries = include_str!("../golden/deliveries.json");
    let found = read_all(deliveries, |record: &DeliveryRecord| match record.trigger {
        DeliveryTrigger::Notification => "notification",
        DeliveryTrigger::OperatorInputRequired => "operator_input_required",
        DeliveryTrigger::WorkItemDone => "work_item_done",
        DeliveryTrigger::WorkItemBlocked => "work_item_blocked",
        DeliveryTrigger::TaskResult => "task_result",
        DeliveryTrigger::TurnResult => "turn_result",
    });
    assert_eq!(found.len(), 6, "{found:?}");
    let targets = include_str!("../golden/delivery_targets.json");
    let found = read_all(targets, |target: &DeliveryTarget| target.kind.as_str());
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn every_working_memory_and_episode_that_was_stored_is_read() {
    let memories = include_str!("../golden/memory.json");
    read_all(memories, |_: &WorkingMemoryState| "memory");
    let episodes = include_str!("../golden/episodes.json");
    let reasons = read_all(episodes, |episode: &EpisodeRecord| {
        episode.boundary_reason.as_str()
    });
    assert_eq!(reasons, BTreeSet::from(["hard_turn_cap", "wait_boundary"]));
}
