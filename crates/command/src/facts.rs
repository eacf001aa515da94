//! What is known of an output file beyond its length: which part of the stream it lacks, and where the tail begins.
//!
//! A shim knows it and writes it into its command's directory. When that goes, what a length does not tell is kept in a
//! file beside the output, so that offsets mean the same bytes for as long as there is an output.

use crate::off_thread::off_thread;
use holon_domain::command::MissingOutput;
use holon_process::{Error, OutputFacts, Sought, StreamFacts, TaskState, attach};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How the name of such a file ends, and how while it is being written.
const FACTS: &str = "facts.json";
const UNFINISHED: &str = "facts.tmp";

/// The file with what is known of an output file.
pub(crate) fn beside(output: &Path) -> PathBuf {
    output.with_extension(FACTS)
}

/// Keeps what the directory of a command that has ended knows and its output files do not tell.
pub(crate) async fn keep(state_dir: &Path) -> io::Result<()> {
    // Who has ended is asked for neither name nor nonce.
    let nobody = Sought {
        state_dir,
        task_id: "",
        nonce: "",
    };
    let TaskState::Ended(ended) = attach(nobody).await else {
        return Ok(());
    };
    let OutputFacts { output, errors } = ended.output;
    off_thread(move || {
        let streams = [Some(output), errors];
        let telling = |facts: &StreamFacts| facts.head_bytes != facts.total_bytes;
        for facts in streams.into_iter().flatten().filter(telling) {
            if facts.path.exists() {
                write(&facts)?;
            }
        }
        Ok(())
    })
    .await
}

fn write(facts: &StreamFacts) -> io::Result<()> {
    let unfinished = facts.path.with_extension(UNFINISHED);
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&unfinished)?;
    file.write_all(&serde_json::to_vec(facts)?)?;
    file.sync_all()?;
    std::fs::rename(unfinished, beside(&facts.path))
}

/// What was kept of an output file that has the length `found` says; `found` itself when nothing was.
pub(crate) fn or_kept(found: StreamFacts) -> StreamFacts {
    let text = std::fs::read(beside(&found.path)).unwrap_or_default();
    let Ok(kept) = serde_json::from_slice::<StreamFacts>(&text) else {
        return found;
    };
    let fits = match kept.tail_at {
        Some(tail_at) => found.total_bytes == tail_at.saturating_add(kept.tail_bytes),
        // A disk that was full may have taken part of the tail.
        None => found.total_bytes >= kept.head_bytes,
    };
    if !fits {
        // Somebody changed the file since; what was known is of another.
        return found;
    }
    StreamFacts {
        // The home may have moved.
        path: found.path,
        ..kept
    }
}

/// What a file does not hold of its stream.
pub(crate) fn lacks(facts: &StreamFacts) -> MissingOutput {
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

/// What is told of a file that `error` keeps from being read; none where the file is not to blame.
pub(crate) fn unread(facts: &StreamFacts, error: &Error) -> Option<MissingOutput> {
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

    fn facts(path: &Path, (head, tail, total): (u64, u64, u64)) -> StreamFacts {
        StreamFacts {
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
        assert_eq!(lacks(&facts(path, (10, 0, 10))), MissingOutput::default());
        // The shim still holds it.
        assert_eq!(lacks(&facts(path, (10, 5, 15))).bytes, 5);
        let ended = StreamFacts {
            tail_at: Some(12),
            ..facts(path, (10, 5, 100))
        };
        assert_eq!(
            lacks(&ended),
            MissingOutput {
                bytes: 85,
                ..MissingOutput::default()
            }
        );
        let full = StreamFacts {
            error: Some("No space left on device".to_owned()),
            ..facts(path, (10, 0, 100))
        };
        assert_eq!(
            lacks(&full).words().unwrap(),
            "lacks 90 bytes (No space left on device)"
        );
        // All of it was written in the end.
        let late = StreamFacts {
            error: full.error,
            ..facts(path, (10, 0, 10))
        };
        assert_eq!(lacks(&late), MissingOutput::default());
    }

    #[test]
    fn what_was_kept_is_used_for_the_file_it_was_kept_of_and_for_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task_1.log");
        std::fs::write(&path, "head--tail").unwrap();
        let kept = StreamFacts {
            tail_at: Some(6),
            ..facts(&path, (4, 4, 100))
        };
        let moved = StreamFacts {
            path: dir.path().join("was/task_1.log"),
            ..kept.clone()
        };
        let found = facts(&path, (10, 0, 10));
        assert_eq!(or_kept(found.clone()), found);
        std::fs::create_dir(dir.path().join("was")).unwrap();
        write(&moved).unwrap();
        std::fs::rename(beside(&moved.path), beside(&path)).unwrap();
        assert_eq!(or_kept(found), kept);
        let grown = facts(&path, (11, 0, 11));
        assert_eq!(or_kept(grown.clone()), grown);
    }
}
