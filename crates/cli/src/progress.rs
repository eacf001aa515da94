//! Progress of a transfer, shown on a terminal while it goes on.

use crate::output::show_progress;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// A counter of bytes that shows its percentage when it changes.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Participle before the figures.
    verb: &'static str,
    total: u64,
    seen: u64,
    /// Last percentage that was shown. Absent if nothing is shown.
    shown: Option<u64>,
}

impl Progress {
    /// Creates a counter. Nothing is shown unless a person reads standard error.
    pub(crate) fn new(verb: &'static str, total: u64, is_shown: bool) -> Self {
        Self {
            verb,
            total,
            seen: 0,
            shown: is_shown.then_some(u64::MAX),
        }
    }

    /// Counts bytes, and shows the percentage if it has changed.
    pub(crate) fn advance(&mut self, bytes: u64) {
        self.seen += bytes;
        let percent = self.seen.saturating_mul(100) / self.total.max(1);
        if self.shown.is_some_and(|shown| shown != percent) {
            self.shown = Some(percent);
            let (verb, seen, total) = (self.verb, self.seen, self.total);
            show_progress(&format!("{verb} {percent} % ({seen} of {total} bytes)"));
        }
    }

    /// Removes the line from the terminal, if one was shown.
    pub(crate) fn end(&mut self) {
        if self.shown.take().is_some_and(|shown| shown != u64::MAX) {
            show_progress("");
        }
    }

    /// Counts the bytes that are read from a source. The line is removed at the last byte.
    pub(crate) const fn watch<R>(self, source: R) -> Watched<R> {
        Watched {
            source,
            progress: self,
        }
    }
}

/// A source whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Watched<R> {
    source: R,
    progress: Progress,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.source).poll_read(context, buffer);
        let bytes = buffer.filled().len() - before;
        self.progress.advance(bytes as u64);
        if self.progress.seen >= self.progress.total {
            self.progress.end();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_shows_nothing_still_counts() {
        let mut progress = Progress::new("sent", 200, false);
        progress.advance(50);
        progress.advance(150);
        progress.end();
        assert_eq!((progress.seen, progress.shown), (200, None));
    }
}
