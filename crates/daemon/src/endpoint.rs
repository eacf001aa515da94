//! The listeners of a host: its unix socket and its TCP address. They are bound before anything else.

use crate::error::Error;
use crate::lifecycle::SocketFound;
use crate::lifecycle::socket_at;
use crate::socket_place::{self, ShortDirs};
use holon_config::Access;
use holon_store::Home;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// The addresses a host listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// TCP address with the port that was actually bound.
    pub http_addr: SocketAddr,
    pub socket_path: PathBuf,
}

/// The bound listeners of a host.
#[derive(Debug)]
pub(crate) struct BoundListeners {
    pub(crate) tcp: TcpListener,
    /// `None` if there was no disk space for the socket.
    pub(crate) unix: Option<UnixListener>,
    pub(crate) endpoints: Endpoints,
}

/// Refuses an address that other machines can reach, unless the operator named a token.
///
/// # Errors
/// Fails if there is no such token.
pub fn check_exposure(access: &Access) -> Result<(), Error> {
    if access.listen.ip().is_loopback() || access.has_token {
        return Ok(());
    }
    Err(Error::TokenRequired {
        addr: access.listen,
    })
}

/// Binds both listeners, the socket only if there is disk space for it. A leftover socket file is replaced: the lock
/// of `home` proves that its owner is gone. A socket on which another program listens is left alone.
///
/// # Errors
/// Fails if an address cannot be bound.
pub(crate) async fn bind(
    home: &Home,
    access: &Access,
    dirs: &ShortDirs,
) -> Result<BoundListeners, Error> {
    check_exposure(access)?;
    let addr = access.listen;
    let socket_path = socket_place::place(home.root(), dirs)?;
    check_free(&socket_path).await?;
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

/// This process owns the home, so a listener on its socket is not the home's host.
async fn check_free(path: &Path) -> Result<(), Error> {
    match socket_at(path).await {
        SocketFound::Absent | SocketFound::Stale => Ok(()),
        SocketFound::Listening | SocketFound::Foreign => Err(Error::SocketTaken {
            path: path.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_config::HostOptions;
    use holon_config::TokenOption;

    fn access(listen: &str, token: TokenOption) -> Access {
        let options = HostOptions {
            token,
            ..HostOptions::default()
        };
        options.resolve(listen.parse().unwrap()).unwrap()
    }

    async fn bind_local(home: &Home, listen: &str) -> Result<BoundListeners, Error> {
        let access = access(listen, TokenOption::Generated);
        bind(home, &access, &ShortDirs::default()).await
    }

    #[tokio::test]
    async fn an_address_others_can_reach_is_refused_without_a_token_of_the_operator() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:1"] {
            let refused = bind_local(&home, open).await;
            assert!(
                matches!(refused, Err(Error::TokenRequired { .. })),
                "{open}"
            );
            let given = access(open, TokenOption::Given);
            assert!(check_exposure(&given).is_ok(), "{open}");
        }
        assert!(!home.socket_path().exists());
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_named_with_the_next_step() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let other = Home::open(&dir.path().join("other")).unwrap();
        let first = bind_local(&home, "127.0.0.1:0").await.unwrap();
        let addr = first.endpoints.http_addr.to_string();
        let error = bind_local(&other, &addr).await.unwrap_err();
        assert!(error.to_string().contains(&addr));
        assert!(error.hint().unwrap().contains("--port 0"));
    }

    #[tokio::test]
    async fn a_socket_on_which_another_program_listens_is_left_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let other = UnixListener::bind(home.socket_path()).unwrap();
        let refused = bind_local(&home, "127.0.0.1:0").await;
        assert!(
            matches!(refused, Err(Error::SocketTaken { .. })),
            "{refused:?}"
        );
        drop(other);
        assert!(
            bind_local(&home, "127.0.0.1:0").await.is_ok(),
            "what it left is replaced"
        );
        std::fs::remove_file(home.socket_path()).unwrap();
        std::fs::write(home.socket_path(), "precious").unwrap();
        let refused = bind_local(&home, "127.0.0.1:0").await;
        assert!(
            matches!(refused, Err(Error::SocketTaken { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn clients_look_for_the_socket_where_the_home_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        assert_eq!(socket_place::socket_path(home.root()), home.socket_path());
    }
}
