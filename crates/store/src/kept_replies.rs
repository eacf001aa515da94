//! The kept_replies table: replies to requests with an idempotency key. Belongs to the host, not to an agent.
//!
//! A row is older than its time by at most the pace of new ones: each new row removes a few expired ones. Of large replies
//! only the newest are kept; an older one leaves its row with an empty text, so that its request stays decided. So does
//! the request of a row that cannot be read.

use crate::error::Error;
use crate::row::{first, limit, run};
use crate::{agents, generations};
use holon_domain::limits::{KEPT_REPLIES_LARGE, KEPT_REPLY_LARGE_BYTES, KEPT_REPLY_MS};
use holon_domain::request_key::{KeptReply, RequestKey};
use holon_domain::{AgentId, Timestamp};
use rusqlite::{Connection, params};

/// A time long before the host's is no time at which a reply was kept: the row is damaged, and its request stays decided.
pub(crate) const ONE: &str = "SELECT digest, reply, birth FROM kept_replies WHERE id = ?1 \
     AND (kept_at > ?2 OR kept_at < ?3)";
/// An expired row of the same key is replaced, and so is one of an agent that was removed.
pub(crate) const KEEP: &str = "INSERT OR REPLACE INTO kept_replies (id, digest, reply, kept_at, birth) \
     VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const FORGET: &str = "DELETE FROM kept_replies WHERE id IN \
     (SELECT id FROM kept_replies WHERE kept_at BETWEEN ?2 AND ?1 ORDER BY kept_at LIMIT 4)";
/// The limit stands in the text, because an index is used only for a condition that is known without parameters.
pub(crate) const EMPTY_LARGE: &str = "UPDATE kept_replies SET reply = '' WHERE id IN \
     (SELECT id FROM kept_replies WHERE length(reply) > 4096 AND kept_at < ?2 ORDER BY kept_at DESC LIMIT 4 OFFSET ?1)";

/// Ten years: no host waits so long for the request that removes an expired row.
const POSSIBLE_MS: i64 = 10 * 365 * 24 * 3_600_000;

/// Returns the newest time at which an expired reply was kept.
fn expired_at(now: Timestamp) -> i64 {
    let kept_ms = i64::try_from(KEPT_REPLY_MS).unwrap_or(i64::MAX);
    now.as_millis().saturating_sub(kept_ms)
}

/// Returns the oldest time at which a reply can have been kept.
fn possible_at(now: Timestamp) -> i64 {
    now.as_millis().saturating_sub(POSSIBLE_MS).max(0)
}

/// Reads the reply to a request, unless it has expired.
pub(crate) fn one(conn: &Connection, id: &str, now: Timestamp) -> Result<Option<KeptReply>, Error> {
    let bounds = params![id, expired_at(now), possible_at(now)];
    let found = first(conn, ONE, bounds, |row| {
        let text = |column| -> Result<Option<String>, Error> {
            Ok(row.get_ref(column)?.as_str().ok().map(str::to_owned))
        };
        Ok((text(0)?, text(1)?, row.get(2)?))
    })?;
    let Some((digest, reply, birth)) = found else {
        return Ok(None);
    };
    let kept = match (digest, reply) {
        (Some(digest), Some(reply)) => KeptReply {
            digest: Some(digest),
            reply,
            birth,
        },
        (digest, _) => {
            tracing::error!(id, "a row of `kept_replies` is damaged");
            KeptReply {
                birth,
                ..KeptReply::damaged(digest)
            }
        }
    };
    check_birth(conn, id, kept).map(Some)
}

/// Checks the birth of a reply. If no agent can have it, the row is damaged, and its request stays decided for every agent.
fn check_birth(conn: &Connection, id: &str, kept: KeptReply) -> Result<KeptReply, Error> {
    let newest = i64::try_from(generations::newest(conn)?).unwrap_or(i64::MAX);
    let is_possible = |birth: i64| birth == GONE || (0..=newest).contains(&birth);
    if kept.birth.is_none_or(is_possible) {
        return Ok(kept);
    }
    tracing::error!(id, birth = kept.birth, "a row of `kept_replies` is damaged");
    Ok(KeptReply::damaged(kept.digest))
}

