//! The external_triggers table: capabilities of agents, the active ones and the newest revoked ones.
//!
//! Rows of earlier builds do not say who revoked a capability. The event of the revocation does; it is looked up for the
//! newest row of a mode, which decides what the agent may make. Before events of an agent go, the row takes over what
//! they say, so that the answer stays the same. Where the event went before, it cannot be known any more, and the row
//! says so: `core` takes such a revocation for an operator's, which is the safe side.

use crate::error::Error;
use crate::events;
use crate::row::{AgentNo, Unreadable, first, json, limit, run};
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::limits::TRIGGERS_KEPT;
use holon_domain::trigger::TriggerRecord;
use holon_domain::{Timestamp, TriggerId};
use rusqlite::{Connection, Row, params};

pub(crate) const WRITE: &str = "INSERT INTO external_triggers (agent_no, trigger_id, active, record) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (trigger_id) DO UPDATE SET active = ?3, record = ?4";
pub(crate) const ONE: &str =
    "SELECT trigger_id, record FROM external_triggers WHERE trigger_id = ?1";
pub(crate) const OF_AGENT: &str = "SELECT trigger_id, record FROM external_triggers \
     WHERE agent_no = ?1 ORDER BY trigger_no DESC LIMIT ?2";
pub(crate) const FORGET: &str = "DELETE FROM external_triggers WHERE active = 0 AND trigger_no IN \
     (SELECT trigger_no FROM external_triggers WHERE agent_no = ?1 ORDER BY trigger_no DESC LIMIT 4 OFFSET ?2)";

/// Events that are looked at for a revocation, from the first one of its time on.
const EVENTS_NEAR: u64 = 64;

fn read(row: &Row<'_>) -> Result<TriggerRecord, Error> {
    let id: String = row.get(0)?;
    json(row, 1, "external_triggers", id)
}

/// Writes a capability that was made, used, rotated or revoked, and removes old revoked ones.
pub(crate) fn write(conn: &Connection, no: AgentNo, trigger: &TriggerRecord) -> Result<(), Error> {
    let active = trigger.is_active();
    let text = serde_json::to_string(trigger)?;
    let row = params![no.0, trigger.id.as_str(), active, text];
    run(conn, WRITE, row)?;
    if !active {
        // The active ones are at most two, so they stay within the kept ones.
        run(conn, FORGET, params![no.0, limit(TRIGGERS_KEPT - 4)])?;
    }
    Ok(())
}

/// Reads a capability by its id. The record names its agent.
pub(crate) fn one(conn: &Connection, id: &TriggerId) -> Result<Option<TriggerRecord>, Error> {
    first(conn, ONE, [id.as_str()], read)
}

/// Lists the capabilities of an agent, newest first.
pub(crate) fn of_agent(
    conn: &Connection,
    no: AgentNo,
    unreadable: Unreadable,
) -> Result<Vec<TriggerRecord>, Error> {
    let mut triggers = unreadable.all(conn, OF_AGENT, params![no.0, limit(TRIGGERS_KEPT)], read)?;
    for trigger in untold(&mut triggers) {
        look_up(conn, no, trigger)?;
    }
    Ok(triggers)
}

/// Writes into the rows of an agent what its events say about revocations, before events of it go.
pub(crate) fn keep_revokers(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    let kept = params![no.0, limit(TRIGGERS_KEPT)];
    let mut triggers = Unreadable::IsPassedOver.all(conn, OF_AGENT, kept, read)?;
    for trigger in untold(&mut triggers) {
        look_up(conn, no, trigger)?;
        if trigger.revoked_by_operator.is_some() {
            write(conn, no, trigger)?;
        }
    }
    Ok(())
}

/// Returns the newest capability of each mode, if it was revoked and its row does not say by whom.
fn untold(triggers: &mut [TriggerRecord]) -> Vec<&mut TriggerRecord> {
    let (mut seen, mut found) = (Vec::new(), Vec::new());
    for trigger in triggers {
        if seen.contains(&trigger.delivery_mode) {
            continue;
        }
        seen.push(trigger.delivery_mode);
        if trigger.revoked_by_operator.is_none() && !trigger.is_active() {
            found.push(trigger);
        }
    }
    found
}

fn look_up(conn: &Connection, no: AgentNo, trigger: &mut TriggerRecord) -> Result<(), Error> {
    if let Some(at) = trigger.revoked_at {
        trigger.revoked_by_operator = who_revoked(conn, no, &trigger.id, at)?;
    }
    Ok(())
}

