//! Listeners and connections: peer check, connection limit, timeouts and shutdown.
//!
//! HTTP/1 only. Each connection is one task. It signals when its peer closes it, when the host has drained, or when the
//! server cancels it.

use crate::error::Error;
use crate::state::Connection;
use axum::Router;
use axum::body::Body;
use holon_domain::limits::{CONNECTIONS, REQUEST_HEAD_BYTES, REQUEST_READ_MS};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Backoff after a failed accept; a lack of file descriptors does not end at once.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Creates the control socket, which only its owner may use. A stale socket file is replaced, so the caller must hold
/// the home's lock.
///
/// # Errors
/// When another kind of file occupies the path, or the socket cannot be created.
pub fn bind_unix(path: &Path) -> Result<UnixListener, Error> {
    let failed = |source| Error::Socket {
        path: path.display().to_string(),
        source,
    };
    remove_stale(path).map_err(failed)?;
    let listener = UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

fn remove_stale(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is something that is not a socket",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// A bound listener of either transport.
pub(crate) enum Listener {
    /// Open to every peer that can reach the address.
    Tcp(TcpListener),
    /// Open to the same user only.
    Unix(UnixListener),
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    /// Accepts the next connection; `None` if it was refused because its peer is another user.
    async fn accept(&self) -> io::Result<Option<Socket>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Some(Socket::Tcp(stream)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let peer = stream.peer_cred()?.uid();
                if is_owner(peer) {
                    return Ok(Some(Socket::Unix(stream)));
                }
                tracing::warn!(peer, "refused a socket connection of another user");
                Ok(None)
            }
        }
    }
}

fn is_owner(uid: u32) -> bool {
    uid == rustix::process::geteuid().as_raw()
}

/// Cancellation tokens that end connections.
#[derive(Clone)]
pub(crate) struct ShutdownSignals {
    /// Connections finish their current request and accept no new one.
    pub(crate) drain: CancellationToken,
    /// Connections close at once.
    pub(crate) kill: CancellationToken,
}

/// Accepts connections until the host drains, one task each.
pub(crate) async fn accept(
    listener: Listener,
    router: Router,
    tasks: TaskTracker,
    signals: ShutdownSignals,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let service = TowerToHyperService::new(router);
    while let Some(accepted) = signals
        .drain
        .run_until_cancelled(accept_next(&listener, &slots))
        .await
    {
        let (socket, slot) = match accepted {
            Ok(Some(accepted)) => accepted,
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                // A drain also signals the backoff.
                drop(tokio::time::timeout(ACCEPT_BACKOFF, signals.drain.cancelled()).await);
                continue;
            }
        };
        let (service, signals) = (service.clone(), signals.clone());
        tasks.spawn(async move {
            match socket {
                Socket::Tcp(stream) => serve_connection(stream, service, &signals).await,
                Socket::Unix(stream) => serve_connection(stream, service, &signals).await,
            }
            drop(slot);
        });
    }
}

type Slot = tokio::sync::OwnedSemaphorePermit;

/// Waits for a free slot, then accepts. At the connection limit, peers wait in the kernel's queue.
async fn accept_next(
    listener: &Listener,
    slots: &Arc<Semaphore>,
) -> io::Result<Option<(Socket, Slot)>> {
    let slot = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    Ok(listener.accept().await?.map(|socket| (socket, slot)))
}

async fn serve_connection<I>(io: I, service: TowerToHyperService<Router>, signals: &ShutdownSignals)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let close = signals.kill.child_token();
    let connection = Connection(close.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(connection.clone());
        service.call(request)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(REQUEST_READ_MS))
        .max_header_size(REQUEST_HEAD_BYTES)
        .max_buf_size(2 * REQUEST_HEAD_BYTES);
    let mut connection_future = pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        ended = connection_future.as_mut() => ended,
        () = close.cancelled() => return,
        () = signals.drain.cancelled() => {
            connection_future.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection_future => ended,
                () = close.cancelled() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection broke off");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_users_connection_is_not_the_owners() {
        let own = rustix::process::geteuid().as_raw();
        assert!(is_owner(own));
        assert!(!is_owner(own.wrapping_add(1)));
    }

    #[tokio::test]
    async fn the_socket_is_its_owners_alone_and_replaces_a_stale_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("holon.sock");
        drop(bind_unix(&path).unwrap());
        let again = bind_unix(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(again);
    }

    #[tokio::test]
    async fn a_file_in_the_sockets_place_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("holon.sock");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(bind_unix(&path), Err(Error::Socket { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }
}
