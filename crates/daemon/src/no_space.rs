//! A start that waits for space on the disk: whoever asks meanwhile is told so at once, instead of waiting with it.
//!
//! The listeners are bound before recovery, so callers reach them. Nothing is read from a request but its end, and
//! nothing is answered unless the disk is full: any other start is over soon, and its callers are served then.

use crate::endpoint::Bound;
use holon_api::ErrorBody;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// How long one caller may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause after a connection that could not be accepted, or after one of too many.
const PAUSE: Duration = Duration::from_millis(100);
/// From so many callers at once on, others are accepted more slowly.
const CALLERS: usize = 64;
/// More than the head of any request needs.
const HEAD_BYTES: usize = 64 << 10;

/// Turns callers away for as long as the disk is full. Ends only by being dropped.
pub(crate) async fn turn_away(bound: &Bound, mut full: watch::Receiver<bool>) -> Infallible {
    let answer: Arc<str> = answer().into();
    let mut told = false;
    // Those who are being told, also when the host comes up meanwhile.
    let callers = TaskTracker::new();
    loop {
        if full.wait_for(|full| *full).await.is_err() {
            // The store is gone, and the start ends with it.
            return std::future::pending().await;
        }
        if !std::mem::replace(&mut told, true) {
            tracing::error!(
                "the host is not up: what the last one left cannot be settled while the disk is full; \
                 it comes up by itself when there is space"
            );
        }
        let answer = Arc::clone(&answer);
        let accepted = tokio::select! {
            _ = full.wait_for(|full| !*full) => Ok(()),
            caller = bound.unix.accept() => caller.map(|(stream, _)| {
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
    use holon_store::Home;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn a_caller_is_told_at_once_while_the_disk_is_full_and_left_waiting_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let bound = crate::endpoint::bind(&home, "127.0.0.1:0".parse().unwrap()).await;
        let bound = bound.unwrap();
        let (space, full) = watch::channel(true);
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
            never = turn_away(&bound, full) => match never {},
        };
        assert!(said.starts_with("HTTP/1.1 507 "), "{said}");
        assert!(said.contains(r#""code":"disk_full""#), "{said}");

        let full = space.subscribe();
        space.send_replace(false);
        let mut waiting = TcpStream::connect(bound.endpoints.http_addr).await.unwrap();
        waiting.write_all(b"GET /x HTTP/1.1\r\n\r\n").await.unwrap();
        tokio::select! {
            biased;
            never = turn_away(&bound, full) => match never {},
            accepted = bound.tcp.accept() => drop(accepted.unwrap()),
        }
    }
}
