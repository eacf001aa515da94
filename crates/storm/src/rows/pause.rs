//! Events about pauses of turns: retries and suspensions.

use super::stored_events;
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
    /// Reason of a suspension; empty for other events.
    pub(crate) reason: String,
}

/// Reads the pause events of one row.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Vec<PauseEvent>> {
    let agent = row.get(0)?;
    let events = stored_events(row, 1)?.into_iter();
    let pauses = events.filter(|event| PAUSE_EVENTS.contains(&event.kind.as_str()));
    let pauses = pauses.filter_map(|event| {
        Some(PauseEvent {
            agent,
            turn: event.payload["turn_index"].as_u64()?,
            reason: event.payload["reason"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            kind: event.kind,
        })
    });
    Ok(pauses.collect())
}
