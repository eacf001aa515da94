//! Renders the outcome of a run: its status, its tasks and its token usage.

use super::{LINE_BYTES, attempt, one_line, words_at, work};
use crate::addressing::hint;
use holon_client::view::{Run, RunSuspension};
use holon_config::Providers;
use holon_domain::AgentId;
use holon_domain::event::Event;
use holon_domain::task::TaskStatus;
use holon_domain::text;
use serde_json::Value;

/// Host that answered a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Responder {
    /// A host that serves the home and keeps running.
    Host,
    /// A host in this process, which ends with the run, so that the agent's work rests now.
    Local,
}

impl Responder {
    /// Returns the command line that ends a task that outlives the run.
    fn end_command(self, agent: &str, task: &str) -> String {
        let stop = format!("holon task stop {task} --agent {agent}");
        match self {
            Self::Host => stop,
            Self::Local => format!("holon daemon start, then: {stop}"),
        }
    }

    fn goes_on(self) -> bool {
        self == Self::Host
    }
}

/// Text of a run, divided by the stream that it is printed to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunText<'a> {
    /// Words of the model, for standard output. Absent if the run has none.
    pub(crate) answer: Option<&'a str>,
    /// Words of the runtime, for standard error. Absent if the status line says the same.
    pub(crate) remark: Option<&'a str>,
}

/// Divides the text of a run into the model's words and those of the runtime. A run that its bound cut off keeps the last
/// words of its model.
pub(crate) fn split_text(response: &Run) -> RunText<'_> {
    let text = response.final_text.as_str();
    let by_runtime = match response.final_text_source.as_deref() {
        Some(source) => source == "runtime",
        None => response.final_status == "failed",
    };
    if !by_runtime {
        return RunText {
            answer: Some(text),
            remark: None,
        };
    }
    if let Some(_named) = budget_suspension(response) {
        return RunText {
            answer: None,
            remark: None,
        };
    }
    if response.final_status == "max_turns_exceeded" {
        let words = response.raw_final_text.as_deref();
        return RunText {
            answer: words.filter(|words| !words.trim().is_empty()),
            remark: None,
        };
    }
    RunText {
        answer: None,
        remark: Some(text),
    }
}

