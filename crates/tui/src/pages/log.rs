//! Texts: raw events, transcript, prompt and help.

use super::{Facts, nothing, page, plain, word};
use crate::overlay::{Entry, Tone};
use crate::slash::COMMANDS;
use crate::text::{images_in, time_of_day, with_images};
use holon_api::EventEnvelope;
use holon_client::Answer;
use holon_client::view::{Prompt, TranscriptEntry};
use holon_domain::text::{prefix, preview};
use serde_json::Value;

/// Bytes of one part of a transcript entry.
const PART_BYTES: usize = 2_000;
/// Bytes of a text that a page shows whole: a message of the transcript, or a part of a prompt.
const TEXT_BYTES: usize = 32 << 10;
/// Bytes of a transcript. The newest entries that fit are shown; each frame lays all of them out.
const TRANSCRIPT_BYTES: usize = 512 << 10;

/// Lists events, newest first, with times by the clock of a zone. The detail of an event is its payload.
pub(crate) fn events<'a>(
    newest_first: impl Iterator<Item = &'a EventEnvelope>,
    zone: &str,
) -> Vec<Entry> {
    let entries: Vec<Entry> = newest_first
        .map(|event| Entry {
            id: event.event_seq.to_string(),
            label: format!(
                "{:>6} {} {}  {}",
                event.event_seq,
                time_of_day(event.ts, zone),
                event.kind,
                preview(event.payload.get(), 160),
            ),
            tone: Tone::Plain,
            // The payload is laid out when it is selected.
            detail: String::new(),
            ..Entry::default()
        })
        .collect();
    if entries.is_empty() {
        return nothing("no events yet");
    }
    entries
}

/// Spells one event whole.
pub(crate) fn event_detail(event: &EventEnvelope) -> String {
    let payload: Value = serde_json::from_str(event.payload.get()).unwrap_or_default();
    let payload = serde_json::to_string_pretty(&payload).unwrap_or_default();
    let provenance = serde_json::to_string_pretty(&event.provenance).unwrap_or_default();
    format!(
        "{} {} (version {}) at {}\n{payload}\nprovenance {provenance}",
        event.id, event.kind, event.version, event.ts
    )
}

/// Spells a transcript, oldest entry first.
pub(crate) fn transcript(entries: &[Answer<TranscriptEntry>]) -> Vec<Entry> {
    if entries.is_empty() {
        return page("nothing yet".to_owned());
    }
    let mut bytes = 0;
    let mut blocks = Vec::new();
    for entry in entries.iter().rev() {
        let block = transcript_entry(entry);
        bytes += block.len();
        if bytes > TRANSCRIPT_BYTES {
            let left = match entries.len() - blocks.len() {
                1 => "1 entry before these is".to_owned(),
                left => format!("{left} entries before these are"),
            };
            blocks.push(format!(
                "({left} not shown; holon transcript --before SEQ reads them)"
            ));
            break;
        }
        blocks.push(block);
    }
    blocks.reverse();
    page(blocks.join("\n\n"))
}

/// Keeps the beginning of a text, with a note of how much is left out and where all of it is.
fn shortened(text: &str, whole: &str) -> String {
    let kept = prefix(text, TEXT_BYTES);
    match text.len() - kept.len() {
        0 => kept.to_owned(),
        left => format!("{kept}…\n({left} more bytes are not shown; {whole} has all of it)"),
    }
}

fn transcript_entry(entry: &TranscriptEntry) -> String {
    let round = entry
        .round
        .map_or_else(String::new, |round| format!(" round {round}"));
    let said = match entry.kind.as_str() {
        "incoming_message" => match entry.data.pointer("/message/body/value") {
            Some(value) => value.to_string(),
            None => {
                let text = word(&entry.data, "/message/body/text");
                with_images(text, images_in(&entry.data)).into_owned()
            }
        },
        "assistant_round" | "subagent_assistant_round" => blocks(&entry.data),
        "tool_results" => results(&entry.data),
        "continuation_prompt" | "subagent_prompt" => word(&entry.data, "/text").to_owned(),
        _ => match word(&entry.data, "/failure_artifact/summary") {
            "" => entry.data.to_string(),
            summary => summary.to_owned(),
        },
    };
    let said = shortened(&said, "holon transcript --json");
    let lines: Vec<String> = said.lines().map(|line| format!("  {line}")).collect();
    format!(
        "{} turn {}{round} {}\n{}",
        entry.created_at,
        entry.turn_index,
        plain(&entry.kind),
        lines.join("\n")
    )
}

