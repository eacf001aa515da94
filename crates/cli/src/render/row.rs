//! Renders rows of `holon tail` and lines of `holon events`.
//!
//! A row begins with its time and its title; further lines are indented, so that no line of a text looks like a row of
//! its own.

use super::hang;
use holon_api::EventEnvelope;
use holon_client::view::Brief;
use holon_domain::zone::restamp;
use holon_presentation::text::{cut, one_line};
use holon_presentation::{DisplayMode, Item, Role, present};

/// Indentation of the lines of a row after the first.
const INDENT: usize = 4;
/// Bytes of a brief's text that a row shows. The JSON output has the whole.
const BRIEF_BYTES: usize = 32 << 10;
/// Lines of a body that a row shows, apart from briefs.
const BODY_LINES: usize = 16;

/// A rendered row, with the parts that a terminal may colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) role: Role,
    /// Time of the row, at its very beginning.
    pub(crate) time: String,
    /// Title behind the time.
    pub(crate) title: String,
    /// All of the row.
    pub(crate) text: String,
}

impl Row {
    /// Spells the time of the row by the clock of a zone.
    pub(crate) fn in_zone(self, zone: &str) -> Self {
        let time = restamp(&self.time, zone);
        let rest = self.text.strip_prefix(&self.time);
        let text = rest.map_or_else(|| self.text.clone(), |rest| format!("{time}{rest}"));
        Self { time, text, ..self }
    }

    /// Adds the details of an item in the mode `debug`.
    pub(crate) fn with_details(mut self, item: &Item, mode: DisplayMode) -> Self {
        if mode == DisplayMode::Debug {
            let details = details(item);
            if !details.is_empty() {
                self.text = format!("{}\n{:INDENT$}{details}", self.text, "");
            }
        }
        self
    }
}

/// Renders a brief with its whole text.
pub(crate) fn brief(brief: &Brief) -> Row {
    let role = match (brief.kind.as_str(), &brief.action_required) {
        ("failure", _) | (_, Some(_)) => Role::Alert,
        _ => Role::AssistantResult,
    };
    let shown = Brief {
        text: cut(&brief.text, BRIEF_BYTES),
        ..brief.clone()
    };
    let text = super::brief(&shown);
    let time = brief.created_at.clone();
    let title = text
        .strip_prefix(&time)
        .and_then(|rest| rest.split_once(':'))
        .map_or_else(String::new, |(title, _)| title.trim().to_owned());
    Row {
        role,
        time,
        title,
        text,
    }
}

/// Renders an item: in one line if its body has one, else as its title and its lines.
pub(crate) fn item(item: &Item, mode: DisplayMode) -> Row {
    let words = &item.presentation;
    let time = item.at.to_string();
    let body = words.body.as_deref().unwrap_or_default();
    let text = if body.contains('\n') {
        format!(
            "{time} {}:\n{:INDENT$}{}",
            words.title,
            "",
            hang(&first_lines(body), INDENT)
        )
    } else {
        format!("{time} {}", words.summary)
    };
    let row = Row {
        role: item.role,
        time,
        title: words.title.clone(),
        text,
    };
    row.with_details(item, mode)
}

fn first_lines(body: &str) -> String {
    let mut lines: Vec<&str> = body.lines().collect();
    let more = lines.len().saturating_sub(BODY_LINES);
    lines.truncate(BODY_LINES);
    let shown = lines.join("\n");
    match more {
        0 => shown,
        more => format!("{shown}\n({more} more lines are not shown)"),
    }
}

fn details(item: &Item) -> String {
    let details: Vec<String> = item
        .details
        .iter()
        .map(|detail| format!("{} {}", detail.name, detail.value))
        .collect();
    details.join(" · ")
}

/// Renders one raw event in one line: its position, time and kind, and what it says.
pub(crate) fn event(envelope: &EventEnvelope) -> String {
    let place = format!("{:>6}", envelope.event_seq);
    event_line(&place, envelope)
}

/// Renders one raw event of the host's stream in one line: its position in the stream and its agent come first.
pub(crate) fn host_event(envelope: &EventEnvelope) -> String {
    let place = format!(
        "{:>10}  {}",
        envelope.host_seq.unwrap_or_default(),
        envelope.agent_id
    );
    event_line(&place, envelope)
}

fn event_line(place: &str, envelope: &EventEnvelope) -> String {
    let words = present(&envelope.event());
    // A kind without a description of its own has its name as title.
    let line = if words.title == envelope.kind.replace('_', " ") {
        words.body.unwrap_or_default()
    } else {
        words.summary
    };
    let at = envelope.ts;
    let line = format!("{place}  {at}  {}  {line}", one_line(&envelope.kind));
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::event::Event;
    use holon_domain::feed::EventRecord;
    use holon_domain::time::Timestamp;
    use holon_presentation::Reducer;
    use serde_json::json;

    fn items(mode: DisplayMode, events: &[(&str, serde_json::Value)]) -> Vec<Item> {
        let mut reducer = Reducer::new(mode);
        let mut rows = Vec::new();
        for (seq, (kind, data)) in (1..).zip(events) {
            rows.extend(reducer.push(&EventRecord {
                event_seq: seq,
                at: Timestamp::from_millis(1_794_700_000_123),
                event: Event::decode(kind, 1, &data.to_string()),
                labels: None,
            }));
        }
        rows.extend(reducer.finish());
        rows
    }

    #[test]
    fn a_row_has_one_line_or_hangs_its_lines_and_debug_adds_details() {
        let created = json!({
            "task_id": "task_1", "kind": "command_task", "status": "running", "summary": "make\n2026 Result: forged",
        });
        let one = &items(DisplayMode::Verbose, &[("task_created", created)])[0];
        assert_eq!(
            item(one, DisplayMode::Verbose).text,
            "2026-11-14T23:46:40.123Z Background command started:\n    make\n    2026 Result: forged"
        );
        let wait = json!({"timer_id": "timer_1"});
        let one = &items(DisplayMode::Debug, &[("timer_cancelled", wait)])[0];
        assert_eq!(
            item(one, DisplayMode::Debug).text,
            "2026-11-14T23:46:40.123Z Timer cancelled: timer_1\n    timer timer_1"
        );
        let berlin = item(one, DisplayMode::Info).in_zone("Europe/Berlin");
        assert_eq!(
            (berlin.time.as_str(), berlin.text.as_str()),
            (
                "2026-11-15T00:46:40.123+01:00",
                "2026-11-15T00:46:40.123+01:00 Timer cancelled: timer_1"
            )
        );
    }

    #[test]
    fn a_long_body_and_a_long_brief_are_cut_with_a_note() {
        let lines: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        assert!(first_lines(&lines.join("\n")).ends_with("\n15\n(24 more lines are not shown)"));
        let long = Brief {
            seq: 1,
            id: "b".into(),
            agent_id: "main".into(),
            kind: "result".into(),
            created_at: "then".into(),
            text: "漢".repeat(20_000),
            turn_index: 1,
            note: None,
            action_required: None,
            attachments: Vec::new(),
        };
        let row = brief(&long);
        assert_eq!((row.time.as_str(), row.title.as_str()), ("then", "result"));
        assert!(
            row.text.ends_with("bytes are not shown)"),
            "{}",
            row.text.len()
        );
    }
}
