//! Listeners and connections: peer check, connection limit, timeouts and shutdown.
//!
//! HTTP/1 only. Each connection is one task. It signals when its peer closes it, when the host has drained, or when the
//! server cancels it. At the limit of connections, a new one takes the place of one without a known caller, so peers
//! without a token cannot keep a client out.

use crate::error::Error;
use crate::ports::PeerFinder;
use crate::slots::{Newcomer, Slot, Slots};
use crate::state::{Connection, Peer, PeerAddress};
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
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Backoff after a failed accept; a lack of file descriptors does not end at once.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Failed accepts for each log line about them. A pause follows each failure, so this is one line in ten seconds or more.
const REPORT_EVERY: u64 = 100;
/// File descriptors that connections leave to the store, the agents' commands and the requests to providers.
const RESERVED_FILES: usize = 256;
/// Fewest connections of a listener, whatever the limit of open files is.
const FEWEST_SLOTS: usize = 16;

/// Returns the number of files that this process may open.
fn file_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

/// Reports the first failed accept and then every `REPORT_EVERY`th, because a lack of file descriptors fails all of them.
#[derive(Debug, Default)]
struct AcceptTrouble {
    failures: u64,
}

impl AcceptTrouble {
    fn report(&mut self, error: &io::Error) {
        if self.is_due() {
            tracing::warn!(%error, failures = self.failures, "could not accept connections");
        }
    }

    /// Counts a failure. Returns true if it is to be reported.
    const fn is_due(&mut self) -> bool {
        self.failures += 1;
        self.failures % REPORT_EVERY == 1
    }
}

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
    Tcp {
        stream: TcpStream,
        address: PeerAddress,
    },
    Unix {
        stream: UnixStream,
        /// Process at the other end; absent if the system does not tell.
        pid: Option<i32>,
    },
}

impl Listener {
    /// Returns the number of connections that this listener serves at once. Together the listeners leave a reserve of the
    /// limit of open files, and neither takes the share of the other: clients over TCP cannot starve the socket.
    fn slots(&self, file_limit: usize) -> usize {
        let shared = file_limit.saturating_sub(RESERVED_FILES);
        let share = match self {
            Self::Tcp(_) => shared / 3 * 2,
            Self::Unix(_) => shared / 3,
        };
        share.clamp(FEWEST_SLOTS, CONNECTIONS)
    }

