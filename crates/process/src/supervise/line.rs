//! Reads lines of JSON from a shim, and decodes the one that reports the end.

use super::client;
use crate::record::Outcome;
use crate::wire::{Answer, LINE_BYTES, ReplyLine, Request};
use serde::de::DeserializeOwned;
use std::fmt;
use std::io;
use std::path::Path;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Opens a connection on which the shim will report the end.
pub(super) async fn open_end_channel(claim_dir: &Path, nonce: &str) -> io::Result<LineReader> {
    let stream = client::send(claim_dir, nonce, Request::Wait, &[]).await?;
    Ok(LineReader::new(Box::new(stream)))
}

/// The line that reports the end: a bare outcome on the pipe to the host that started the shim, a reply on a socket.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum EndMessage {
    Outcome(Outcome),
    Reply(ReplyLine),
}

impl EndMessage {
    pub(super) fn into_outcome(self) -> Option<Outcome> {
        match self {
            Self::Outcome(outcome)
            | Self::Reply(ReplyLine {
                answer: Answer::Ended(outcome),
                ..
            }) => Some(outcome),
            Self::Reply(_) => None,
        }
    }
}

/// Reads lines of JSON from a shim. A read that was dropped resumes where it stopped.
pub(super) struct LineReader {
    reader: BufReader<Box<dyn AsyncRead + Send + Sync + Unpin>>,
    line: Vec<u8>,
}

impl LineReader {
    pub(super) fn new(reader: Box<dyn AsyncRead + Send + Sync + Unpin>) -> Self {
        Self {
            reader: BufReader::with_capacity(4 << 10, reader),
            line: Vec::new(),
        }
    }

    /// Reads the next line; `None` at the end.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        while self.line.last() != Some(&b'\n') {
            if self.line.len() > LINE_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let part = self.reader.fill_buf().await?;
            if part.is_empty() {
                return Ok(None);
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(part.len(), |end| end + 1);
            self.line
                .extend_from_slice(part.get(..used).unwrap_or_default());
            self.reader.consume(used);
        }
        let line = std::mem::take(&mut self.line);
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

impl fmt::Debug for LineReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader").finish_non_exhaustive()
    }
}
