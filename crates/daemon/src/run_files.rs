//! The files of `run/` that a host makes: the token, the socket and the record of the host, each as soon as there is
//! space for it.
//!
//! A host on a full disk goes without them and answers all the same. What it cannot write is owed, and is tried again.

use crate::daemon_record::DaemonRecord;
use crate::endpoint::Endpoints;
use crate::error::Error;
use crate::port::wall_clock;
use holon_config::Token;
use holon_store::Home;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::oneshot;

/// Pause between two tries to write what is owed.
const AGAIN: Duration = Duration::from_secs(2);

/// What could not be written yet.
#[derive(Debug)]
pub(crate) struct Owed<'a> {
    home: &'a Home,
    endpoints: Endpoints,
    /// The token, while it is in memory only.
    token: Option<Token>,
    /// Who waits for the socket.
    socket: Option<oneshot::Sender<UnixListener>>,
    record: bool,
}

/// The token of a home. Where there is no space for a new one, it is in memory only, and comes back beside itself.
///
/// # Errors
/// When the one there cannot be used, or none can be made for another reason.
pub(crate) fn token(home: &Home) -> Result<(Token, Option<Token>), Error> {
    let made = Token::load_or_create(&home.token_path()).map_err(Error::from);
    match made {
        Err(error) if error.is_full() => {
            tracing::error!(%error, "the control token is not on disk yet, so nobody can use it");
            let token = Token::fresh()?;
            Ok((token.clone(), Some(token)))
        }
        made => Ok((made?, None)),
    }
}

impl<'a> Owed<'a> {
    /// The record of the host is owed in any case, once it is up.
    pub(crate) const fn new(
        home: &'a Home,
        endpoints: Endpoints,
        token: Option<Token>,
        socket: Option<oneshot::Sender<UnixListener>>,
    ) -> Self {
        Self {
            home,
            endpoints,
            token,
            socket,
            record: true,
        }
    }

    /// Writes everything there is space for.
    ///
    /// # Errors
    /// When something cannot be written for another reason.
    pub(crate) fn write(&mut self) -> Result<(), Error> {
        if self.record {
            let written = DaemonRecord::write(self.home, &self.endpoints, wall_clock());
            self.record = !is_written(written, "run/daemon.json")?;
        }
        if let Some(token) = &self.token {
            let saved = token.save(&self.home.token_path()).map_err(Error::from);
            if is_written(saved, "run/control.token")? {
                self.token = None;
            }
        }
        if self.socket.is_some() {
            let bound = holon_server::bind_unix(&self.endpoints.socket_path);
            let bound = bound.map_err(Error::from).map(|socket| {
                if let Some(waiting) = self.socket.take() {
                    // A server that has ended needs no socket.
                    drop(waiting.send(socket));
                }
            });
            is_written(bound, "run/holon.sock")?;
        }
        Ok(())
    }

    /// Tries again until nothing is owed.
    ///
    /// # Errors
    /// As for [`Owed::write`].
    pub(crate) async fn write_all(&mut self) -> Result<(), Error> {
        while self.record || self.token.is_some() || self.socket.is_some() {
            tokio::time::sleep(AGAIN).await;
            self.write()?;
        }
        Ok(())
    }
}

/// Whether something was written. That there is no space is no error.
fn is_written(written: Result<(), Error>, name: &str) -> Result<bool, Error> {
    match written {
        Err(error) if error.is_full() => {
            tracing::debug!(%error, name, "not written yet");
            Ok(false)
        }
        other => other.map(|()| true),
    }
}
