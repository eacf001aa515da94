//! The image_refs table: which messages name which images. The file of an image that no message names is removed.
//!
//! A row is written with its message and goes with it.

use crate::error::Error;
use crate::row::{AgentNo, first, run};
use holon_domain::image::ImageDigest;
use holon_domain::queue::{MessageSeq, QueueEntry};
use rusqlite::{Connection, params};

/// A message may name an image twice.
pub(crate) const NOTE: &str = "INSERT INTO image_refs (agent_no, message_seq, digest) VALUES (?1, ?2, ?3) \
     ON CONFLICT (agent_no, message_seq, digest) DO NOTHING";
pub(crate) const NAMED: &str =
    "SELECT 1 FROM image_refs INDEXED BY image_refs_of_image WHERE digest = ?1 LIMIT 1";
pub(crate) const REMOVE: &str = "DELETE FROM image_refs WHERE agent_no = ?1 AND message_seq = ?2";

/// Records the images that an admitted message names.
pub(crate) fn note(conn: &Connection, no: AgentNo, entry: &QueueEntry) -> Result<(), Error> {
    for image in &entry.envelope.images {
        run(conn, NOTE, params![no.0, entry.seq, image.digest.as_str()])?;
    }
    Ok(())
}

/// Removes the rows of a message that goes.
pub(crate) fn remove(conn: &Connection, no: AgentNo, seq: MessageSeq) -> Result<(), Error> {
    run(conn, REMOVE, params![no.0, seq]).map(drop)
}

/// Returns those of the images that a message names.
pub(crate) fn named(conn: &Connection, digests: &[ImageDigest]) -> Result<Vec<ImageDigest>, Error> {
    let mut named = Vec::new();
    for digest in digests {
        if first(conn, NAMED, params![digest.as_str()], |_| Ok(()))?.is_some() {
            named.push(digest.clone());
        }
    }
    Ok(named)
}
