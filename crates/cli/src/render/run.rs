//! Renders the outcome of a run: its status, its tasks and its token usage.

use super::{LINE_BYTES, attempt, words_at};
use holon_client::view::Run;
use holon_config::Providers;
use holon_domain::AgentId;
use holon_domain::event::Event;
use holon_domain::task::TaskStatus;
use holon_domain::text;
use serde_json::Value;

/// Renders a run that did not simply complete, its cancelled or surviving tasks, and the next step. `end_command` is
/// the command line that ends surviving tasks.
pub(crate) fn status(response: &Run, providers: &Providers, end_command: &str) -> Option<String> {
    let (happened, next) = match response.final_status.as_str() {
        "completed" => {
            let tasks = tasks(response, "the run", end_command);
            return (!tasks.is_empty()).then(|| tasks.join("\n"));
        }
        "waiting" => waiting(response),
        "failed" => {
            let kind = response
                .failure_artifact
                .as_ref()
                .map_or("unknown", |failure| failure.kind.as_str());
            let next = attempt::remedy(&response.provider_attempt_timeline, providers)
                .unwrap_or_else(|| "see every try with --json".to_owned());
            (format!("run failed: {kind}"), next)
        }
        "max_turns_exceeded" => {
            let rounds = text::pluralize(response.model_rounds, "model round");
            let happened = format!("run was cut off after {rounds}");
            (happened, "allow more with --max-turns N".to_owned())
        }
        other => (
            format!("run ended in a way this program does not know: {other}"),
            "see all of it with --json, or use the program of the host's version".to_owned(),
        ),
    };
    let mut lines = vec![happened];
    lines.extend(tasks(response, "it", end_command));
    lines.push(format!("next: {next}"));
    Some(lines.join("\n"))
}

/// Renders one line for each task that was cancelled with the run, and one for each that outlives it.
fn tasks(response: &Run, run: &str, end_command: &str) -> Vec<String> {
    let line = |entry: &Value| {
        let status = entry.pointer("/task/status").cloned().unwrap_or_default();
        let named = format!(
            "{} ({}): {}",
            words_at(entry, "/task/task_id"),
            words_at(entry, "/task/status"),
            text::preview(&words_at(entry, "/task/summary"), LINE_BYTES / 4)
        );
        if entry.get("stopped_with_run") == Some(&Value::Bool(true)) {
            return Some(format!("stopped with {run}: {named}"));
        }
        // A status that this build does not know comes from a newer host and may be terminal or not.
        let goes_on =
            serde_json::from_value::<TaskStatus>(status).is_ok_and(|at| !at.is_terminal());
        goes_on.then(|| format!("goes on after {run}: {named}; to end it: {end_command}"))
    };
    response.tasks.iter().filter_map(line).collect()
}

/// Returns the reason for the wait, and the next step.
fn waiting(response: &Run) -> (String, String) {
    let reason = response.waiting_reason.as_deref().unwrap_or("something");
    let id = &response.agent_id;
    let next = if id.starts_with(AgentId::TEMPORARY_PREFIX) {
        "the agent was temporary and is gone; keep one with --agent ID --create-agent".to_owned()
    } else {
        format!(
            "it goes on while a host runs (holon serve); see how it stands: holon status --agent {id}; wait for the \
             answer: holon tail --follow --agent {id}"
        )
    };
    (format!("run is waiting: {reason}"), next)
}

/// Renders a retry, a fallback or a pause of the run's turn; `None` for other events.
pub(crate) fn wait(event: &Event) -> Option<String> {
    match event {
        Event::ProviderRetryScheduled(retry) => {
            let model = retry.model_ref.as_deref().unwrap_or("the model");
            let pause = pause(retry.backoff_ms);
            let why = reason(&retry.failure_kind, &retry.error);
            Some(format!("waiting {pause}, then asking {model} again: {why}"))
        }
        Event::ProviderFallbackSelected(next) => {
            let why = reason(&next.failure_kind, &next.error);
            let (from, to) = (&next.from_model_ref, &next.to_model_ref);
            Some(format!("asking {to} instead of {from}: {why}"))
        }
        Event::TurnSuspended(pause) => {
            let why = reason(pause.failure_kind.as_str(), &pause.error);
            Some(match pause.until {
                Some(until) => format!("no model answers; asking again at {until}: {why}"),
                None => format!("no model answers, and you have to act: {why}"),
            })
        }
        _ => None,
    }
}

/// Spells a pause in milliseconds below a second, and in seconds above.
fn pause(millis: u64) -> String {
    if millis < 1_000 {
        format!("{millis} ms")
    } else {
        format!("{} s", millis.div_ceil(1_000))
    }
}

fn reason(kind: &str, words: &str) -> String {
    format!("{kind} ({})", text::preview(words, LINE_BYTES / 2))
}

/// Renders rounds, tool calls and tokens of a run.
pub(crate) fn usage(response: &Run) -> String {
    format!(
        "{}, {}, {} tokens read, {} written",
        text::pluralize(response.model_rounds, "model round"),
        text::pluralize(response.tool_calls, "tool call"),
        response.input_tokens,
        response.output_tokens
    )
}
