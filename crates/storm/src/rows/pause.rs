//! Events about pauses of turns: retries and suspensions.

use super::json;
use rusqlite::Row;

/// Selects the rows of all events, in order for each agent.
pub(super) const QUERY: &str = "SELECT agent_no, data FROM events ORDER BY agent_no, last_seq";

/// Names of the events that start or end a pause of a turn. The end of the turn also ends it.
const PAUSE_EVENTS: [&str; 4] = [
    "provider_retry_scheduled",
    "turn_suspended",
    "turn_suspension_ended",
    "turn_terminal",
];

/// An event that starts or ends a pause of a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct PauseEvent {
    pub(crate) agent: i64,
    pub(crate) turn: u64,
    pub(crate) kind: String,
}

/// Reads the pause events of one row.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Vec<PauseEvent>> {
    let agent = row.get(0)?;
    let data = json(row, 1)?;
    let events = data.as_array().into_iter().flatten();
    let pauses = events.filter_map(|event| {
        let kind = event[0]
            .as_str()
            .filter(|kind| PAUSE_EVENTS.contains(kind))?;
        Some(PauseEvent {
            agent,
            turn: event[2]["turn_index"].as_u64()?,
            kind: kind.to_owned(),
        })
    });
    Ok(pauses.collect())
}
