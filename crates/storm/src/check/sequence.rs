//! Messages, events, log entries and briefs of an agent are numbered without holes, in the rows and over the wire.

use crate::rest::Told;
use crate::rows::{AgentRow, Rows};

pub(super) fn check(rows: &Rows, told: &[Told]) -> Vec<String> {
    let mut found = Vec::new();
    for agent in &rows.agents {
        let counters = agent.counters;
        let numbered = [
            (
                "message",
                of(agent, rows.messages.iter().map(|row| (row.agent, row.seq))),
                counters.messages,
            ),
            (
                "log entry",
                of(agent, rows.log.iter().map(|row| (row.agent, row.seq))),
                counters.log,
            ),
            (
                "brief",
                of(agent, rows.briefs.iter().map(|row| (row.agent, row.seq))),
                counters.briefs,
            ),
        ];
        for (kind, numbers, last) in numbered {
            let wrong = hole(&numbers, 1, last);
            found.extend(wrong.map(|wrong| format!("{}: {kind} {wrong}", agent.id)));
        }
        let events: Vec<i64> = rows
            .events
            .iter()
            .filter(|row| row.agent == agent.no)
            .flat_map(|row| (row.last_seq - row.count + 1)..=row.last_seq)
            .collect();
        let wrong = hole(&events, agent.oldest_event.max(1), counters.events);
        found.extend(wrong.map(|wrong| format!("{}: event {wrong}", agent.id)));
        let told = told.iter().find(|told| told.agent == agent.id);
        found.extend(
            told.into_iter()
                .flat_map(|told| compare(rows, agent, &events, told)),
        );
    }
    found
}

fn of(agent: &AgentRow, rows: impl Iterator<Item = (i64, i64)>) -> Vec<i64> {
    let own = rows.filter(|(owner, _)| *owner == agent.no);
    own.map(|(_, seq)| seq).collect()
}

/// The first number that is not the next one, in ascending numbers from `first` to `last`.
fn hole(numbers: &[i64], first: i64, last: i64) -> Option<String> {
    let mut expected = first;
    for number in numbers {
        if *number != expected {
            return Some(format!("{expected} is missing: there is {number}"));
        }
        expected += 1;
    }
    (expected != last + 1).then(|| format!("{expected} is missing: the last given out was {last}"))
}

/// What the control plane told is what the rows say.
fn compare(rows: &Rows, agent: &AgentRow, events: &[i64], told: &Told) -> Vec<String> {
    let mut found = Vec::new();
    let stored = events.iter().filter_map(|seq| u64::try_from(*seq).ok());
    if !stored.eq(told.events.iter().copied()) {
        let (stored, told) = (events.len(), told.events.len());
        found.push(format!(
            "{}: the pages told {told} events and {stored} are stored, or others",
            agent.id
        ));
    }
    let own = rows.briefs.iter().filter(|row| row.agent == agent.no);
    let stored: Vec<&str> = own.map(|row| row.id.as_str()).collect();
    let newest = stored.len().saturating_sub(told.briefs.len());
    if stored.get(newest..).unwrap_or_default() != told.briefs {
        found.push(format!(
            "{}: the briefs that were told are not the stored ones",
            agent.id
        ));
    }
    found
}
