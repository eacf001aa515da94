//! The trace of a run: a hash always, so that two runs of a seed can be compared, and the lines when they are wanted.

/// What a run leaves behind of what it did.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    hash: u64,
    keep: Keep,
    lines: Vec<String>,
}

/// Whether lines are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The hash only.
    Hash,
    /// Every line.
    Lines,
}

impl Trace {
    /// An empty trace.
    #[must_use]
    pub(crate) const fn new(keep: Keep) -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            keep,
            lines: Vec::new(),
        }
    }

    /// Adds a line.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        let line = line();
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.keep == Keep::Lines {
            self.lines.push(line);
        }
    }

    /// The hash of everything noted.
    #[must_use]
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The lines, if they were kept.
    #[must_use]
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}
