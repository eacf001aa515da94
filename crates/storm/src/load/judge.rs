//! The rules of a load run, checked over the histories of the clients and the rows of the database. Pure functions.

use super::history::ClientHistory;
use crate::rows::{MessageRow, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// Returns every broken rule as a sentence.
pub(crate) fn violations(histories: &[ClientHistory], rows: &Rows) -> Vec<String> {
    let mut stored: BTreeMap<&str, Vec<&MessageRow>> = BTreeMap::new();
    for row in &rows.messages {
        stored.entry(row.text.as_str()).or_default().push(row);
    }
    let mut found = Vec::new();
    for history in histories {
        found.extend(messages(history, &stored, rows));
        found.extend(events(history, rows));
    }
    found
}

/// Rules: an acknowledged message is stored once under its id for its agent, an unanswered one at most once, and a refused
/// one not at all.
fn messages(
    history: &ClientHistory,
    stored: &BTreeMap<&str, Vec<&MessageRow>>,
    rows: &Rows,
) -> Vec<String> {
    let name = &history.name;
    let of = |text: &str| stored.get(text).map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    let mut answered = BTreeSet::new();
    for (id, text) in &history.acknowledged {
        if !answered.insert(text.as_str()) {
            found.push(format!("{name}: {text:?} was acknowledged twice"));
        }
        match of(text) {
            [] => found.push(format!("{name}: {text:?} was acknowledged and is lost")),
            [row] if row.id != *id => found.push(format!(
                "{name}: {text:?} was acknowledged as {id} and is stored as {}",
                row.id
            )),
            [row] if rows.name(row.agent) != history.agent => found.push(format!(
                "{name}: {text:?} is in the queue of {}",
                rows.name(row.agent)
            )),
            [_] => {}
            several => found.push(format!(
                "{name}: {text:?} was acknowledged and is stored {} times",
                several.len()
            )),
        }
    }
    for text in &history.refused {
        if !of(text).is_empty() {
            found.push(format!("{name}: {text:?} was refused and is stored"));
        }
    }
    for text in &history.sent {
        if !answered.contains(text.as_str()) && of(text).len() > 1 {
            let times = of(text).len();
            found.push(format!(
                "{name}: {text:?} was sent once and is stored {times} times"
            ));
        }
    }
    found
}

/// Rule: a client gets every event of its agent once, in order, from the first to the last.
fn events(history: &ClientHistory, rows: &Rows) -> Vec<String> {
    let name = &history.name;
    let mut found = Vec::new();
    let mut last = 0;
    for seq in &history.events {
        if *seq <= last {
            found.push(format!("{name}: event {seq} came again after {last}"));
        } else if *seq > last + 1 {
            found.push(format!(
                "{name}: the events between {last} and {seq} are missing"
            ));
        }
        last = *seq;
    }
    let agent = rows.agents.iter().find(|agent| agent.id == history.agent);
    match agent {
        None => found.push(format!("{name}: agent {:?} is not stored", history.agent)),
        Some(agent) => {
            let newest = u64::try_from(agent.counters.events).unwrap_or_default();
            if last != newest {
                found.push(format!(
                    "{name}: the last event is {newest}, and {last} was seen"
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{AgentRow, Counters};

    fn rows(messages: &[(&str, &str)]) -> Rows {
        let message = |(id, text): &(&str, &str)| MessageRow {
            agent: 1,
            id: (*id).to_owned(),
            text: (*text).to_owned(),
            ..MessageRow::default()
        };
        Rows {
            agents: vec![AgentRow {
                no: 1,
                id: "load-0".to_owned(),
                counters: Counters {
                    events: 3,
                    ..Counters::default()
                },
                ..AgentRow::default()
            }],
            messages: messages.iter().map(message).collect(),
            ..Rows::default()
        }
    }

    fn history(text: &str) -> ClientHistory {
        let mut history = ClientHistory {
            name: "c".to_owned(),
            ..ClientHistory::default()
        };
        history.add(&format!("agent load-0\n{text}")).unwrap();
        history
    }

    const EVENTS: &str = "event 1\nevent 2\nevent 3\n";

    fn judged(lines: &str, stored: &[(&str, &str)]) -> Vec<String> {
        violations(&[history(lines)], &rows(stored))
    }

    #[test]
    fn a_run_without_loss_breaks_no_rule() {
        let lines =
            format!("send a\nack m1 a\nsend b\nunknown b: gone\nsend c\nrefused c\n{EVENTS}");
        assert_eq!(judged(&lines, &[("m1", "a"), ("m2", "b")]), [""; 0]);
        assert_eq!(
            judged(&lines, &[("m1", "a")]),
            [""; 0],
            "an unanswered one may be lost"
        );
    }

    #[test]
    fn lost_doubled_and_refused_messages_are_found() {
        let acknowledged = format!("send a\nack m1 a\n{EVENTS}");
        for (stored, words) in [
            (&[][..], "is lost"),
            (&[("m1", "a"), ("m2", "a")], "stored 2 times"),
            (&[("m2", "a")], "stored as m2"),
        ] {
            let found = judged(&acknowledged, stored);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
        let unanswered = format!("send a\nunknown a: gone\n{EVENTS}");
        let found = judged(&unanswered, &[("m1", "a"), ("m2", "a")]);
        assert!(
            found[0].contains("sent once and is stored 2 times"),
            "{found:?}"
        );
        let refused = format!("send a\nrefused a\n{EVENTS}");
        let found = judged(&refused, &[("m1", "a")]);
        assert!(found[0].contains("was refused and is stored"), "{found:?}");
    }

    #[test]
    fn gaps_repetitions_and_a_missing_end_are_found() {
        for (lines, words) in [
            ("event 1\nevent 3\n", "between 1 and 3"),
            ("event 1\nevent 2\nevent 2\nevent 3\n", "came again"),
            ("event 1\nevent 2\n", "the last event is 3"),
            ("event 2\nevent 3\n", "between 0 and 2"),
        ] {
            let found = judged(lines, &[]);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
    }
}
