//! Facts about an output file beyond its length: the part of the stream it lacks, and the offset of its tail.
//!
//! The shim knows them and writes them into the claim directory. When that directory is removed, the facts that the
//! length of a file does not show are saved in a file next to the output, so that stream offsets stay valid as long
//! as the output exists.

use crate::off_thread::off_thread;
use holon_domain::command::MissingOutput;
use holon_process::{CommandLocator, Error, OutputRecord, ShimmedState, StreamRecord, attach};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Extension of a facts file, and of one that is being written.
const FACTS: &str = "facts.json";
const UNFINISHED: &str = "facts.tmp";

/// Path of the facts file that belongs to an output file.
pub(crate) fn facts_path(output: &Path) -> PathBuf {
    output.with_extension(FACTS)
}

/// Saves the facts of an ended command that its output files alone do not show.
pub(crate) async fn save_facts(claim_dir: &Path) -> io::Result<()> {
    // The record of an ended command is read without comparing name and nonce.
    let locator = CommandLocator {
        claim_dir,
        task_id: "",
        nonce: "",
    };
    let ShimmedState::Ended(ended) = attach(locator).await else {
        return Ok(());
    };
    let OutputRecord { output, errors } = ended.output;
    off_thread(move || {
        let streams = [Some(output), errors];
        let telling = |facts: &StreamRecord| facts.head_bytes != facts.total_bytes;
        for facts in streams.into_iter().flatten().filter(telling) {
            if facts.path.exists() {
                write(&facts)?;
            }
        }
        Ok(())
    })
    .await
}

fn write(facts: &StreamRecord) -> io::Result<()> {
    let unfinished = facts.path.with_extension(UNFINISHED);
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&unfinished)?;
    file.write_all(&serde_json::to_vec(facts)?)?;
    file.sync_all()?;
    std::fs::rename(unfinished, facts_path(&facts.path))
}

/// Returns the saved facts if they match the file that was `found`, else `found` itself.
pub(crate) fn prefer_saved(found: StreamRecord) -> StreamRecord {
    let text = std::fs::read(facts_path(&found.path)).unwrap_or_default();
    let Ok(kept) = serde_json::from_slice::<StreamRecord>(&text) else {
        return found;
    };
    let fits = match kept.tail_at {
        Some(tail_at) => found.total_bytes == tail_at.saturating_add(kept.tail_bytes),
        // A full disk may have accepted part of the tail.
        None => found.total_bytes >= kept.head_bytes,
    };
    if !fits {
        // The file was changed since the facts were saved.
        return found;
    }
    StreamRecord {
        // The home may have been moved since.
        path: found.path,
        ..kept
    }
}

/// Returns the part of its stream that a file does not hold.
pub(crate) fn lacks(facts: &StreamRecord) -> MissingOutput {
    if facts.missing {
        return MissingOutput {
            missing: true,
            ..MissingOutput::default()
        };
    }
    let tail = facts.tail_at.map_or(0, |_| facts.tail_bytes);
    let held = facts.head_bytes.saturating_add(tail);
    match facts.total_bytes.saturating_sub(held) {
        0 => MissingOutput::default(),
        bytes => MissingOutput {
            bytes,
            reason: facts.error.clone(),
            missing: false,
        },
    }
}

/// Returns the loss caused by an error while reading the file; `None` if the error is not about the file.
pub(crate) fn unreadable(facts: &StreamRecord, error: &Error) -> Option<MissingOutput> {
    let bytes = facts.total_bytes;
    match error {
        Error::OutputMissing { .. } => Some(MissingOutput {
            bytes,
            reason: None,
            missing: true,
        }),
        Error::Output { reason } => Some(MissingOutput {
            bytes,
            reason: Some(reason.clone()),
            missing: false,
        }),
        Error::Lost
        | Error::Unreachable { .. }
        | Error::InputClosed
        | Error::InputFull { .. }
        | Error::LineTooLong { .. }
        | Error::NoTerminal
        | Error::NoStream => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(path: &Path, head: u64, tail: u64, total: u64) -> StreamRecord {
        StreamRecord {
            path: path.to_owned(),
            total_bytes: total,
            head_bytes: head,
            tail_bytes: tail,
            tail_at: None,
            error: None,
            missing: false,
        }
    }

    #[test]
    fn a_file_lacks_what_is_neither_in_its_head_nor_in_its_tail() {
        let path = Path::new("/o/task_1.log");
        assert_eq!(lacks(&facts(path, 10, 0, 10)), MissingOutput::default());
        // The shim still holds the tail in memory.
        assert_eq!(lacks(&facts(path, 10, 5, 15)).bytes, 5);
        let ended = StreamRecord {
            tail_at: Some(12),
            ..facts(path, 10, 5, 100)
        };
        assert_eq!(
            lacks(&ended),
            MissingOutput {
                bytes: 85,
                ..MissingOutput::default()
            }
        );
        let full = StreamRecord {
            error: Some("No space left on device".to_owned()),
            ..facts(path, 10, 0, 100)
        };
        assert_eq!(
            lacks(&full).words().unwrap(),
            "lacks 90 bytes (No space left on device)"
        );
        // The whole stream was written in the end.
        let late = StreamRecord {
            error: full.error,
            ..facts(path, 10, 0, 10)
        };
        assert_eq!(lacks(&late), MissingOutput::default());
    }

    #[test]
    fn what_was_kept_is_used_for_the_file_it_was_kept_of_and_for_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.log");
        std::fs::write(&path, "head--tail").unwrap();
        let kept = StreamRecord {
            tail_at: Some(6),
            ..facts(&path, 4, 4, 100)
        };
        let moved = StreamRecord {
            path: dir.path().join("was/task_1.log"),
            ..kept.clone()
        };
        let found = facts(&path, 10, 0, 10);
        assert_eq!(prefer_saved(found.clone()), found);
        std::fs::create_dir(dir.path().join("was")).unwrap();
        write(&moved).unwrap();
        std::fs::rename(facts_path(&moved.path), facts_path(&path)).unwrap();
        assert_eq!(prefer_saved(found), kept);
        let grown = facts(&path, 11, 0, 11);
        assert_eq!(prefer_saved(grown.clone()), grown);
    }
}
