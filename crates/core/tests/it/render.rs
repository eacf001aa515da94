//! Renders steps as short text for tables.

use crate::world::{Outcome, World};
use holon_core::Reply;
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::log::LogEntry;
use holon_domain::task::TaskRecord;
use holon_domain::timer::DueAction;
use holon_domain::turn::Phase;
use holon_domain::{TaskId, Timestamp};
use serde::Serialize;

/// Returns the stored spelling of an enum without data.
pub(crate) fn spelled(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("serialises");
    value.as_str().expect("a plain word").to_owned()
}

/// Renders one input and its result.
pub(crate) fn row(name: &str, sent: &Outcome, world: &World) -> String {
    let answer = match &sent.reply {
        Ok(reply) => reply_text(reply),
        Err(refused) => format!("refused: {refused}"),
    };
    let rows: Vec<String> = sent
        .facts
        .iter()
        .filter_map(|fact| fact_text(fact, world))
        .collect();
    let events: Vec<&str> = sent
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::EventRecorded { event, .. } => Some(event.kind()),
            _ => None,
        })
        .collect();
    let mut text = format!("{name}\n    {answer}; {}\n", standing(world));
    for (title, parts) in [
        ("rows", rows.join(", ")),
        ("events", grouped(&events).join(", ")),
    ] {
        if !parts.is_empty() {
            text += &format!("    {title}: {parts}\n");
        }
    }
    text
}

fn grouped(events: &[&str]) -> Vec<String> {
    let runs = events.chunk_by(|left, right| left == right);
    runs.map(|run| match run {
        [one] => (*one).to_owned(),
        _ => format!("{} x{}", run[0], run.len()),
    })
    .collect()
}

fn reply_text(reply: &Reply) -> String {
    match reply {
        Reply::Admitted { message_seq, .. } => format!("admitted as {message_seq}"),
        Reply::Done => "done".to_owned(),
        Reply::Unchanged => "unchanged".to_owned(),
        Reply::RowsMayGo => "rows may go".to_owned(),
        Reply::Woken { coalesced: false } => "woken".to_owned(),
        Reply::Woken { coalesced: true } => "woken again".to_owned(),
        Reply::Delivered(receipt) => format!("delivered, {}", spelled(receipt.disposition)),
        Reply::Trigger(trigger) => format!("trigger {}", spelled(trigger.status)),
        Reply::Binding(binding) => format!("binding {}", spelled(binding.status)),
        Reply::WorkItem(item) => format!("work item at revision {}", item.revision),
        Reply::Wait(wait) => format!("wait {}", spelled(wait.status)),
        Reply::Timer(timer) => format!("timer {}", spelled(timer.status)),
        Reply::Task(task) => format!("task {}", spelled(task.status)),
        Reply::TaskStop { task, .. } => format!("task {}", spelled(task.status)),
        Reply::Aborted { .. } => "aborted".to_owned(),
        Reply::TaskInput { number } => format!("task input {number}"),
    }
}

/// Renders the state of the agent, leaving out usual values.
pub(crate) fn standing(world: &World) -> String {
    let agent = &world.agent;
    let mut parts = vec![spelled(agent.lifecycle)];
    if let Some(turn) = &agent.open_turn {
        let phase = match turn.phase {
            Phase::CallingModel { effect } => format!("calls model ({effect})"),
            Phase::BackingOff { due, .. } => format!("backs off ({due})"),
            Phase::Suspended {
                reason, ref pause, ..
            } => match pause {
                Some(pause) => format!("is suspended for {} ({})", reason.as_str(), pause.due),
                None => format!(
                    "is suspended for {} until an operator acts",
                    reason.as_str()
                ),
            },
            Phase::RunningTool {
                call_index, effect, ..
            } => format!("runs call {call_index} ({effect})"),
            Phase::Sending {
                call_index, send, ..
            } => format!("sends for call {call_index} ({send})"),
        };
        parts.push(format!(
            "turn {} after {} rounds {phase}",
            turn.turn_index, turn.rounds
        ));
    }
    if let Some(effect) = agent.home.effect() {
        parts.push(format!("home ({effect})"));
    }
    if let Some(rest) = &agent.rest {
        parts.push(rest.wake.map_or_else(
            || "rests".to_owned(),
            |wake| format!("rests until {}", from_now(wake.at, world.now)),
        ));
    }
    if let Some(pace) = &agent.pace {
        parts.push(format!("paced until {}", from_now(pace.at, world.now)));
    }
    for task in world.active_tasks() {
        let effect = task.effect.map_or(0, |effect| effect);
        parts.push(format!("{} ({effect})", task_text(task, world)));
    }
    for open in world.patches() {
        parts.push(format!("patch ({})", open.id));
    }
    if world.queue().pending > 0 {
        parts.push(format!("{} queued", world.queue().pending));
    }
    parts.push(format!("generation {}", agent.generation));
    parts.join(", ")
}

fn from_now(at: Timestamp, now: Timestamp) -> String {
    format!("{:+}ms", at.as_millis() - now.as_millis())
}

/// Returns the number of a task in these tables: its position in the order they began.
fn number(world: &World, id: &TaskId) -> String {
    let place = world.tasks.iter().position(|task| task.id == *id);
    place.map_or_else(|| "?".to_owned(), |place| (place + 1).to_string())
}

fn task_text(task: &TaskRecord, world: &World) -> String {
    format!("task {} {}", number(world, &task.id), spelled(task.status))
}

