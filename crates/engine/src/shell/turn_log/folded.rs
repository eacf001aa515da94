//! Shortens the rounds of a log that a recap stands for. A request shows nothing of them, and a later recap reads only
//! the beginnings of their texts, and the end of what a command wrote to standard error. The guidance of a workspace that a round entered is still shown, so it stays whole.

use holon_domain::block::Block;
use holon_domain::log::LogEntry;
use holon_domain::text;
use holon_domain::tool::ToolOutcome;
use holon_store::TurnLog;
use holon_tools::use_workspace;
use serde_json::Value;
use std::sync::Arc;

/// Bytes of a text that stay. A recap reads at most a few hundred.
const TEXT_BYTES: usize = 1_024;

/// Shortens the folded rounds of a log, and counts its bytes anew.
pub(super) fn shorten(mut log: TurnLog) -> TurnLog {
    let covered = log.entries.iter().rev().find_map(|entry| match &**entry {
        LogEntry::Recap(recap) => Some(recap.last_round),
        _ => None,
    });
    let covered = covered.unwrap_or(0);
    for entry in &mut log.entries {
        let (LogEntry::AssistantRound { round, .. } | LogEntry::ToolResult { round, .. }) =
            &**entry
        else {
            continue;
        };
        if *round > covered {
            continue;
        }
        let before = size(entry);
        let short = shorten_entry(entry);
        log.bytes = log
            .bytes
            .saturating_sub(before)
            .saturating_add(size(&short));
        *entry = Arc::new(short);
    }
    log
}

/// Returns the size of an entry as the store writes it.
fn size(entry: &LogEntry) -> usize {
    serde_json::to_string(entry).map_or(0, |row| row.len())
}

fn shorten_entry(entry: &LogEntry) -> LogEntry {
    let mut short = entry.clone();
    match &mut short {
        LogEntry::AssistantRound {
            blocks, intents, ..
        } => {
            for block in Arc::make_mut(blocks) {
                match block {
                    Block::Text { text } => cut(text),
                    Block::Reasoning { text, opaque } => {
                        cut(text);
                        *opaque = None;
                    }
                    Block::ToolCall(call) => cut_all(&mut call.input),
                }
            }
            *intents = Arc::default();
        }
        LogEntry::ToolResult { envelope, .. }
            if use_workspace::entered_guidance(envelope).is_some() => {}
        LogEntry::ToolResult { envelope, .. } => {
            cut(&mut envelope.summary_text);
            match &mut envelope.outcome {
                ToolOutcome::Success { result } => cut_all(result),
                ToolOutcome::Error { error } => {
                    cut(&mut error.message);
                    error.details.iter_mut().for_each(cut_all);
                }
            }
        }
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::RuntimeFailure { .. } => {}
    }
    short
}

fn cut(text: &mut String) {
    let kept = text::prefix(text, TEXT_BYTES).len();
    if kept < text.len() {
        text.truncate(kept);
        text.shrink_to_fit();
    }
}

/// Members of a result whose end a recap quotes.
const READ_FROM_END: [&str; 2] = ["stdout_preview", "stderr_preview"];

fn cut_beginning(text: &mut String) {
    // Blank lines at the end say nothing.
    let end = text::suffix(text.trim_end(), TEXT_BYTES);
    if end.len() < text.len() {
        *text = end.to_owned();
    }
}

fn cut_all(value: &mut Value) {
    match value {
        Value::String(text) => cut(text),
        Value::Array(members) => members.iter_mut().for_each(cut_all),
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if READ_FROM_END.contains(&name.as_str()) => {
                        cut_beginning(text);
                    }
                    member => cut_all(member),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn round(number: u32, bytes: usize) -> Vec<Arc<LogEntry>> {
        let entries = json!([
            {
                "entry": "assistant_round", "round": number, "stop_reason": "tool_use", "intents": [],
                "blocks": [{"type": "text", "text": "w".repeat(bytes)}],
                "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
                "tries": {"model_ref": "a/b", "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1},
            },
            {
                "entry": "tool_result", "round": number, "call_id": "call_1", "duration_ms": 1,
                "envelope": {
                    "tool_name": "ExecCommand", "status": "success", "summary_text": "exit 0",
                    "result": {
                        "stdout_preview": format!("{}2 passed\n", "x".repeat(bytes)), "task_id": "task_7",
                        "stderr_preview": format!("{}error: no such file\n\n", "warning\n".repeat(bytes / 8)),
                    },
                },
            },
        ]);
        serde_json::from_value(entries).expect("entries")
    }

    fn recap(last_round: u32) -> Arc<LogEntry> {
        let recap =
            json!({"entry": "recap", "first_round": 1, "last_round": last_round, "text": "done"});
        Arc::new(serde_json::from_value(recap).expect("a recap"))
    }

    #[test]
    fn only_rounds_that_a_recap_stands_for_are_shortened() {
        let mut entries = round(1, 100_000);
        entries.extend(round(2, 100_000));
        entries.push(recap(1));
        let bytes = entries.iter().map(|entry| size(entry)).sum();
        let log = TurnLog {
            entries: entries.clone(),
            bytes,
            ..TurnLog::default()
        };
        let short = shorten(log);
        assert_eq!(short.entries.len(), entries.len(), "positions stay");
        assert_eq!(short.entries.get(2..), entries.get(2..));
        let left: usize = short.entries.iter().map(|entry| size(entry)).sum();
        assert_eq!(short.bytes, left);
        assert!(left < bytes - 190_000, "{left} of {bytes}");
        let LogEntry::ToolResult { envelope, .. } = &*short.entries[1] else {
            panic!("a result");
        };
        let ToolOutcome::Success { result } = &envelope.outcome else {
            panic!("a success");
        };
        assert_eq!(result["task_id"], "task_7");
        let printed = result["stdout_preview"].as_str().expect("a text");
        assert!(printed.ends_with("2 passed"), "{printed}");
        let complaints = result["stderr_preview"].as_str().expect("a text");
        assert!(
            complaints.ends_with("\nerror: no such file"),
            "{complaints}"
        );
        assert!(complaints.len() <= TEXT_BYTES);
    }
}