    /// Accepts the next connection; `None` if it was refused because its peer is another user.
    async fn accept(&self) -> io::Result<Option<Socket>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let address = PeerAddress(peer.ip());
                Ok(Some(Socket::Tcp { stream, address }))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let found = stream.peer_cred()?;
                let (peer, pid) = (found.uid(), found.pid());
                if is_owner(peer) {
                    return Ok(Some(Socket::Unix { stream, pid }));
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
    peers: Arc<dyn PeerFinder>,
    tasks: TaskTracker,
    signals: ShutdownSignals,
) {
    let slots = Slots::new(listener.slots(file_limit()));
    let mut trouble = AcceptTrouble::default();
    let service = TowerToHyperService::new(router);
    while let Some(accepted) = signals
        .drain
        .run_until_cancelled(accept_next(&listener, &slots))
        .await
    {
        let (socket, slot, newcomer) = match accepted {
            Ok(Some(accepted)) => accepted,
            Ok(None) => continue,
            Err(error) => {
                trouble.report(&error);
                // A drain also signals the backoff.
                drop(tokio::time::timeout(ACCEPT_BACKOFF, signals.drain.cancelled()).await);
                continue;
            }
        };
        let (service, signals) = (service.clone(), signals.clone());
        let peers = Arc::clone(&peers);
        tasks.spawn(async move {
            match socket {
                Socket::Tcp { stream, address } => {
                    let from = ConnectionPeer::Address(address);
                    serve_connection(stream, from, newcomer, service, &signals).await;
                }
                Socket::Unix { stream, pid } => {
                    let evicted = newcomer.evicted();
                    let found = evicted.run_until_cancelled(find_peer(peers, pid)).await;
                    if let Some(peer) = found {
                        let from = ConnectionPeer::Local(peer);
                        serve_connection(stream, from, newcomer, service, &signals).await;
                    }
                }
            }
            drop(slot);
        });
    }
}

/// Returns the command of an agent that is at the other end of a socket. The search reads files of the system for each
/// process, so it runs outside the threads that serve requests.
async fn find_peer(peers: Arc<dyn PeerFinder>, pid: Option<i32>) -> Option<Peer> {
    let pid = pid?;
    let search = tokio::task::spawn_blocking(move || peers.command_of(pid));
    search.await.ok().flatten().map(Peer)
}

/// Waits for a connection, then for a slot. At the connection limit, a connection without a known caller makes room; if
/// each has one, peers wait in the kernel's queue.
async fn accept_next(
    listener: &Listener,
    slots: &Slots,
) -> io::Result<Option<(Socket, Slot, Newcomer)>> {
    let Some(socket) = listener.accept().await? else {
        return Ok(None);
    };
    let (slot, newcomer) = slots.take().await?;
    Ok(Some((socket, slot, newcomer)))
}

/// The other end of a connection.
enum ConnectionPeer {
    Address(PeerAddress),
    /// A process of the same user; a command of an agent if it was found to be one.
    Local(Option<Peer>),
}

async fn serve_connection<I>(
    io: I,
    from: ConnectionPeer,
    newcomer: Newcomer,
    service: TowerToHyperService<Router>,
    signals: &ShutdownSignals,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let close = signals.kill.child_token();
    let connection = Connection(close.clone());
    let evicted = newcomer.evicted();
    let newcomer = Arc::new(newcomer);
    let service = service_fn(move |request: Request<Incoming>| {
        let newcomer = Arc::clone(&newcomer);
        let is_in_place = newcomer.begin();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(connection.clone());
        request.extensions_mut().insert(Arc::clone(&newcomer));
        match &from {
            ConnectionPeer::Address(address) => {
                request.extensions_mut().insert(*address);
            }
            ConnectionPeer::Local(Some(peer)) => {
                request.extensions_mut().insert(peer.clone());
            }
            ConnectionPeer::Local(None) => {}
        }
        let answer = is_in_place.then(|| service.call(request));
        async move {
            let answered = match answer {
                Some(answer) => answer.await,
                // The connection lost its place and is being closed.
                None => std::future::pending().await,
            };
            newcomer.end();
            answered
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(REQUEST_READ_MS))
        // The gate refuses a head over the limit in words. One far over it gets the bare 431 of the library.
        .max_header_size(2 * REQUEST_HEAD_BYTES)
        .max_buf_size(2 * REQUEST_HEAD_BYTES);
    let mut connection_future = pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        ended = connection_future.as_mut() => ended,
        () = close.cancelled() => return,
        () = evicted.cancelled() => return,
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

    #[tokio::test]
    async fn listeners_share_what_the_limit_of_files_leaves() {
        let home = tempfile::tempdir().unwrap();
        let unix = Listener::Unix(bind_unix(&home.path().join("s")).unwrap());
        let tcp = Listener::Tcp(TcpListener::bind("127.0.0.1:0").await.unwrap());
        for (limit, of_tcp, of_unix) in [
            (1_024, 512, 256),
            (8_192, CONNECTIONS, CONNECTIONS),
            (usize::MAX, CONNECTIONS, CONNECTIONS),
            (128, FEWEST_SLOTS, FEWEST_SLOTS),
        ] {
            assert_eq!(tcp.slots(limit), of_tcp, "{limit}");
            assert_eq!(unix.slots(limit), of_unix, "{limit}");
        }
    }

    #[test]
    fn the_first_failed_accept_and_every_hundredth_are_reported() {
        let mut trouble = AcceptTrouble::default();
        let due: Vec<u64> = (1..=250).filter(|_| trouble.is_due()).collect();
        assert_eq!(due, [1, 101, 201]);
    }

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
