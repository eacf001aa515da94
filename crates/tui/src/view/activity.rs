//! The line about what the agent does, waits for and needs, in plain words.

use crate::model::{Model, Purpose};
use crate::text::{clean_line, clock};
use holon_client::view::Agent;
use ratatui::text::{Line, Span};

/// Signs of a running turn, one after the other.
const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// Milliseconds without an answer before the host is said to be silent.
pub(super) const SILENT_FROM_MS: u64 = 5_000;

pub(super) fn line(model: &Model) -> Line<'static> {
    let theme = model.theme;
    let link = &model.link;
    let trouble = link.ended.clone().or_else(|| {
        let trouble = link.host_trouble.as_ref().or(link.feed_trouble.as_ref());
        trouble.map(|reason| lost(reason))
    });
    // The sentence about a resting agent names its tasks.
    let mut tasks = tasks(model);
    let (sign, words, style) = if let Some(trouble) = trouble {
        ("✗", trouble, theme.alert())
    } else if let Some(words) = silence(model) {
        ("…", words, theme.alert())
    } else if let Some(pending) = model.pending.iter().find(|one| one.agent == model.agent) {
        let words = match pending.unknown_at {
            None => "sending your message",
            Some(_) => "no answer about your message; it is sent again and stored once",
        };
        ("↑", words.to_owned(), theme.strong())
    } else if let Some(live) = model.conversation.live_item() {
        (spinner(model), live.presentation.summary, theme.good())
    } else if let Some(words) = posture(model) {
        tasks.clear();
        words
    } else if link.is_open {
        (
            "…",
            "reading the state of the agent".to_owned(),
            theme.faint(),
        )
    } else {
        ("…", format!("connecting to {}", model.host), theme.faint())
    };
    Line::from(vec![
        Span::styled(format!(" {sign} "), style),
        Span::styled(clean_line(&words), style),
        Span::styled(tasks, theme.faint()),
    ])
}

/// Says that the host has not answered for a while. Its status is asked for all the time, so a silent one is noticed.
fn silence(model: &Model) -> Option<String> {
    let waited = model.now.millis_since(model.status_asked_at);
    let is_silent = model.is_asked(&Purpose::Status) && waited >= SILENT_FROM_MS;
    is_silent.then(|| format!("the host does not answer yet ({} s)", waited / 1_000))
}

fn spinner(model: &Model) -> &'static str {
    let step = usize::try_from(model.now.as_millis() / 250).unwrap_or(0);
    SPINNER.get(step % SPINNER.len()).copied().unwrap_or("●")
}

/// Says that there is no connection. What mends it stands before where the host is and what went wrong.
fn lost(reason: &str) -> String {
    match reason.split_once("; start it with: ") {
        Some((what, command)) => {
            format!("no connection, trying again; start the host with: {command} ({what})")
        }
        None => format!("no connection, trying again: {reason}"),
    }
}

/// Says what the scheduler says about the agent.
fn posture(model: &Model) -> Option<(&'static str, String, ratatui::style::Style)> {
    let theme = model.theme;
    let agent = model.status.as_ref()?;
    let words = posture_words(agent);
    Some(match agent.scheduling_posture.posture.as_str() {
        "active_turn" => (spinner(model), words, theme.good()),
        "waiting_for_operator" | "blocked" | "put_aside" => ("!", words, theme.alert()),
        _ => ("○", words, theme.faint()),
    })
}

/// Puts what is waited for, the tasks and the time of the next wake before the sentence of the scheduler, because the
/// end of a long line is cut.
fn posture_words(agent: &Agent) -> String {
    let posture = &agent.scheduling_posture;
    let mut parts = Vec::new();
    let mut reason = posture.reason.clone();
    let waits = agent.work.waiting_intents.iter();
    for wait in waits.filter(|wait| wait.work_item_id.is_none()) {
        let words = format!("waits for: {}", wait.waiting_for);
        reason = reason.replace(&format!("; {words}"), "");
        parts.push(words);
    }
    if posture.posture != "active_turn"
        && let Some(task) = agent.active_tasks.first()
    {
        let name = task.summary.as_deref().unwrap_or(&task.id);
        parts.push(match agent.active_tasks.len() - 1 {
            0 => format!("runs: {name}"),
            more => format!("runs: {name} and {more} more"),
        });
    }
    if let Some(at) = &posture.wakes_at {
        parts.push(format!("wakes at {}", clock(at, &agent.operator_time_zone)));
    }
    let state = posture.posture.replace('_', " ");
    let sentence = format!("{state}: {}", step_first(&reason));
    if parts.is_empty() {
        return sentence;
    }
    format!("{}; {sentence}", parts.join("; "))
}

/// Puts what happens next, or the agent's own reason to rest, before the details of a sentence of the scheduler.
fn step_first(reason: &str) -> String {
    if let Some((why, rest)) = reason.split_once(" (")
        && let Some((details, step)) = rest.rsplit_once("); ")
    {
        let why = why.trim_start_matches("suspended because ");
        return format!("{why}; {step} ({details})");
    }
    match reason.split_once(": ") {
        Some((rests, why)) if rests.starts_with("rests until ") && !rests.contains(';') => {
            format!("{why} ({rests})")
        }
        _ => reason.to_owned(),
    }
}

fn tasks(model: &Model) -> String {
    let running = model
        .status
        .as_ref()
        .map_or(0, |agent| agent.active_tasks.len());
    match running {
        0 => String::new(),
        1 => "  · 1 task runs".to_owned(),
        many => format!("  · {many} tasks run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::agent_json;
    use holon_client::Answer;
    use serde_json::json;

    #[test]
    fn what_matters_stands_before_the_cut_of_a_common_terminal() {
        let rests = "rests until any message arrives, at the latest until the timer of the build fires; \
                     1 task runs and its end wakes it, unless it was stopped; waits for: the review";
        let budget = "suspended because a budget is reached (the limit of the host for the day is 200000 tokens and 201000 \
                      are spent); the turn goes on by itself at the set time, and at once when the budget is raised";
        let wait = json!([{"id": "wait_1", "kind": "external", "waiting_for": "the review"}]);
        let task = json!([{
            "id": "task_1", "status": "running", "summary": "make all", "created_at": "2026-11-16T10:00:00.000Z",
        }]);
        let table = [
            (
                "idle",
                rests,
                wait,
                task,
                vec!["waits for: the review", "runs: make all"],
            ),
            (
                "blocked",
                budget,
                json!([]),
                json!([]),
                vec!["a budget is reached", "the turn goes on by itself"],
            ),
            (
                "idle",
                "rests until any message arrives, at the latest until the timer of the night fires: the work is done",
                json!([]),
                json!([]),
                vec!["the work is done"],
            ),
        ];
        for (posture, reason, waits, tasks, wanted) in table {
            let mut agent = agent_json(posture, reason);
            agent["waiting_intents"] = waits;
            agent["active_tasks"] = tasks;
            let agent: Answer<Agent> = Answer::new(agent).unwrap();
            let words = posture_words(&agent);
            let shown: String = words.chars().take(76).collect();
            for part in wanted {
                assert!(shown.contains(part), "{part:?} is cut from {words:?}");
            }
            assert_eq!(
                words.matches("the review").count(),
                usize::from(reason == rests)
            );
        }
    }

    #[test]
    fn the_command_that_starts_the_host_is_not_cut() {
        let reason = "cannot reach the host at unix:/data/home/me/.holon/run/holon.sock: No such file or directory; \
                      start it with: holon daemon start";
        let words = lost(reason);
        let shown: String = words.chars().take(76).collect();
        assert!(shown.contains("holon daemon start"), "{words}");
    }
}