/// Finds in the event of a revocation whether an operator made it. `None` if the event was removed or cannot be read.
fn who_revoked(
    conn: &Connection,
    no: AgentNo,
    id: &TriggerId,
    at: Timestamp,
) -> Result<Option<bool>, Error> {
    let near = EventQuery {
        after_seq: Some(events::first_at_or_after(conn, no, at)?.saturating_sub(1)),
        limit: EVENTS_NEAR,
        order: EventOrder::Ascending,
        ..EventQuery::default()
    };
    let page = match events::page(conn, no, near) {
        Err(error) if error.concerns_one_agent() => return Ok(None),
        page => page?,
    };
    let mut revocations = page.events.into_iter().filter_map(|record| {
        let Event::ExternalTriggerRevoked(revoked) = record.event else {
            return None;
        };
        Some(revoked)
    });
    let found = revocations.find(|revoked| revoked.external_trigger_id == *id);
    Ok(found.map(|revoked| revoked.by_operator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples::{Scribe, at};
    use holon_domain::decision::Fact;
    use holon_domain::event::ExternalTriggerRevoked;
    use holon_domain::trigger::{DeliveryMode, TriggerScope, TriggerStatus};

    /// A capability as an earlier build left it after a revocation.
    fn revoked(scribe: &Scribe, millis: i64) -> TriggerRecord {
        let agent_id = scribe.record.identity.agent_id.clone();
        let id = TriggerId::from_stored(format!("trig_{millis}"));
        TriggerRecord {
            status: TriggerStatus::Revoked,
            revoked_at: Some(at(millis)),
            ..TriggerRecord::new(id, agent_id, DeliveryMode::WakeHint, at(0))
        }
    }

    #[test]
    fn a_row_of_an_earlier_build_is_read_with_who_revoked_the_capability() {
        for by_operator in [true, false] {
            let mut db = Db::in_memory().expect("opens");
            let mut scribe = Scribe::new("a");
            let no = db
                .write(|tx| tx.create_agent(&scribe.record))
                .expect("creates");
            let trigger = revoked(&scribe, 5_000);
            for millis in 1..=10 {
                for _ in 0..20 {
                    scribe.event();
                }
                scribe.record.counters.events += 1;
                let event = Event::ExternalTriggerRevoked(ExternalTriggerRevoked {
                    external_trigger_id: revoked(&scribe, millis * 1_000).id,
                    scope: TriggerScope::Agent,
                    delivery_mode: DeliveryMode::WakeHint,
                    by_operator: by_operator == (millis == 5),
                });
                let seq = scribe.record.counters.events;
                let at = at(millis * 1_000);
                scribe.fact(Fact::EventRecorded { seq, at, event });
                if millis == 5 {
                    scribe.fact(Fact::TriggerWritten(Box::new(trigger.clone())));
                }
                let decision = scribe.decide();
                db.write(|tx| tx.apply(no, &decision)).expect("writes");
            }
            let [read] = of_agent(&db.conn, no, Unreadable::Fails)
                .expect("reads")
                .try_into()
                .expect("one");
            assert_eq!(read.revoked_by_operator, Some(by_operator));
            // Only whole chunks of events go.
            for later in 1..=150 {
                for _ in 0..20 {
                    scribe.event_at(at(20_000 + later));
                }
                let decision = scribe.decide();
                db.write(|tx| tx.apply(no, &decision)).expect("writes");
            }
            let removed = db.write(|tx| tx.trim_events(0, 1, 10_000)).expect("trims");
            assert!(removed > 100, "{removed} events are gone");
            let [read] = of_agent(&db.conn, no, Unreadable::Fails)
                .expect("reads")
                .try_into()
                .expect("one");
            assert_eq!(
                read.revoked_by_operator,
                Some(by_operator),
                "the row says it"
            );
        }
    }

    #[test]
    fn a_row_of_an_earlier_build_whose_event_went_does_not_say_who_revoked_the_capability() {
        let mut db = Db::in_memory().expect("opens");
        let mut scribe = Scribe::new("a");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        let trigger = revoked(&scribe, 5_000);
        scribe.fact(Fact::TriggerWritten(Box::new(trigger)));
        let decision = scribe.event().decide();
        db.write(|tx| tx.apply(no, &decision)).expect("writes");
        keep_revokers(&db.conn, no).expect("looks");
        let [read] = of_agent(&db.conn, no, Unreadable::Fails)
            .expect("reads")
            .try_into()
            .expect("one");
        assert_eq!(read.revoked_by_operator, None);
    }
}
