//! The trace of a run: always a hash, to compare two runs of a seed, and optionally all lines.

/// Recorded events of a run.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    hash: u64,
    keep: TraceDetail,
    lines: Vec<String>,
}

/// Parts of a trace that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceDetail {
    /// Only the hash is kept.
    Hash,
    /// The hash and every line are kept.
    Lines,
}

impl Trace {
    /// Creates an empty trace.
    #[must_use]
    pub(crate) const fn new(keep: TraceDetail) -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            keep,
            lines: Vec::new(),
        }
    }

    /// Adds a line, which is only rendered if it is needed.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        let line = line();
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.keep == TraceDetail::Lines {
            self.lines.push(line);
        }
    }

    /// Returns the hash of all noted lines.
    #[must_use]
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns the lines; empty if they were not kept.
    #[must_use]
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}
