//! Reads the two output pipes of a command into bounded captures.
//!
//! Every future here is cancel-safe: it may be dropped at any point and called again without losing a byte.

use crate::capture::Capture;
use crate::group::Group;
use holon_domain::command::CapturedStream;
use std::convert::Infallible;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};

/// Size of the read buffer.
const READ_BYTES: usize = 32 << 10;

/// One pipe. `reader` is `None` after its end.
#[derive(Debug)]
struct Pipe<R> {
    reader: Option<R>,
    buffer: Vec<u8>,
    capture: Capture,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(reader: Option<R>, capture_bytes: usize) -> Self {
        Self {
            reader,
            buffer: vec![0; READ_BYTES],
            capture: Capture::new(capture_bytes),
        }
    }

    async fn drain(&mut self) {
        while let Some(reader) = &mut self.reader {
            // A pipe that cannot be read is treated as one at its end.
            match reader.read(&mut self.buffer).await {
                Ok(0) | Err(_) => self.reader = None,
                Ok(read) => self
                    .capture
                    .push(self.buffer.get(..read).unwrap_or_default()),
            }
        }
    }
}

/// The pipes for stdout and stderr of one command.
#[derive(Debug)]
pub(crate) struct Pipes {
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
}

impl Pipes {
    /// Takes the pipes of a command that has just been started.
    pub(crate) fn take(group: &mut Group, capture_bytes: usize) -> Self {
        let child = group.child();
        Self {
            stdout: Pipe::new(child.stdout.take(), capture_bytes),
            stderr: Pipe::new(child.stderr.take(), capture_bytes),
        }
    }

    /// Reads both pipes to their end. They are read concurrently, because a command blocks on a full pipe.
    pub(crate) async fn drain(&mut self) {
        tokio::join!(self.stdout.drain(), self.stderr.drain());
    }

    /// Reads both pipes and never completes. For a `select!` that another branch must win.
    pub(crate) async fn drain_for_ever(&mut self) -> Infallible {
        self.drain().await;
        std::future::pending().await
    }

    /// Returns the captures of stdout and stderr.
    pub(crate) fn finish(self) -> (CapturedStream, CapturedStream) {
        (self.stdout.capture.finish(), self.stderr.capture.finish())
    }
}
