//! One question to a shim: connect, ask, read the answer.

use crate::error::Error;
use crate::wire::{Answer, Ask, BODY_BYTES, LINE_BYTES, Question, Reply, SOCKET, encode};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

/// How long an answer may take. A shim answers at once unless the machine is choking.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks, and returns the answer with its body. A refusal is an error.
pub(super) async fn ask(
    state_dir: &Path,
    nonce: &str,
    ask: Ask,
    body: &[u8],
) -> Result<(Answer, Vec<u8>), Error> {
    match exchange(state_dir, nonce, ask, body).await? {
        (Answer::Refused(refusal), _) => Err(refusal.into()),
        answer => Ok(answer),
    }
}

/// Asks, and returns the answer with its body, also where it is a refusal.
///
/// # Errors
/// When no answer came.
pub(super) async fn exchange(
    state_dir: &Path,
    nonce: &str,
    ask: Ask,
    body: &[u8],
) -> Result<(Answer, Vec<u8>), Error> {
    let exchange = async {
        let mut stream = BufReader::new(send(state_dir, nonce, ask, body).await?);
        let mut line = Vec::new();
        (&mut stream)
            .take(LINE_BYTES as u64)
            .read_until(b'\n', &mut line)
            .await?;
        let reply: Reply = serde_json::from_slice(&line)?;
        let mut body = vec![0; reply.body.min(BODY_BYTES)];
        stream.read_exact(&mut body).await?;
        Ok::<_, io::Error>((reply.answer, body))
    };
    match tokio::time::timeout(PATIENCE, exchange).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Error::unreachable(&error)),
        Err(_) => Err(Error::Unreachable {
            reason: format!("no answer in {} seconds", PATIENCE.as_secs()),
        }),
    }
}

/// Asks, and leaves the answer to be read.
pub(super) async fn send(
    state_dir: &Path,
    nonce: &str,
    ask: Ask,
    body: &[u8],
) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(state_dir, flags, Mode::empty())?;
    // Short, however long the directory's own path is.
    let path = format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd());
    let mut stream = UnixStream::connect(path).await?;
    let question = Question {
        nonce: nonce.to_owned(),
        ask,
        body: body.len(),
    };
    stream.write_all(&encode(&question, body)?).await?;
    Ok(stream)
}