/// Birth of an agent that was gone before the reply was kept: no agent has it, and hardly any damage makes it.
const GONE: i64 = i64::MIN;

/// Keeps the reply to a request, and removes a few expired ones. `agent` is the one that the request was about.
pub(crate) fn keep(
    conn: &Connection,
    key: &RequestKey,
    agent: Option<&AgentId>,
    reply: &str,
    now: Timestamp,
) -> Result<(), Error> {
    run(conn, FORGET, [expired_at(now), possible_at(now)])?;
    let birth = match agent {
        Some(agent) => Some(agents::birth(conn, agent)?.unwrap_or(GONE)),
        None => None,
    };
    let row = params![key.id, key.digest, reply, now.as_millis(), birth];
    run(conn, KEEP, row)?;
    if reply.len() > KEPT_REPLY_LARGE_BYTES {
        run(conn, EMPTY_LARGE, [limit(KEPT_REPLIES_LARGE), i64::MAX])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use holon_domain::request_key::KeptReplyGap;

    fn key(id: &str) -> RequestKey {
        RequestKey {
            id: id.to_owned(),
            digest: format!("digest of {id}"),
        }
    }

    #[test]
    fn a_reply_is_kept_for_a_day_and_then_removed_by_newer_ones() {
        let db = Db::in_memory().expect("opens");
        let conn = &db.conn;
        let day = i64::try_from(KEPT_REPLY_MS).expect("fits");
        let at = Timestamp::from_millis;
        keep(conn, &key("a"), None, "1", at(1_000)).expect("keeps");
        let found = |id: &str, now: i64| one(conn, id, at(now)).expect("reads");
        let kept = found("a", 999 + day).expect("is kept");
        assert_eq!(
            (kept.digest.as_deref(), kept.reply.as_str()),
            (Some("digest of a"), "1")
        );
        assert_eq!(found("a", 1_000 + day), None);
        assert_eq!(found("b", 1_000), None);
        keep(conn, &key("a"), None, "2", at(1_000 + day)).expect("keeps");
        assert_eq!(
            found("a", 1_000 + day).map(|kept| kept.reply),
            Some("2".to_owned())
        );
        for number in 0..3 {
            let key = key(&number.to_string());
            keep(conn, &key, None, "x", at(3_000 + 2 * day)).expect("keeps");
        }
        let count = first(conn, "SELECT count(*) FROM kept_replies", [], |row| {
            Ok(row.get(0)?)
        });
        assert_eq!(count.expect("reads"), Some(3));
    }

    #[test]
    fn a_reply_whose_time_is_damaged_stays_and_its_request_is_not_decided_again() {
        let db = Db::in_memory().expect("opens");
        let conn = &db.conn;
        let at = Timestamp::from_millis;
        let day = i64::try_from(KEPT_REPLY_MS).expect("fits");
        keep(conn, &key("a"), None, "1", at(5)).expect("keeps");
        for damage in [-1, i64::MIN, 0, 5, 86_400_000] {
            let sql = "UPDATE kept_replies SET kept_at = ?1 WHERE id = 'a'";
            conn.execute(sql, [damage]).expect("changes");
            let now = at(20_000 * day);
            keep(conn, &key("b"), None, "2", now).expect("keeps");
            let found = one(conn, "a", now).expect("reads");
            assert_eq!(
                found.map(|kept| kept.reply).as_deref(),
                Some("1"),
                "{damage}"
            );
        }
    }

    #[test]
    fn only_the_newest_large_replies_are_kept_and_the_others_stay_decided() {
        let db = Db::in_memory().expect("opens");
        let conn = &db.conn;
        let at = Timestamp::from_millis;
        let large = "x".repeat(KEPT_REPLY_LARGE_BYTES + 1);
        keep(conn, &key("small"), None, "1", at(0)).expect("keeps");
        for number in 0..KEPT_REPLIES_LARGE + 9 {
            let now = at(i64::try_from(number).expect("fits"));
            keep(conn, &key(&number.to_string()), None, &large, now).expect("keeps");
        }
        let kept = |name: &str| one(conn, name, at(500)).expect("reads").expect("a row");
        assert_eq!(kept("small").reply, "1");
        for number in 0..KEPT_REPLIES_LARGE + 9 {
            let found = kept(&number.to_string());
            assert!(found.answers(&key(&number.to_string())), "{number}");
            assert_eq!(found.is_removed(), number < 9, "{number}");
        }
    }

    #[test]
    fn a_reply_whose_birth_no_agent_can_have_is_damaged_and_its_request_stays_decided() {
        let mut db = Db::in_memory().expect("opens");
        let (id, at) = (crate::samples::id("a"), Timestamp::from_millis);
        let mut record = crate::samples::agent("a");
        record.generation = 7;
        db.write(|tx| tx.create_agent(&record)).expect("creates");
        let conn = &db.conn;
        generations::take(conn, 8).expect("given out");
        keep(conn, &key("k"), Some(&id), "1", at(9_000)).expect("keeps");
        for damage in [-1, -7, 99, i64::MAX] {
            let sql = "UPDATE kept_replies SET birth = ?1";
            conn.execute(sql, [damage]).expect("changes");
            let kept = one(conn, "k", at(9_000)).expect("reads").expect("kept");
            assert!(kept.belongs_to(7), "{damage}");
            assert_eq!(
                kept.read::<u64>(),
                Err(KeptReplyGap::Unreadable),
                "{damage}"
            );
        }
    }

    #[test]
    fn a_reply_that_is_no_text_is_unreadable_and_its_request_stays_decided() {
        let damages = [("reply", [true, false]), ("digest", [true, true])];
        for (column, answered) in damages {
            let mut db = Db::in_memory().expect("opens");
            let (id, at) = (crate::samples::id("a"), Timestamp::from_millis(9_000));
            let mut record = crate::samples::agent("a");
            record.generation = 7;
            db.write(|tx| tx.create_agent(&record)).expect("creates");
            let conn = &db.conn;
            keep(conn, &key("k"), Some(&id), "1", at).expect("keeps");
            let damage = format!("UPDATE kept_replies SET {column} = CAST(x'ff' AS TEXT)");
            conn.execute(&damage, []).expect("changes");
            let kept = one(conn, "k", at).expect("reads").expect("kept");
            assert_eq!(kept.read::<u64>(), Err(KeptReplyGap::Unreadable));
            assert!(kept.belongs_to(7) && !kept.belongs_to(8), "{column}");
            let other = RequestKey {
                digest: "another".to_owned(),
                ..key("k")
            };
            assert_eq!([key("k"), other].map(|key| kept.answers(&key)), answered);
        }
    }

    #[test]
    fn a_reply_belongs_to_the_agent_that_lived_when_it_was_kept_whatever_the_clock_says() {
        let mut db = Db::in_memory().expect("opens");
        let (id, at) = (crate::samples::id("a"), Timestamp::from_millis);
        let mut record = crate::samples::agent("a");
        record.generation = 7;
        db.write(|tx| tx.create_agent(&record)).expect("creates");
        let conn = &db.conn;
        assert_eq!(agents::birth(conn, &id), Ok(Some(7)));
        let kept = |name: &str| one(conn, name, at(9_000)).expect("reads").expect("kept");
        keep(conn, &key("of it"), Some(&id), "1", at(9_000)).expect("keeps");
        keep(conn, &key("earlier"), None, "1", at(1)).expect("keeps");
        let gone = crate::samples::id("gone");
        assert_eq!(agents::birth(conn, &gone), Ok(None));
        keep(conn, &key("gone"), Some(&gone), "1", at(9_000)).expect("keeps");
        let belongs =
            |birth: i64| ["of it", "earlier", "gone"].map(|name| kept(name).belongs_to(birth));
        assert_eq!(belongs(7), [true, true, false]);
        assert_eq!(belongs(8), [false, true, false], "another of the same name");
        assert_eq!(belongs(0), [false, true, false], "one of an earlier build");
    }
}
