//! Sends one request to a shim: connects, writes the request, reads the reply.

use crate::error::Error;
use crate::wire::{
    Answer, BODY_BYTES, LINE_BYTES, ReplyLine, Request, RequestLine, SOCKET, encode,
};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

/// Timeout of a reply. A shim answers at once unless the machine is overloaded.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a request and returns the answer with its body. A refusal is an error.
pub(super) async fn request(
    claim_dir: &Path,
    nonce: &str,
    request: Request,
    body: &[u8],
) -> Result<(Answer, Vec<u8>), Error> {
    match exchange(claim_dir, nonce, request, body).await? {
        (Answer::Refused(refusal), _) => Err(refusal.into()),
        answer => Ok(answer),
    }
}

/// Sends a request and returns the answer with its body, also if it is a refusal.
///
/// # Errors
/// Fails if no answer came.
pub(super) async fn exchange(
    claim_dir: &Path,
    nonce: &str,
    request: Request,
    body: &[u8],
) -> Result<(Answer, Vec<u8>), Error> {
    let exchange = async {
        let mut stream = BufReader::new(send(claim_dir, nonce, request, body).await?);
        let mut line = Vec::new();
        (&mut stream)
            .take(LINE_BYTES as u64)
            .read_until(b'\n', &mut line)
            .await?;
        let reply: ReplyLine = serde_json::from_slice(&line)?;
        let mut body = vec![0; reply.body.min(BODY_BYTES)];
        stream.read_exact(&mut body).await?;
        Ok::<_, io::Error>((reply.answer, body))
    };
    match tokio::time::timeout(REPLY_TIMEOUT, exchange).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Error::unreachable(&error)),
        Err(_) => Err(Error::Unreachable {
            reason: format!("no answer in {} seconds", REPLY_TIMEOUT.as_secs()),
        }),
    }
}

/// Sends a request and returns the connection, to read the reply from.
pub(super) async fn send(
    claim_dir: &Path,
    nonce: &str,
    request: Request,
    body: &[u8],
) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(claim_dir, flags, Mode::empty())?;
    // Short even if the directory's own path is too long for a socket address.
    let path = format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd());
    let mut stream = UnixStream::connect(path).await?;
    let line = RequestLine {
        nonce: nonce.to_owned(),
        request,
        body: body.len(),
    };
    stream.write_all(&encode(&line, body)?).await?;
    Ok(stream)
}