fn blocks(data: &Value) -> String {
    let blocks = data.pointer("/blocks").and_then(Value::as_array);
    let lines = blocks.into_iter().flatten().map(|block| {
        match (
            block.get("name").and_then(Value::as_str),
            block.get("input"),
        ) {
            (Some(name), Some(input)) => {
                let shown = match input.get("cmd").and_then(Value::as_str) {
                    Some(cmd) => cmd.to_owned(),
                    None => input.to_string(),
                };
                format!("→ {name}: {}", preview(&shown, PART_BYTES))
            }
            _ => preview(word(block, "/text"), PART_BYTES),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn results(data: &Value) -> String {
    let results = data.pointer("/results").and_then(Value::as_array);
    let lines = results.into_iter().flatten().map(|result| {
        let tool = result
            .get("tool_name")
            .and_then(Value::as_str)
            .unwrap_or("tool");
        format!(
            "← {tool}: {}",
            preview(word(result, "/summary_text"), PART_BYTES)
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Spells the last prompt, part by part, with its texts.
pub(crate) fn prompt(shown: &Prompt) -> Vec<Entry> {
    let mut facts = Facts::default();
    facts.add("agent", &shown.agent_id);
    facts.add("works in", &shown.cwd);
    facts.add("backend", &shown.execution_policy.backend);
    let Some(prompt) = &shown.prompt else {
        facts.list("", ["no model has answered yet".to_owned()]);
        return page(facts.text());
    };
    facts.add("turn", prompt.turn_index.to_string());
    facts.add("model", &prompt.model_ref);
    facts.add(
        "tokens",
        format!(
            "{} for the prompt and {} for tools, of {}",
            prompt.prompt_tokens, prompt.tools_tokens, prompt.budget_tokens
        ),
    );
    let rounds = shown.rounds.iter().map(|round| {
        format!(
            "turn {} round {}: {} tokens, {} from the cache",
            round.turn_index, round.round, round.input_tokens, round.cached_tokens
        )
    });
    facts.list("Rounds", rounds);
    for block in &prompt.blocks {
        let why = block.reason.as_deref().unwrap_or_default();
        let heading = format!(
            "── {} · {} · {} of {} tokens {why}",
            block.source, block.outcome, block.to_tokens, block.from_tokens
        );
        let text = block.text.as_deref().unwrap_or_default();
        let text = shortened(text, "holon debug prompt");
        facts.list(&heading, text.lines().map(str::to_owned));
    }
    page(facts.text())
}

/// Keys of the main screen.
#[rustfmt::skip]
const KEYS: &[(&str, &str)] = &[
    ("Enter", "send the message or run the command"),
    ("Alt+Enter, Ctrl+J", "new line; a backslash at the end of a line does the same"),
    ("Tab, Up, Down", "complete a slash command or its argument"),
    ("Up, Down", "earlier messages, on the first and last line of the composer"),
    ("PgUp, PgDn", "scroll; at the top, older events are read"),
    ("Ctrl+Home, Ctrl+End", "oldest and newest row"),
    ("Ctrl+T", "transcript"),
    ("Ctrl+A, E, B, F, K, U, W", "move and delete as in a shell"),
    ("Esc", "close the top overlay, then go to the newest row, then clear the composer"),
    ("Ctrl+C", "close the top overlay, clear the composer, then close the console"),
    ("Ctrl+D", "delete at the cursor; in an empty composer, close the console"),
    ("Ctrl+L", "draw the screen anew"),
    ("Ctrl+Z", "suspend the console; fg in the shell brings it back"),
    ("?", "this help, in an empty composer"),
];

pub(crate) fn help() -> Vec<Entry> {
    let mut lines = vec!["Keys".to_owned()];
    lines.extend(KEYS.iter().map(|(key, does)| format!("  {key:<26} {does}")));
    lines.push(String::new());
    lines.push("Commands".to_owned());
    lines.extend(COMMANDS.iter().map(|usage| {
        let call = format!("/{} {}", usage.name, usage.args);
        format!("  {call:<26} {}", usage.about)
    }));
    lines.push(String::new());
    lines.push("  //text                     sends a message that begins with a slash".to_owned());
    lines.push(String::new());
    lines.push("The console only watches and sends: closing it stops nothing.".to_owned());
    page(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(seq: u64, text: &str) -> Answer<TranscriptEntry> {
        Answer::new(json!({
            "entry_seq": seq, "id": format!("entry_{seq}"), "kind": "incoming_message", "turn_index": seq,
            "created_at": "2026-11-16T10:00:00.000Z", "data": {"message": {"body": {"text": text}}},
        }))
        .unwrap()
    }

    #[test]
    fn long_messages_and_many_of_them_make_a_bounded_page() {
        let long = "> ".repeat(500_000);
        let of_one = transcript(&[message(1, &long)]);
        let expected = format!(
            "({} more bytes are not shown; holon transcript --json has all of it)",
            long.len() - TEXT_BYTES
        );
        assert!(of_one[0].detail.trim_end().ends_with(&expected));
        let many: Vec<_> = (1..=100).map(|seq| message(seq, &long)).collect();
        let shown = &transcript(&many)[0].detail;
        assert!(shown.len() <= TRANSCRIPT_BYTES + 1_000, "{}", shown.len());
        assert!(shown.contains("turn 100 "), "the newest is shown");
        let note = "entries before these are not shown; holon transcript --before SEQ";
        assert!(shown.lines().next().is_some_and(|line| line.contains(note)));
    }

    #[test]
    fn short_messages_are_whole() {
        let shown = &transcript(&[message(1, "one\ntwo"), message(2, "three")])[0].detail;
        assert!(shown.contains("  one\n  two\n\n"), "{shown}");
        assert!(!shown.contains("not shown"), "{shown}");
    }
}
