//! Waits for disk space if the store cannot be opened on a full disk, and tells clients so at once.
//!
//! The listeners are bound before the store is opened, so clients reach them. A request is read only to find its end.

use crate::endpoint::BoundListeners;
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

/// Interval of the retries to open the store.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of the log lines about the missing space.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Timeout of one client connection.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept, or while too many clients are connected.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Number of concurrent clients from which on new ones are accepted more slowly.
const MAX_CLIENTS: usize = 64;
/// Longer than the head of any request.
const HEAD_BYTES: usize = 64 << 10;

/// Opens the store of a home as soon as there is space for it, and refuses clients until then.
///
/// # Errors
/// Fails if it cannot be opened for another reason.
pub(crate) async fn open_store(home: &Home, bound: &BoundListeners) -> Result<Db, Error> {
    let mut logged: Option<Instant> = None;
    loop {
        let error = match open::open_store(home, Occupant::Host) {
            Err(error) if error.is_full() => error,
            opened => return opened,
        };
        if logged.is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            logged = Some(Instant::now());
            tracing::error!(%error, "the host is not up: its store cannot be opened while the disk is full; \
                 it comes up by itself when there is space");
        }
        tokio::select! {
            never = refuse_clients(bound) => match never {},
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
        }
    }
}

/// Answers every client that the disk is full. Runs until dropped.
async fn refuse_clients(bound: &BoundListeners) -> Infallible {
    let answer: Arc<str> = answer().into();
    // Clients that are being answered, also after the store was opened.
    let clients = TaskTracker::new();
    loop {
        let answer = Arc::clone(&answer);
        let accepted = tokio::select! {
            caller = accept_unix(bound) => caller.map(|stream| {
                clients.spawn(answer_client(stream, answer));
            }),
            caller = bound.tcp.accept() => caller.map(|(stream, _)| {
                clients.spawn(answer_client(stream, answer));
            }),
        };
        if accepted.is_err() || clients.len() >= MAX_CLIENTS {
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

async fn accept_unix(bound: &BoundListeners) -> std::io::Result<UnixStream> {
    match &bound.unix {
        Some(unix) => unix.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

/// Returns the response that every client gets.
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

/// Answers one client, which may disconnect first.
async fn answer_client(stream: impl AsyncRead + AsyncWrite + Unpin, answer: Arc<str>) {
    drop(tokio::time::timeout(CLIENT_TIMEOUT, exchange(stream, answer)).await);
}

/// Reads the head of the request, writes the answer, and then reads the rest: closing a socket with unread bytes
/// would discard the answer.
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
        let access = holon_config::HostOptions::default().resolve("127.0.0.1:0".parse().unwrap());
        let dirs = crate::socket_place::ShortDirs::default();
        let bound = crate::endpoint::bind(&home, &access.unwrap(), &dirs).await;
        let bound = bound.unwrap();
        let ask = async {
            let mut caller = TcpStream::connect(bound.endpoints.http_addr).await.unwrap();
            let request = b"POST /x HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody";
            caller.write_all(request).await.unwrap();
            let mut response = String::new();
            caller.read_to_string(&mut response).await.unwrap();
            response
        };
        let response = tokio::select! {
            response = ask => response,
            never = refuse_clients(&bound) => match never {},
        };
        assert!(response.starts_with("HTTP/1.1 507 "), "{response}");
        assert!(response.contains(r#""code":"disk_full""#), "{response}");
    }
}
