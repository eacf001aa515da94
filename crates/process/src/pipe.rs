//! The two output pipes of a command, read together into bounded captures.
//!
//! Every future here may be dropped at any point and asked again without losing a byte.

use crate::capture::Capture;
use crate::group::Group;
use holon_domain::command::CapturedStream;
use std::convert::Infallible;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};

/// Bytes of one read.
const READ_BYTES: usize = 32 << 10;

/// One pipe: open, or read to its end.
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
            // A pipe that cannot be read has nothing more to say, as one at its end.
            match reader.read(&mut self.buffer).await {
                Ok(0) | Err(_) => self.reader = None,
                Ok(read) => self
                    .capture
                    .push(self.buffer.get(..read).unwrap_or_default()),
            }
        }
    }
}

/// Standard output and standard error of one command.
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

    /// Reads both to their end. Both are always read, or a command would block for ever on a full one.
    pub(crate) async fn drain(&mut self) {
        tokio::join!(self.stdout.drain(), self.stderr.drain());
    }

    /// Reads both and stays, for a race that something else must win.
    pub(crate) async fn drain_for_ever(&mut self) -> Infallible {
        self.drain().await;
        std::future::pending().await
    }

    /// What was read.
    pub(crate) fn finish(self) -> (CapturedStream, CapturedStream) {
        (self.stdout.capture.finish(), self.stderr.capture.finish())
    }
}
