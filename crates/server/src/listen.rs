//! Listeners and connections: who may connect, how many, how slowly, and how they end.
//!
//! HTTP/1 only. Each connection is one task; it ends when its peer is done, when the host has drained,
//! or when somebody cancels it.

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

/// Pause after an accept that failed: out of descriptors is not cured by asking at once again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Makes the control socket: nobody but its owner may use it. A socket file that is left over is replaced, so the
/// caller must hold the home's lock.
///
/// # Errors
/// When the path is taken by something else, or cannot be used.
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

/// Where connections come from.
pub(crate) enum Listener {
    /// Anybody who can reach the address.
    Tcp(TcpListener),
    /// The same user only.
    Unix(UnixListener),
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    /// The next connection; none when its peer is somebody else and was sent away.
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

/// How connections are told to end.
#[derive(Clone)]
pub(crate) struct Ends {
    /// Finish what is under way, take nothing new.
    pub(crate) drain: CancellationToken,
    /// End at once.
    pub(crate) kill: CancellationToken,
}

/// Takes connections until the host drains.
pub(crate) async fn accept(listener: Listener, router: Router, tasks: TaskTracker, ends: Ends) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let service = TowerToHyperService::new(router);
    while let Some(accepted) = ends
        .drain
        .run_until_cancelled(next(&listener, &slots))
        .await
    {
        let (socket, slot) = match accepted {
            Ok(Some(accepted)) => accepted,
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                // A drain ends the pause, too.
                drop(tokio::time::timeout(ACCEPT_PAUSE, ends.drain.cancelled()).await);
                continue;
            }
        };
        let (service, ends) = (service.clone(), ends.clone());
        tasks.spawn(async move {
            match socket {
                Socket::Tcp(stream) => converse(stream, service, &ends).await,
                Socket::Unix(stream) => converse(stream, service, &ends).await,
            }
            drop(slot);
        });
    }
}

type Slot = tokio::sync::OwnedSemaphorePermit;

/// A free slot first: at the bound, peers wait in the kernel's queue and cost nothing here.
async fn next(listener: &Listener, slots: &Arc<Semaphore>) -> io::Result<Option<(Socket, Slot)>> {
    let slot = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    Ok(listener.accept().await?.map(|socket| (socket, slot)))
}

async fn converse<I>(io: I, service: TowerToHyperService<Router>, ends: &Ends)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let close = ends.kill.child_token();
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
    let mut conversation = pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        ended = conversation.as_mut() => ended,
        () = close.cancelled() => return,
        () = ends.drain.cancelled() => {
            conversation.as_mut().graceful_shutdown();
            tokio::select! {
                ended = conversation => ended,
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
