//! Rule: messages, events, log entries and briefs of an agent are numbered without gaps, in the rows and in the API.

use crate::rest::AgentView;
use crate::rows::{AgentRow, Rows};

pub(crate) fn check(rows: &Rows, views: &[AgentView]) -> Vec<String> {
    let mut found = Vec::new();
    for agent in &rows.agents {
        let counters = agent.counters;
        let numbered = [
            (
                "message",
                numbers_of(agent, rows.messages.iter().map(|row| (row.agent, row.seq))),
                counters.messages,
            ),
            (
                "log entry",
                numbers_of(agent, rows.log.iter().map(|row| (row.agent, row.seq))),
                counters.log,
            ),
            (
                "brief",
                numbers_of(agent, rows.briefs.iter().map(|row| (row.agent, row.seq))),
                counters.briefs,
            ),
        ];
        for (kind, numbers, last) in numbered {
            let wrong = first_gap(&numbers, 1, last);
            found.extend(wrong.map(|wrong| format!("{}: {kind} {wrong}", agent.id)));
        }
        let events: Vec<i64> = rows
            .events
            .iter()
            .filter(|row| row.agent == agent.no)
            .flat_map(|row| (row.last_seq - row.count + 1)..=row.last_seq)
            .collect();
        let wrong = first_gap(&events, agent.oldest_event.max(1), counters.events);
        found.extend(wrong.map(|wrong| format!("{}: event {wrong}", agent.id)));
        let view = views.iter().find(|view| view.agent == agent.id);
        found.extend(
            view.into_iter()
                .flat_map(|view| compare(rows, agent, &events, view)),
        );
    }
    found
}

fn numbers_of(agent: &AgentRow, rows: impl Iterator<Item = (i64, i64)>) -> Vec<i64> {
    let own = rows.filter(|(owner, _)| *owner == agent.no);
    own.map(|(_, seq)| seq).collect()
}

/// Returns the first gap in ascending numbers from `first` to `last`.
fn first_gap(numbers: &[i64], first: i64, last: i64) -> Option<String> {
    let mut expected = first;
    for number in numbers {
        if *number != expected {
            return Some(format!("{expected} is missing: there is {number}"));
        }
        expected += 1;
    }
    (expected != last + 1).then(|| format!("{expected} is missing: the last given out was {last}"))
}

/// Compares the control plane's view with the rows.
fn compare(rows: &Rows, agent: &AgentRow, events: &[i64], view: &AgentView) -> Vec<String> {
    let mut found = Vec::new();
    let stored = events.iter().filter_map(|seq| u64::try_from(*seq).ok());
    if !stored.eq(view.events.iter().copied()) {
        let (stored, told) = (events.len(), view.events.len());
        found.push(format!(
            "{}: the pages told {told} events and {stored} are stored, or others",
            agent.id
        ));
    }
    let own = rows.briefs.iter().filter(|row| row.agent == agent.no);
    let stored: Vec<&str> = own.map(|row| row.id.as_str()).collect();
    let newest = stored.len().saturating_sub(view.briefs.len());
    if stored.get(newest..).unwrap_or_default() != view.briefs {
        found.push(format!(
            "{}: the briefs that were told are not the stored ones",
            agent.id
        ));
    }
    found
}
