//! Renders responses as text for people. Nothing here prints.
//!
//! A host may be newer than this program. An unknown word is shown as the host spelled it.

pub(crate) mod agents;
pub(crate) mod archive;
pub(crate) mod attempt;
pub(crate) mod backup;
pub(crate) mod budget;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod daemon;
pub(crate) mod delivery;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod init;
mod learned;
pub(crate) mod model;
mod needs;
mod pauses;
pub(crate) mod prompt;
pub(crate) mod row;
pub(crate) mod run;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod storage;
mod table;
pub(crate) mod task;
pub(crate) mod usage;
pub(crate) mod work;
pub(crate) mod workspace;

use crate::addressing;
use holon_client::Answer;
use holon_client::view::{Brief, Spent, TranscriptEntry};
use holon_domain::image::SentImage;
use holon_domain::text;
use serde::Deserialize as _;
use serde_json::Value;

/// Upper bound on the bytes of one line of a transcript.
const LINE_BYTES: usize = 400;

/// Joins lines of text for people. A line holds one fact, so a line end or tab inside a stored text becomes a space: it
/// must not look like a further fact.
fn join_lines(lines: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<String> = lines.into_iter().map(|line| one_line(&line)).collect();
    lines.join("\n")
}

/// Quotes a word for a shell, unless it means itself there.
pub(crate) fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Replaces line ends and tabs by spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.trim_end_matches(['\r', '\n'])
        .replace("\r\n", " ")
        .replace(
            [
                '\n', '\r', '\t', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
            ],
            " ",
        )
}

/// Indents every line but the first, so that no line of a stored text begins where a fact does.
fn hang(words: &str, columns: usize) -> String {
    words
        .trim_end()
        .replace('\n', &format!("\n{:columns$}", ""))
}

/// Returns the reason of a posture, in which proposed commands name the host. The words with which an agent says what it
/// waits for stay as they are.
fn posture_words(reason: &str) -> String {
    let parts = reason.split("; ").map(|part| {
        if part.starts_with("waits for: ") {
            part.to_owned()
        } else {
            addressing::hint(part)
        }
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// Renders one brief: time, kind, text, and the next step of the operator unless the text names it.
pub(crate) fn brief(brief: &Brief) -> String {
    let mark = match brief.kind.as_str() {
        "ack" if brief.action_required.is_some() => "ACTION REQUIRED",
        "failure" => "FAILED",
        kind => kind,
    };
    let action = brief.action_required.as_ref();
    // Whole, because it ends with what an answer must name.
    let step = action.and_then(|action| action.get("next_step")?.as_str());
    let step = step.unwrap_or_default().trim_end();
    // The next step of a question repeats the agent's own words.
    let named_step = match action.is_some_and(asks_for_answer) {
        true => step.to_owned(),
        false => addressing::hint(step),
    };
    let text = match step.is_empty() {
        true => brief.text.clone(),
        false => brief.text.replace(step, &named_step),
    };
    let mut lines = vec![format!("{} {mark}: {}", brief.created_at, hang(&text, 4))];
    if let Some(note) = &brief.note {
        lines.push(format!("    note: {}", one_line(note)));
    }
    if !step.is_empty() && !brief.text.contains(step) {
        lines.push(format!("    next: {}", one_line(&named_step)));
    }
    if action.is_some_and(asks_for_answer) && !brief.agent_id.is_empty() {
        let agent = &brief.agent_id;
        let name = named_wait(step).map_or_else(String::new, |wait| format!("{wait}: "));
        lines.push(addressing::hint(format!(
            "    answer with: holon prompt --agent {agent} \"{name}...\""
        )));
    }
    let names: Vec<&str> = brief
        .attachments
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    if !names.is_empty() {
        let names = one_line(&names.join(", "));
        lines.push(format!("    attached: {names}"));
    }
    lines.join("\n")
}

/// Returns the wait that a next step tells the operator to name, which hosts say at its end.
fn named_wait(step: &str) -> Option<&str> {
    let (_, told) = step.rsplit_once("; write ")?;
    let (name, _) = told.split_once(" in your message")?;
    let is_id = name.starts_with("wait_") && !name.contains(char::is_whitespace);
    is_id.then_some(name)
}

/// Returns true if a message of the operator is the action that is required.
fn asks_for_answer(action: &Value) -> bool {
    action.get("code").and_then(Value::as_str) == Some("operator_input")
}

/// Returns the word for an agent's status. An archived agent is stopped too, but never starts again.
fn status_word<'a>(status: &'a str, posture: &'a str) -> &'a str {
    match posture {
        "archived" => posture,
        _ => status,
    }
}

/// Renders the transcript, one block per entry.
pub(crate) fn transcript(entries: &[Answer<TranscriptEntry>]) -> String {
    if entries.is_empty() {
        return "nothing yet".to_owned();
    }
    let blocks: Vec<String> = entries.iter().map(|one| entry(one)).collect();
    blocks.join("\n")
}

fn entry(entry: &TranscriptEntry) -> String {
    let said = match entry.kind.as_str() {
        "incoming_message" => incoming(&entry.data),
        "assistant_round" | "subagent_assistant_round" => model_round(&entry.data),
        "tool_results" => results(&entry.data),
        "continuation_prompt" | "subagent_prompt" => words_at(&entry.data, "/text"),
        // An unknown kind shows the text it has.
        _ => failure(&entry.data),
    };
    let round = entry
        .round
        .map_or_else(String::new, |round| format!(" round {round}"));
    format!(
        "{} turn {}{round} {}\n{}",
        entry.created_at,
        entry.turn_index,
        entry.kind,
        indent(&said)
    )
}

fn incoming(data: &Value) -> String {
    let words = match data.pointer("/message/body/value") {
        Some(value) => text::preview(&value.to_string(), LINE_BYTES),
        None => words_at(data, "/message/body/text"),
    };
    let images = data.pointer("/message/images").and_then(Value::as_array);
    let images = images.into_iter().flatten().zip(1..);
    let images = images.filter_map(|(image, number)| {
        let image = SentImage::deserialize(image).ok()?;
        Some(format!("[image {number}: {}]", image.label()))
    });
    let lines: Vec<String> = std::iter::once(words).chain(images).collect();
    lines.join("\n")
}

/// Renders the text of a model round, with the model's name if a fallback answered.
fn model_round(data: &Value) -> String {
    let blocks = data.pointer("/blocks").and_then(Value::as_array);
    let note = attempt::round_fallback_note(data).map(|note| format!("({note})"));
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

/// Renders the cost of what was spent; `None` if nothing was spent, or an earlier build did not count it.
fn spent_words(spent: &Spent) -> Option<String> {
    let cost = spent.cost.as_deref().filter(|_| spent.tokens > 0)?;
    Some(match cost {
        "unknown" => cost.to_owned(),
        cost => format!("${cost}"),
    })
}

#[cfg(test)]
mod tests;
