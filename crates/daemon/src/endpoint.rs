//! The listeners of a host: its unix socket and its loopback address. They are bound before anything else.

use crate::error::Error;
use holon_store::Home;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// Longest socket path that every supported system accepts, without the final NUL.
const SOCKET_PATH_MAX: usize = 103;

/// The addresses a host listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// TCP address with the port that was actually bound.
    pub http_addr: SocketAddr,
    pub socket_path: PathBuf,
}

/// Returns the path of a home's control socket, for clients that look for its host.
#[must_use]
pub fn socket_path(home: &Path) -> PathBuf {
    home.join("run").join("holon.sock")
}

/// The bound listeners of a host.
#[derive(Debug)]
pub(crate) struct BoundListeners {
    pub(crate) tcp: TcpListener,
    /// `None` if there was no disk space for the socket.
    pub(crate) unix: Option<UnixListener>,
    pub(crate) endpoints: Endpoints,
}

/// Binds both listeners, the socket only if there is disk space for it. A leftover socket file is replaced: the lock
/// of `home` proves that its owner is gone.
///
/// # Errors
/// Fails if an address cannot be bound.
pub(crate) async fn bind(home: &Home, addr: SocketAddr) -> Result<BoundListeners, Error> {
    if !addr.ip().is_loopback() {
        return Err(Error::NotLoopback { addr });
    }
    let socket_path = home.socket_path();
    check_length(&socket_path)?;
    let failed = |source| Error::Bind { addr, source };
    let tcp = TcpListener::bind(addr).await.map_err(failed)?;
    let http_addr = tcp.local_addr().map_err(failed)?;
    let unix = match holon_server::bind_unix(&socket_path).map_err(Error::from) {
        Ok(unix) => Some(unix),
        Err(error) if error.is_full() => {
            tracing::error!(%error, "the host goes without its socket until there is space");
            None
        }
        Err(error) => return Err(error),
    };
    Ok(BoundListeners {
        tcp,
        unix,
        endpoints: Endpoints {
            http_addr,
            socket_path,
        },
    })
}

fn check_length(path: &Path) -> Result<(), Error> {
    let len = path.as_os_str().as_bytes().len();
    if len <= SOCKET_PATH_MAX {
        return Ok(());
    }
    Err(Error::SocketPathTooLong {
        path: path.to_owned(),
        len,
        max: SOCKET_PATH_MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_others_can_reach_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let refused = bind(&home, "0.0.0.0:0".parse().unwrap()).await;
        assert!(matches!(refused, Err(Error::NotLoopback { .. })));
        assert!(!home.socket_path().exists());
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_named_with_the_next_step() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let first = bind(&home, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let error = bind(&home, first.endpoints.http_addr).await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&first.endpoints.http_addr.to_string())
        );
        assert!(error.hint().unwrap().contains("--port 0"));
    }

    #[test]
    fn clients_look_for_the_socket_where_the_home_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        assert_eq!(socket_path(home.root()), home.socket_path());
    }

    #[test]
    fn a_socket_path_that_does_not_fit_is_refused_before_the_system_does() {
        let long = PathBuf::from(format!("/{}/holon.sock", "x".repeat(120)));
        assert!(matches!(
            check_length(&long),
            Err(Error::SocketPathTooLong { len: 132, .. })
        ));
    }
}
