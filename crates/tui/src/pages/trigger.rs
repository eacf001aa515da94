//! External triggers: the secret URLs by which others wake an agent.

use super::{Facts, nothing, plain};
use crate::overlay::{Entry, Tone};
use holon_client::Answer;
use holon_client::view::Trigger;

/// Name of the line with the URL.
const URL: &str = "url";

/// Lists triggers without their URLs.
pub(crate) fn triggers(list: &[Answer<Trigger>]) -> Vec<Entry> {
    if list.is_empty() {
        return nothing("no external triggers; n makes one that wakes the agent");
    }
    list.iter().map(|trigger| entry(trigger)).collect()
}

fn entry(trigger: &Trigger) -> Entry {
    let does = match trigger.delivery_mode.as_str() {
        "enqueue_message" => "sends a message".to_owned(),
        "wake_hint" => "wakes the agent".to_owned(),
        other => plain(other),
    };
    let last = trigger.last_triggered_at.as_deref().unwrap_or("never");
    let mut facts = Facts::default();
    facts.add("trigger", &trigger.id);
    facts.add("delivery", &does);
    facts.add("status", plain(&trigger.status));
    facts.add("URL number", trigger.generation.to_string());
    facts.add("deliveries", trigger.trigger_count.to_string());
    facts.add("last", last);
    Entry {
        id: trigger.id.clone(),
        label: format!(
            "{:<9} {does}  deliveries {}, last {last}  ({})",
            plain(&trigger.status),
            trigger.trigger_count,
            trigger.id
        ),
        tone: match trigger.status.as_str() {
            "active" => Tone::Good,
            _ => Tone::Faint,
        },
        detail: facts.text(),
        ..Entry::default()
    }
}

/// Adds the secret URL to the detail of a trigger, in the place of one that was shown before.
pub(crate) fn revealed(detail: &str, url: &str) -> String {
    let is_kept = |line: &&str| !line.starts_with(URL) && !line.starts_with("secret");
    let mut lines: Vec<&str> = detail.lines().filter(is_kept).collect();
    let shown = format!("{URL:<12} {url}");
    let warning = "secret       a caller that has the URL needs nothing else; o replaces it";
    lines.push(&shown);
    lines.push(warning);
    lines.join("\n")
}
