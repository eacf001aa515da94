//! Errors of starting a host or a local run, each with a code and, where there is one, the next step.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason a host cannot start, or a local run cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Home(#[from] holon_store::HomeError),
    /// The home's path is not valid UTF-8.
    #[error("the home {} is not valid UTF-8; use another home", path.display())]
    HomeNotText { path: PathBuf },
    #[error(transparent)]
    Store(#[from] holon_store::Error),
    /// The store was deleted, moved or replaced while this process held it.
    #[error(transparent)]
    StoreLost(#[from] holon_store::StoreLost),
    #[error(transparent)]
    Token(#[from] holon_config::TokenError),
    /// The socket's path is longer than an address allows.
    #[error("the socket path {} has {len} bytes, and the system takes at most {max}; use a home with a shorter path",
        path.display())]
    SocketPathTooLong {
        path: PathBuf,
        /// Length of the path in bytes.
        len: usize,
        /// Longest path the system accepts.
        max: usize,
    },
    /// Another program listens on the socket's path, or something else is there.
    #[error("the socket path {} is taken by something that is not a host of this home", path.display())]
    SocketTaken { path: PathBuf },
    /// Other machines can reach the address, and the operator has named no token.
    #[error("cannot listen on {addr} without a token: other machines can reach it")]
    TokenRequired { addr: SocketAddr },
    /// Another command starts or stops the host of this home and takes too long.
    #[error("another holon daemon command is at work on {}", home.display())]
    LifecycleBusy { home: PathBuf },
    /// The owner of the home cannot be told from another process with the same id.
    #[error(
        "process {pid} owns the home, but it is not proven to be the one that took it; it was not signalled"
    )]
    OwnerUnproven { pid: u32 },
    #[error("cannot listen on {addr}: {source}")]
    Bind {
        addr: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    Server(#[from] holon_server::Error),
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(#[from] holon_engine::Error),
    /// The providers of the settings cannot be set up.
    #[error(transparent)]
    Providers(#[from] holon_llm::Error),
    /// The model name is not a valid model reference.
    #[error(transparent)]
    Model(#[from] holon_domain::model::ModelRefError),
    /// A file of the run directory cannot be written or removed.
    #[error("cannot write {}: {source}; check permissions and free space", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The system refused a basic service, such as threads or signals.
    #[error("the system refused to {what}: {source}")]
    System {
        what: &'static str,
        source: std::io::Error,
    },
    /// The system's keyring cannot be used.
    #[error("the keyring cannot be used: {reason}")]
    Keyring { reason: String },
    /// A signal ended the process before the run was over.
    #[error("interrupted by {signal} before the run had ended")]
    Interrupted { signal: &'static str },
    /// A signal ended the process while the run waited for the home.
    #[error("interrupted by {signal} before the run had begun; nothing was stored")]
    NotBegun { signal: &'static str },
}

impl Error {
    /// Returns true if the disk was full, so that a retry may succeed.
    pub(crate) fn is_full(&self) -> bool {
        let source = match self {
            Self::Store(error) => return error.is_full(),
            Self::Engine(error) => return *error == holon_engine::Error::DiskFull,
            Self::Token(holon_config::TokenError::Io { source, .. })
            | Self::Server(holon_server::Error::Socket { source, .. })
            | Self::File { source, .. } => source,
            Self::Home(_)
            | Self::HomeNotText { .. }
            | Self::StoreLost(_)
            | Self::Token(_)
            | Self::SocketPathTooLong { .. }
            | Self::SocketTaken { .. }
            | Self::TokenRequired { .. }
            | Self::LifecycleBusy { .. }
            | Self::OwnerUnproven { .. }
            | Self::Bind { .. }
            | Self::Server(_)
            | Self::Providers(_)
            | Self::Model(_)
            | Self::System { .. }
            | Self::Keyring { .. }
            | Self::Interrupted { .. }
            | Self::NotBegun { .. } => return false,
        };
        matches!(
            source.kind(),
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
        )
    }

    /// Stable error code for callers.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Home(holon_store::HomeError::Owned { .. }) => "home_in_use",
            Self::Home(_) | Self::HomeNotText { .. } => "home_unusable",
            Self::Store(holon_store::Error::Lost(_)) | Self::StoreLost(_) => "store_lost",
            Self::Store(_) => "store_unusable",
            Self::Token(_) => "token_unusable",
            Self::SocketPathTooLong { .. } => "socket_path_too_long",
            Self::SocketTaken { .. } => "socket_taken",
            Self::TokenRequired { .. } => "token_required",
            Self::LifecycleBusy { .. } => "lifecycle_busy",
            Self::OwnerUnproven { .. } => "owner_unproven",
            Self::Bind { .. } => "address_unavailable",
            Self::Server(_) => "server_failed",
            Self::Engine(error) => error.code(),
            Self::Providers(_) => "providers_unusable",
            Self::Model(_) => "invalid_model",
            Self::File { .. } => "file_failed",
            Self::System { .. } => "system_failed",
            Self::Keyring { .. } => "keyring_unusable",
            Self::Interrupted { .. } | Self::NotBegun { .. } => "interrupted",
        }
    }

    /// The next step to take, unless the message says it already.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { source, .. } => Some(match source.kind() {
                std::io::ErrorKind::AddrInUse => {
                    "another program listens there; choose another port with --port N, or --port 0 for any free one"
                        .to_owned()
                }
                _ => "choose another address with --listen ADDR:PORT".to_owned(),
            }),
            Self::Store(holon_store::Error::Lost(_)) | Self::StoreLost(_) => Some(
                "nothing was acknowledged from then on; put the store back or restore a backup, then start the host again".to_owned(),
            ),
            Self::Store(error) if error.is_full() => Some("the disk is full; free some space and try again".to_owned()),
            Self::Store(holon_store::Error::Sqlite { .. }) => {
                Some("check free space, quota and health of the disk that holds the home".to_owned())
            }
            Self::SocketTaken { path } => Some(format!(
                "find the program that listens there and stop it, or move {} away",
                path.display()
            )),
            Self::TokenRequired { addr } => Some(format!(
                "name the token that clients must send with --token-file FILE, or listen on 127.0.0.1:{}",
                addr.port()
            )),
            Self::LifecycleBusy { .. } => Some("wait until it has ended, and try again".to_owned()),
            Self::OwnerUnproven { pid } => {
                Some(format!("look at process {pid}, and end it by hand if it is the host"))
            }
            Self::Engine(error) => error.hint(),
            Self::Keyring { .. } => Some(
                "install libsecret-tools and log in to a desktop session, or store it in the file without --keyring".to_owned(),
            ),
            Self::Interrupted { .. } => {
                Some("a named agent goes on at the next start; a temporary one is removed".to_owned())
            }
            Self::Home(holon_store::HomeError::Owned { .. }) => Some(
                "wait until that process has ended, or see what it is with: holon daemon status".to_owned(),
            ),
            Self::NotBegun { .. }
            | Self::Home(_)
            | Self::HomeNotText { .. }
            | Self::Store(_)
            | Self::Token(_)
            | Self::SocketPathTooLong { .. }
            | Self::Server(_)
            | Self::Providers(_)
            | Self::Model(_)
            | Self::File { .. }
            | Self::System { .. } => None,
        }
    }
}
