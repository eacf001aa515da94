//! Lines of JSON from a shim, and how one of them tells of the end.

use super::client;
use crate::record::Outcome;
use crate::wire::{Answer, Ask, LINE_BYTES, Reply};
use serde::de::DeserializeOwned;
use std::fmt;
use std::io;
use std::path::Path;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// A connection on which the end will be told.
pub(super) async fn wait_line(state_dir: &Path, nonce: &str) -> io::Result<Line> {
    let stream = client::send(state_dir, nonce, Ask::Wait, &[]).await?;
    Ok(Line::new(Box::new(stream)))
}

/// How the end is told: bare by a shim to whoever started it, as an answer to whoever asked.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum Told {
    Outcome(Outcome),
    Reply(Reply),
}

impl Told {
    pub(super) fn into_outcome(self) -> Option<Outcome> {
        match self {
            Self::Outcome(outcome)
            | Self::Reply(Reply {
                answer: Answer::Over(outcome),
                ..
            }) => Some(outcome),
            Self::Reply(_) => None,
        }
    }
}

/// Lines of JSON from a shim. A read that was dropped goes on where it stood.
pub(super) struct Line {
    reader: BufReader<Box<dyn AsyncRead + Send + Sync + Unpin>>,
    line: Vec<u8>,
}

impl Line {
    pub(super) fn new(reader: Box<dyn AsyncRead + Send + Sync + Unpin>) -> Self {
        Self {
            reader: BufReader::with_capacity(4 << 10, reader),
            line: Vec::new(),
        }
    }

    /// The next line; none at the end.
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

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
