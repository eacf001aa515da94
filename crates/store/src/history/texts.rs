//! Texts that only the frames of removed turns have named.

use super::Cut;
use crate::blobs::LAG;
use crate::error::Error;
use crate::row::{AgentNo, first, limit, run};
use holon_domain::limits::HISTORY_STEP;
use holon_domain::log::BlobHash;
use holon_domain::turn::LogSeq;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// References whose recorded use is not behind a position, the oldest first.
pub(crate) const UNUSED: &str = "SELECT hash, newest FROM blob_refs INDEXED BY blob_refs_by_use \
     WHERE agent_no = ?1 AND newest <= ?2 ORDER BY newest";
/// Size of a text that no other agent refers to.
pub(crate) const OWN_SIZE: &str = "SELECT octet_length(body) FROM blobs WHERE hash = ?2 AND NOT EXISTS \
     (SELECT 1 FROM blob_refs INDEXED BY blob_refs_of_text WHERE hash = ?2 AND agent_no <> ?1)";
pub(crate) const RELEASE: &str = "DELETE FROM blob_refs WHERE agent_no = ?1 AND hash = ?2";
pub(crate) const REMOVE: &str = "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS \
     (SELECT 1 FROM blob_refs INDEXED BY blob_refs_of_text WHERE hash = ?1)";
/// Gives references of earlier builds a use.
pub(crate) const ADOPT: &str = "UPDATE blob_refs SET newest = ?2 WHERE agent_no = ?1 AND hash IN \
     (SELECT hash FROM blob_refs INDEXED BY blob_refs_by_use WHERE agent_no = ?1 AND newest IS NULL LIMIT ?3)";

/// Most texts that a step looks at: more than the frames of a step name. Others go with the next step.
const TEXTS: usize = 2 * HISTORY_STEP;

/// The texts that an agent no longer refers to.
#[derive(Default)]
pub(super) struct TextPlan {
    pub(super) hashes: Vec<BlobHash>,
    /// Bytes of those that no other agent refers to.
    pub(super) bytes: u64,
}

/// Finds the texts that no entry behind a cut names.
pub(super) fn plan(
    conn: &Connection,
    no: AgentNo,
    gone_before: &BTreeSet<BlobHash>,
    cut: &Cut,
) -> Result<TextPlan, Error> {
    let mut plan = TextPlan::default();
    let mut in_doubt: Vec<BlobHash> = Vec::new();
    let mut statement = conn.prepare_cached(UNUSED)?;
    let mut rows = statement.query(params![no.0, cut.through])?;
    while plan.hashes.len() + in_doubt.len() < TEXTS
        && let Some(row) = rows.next()?
    {
        let (hash, newest): (BlobHash, LogSeq) = (row.get(0)?, row.get(1)?);
        if gone_before.contains(&hash) {
            continue;
        }
        match newest + LAG <= cut.through + 1 {
            true => plan.hashes.push(hash),
            false => in_doubt.push(hash),
        }
    }
    // A later entry than these cannot name them: it would have recorded its use.
    let unnamed = super::not_named_next(conn, no, cut, in_doubt, LAG)?;
    plan.hashes.extend(unnamed);
    for hash in &plan.hashes {
        let size = first(conn, OWN_SIZE, params![no.0, hash], |row| {
            Ok(row.get::<_, u64>(0)?)
        })?;
        plan.bytes += size.unwrap_or(0);
    }
    Ok(plan)
}

/// Removes the references, and the texts that nothing refers to any more. References of earlier builds, whose use is not
/// known, get the end of the log: the texts go when everything up to there is gone.
pub(super) fn apply(
    conn: &Connection,
    no: AgentNo,
    plan: &TextPlan,
    newest_entry: LogSeq,
) -> Result<(), Error> {
    for hash in &plan.hashes {
        run(conn, RELEASE, params![no.0, hash])?;
        run(conn, REMOVE, [hash])?;
    }
    run(conn, ADOPT, params![no.0, newest_entry, limit(TEXTS)])?;
    Ok(())
}
