//! A store that cannot be opened because the disk is full: the start waits for space, and callers are told so at once.
//!
//! The listeners are bound before the store is opened, so callers reach them. Nothing is read from a request but its
//! end.

use crate::endpoint::Bound;
use crate::error::Error;
use crate::open;
use holon_api::ErrorBody;
use holon_store::{Db, Home, Occupant};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Pause between two tries to open the store.
const AGAIN: Duration = Duration::from_secs(1);
/// How often it is logged that there is no space.
const LOG_EVERY: Duration = Duration::from_secs(60);
/// How long one caller may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause after a connection that could not be accepted, or after one of too many.
const PAUSE: Duration = Duration::from_millis(100);
/// From so many callers at once on, others are accepted more slowly.
const CALLERS: usize = 64;
/// More than the head of any request needs.
const HEAD_BYTES: usize = 64 << 10;

/// Opens the store of a home as soon as there is space for it, and turns callers away until then.
///
/// # Errors
/// When it cannot be opened for another reason.
pub(crate) async fn open_store(home: &Home, bound: &Bound) -> Result<Db, Error> {
    let mut logged: Option<Instant> = None;
    loop {
        let error = match open::open_store(home, Occupant::Host) {
            Err(error) if error.is_full() => error,
            opened => return opened,
        };
        if logged.is_none_or(|last| last.elapsed() >= LOG_EVERY) {
            logged = Some(Instant::now());
            tracing::error!(%error, "the host is not up: its store cannot be opened while the disk is full; \
                 it comes up by itself when there is space");
        }
        tokio::select! {
            never = turn_away(bound) => match never {},
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

/// Tells every caller that the disk is full. Ends only by being dropped.
async fn turn_away(bound: &Bound) -> Infallible {
    let answer: Arc<str> = answer().into();
    // Those who are being told, also when the store is open meanwhile.
    let callers = TaskTracker::new();
    loop {
        let answer = Arc::clone(&answer);
        let accepted = tokio::select! {
            caller = accept_unix(bound) => caller.map(|stream| {
                callers.spawn(tell(stream, answer));
            }),
            caller = bound.tcp.accept() => caller.map(|(stream, _)| {
                callers.spawn(tell(stream, answer));
            }),
        };
        if accepted.is_err() || callers.len() >= CALLERS {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn accept_unix(bound: &Bound) -> std::io::Result<UnixStream> {
    match &bound.unix {
        Some(unix) => unix.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

/// The one answer there is.
fn answer() -> String {
    let error = holon_engine::Error::DiskFull;
    let body = ErrorBody::new(
        error.code(),
        "the host is not up yet, because the disk is full",
    )
    .hint("free some space; the host comes up by itself");
    let body = serde_json::to_string(&body).unwrap_or_default();
    format!(
        "HTTP/1.1 507 Insufficient Storage\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Tells one caller, who may go before it is told.
async fn tell(stream: impl AsyncRead + AsyncWrite + Unpin, answer: Arc<str>) {
    drop(tokio::time::timeout(PATIENCE, exchange(stream, answer)).await);
}

/// The request's head, the answer, and then the rest of the request: closed with bytes unread, a socket would take the
/// answer back.
async fn exchange<S>(mut stream: S, answer: Arc<str>) -> std::io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_BYTES {
        if stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn a_caller_is_told_at_once_that_the_disk_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let bound = crate::endpoint::bind(&home, "127.0.0.1:0".parse().unwrap()).await;
        let bound = bound.unwrap();
        let ask = async {
            let mut caller = TcpStream::connect(bound.endpoints.http_addr).await.unwrap();
            let request = b"POST /x HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody";
            caller.write_all(request).await.unwrap();
            let mut said = String::new();
            caller.read_to_string(&mut said).await.unwrap();
            said
        };
        let said = tokio::select! {
            said = ask => said,
            never = turn_away(&bound) => match never {},
        };
        assert!(said.starts_with("HTTP/1.1 507 "), "{said}");
        assert!(said.contains(r#""code":"disk_full""#), "{said}");
    }
}
