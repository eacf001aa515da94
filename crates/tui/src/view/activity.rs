//! The line about what the agent does, waits for and needs, in plain words.

use crate::model::{Model, Purpose};
use crate::text::{clean_line, clock};
use ratatui::text::{Line, Span};

/// Signs of a running turn, one after the other.
const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// Milliseconds without an answer before the host is said to be silent.
const SILENT_FROM_MS: u64 = 5_000;

pub(super) fn line(model: &Model) -> Line<'static> {
    let theme = model.theme;
    let link = &model.link;
    let trouble = link.ended.clone().or_else(|| {
        let trouble = link.host_trouble.as_ref().or(link.feed_trouble.as_ref());
        trouble.map(|reason| format!("no connection, trying again: {reason}"))
    });
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
        Span::styled(tasks(model), theme.faint()),
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

/// Says what the scheduler says about the agent.
fn posture(model: &Model) -> Option<(&'static str, String, ratatui::style::Style)> {
    let theme = model.theme;
    let agent = model.status.as_ref()?;
    let posture = &agent.scheduling_posture;
    let wakes = posture
        .wakes_at
        .as_deref()
        .map_or_else(String::new, |at| format!("; wakes at {}", clock(at)));
    let words = format!(
        "{}: {}{wakes}",
        posture.posture.replace('_', " "),
        posture.reason
    );
    Some(match posture.posture.as_str() {
        "active_turn" => (spinner(model), words, theme.good()),
        "waiting_for_operator" | "blocked" | "put_aside" => ("!", words, theme.alert()),
        _ => ("○", words, theme.faint()),
    })
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
