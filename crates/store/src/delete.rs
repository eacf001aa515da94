//! Deletes an agent: a list of every table that holds rows of agents, each with its rule.
//!
//! Invariant: every table except those of the host (`budgets`, `day_meters`, `delivery_targets`, `kept_replies`, `meta`,
//! `model_limits`, `removals`, `reserved`, `spawns`, `tokens`, `tombstones`, `usage`, `workspace_profiles`, `workspaces`) is in the list, and `agents` is last, so that an interrupted deletion
//! can always be found and resumed.

use crate::error::Error;
use crate::row::{AgentNo, limit, run};
use rusqlite::{Connection, params};

/// The progress of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    Done,
    /// Rows are left. The caller repeats the step in another commit.
    More,
}

/// Every table with rows of agents, and the statement that removes a bounded number of them.
pub(crate) const RULES: &[(&str, &str)] = &[
    (
        "effects",
        "DELETE FROM effects WHERE agent_no = ?1 AND id IN \
         (SELECT id FROM effects WHERE agent_no = ?1 ORDER BY id LIMIT ?2)",
    ),
    (
        "due",
        "DELETE FROM due WHERE agent_no = ?1 AND id IN \
         (SELECT id FROM due WHERE agent_no = ?1 ORDER BY id LIMIT ?2)",
    ),
    (
        "attempts",
        "DELETE FROM attempts WHERE agent_no = ?1 AND n IN \
         (SELECT n FROM attempts WHERE agent_no = ?1 ORDER BY n LIMIT ?2)",
    ),
    (
        "interjections",
        "DELETE FROM interjections WHERE agent_no = ?1 AND (priority, seq) IN \
         (SELECT priority, seq FROM interjections WHERE agent_no = ?1 ORDER BY priority, seq LIMIT ?2)",
    ),
    (
        "tasks",
        "DELETE FROM tasks WHERE task_no IN \
         (SELECT task_no FROM tasks WHERE agent_no = ?1 ORDER BY task_no LIMIT ?2)",
    ),
    (
        "work_items",
        "DELETE FROM work_items WHERE item_no IN \
         (SELECT item_no FROM work_items WHERE agent_no = ?1 ORDER BY changed LIMIT ?2)",
    ),
    (
        "delivery_summaries",
        "DELETE FROM delivery_summaries WHERE summary_no IN \
         (SELECT summary_no FROM delivery_summaries WHERE agent_no = ?1 ORDER BY summary_id LIMIT ?2)",
    ),
    (
        "waits",
        "DELETE FROM waits WHERE wait_no IN \
         (SELECT wait_no FROM waits WHERE agent_no = ?1 ORDER BY wait_no LIMIT ?2)",
    ),
    (
        "timers",
        "DELETE FROM timers WHERE timer_no IN \
         (SELECT timer_no FROM timers WHERE agent_no = ?1 ORDER BY timer_no LIMIT ?2)",
    ),
    (
        "reservations",
        "DELETE FROM reservations WHERE agent_no = ?1 AND ?2 > 0",
    ),
    (
        "occupancies",
        "DELETE FROM occupancies WHERE agent_no = ?1 AND ?2 > 0",
    ),
    (
        "hints",
        "DELETE FROM hints WHERE agent_no = ?1 AND key IN \
         (SELECT key FROM hints WHERE agent_no = ?1 ORDER BY key LIMIT ?2)",
    ),
    (
        "deliveries",
        "DELETE FROM deliveries WHERE agent_no = ?1 AND (lane, seq) IN \
         (SELECT lane, seq FROM deliveries WHERE agent_no = ?1 ORDER BY lane, seq LIMIT ?2)",
    ),
    (
        "memory_outbox",
        "DELETE FROM memory_outbox WHERE agent_no = ?1 AND position IN \
         (SELECT position FROM memory_outbox WHERE agent_no = ?1 ORDER BY position LIMIT ?2)",
    ),
    (
        "working_memory",
        "DELETE FROM working_memory WHERE agent_no = ?1 AND ?2 > 0",
    ),
    (
        "episodes",
        "DELETE FROM episodes WHERE episode_no IN \
         (SELECT episode_no FROM episodes WHERE agent_no = ?1 ORDER BY seq LIMIT ?2)",
    ),
    (
        "external_triggers",
        "DELETE FROM external_triggers WHERE trigger_no IN \
         (SELECT trigger_no FROM external_triggers WHERE agent_no = ?1 ORDER BY trigger_no LIMIT ?2)",
    ),
    (
        "messages",
        "DELETE FROM messages WHERE message_no IN \
         (SELECT message_no FROM messages WHERE agent_no = ?1 ORDER BY seq LIMIT ?2)",
    ),
    (
        "log",
        "DELETE FROM log WHERE entry_no IN \
         (SELECT entry_no FROM log WHERE agent_no = ?1 ORDER BY seq LIMIT ?2)",
    ),
    (
        "briefs",
        "DELETE FROM briefs WHERE brief_no IN \
         (SELECT brief_no FROM briefs WHERE agent_no = ?1 ORDER BY seq LIMIT ?2)",
    ),
    (
        "events",
        "DELETE FROM events WHERE row_no IN \
         (SELECT row_no FROM events WHERE agent_no = ?1 ORDER BY last_seq LIMIT ?2)",
    ),
    // Texts that only this agent refers to are removed before its references, which are needed to find them.
    (
        "blobs",
        "DELETE FROM blobs WHERE hash IN \
         (SELECT b.hash FROM blob_refs r CROSS JOIN blobs b ON b.hash = r.hash WHERE r.agent_no = ?1 AND NOT EXISTS \
         (SELECT 1 FROM blob_refs o WHERE o.hash = r.hash AND o.agent_no <> ?1) LIMIT ?2)",
    ),
    (
        "blob_refs",
        "DELETE FROM blob_refs WHERE agent_no = ?1 AND hash IN \
         (SELECT hash FROM blob_refs WHERE agent_no = ?1 ORDER BY hash LIMIT ?2)",
    ),
    (
        "output_refs",
        "DELETE FROM output_refs WHERE agent_no = ?1 AND name IN \
         (SELECT name FROM output_refs WHERE agent_no = ?1 ORDER BY name LIMIT ?2)",
    ),
    (
        "image_refs",
        "DELETE FROM image_refs WHERE agent_no = ?1 AND (message_seq, digest) IN \
         (SELECT message_seq, digest FROM image_refs WHERE agent_no = ?1 ORDER BY message_seq, digest LIMIT ?2)",
    ),
    (
        "children",
        "DELETE FROM children WHERE spawn_no IN (SELECT spawn_no FROM children \
         WHERE child = (SELECT agent_id FROM agents WHERE agent_no = ?1) ORDER BY spawn_no LIMIT ?2)",
    ),
    (
        "agents",
        "DELETE FROM agents WHERE agent_no = ?1 AND ?2 > 0",
    ),
];

/// Removes at most `bound` rows.
pub(crate) fn step(conn: &Connection, no: AgentNo, bound: u64) -> Result<Removal, Error> {
    let mut left = bound;
    for (_, sql) in RULES {
        if left == 0 {
            return Ok(Removal::More);
        }
        left -= (run(conn, sql, params![no.0, limit(left)])? as u64).min(left);
    }
    // The agent's own row is removed last. While it exists, there is more to do.
    let gone = crate::row::first(conn, crate::agents::ID_OF, [no.0], |_| Ok(()))?.is_none();
    Ok(if gone { Removal::Done } else { Removal::More })
}
