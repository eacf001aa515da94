//! Words for people, made from what the host answered. Pure: nothing here prints.

pub(crate) mod attempt;
pub(crate) mod config;
pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod model;
pub(crate) mod run;
pub(crate) mod work;

use holon_domain::agent::AgentStatus;
use holon_domain::brief::{BriefKind, BriefRecord};
use holon_domain::summary::{AgentListEntry, AgentSummary, Enforcement, Posture};
use holon_domain::task::TaskListEntry;
use holon_domain::text;
use holon_domain::transcript::{TranscriptEntry, TranscriptKind};
use serde::Serialize;
use serde_json::Value;

/// Bytes of one line's words in a transcript.
const LINE_BYTES: usize = 400;

/// How one of our enums is spelled on the wire, which is how the documentation names it too.
fn spelled(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// One brief: when, what kind, the words.
pub(crate) fn brief(brief: &BriefRecord) -> String {
    let mark = match brief.kind {
        BriefKind::Ack if brief.action_required.is_some() => "ACTION REQUIRED",
        BriefKind::Ack => "ack",
        BriefKind::Result => "result",
        BriefKind::Failure => "FAILED",
    };
    format!("{} {mark}: {}", brief.created_at, brief.text.trim_end())
}

/// Briefs, oldest first.
pub(crate) fn briefs(briefs: &[BriefRecord]) -> String {
    if briefs.is_empty() {
        return "nothing yet; wait for it with --follow".to_owned();
    }
    let lines: Vec<String> = briefs.iter().map(brief).collect();
    lines.join("\n")
}

/// One agent, one line.
pub(crate) fn agents(agents: &[AgentListEntry]) -> String {
    if agents.is_empty() {
        return "no agents yet; make one with: holon agent create ID".to_owned();
    }
    let width = agents
        .iter()
        .map(|agent| agent.identity.agent_id.as_str().len())
        .max()
        .unwrap_or(0);
    let lines: Vec<String> = agents
        .iter()
        .map(|agent| {
            // Why an agent was put aside, or what it waits for, matters more than where it works.
            let last = match agent.scheduling_posture.posture {
                Posture::Unknown | Posture::WaitingForOperator | Posture::WaitingForExternal => {
                    &agent.scheduling_posture.reason
                }
                Posture::Archived
                | Posture::ActiveTurn
                | Posture::HasQueuedInput
                | Posture::HasRunnableWork
                | Posture::WaitingForTask
                | Posture::Blocked
                | Posture::Idle => &agent.active_workspace_entry.cwd,
            };
            format!(
                "{:width$}  {:13}  {} queued  {last}",
                agent.identity.agent_id.as_str(),
                status(agent.status),
                agent.pending,
            )
        })
        .collect();
    lines.join("\n")
}

fn status(status: AgentStatus) -> String {
    spelled(&status)
}

/// Where an agent stands, in a few lines.
pub(crate) fn summary(summary: &AgentSummary) -> String {
    let AgentSummary {
        identity,
        agent,
        scheduling_posture,
        lifecycle,
        model,
        token_usage,
        execution,
        active_tasks,
        ..
    } = summary;
    let mut lines = vec![
        format!(
            "agent      {} ({})",
            identity.agent_id,
            status(agent.status)
        ),
        format!("why        {}", scheduling_posture.reason),
    ];
    if let Some(at) = scheduling_posture.wakes_at {
        lines.push(format!("wakes      {at}"));
    }
    lines.extend(model::lines(model));
    lines.push(format!("works in   {}", execution.workspace.cwd));
    if execution.policy.path_confinement == Enforcement::NotEnforced {
        lines.push("confined   no: its commands run as you (not_enforced)".to_owned());
    }
    lines.push(format!(
        "messages   {} queued, {} in all, {} turns",
        agent.pending, agent.total_message_count, agent.turn_index
    ));
    lines.extend(work::lines(summary));
    lines.extend(active_tasks.iter().map(task));
    if let Some(last) = &agent.last_turn_terminal {
        lines.push(format!(
            "last turn  {} ({}) at {}, {} rounds",
            spelled(&last.kind),
            spelled(&last.reason),
            last.completed_at,
            last.rounds
        ));
    }
    let total = token_usage.total;
    lines.push(format!(
        "tokens     {} read, {} written",
        total.input_tokens, total.output_tokens
    ));
    if let Some(hint) = &lifecycle.operator_hint {
        lines.push(format!("note       {hint}"));
    }
    if let Some(hint) = &lifecycle.resume_cli_hint {
        lines.push(format!("next       {hint}"));
    }
    lines.join("\n")
}

/// A task that is not over, in one line.
fn task(task: &TaskListEntry) -> String {
    let what = task.summary.as_deref().unwrap_or_default();
    format!(
        "task       {} ({}) since {}: {}",
        task.id,
        spelled(&task.status),
        task.created_at,
        text::preview(what, LINE_BYTES / 4)
    )
}

/// The transcript, one block per entry.
pub(crate) fn transcript(entries: &[TranscriptEntry]) -> String {
    if entries.is_empty() {
        return "nothing yet".to_owned();
    }
    let blocks: Vec<String> = entries.iter().map(entry).collect();
    blocks.join("\n")
}

fn entry(entry: &TranscriptEntry) -> String {
    let said = match entry.kind {
        TranscriptKind::IncomingMessage => incoming(&entry.data),
        TranscriptKind::AssistantRound | TranscriptKind::SubagentAssistantRound => {
            answered(&entry.data)
        }
        TranscriptKind::ToolResults => results(&entry.data),
        TranscriptKind::RuntimeFailure => failure(&entry.data),
        TranscriptKind::ContinuationPrompt | TranscriptKind::SubagentPrompt => {
            words_at(&entry.data, "/text")
        }
    };
    let round = entry
        .round
        .map_or_else(String::new, |round| format!(" round {round}"));
    format!(
        "{} turn {}{round} {}\n{}",
        entry.created_at,
        entry.turn_index,
        spelled(&entry.kind),
        indent(&said)
    )
}

fn incoming(data: &Value) -> String {
    match data.pointer("/message/body/value") {
        Some(value) => text::preview(&value.to_string(), LINE_BYTES),
        None => words_at(data, "/message/body/text"),
    }
}

/// What a model said, after who said it when it is not the one that was asked for.
fn answered(data: &Value) -> String {
    let blocks = data.pointer("/blocks").and_then(Value::as_array);
    let note = attempt::fell_over_in(data).map(|note| format!("({note})"));
    let said = blocks.into_iter().flatten().map(block);
    let lines: Vec<String> = note.into_iter().chain(said).collect();
    lines.join("\n")
}

fn block(block: &Value) -> String {
    let name = block.get("name").and_then(Value::as_str);
    match (name, block.get("input")) {
        (Some(name), Some(input)) => {
            let input = input
                .get("cmd")
                .and_then(Value::as_str)
                .map_or_else(|| input.to_string(), str::to_owned);
            format!("-> {name}: {}", text::preview(&input, LINE_BYTES))
        }
        (Some(_) | None, Some(_) | None) => words_at(block, "/text"),
    }
}

fn results(data: &Value) -> String {
    let results = data.pointer("/results").and_then(Value::as_array);
    let lines: Vec<String> = results
        .into_iter()
        .flatten()
        .map(|result| {
            let tool = result
                .get("tool_name")
                .and_then(Value::as_str)
                .unwrap_or("tool");
            format!("<- {tool}: {}", words_at(result, "/summary_text"))
        })
        .collect();
    lines.join("\n")
}

fn failure(data: &Value) -> String {
    let summary = words_at(data, "/failure_artifact/summary");
    if summary.is_empty() {
        text::preview(&data.to_string(), LINE_BYTES)
    } else {
        summary
    }
}

fn words_at(data: &Value, pointer: &str) -> String {
    let words = data
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default();
    text::preview(words.trim_end(), LINE_BYTES)
}

fn indent(words: &str) -> String {
    let lines: Vec<String> = words.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}