/// Renders a run that did not simply complete, its cancelled or surviving tasks, its open work, and the next step.
pub(crate) fn status(response: &Run, providers: &Providers, by: Responder) -> Option<String> {
    let (happened, next) = match response.final_status.as_str() {
        "completed" => {
            let mut lines = tasks(response, "the run", by);
            lines.extend(open_work(response, by));
            return (!lines.is_empty()).then(|| lines.join("\n"));
        }
        "waiting" => waiting(response, by),
        "failed" => {
            let kind = response
                .failure_artifact
                .as_ref()
                .map_or("unknown", |failure| failure.kind.as_str());
            let next = attempt::remedy(&response.provider_attempt_timeline, providers)
                .unwrap_or_else(|| attempt::next_step(kind).to_owned());
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
    lines.extend(tasks(response, "it", by));
    lines.extend(open_work(response, by));
    lines.push(format!("next: {}", hint(next)));
    Some(lines.join("\n"))
}

/// Renders one line for each task that was cancelled with the run, and one for each that outlives it.
fn tasks(response: &Run, run: &str, by: Responder) -> Vec<String> {
    let line = |entry: &Value| {
        let status = entry.pointer("/task/status").cloned().unwrap_or_default();
        let id = words_at(entry, "/task/task_id");
        let named = format!(
            "{id} ({}): {}",
            words_at(entry, "/task/status"),
            text::preview(&words_at(entry, "/task/summary"), LINE_BYTES / 4)
        );
        if entry.get("stopped_with_run") == Some(&Value::Bool(true)) {
            return Some(format!("stopped with {run}: {named}"));
        }
        // A status that this build does not know comes from a newer host and may be terminal or not.
        let goes_on =
            serde_json::from_value::<TaskStatus>(status).is_ok_and(|at| !at.is_terminal());
        let end = hint(by.end_command(&response.agent_id, &id));
        goes_on.then(|| format!("goes on after {run}: {named}; to end it: {end}"))
    };
    response.tasks.iter().filter_map(line).collect()
}

/// Renders the open work of the agent in one line, and whether it goes on after the run.
fn open_work(response: &Run, by: Responder) -> Option<String> {
    let item = response.open_work_items.first()?;
    let more = match response.open_work_item_count.saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let id = &response.agent_id;
    let then = if is_temporary(response) {
        "gone with the temporary agent; keep one with --agent ID --create-agent".to_owned()
    } else if item.scheduling_state != "runnable" {
        format!("see it with: holon work show --agent {id} {}", item.id)
    } else if by.goes_on() {
        "it goes on while the host runs".to_owned()
    } else {
        "it goes on while a host runs: holon daemon start".to_owned()
    };
    let objective = one_line(&text::preview(&item.objective, LINE_BYTES / 4));
    let state = work::state_words(&item.scheduling_state);
    let then = hint(then);
    Some(format!(
        "open work: {} ({state}): {objective}{more}; {then}",
        item.id
    ))
}

fn is_temporary(response: &Run) -> bool {
    response.agent_id.starts_with(AgentId::TEMPORARY_PREFIX)
}

/// Returns the reason for the wait, and the next step.
fn waiting(response: &Run, by: Responder) -> (String, String) {
    let id = &response.agent_id;
    if let Some(suspension) = budget_suspension(response) {
        return waiting_for_budget(id, suspension, by);
    }
    let Some(reason) = response.waiting_reason.as_deref() else {
        return unfinished(response, by);
    };
    let for_operator = reason == "awaiting_operator_input";
    // No model has asked anything: the agent is stopped, or its turn is suspended, for example by a budget. The words of
    // the runtime name what ends that; an answer does not.
    let by_runtime = split_text(response).remark.is_some();
    let needs_act = for_operator && by_runtime && response.model_rounds == 0;
    let look = format!(
        "see how it stands: holon status --agent {id}; follow it: holon tail --follow --agent {id}"
    );
    let next = if is_temporary(response) {
        "the agent was temporary and is gone; keep one with --agent ID --create-agent".to_owned()
    } else if needs_act && by.goes_on() {
        format!("do what is named above, then it goes on by itself; {look}")
    } else if needs_act {
        format!("do what is named above while a host runs (holon daemon start); {look}")
    } else if for_operator {
        answer(response, by)
    } else if by.goes_on() {
        format!("it goes on by itself; {look}")
    } else {
        format!("it goes on while a host runs (holon daemon start); {look}")
    };
    let happened = match waiting_words(reason) {
        Some(_) if needs_act => "run is waiting until you act".to_owned(),
        Some(words) => format!("the agent is waiting {words} ({reason})"),
        None => format!("the agent is waiting: {reason}"),
    };
    (happened, next)
}

/// Says what the agent asks and how it is answered. A question counts as answered if the message names its wait.
fn answer(response: &Run, by: Responder) -> String {
    let command = if by.goes_on() { "prompt" } else { "run" };
    let asked = response.next_step();
    // The id stands behind the words of the agent, which may look like one.
    let named = asked.and_then(|asked| asked.rsplit_once("; write "));
    let wait = named.and_then(|(_, rest)| rest.split_whitespace().next());
    let wait = wait.map_or_else(String::new, |wait| format!("{wait}: "));
    let asked = asked.map_or_else(String::new, |asked| format!("{}; ", one_line(asked)));
    let id = &response.agent_id;
    format!("{asked}answer it with: holon {command} --agent {id} \"{wait}...\"")
}

/// Returns the suspension of a turn that a budget has no room for.
fn budget_suspension(response: &Run) -> Option<&RunSuspension> {
    let suspension = response.suspension.as_ref()?;
    (suspension.reason == "budget_reached").then_some(suspension)
}

/// Names the budget that a run waits for and what raises it, and says when the run goes on.
fn waiting_for_budget(id: &str, suspension: &RunSuspension, by: Responder) -> (String, String) {
    let happened = format!(
        "not answered yet, and kept until a budget has room: {}",
        hint(suspension.error.as_str())
    );
    let host = match by {
        Responder::Host => "",
        Responder::Local => ", while a host runs (holon daemon start)",
    };
    let then = match &suspension.until {
        Some(until) => format!(
            "do that, and the run goes on at once{host}; otherwise it goes on by itself at {until}"
        ),
        None => format!("do that, and the run goes on at once{host}"),
    };
    let look = format!("see how it stands: holon status --agent {id}");
    (happened, format!("{then}; {look}"))
}

/// Returns what is left of a run whose agent has work that can go on, and the next step.
fn unfinished(response: &Run, by: Responder) -> (String, String) {
    let id = &response.agent_id;
    if is_temporary(response) {
        let next = "the agent was temporary and is gone; keep one with --agent ID --create-agent";
        return ("run left work unfinished".to_owned(), next.to_owned());
    }
    let look = format!(
        "see how it stands: holon explain {id}; follow it: holon tail --follow --agent {id}"
    );
    let next = if by.goes_on() {
        format!("the work goes on by itself; {look}")
    } else {
        format!("the work goes on while a host runs (holon daemon start); {look}")
    };
    (
        "run is answered, and its work is not finished".to_owned(),
        next,
    )
}

/// Spells the reason of a wait; `None` for one that this program does not know.
pub(super) fn waiting_words(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "awaiting_operator_input" => "for your answer",
        "awaiting_external_change" => "for something outside",
        "awaiting_task_result" => "for a task to end",
        "awaiting_timer" => "for a time to come",
        _ => return None,
    })
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
            let Some(kind) = pause.failure_kind else {
                return Some(match pause.until {
                    Some(until) => format!("going on at {until}: {}", pause.error),
                    None => format!("you have to act: {}", pause.error),
                });
            };
            let why = reason(kind.as_str(), &pause.error);
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
    let cached = response.token_usage.cached_percent();
    let cached = cached.filter(|percent| *percent > 0);
    format!(
        "{}, {}, {} tokens read{}, {} written",
        text::pluralize(response.model_rounds, "model round"),
        text::pluralize(response.tool_calls, "tool call"),
        response.input_tokens,
        cached.map_or_else(String::new, |percent| format!(
            " ({percent} % from the cache)"
        )),
        response.output_tokens
    ) + &super::spent_words(&response.usage)
        .map_or_else(String::new, |cost| format!(", cost {cost}"))
}