fn fact_text(fact: &Fact, world: &World) -> Option<String> {
    let now = world.now;
    Some(match fact {
        Fact::MessageAdmitted(entry) => format!(
            "+message {} {} {}",
            entry.seq,
            spelled(entry.envelope.kind),
            spelled(entry.envelope.priority)
        ),
        Fact::MessageMoved { seq, from, to } => {
            format!("message {seq} {}>{}", spelled(from), spelled(to))
        }
        Fact::MessageSettled { seq, brief } => format!("message {seq} settled by brief {brief}"),
        Fact::LogAppended { entry, .. } => format!("log {}", entry_text(entry)),
        Fact::BriefWritten { seq, row } => format!("brief {seq} {}", spelled(row.kind)),
        Fact::EventRecorded { .. }
        | Fact::GenerationTaken { .. }
        | Fact::SettingsWritten(_)
        | Fact::UsageCharged(_)
        | Fact::CallReserved(_)
        | Fact::ReservationReleased
        | Fact::WorkingMemoryWritten(_)
        | Fact::BlobKept { .. } => {
            return None;
        }
        Fact::AttemptKept { n, record } => {
            format!("attempt {n} kept, of {}", record.model_ref)
        }
        Fact::AttemptsCleared => "attempts cleared".to_owned(),
        Fact::EffectOpened { id, effect, .. } => {
            format!("+effect {id} {}", effect_text(effect, world))
        }
        Fact::EffectClosed { id } => format!("-effect {id}"),
        Fact::DueSet { id, time, due } => {
            format!("+due {id} {} {}", due_text(due), from_now(time.at(), now))
        }
        Fact::DueCleared { id } => format!("-due {id}"),
        Fact::TaskWritten(task) => task_text(task, world),
        Fact::LimitLearned { model_ref, .. } => format!("learned about {model_ref}"),
        Fact::WorkItemWritten(item) => {
            let state = item.scheduling_state(world.agent.work.wake_count);
            format!("work item {}", spelled(state))
        }
        Fact::DeliverySummaryWritten(summary) => {
            format!("delivery summary, {:?}", summary.text)
        }
        Fact::WaitWritten(wait) => format!("wait {} {}", spelled(wait.kind), spelled(wait.status)),
        Fact::TimerWritten(timer) => format!("timer {}", spelled(timer.status)),
        Fact::HintWritten(hint) => format!("hint {} x{}", hint.key, hint.count),
        Fact::TriggerWritten(trigger) => {
            format!(
                "trigger {} {}",
                spelled(trigger.delivery_mode),
                spelled(trigger.status)
            )
        }
        Fact::AgentSpawned(spawn) => format!("spawned at depth {}", spawn.depth),
        Fact::SpawnEnded { .. } => "spawn ended".to_owned(),
        Fact::HintsCleared => "hints cleared".to_owned(),
        Fact::DeliveryWritten(record) => {
            format!("delivery {} to {}", record.seq, record.route.key())
        }
        Fact::DeliverySettled { seq, outcome, .. } => {
            format!("delivery {seq} {}", outcome.status.as_str())
        }
        Fact::DeliveriesTrimmed { through, .. } => format!("deliveries through {through} trimmed"),
        Fact::WorkspaceRegistered { workspace, .. } => {
            format!("registers {}", workspace.workspace_id)
        }
        Fact::OccupancyTaken(taken) if taken.releasing => {
            format!("releasing {}", taken.execution_root_id)
        }
        Fact::OccupancyTaken(taken) => format!("occupies {}", taken.execution_root_id),
        Fact::OccupancyReleased => "occupies nothing".to_owned(),
        Fact::EpisodeArchived(episode) => format!("episode {} archived", episode.seq),
    })
}

fn effect_text(effect: &Effect, world: &World) -> String {
    match effect {
        Effect::StartTask { task_id } => format!("start_task {}", number(world, task_id)),
        Effect::WatchTask { task_id } => format!("watch_task {}", number(world, task_id)),
        Effect::StopTask { task_id, force } => {
            let how = if *force { " by force" } else { "" };
            format!("stop_task {}{how}", number(world, task_id))
        }
        Effect::CallModel { attempt, .. } => format!("call_model try {attempt}"),
        Effect::PrepareHome
        | Effect::RunTool { .. }
        | Effect::FinishPatch { .. }
        | Effect::StopBatch { .. }
        | Effect::CleanWorktree { .. }
        | Effect::SubmitDelivery { .. }
        | Effect::RemoveHome
        | Effect::Deliver { .. } => effect.name().to_owned(),
    }
}

fn due_text(due: &DueAction) -> &'static str {
    match due {
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
    }
}

fn entry_text(entry: &LogEntry) -> String {
    match entry {
        LogEntry::IncomingMessage { message_seq } => format!("incoming_message {message_seq}"),
        LogEntry::Frame(_) => "frame".to_owned(),
        LogEntry::Interjection { message_seq, .. } => format!("interjection {message_seq}"),
        LogEntry::AssistantRound { round, .. } => format!("assistant_round {round}"),
        LogEntry::ToolResult { envelope, .. } => {
            let came_to = envelope
                .error()
                .map_or_else(|| "ok".to_owned(), |error| error.kind.to_string());
            format!("tool_result {came_to}")
        }
        LogEntry::ContinuationPrompt { .. } => "continuation_prompt".to_owned(),
        LogEntry::Recap(_) => "recap".to_owned(),
        LogEntry::ThreadFold(_) => "thread_fold".to_owned(),
        LogEntry::Shortened(_) => "shortened".to_owned(),
        LogEntry::RuntimeFailure {
            failure_artifact, ..
        } => format!("runtime_failure {}", failure_artifact.kind),
    }
}
