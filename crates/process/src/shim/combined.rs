//! The file with both streams of a command, in the order in which they arrived.
//!
//! Most commands print to one stream only, and the file of that stream is then the whole output. The combined file
//! therefore begins when the second stream prints for the first time: what the first one printed is copied into it. It
//! is an extra: if it cannot be written, the command and the files of its streams do not notice.

use super::sink::{self, Sink};
use std::path::{Path, PathBuf};

/// The combined file, from the first output of the second stream on.
#[derive(Debug)]
pub(super) struct Combined {
    cap: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// At most one stream has printed.
    Absent(PathBuf),
    Open(Box<Sink>),
    /// There is one stream only, or the file could not be made.
    Off,
}

impl Combined {
    /// Prepares the file at `path`, without creating it. `None` for a command with one stream.
    pub(super) fn new(path: Option<&Path>, cap: u64) -> Self {
        let state = path.map_or(State::Off, |path| State::Absent(path.to_owned()));
        Self { cap, state }
    }

    /// Adds bytes of one stream. `other` is the sink of the other one.
    pub(super) fn add(&mut self, bytes: &[u8], other: Option<&Sink>) {
        if let (State::Absent(path), Some(other)) = (&self.state, other)
            && other.has_output()
        {
            self.state = begin(path, self.cap, other).map_or(State::Off, State::Open);
        }
        if let State::Open(sink) = &mut self.state {
            sink.take(bytes);
        }
    }

    /// Ends the file after the last output.
    pub(super) fn finish(&mut self) {
        if let State::Open(sink) = &mut self.state {
            sink.finish();
        }
    }
}

/// Creates the file with what the first stream has printed.
fn begin(path: &Path, cap: u64, first: &Sink) -> Option<Box<Sink>> {
    let file = sink::create(path).ok()?;
    let mut sink = Box::new(Sink::new(None, file, path, cap));
    match sink.take_kept(first) {
        Ok(()) => Some(sink),
        Err(_) => {
            std::fs::remove_file(path).ok();
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(dir: &Path, name: &str, cap: u64) -> Sink {
        let path = dir.join(name);
        let file = sink::create(&path).unwrap();
        Sink::new(None, file, &path, cap)
    }

    #[test]
    fn both_streams_stand_in_one_file_in_the_order_of_their_arrival() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("both");
        let (mut output, mut errors) = (
            stream(dir.path(), "out", 1_000),
            stream(dir.path(), "err", 1_000),
        );
        let mut combined = Combined::new(Some(&path), 1_000);
        for piece in [b"one\n", b"two\n"] {
            output.take(piece);
            combined.add(piece, Some(&errors));
        }
        assert!(!path.exists(), "one stream is whole in its own file");
        errors.take(b"oh\n");
        combined.add(b"oh\n", Some(&output));
        output.take(b"three\n");
        combined.add(b"three\n", Some(&errors));
        combined.finish();
        let both = std::fs::read_to_string(&path).unwrap();
        assert_eq!(both, "one\ntwo\noh\nthree\n");
    }

    #[test]
    fn what_the_first_stream_lost_is_named_in_the_combined_file_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("both");
        let (mut output, errors) = (stream(dir.path(), "out", 40), stream(dir.path(), "err", 40));
        let mut combined = Combined::new(Some(&path), 40);
        output.take(&[b'x'; 100]);
        combined.add(&[b'x'; 100], Some(&errors));
        combined.add(b"oh\n", Some(&output));
        combined.finish();
        let both = std::fs::read_to_string(&path).unwrap();
        assert!(
            both.contains("bytes are missing here") && both.ends_with("oh\n"),
            "{both}"
        );
        assert!(both.starts_with(&"x".repeat(30)), "{both}");
    }

    #[test]
    fn a_file_that_cannot_be_made_costs_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("both");
        std::fs::write(&path, "mine").unwrap();
        let mut output = stream(dir.path(), "out", 40);
        let errors = stream(dir.path(), "err", 40);
        let mut combined = Combined::new(Some(&path), 40);
        output.take(b"a");
        combined.add(b"a", Some(&errors));
        combined.add(b"b", Some(&output));
        combined.finish();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
