//! The files that a host creates in `run/`: the token and the host record, each as soon as there is space.
//!
//! On a full disk a host answers without them. The files that could not be written are retried.

use crate::daemon_record::OwnRecord;
use crate::error::Error;
use crate::port::wall_clock;
use holon_config::Token;
use holon_store::Home;
use std::sync::Arc;
use std::time::Duration;

/// Interval of the retries.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The files that are not written yet.
#[derive(Debug)]
pub(crate) struct PendingFiles<'a> {
    home: &'a Home,
    /// The token, as long as it is in memory only.
    token: Option<Token>,
    /// The host record, as long as it is not written.
    record: Option<Arc<OwnRecord>>,
}

/// Loads or creates the token of a home. If there is no space for a new one, it is in memory only and is also
/// returned as the second value, to be saved later.
///
/// # Errors
/// Fails if the existing token cannot be used, or a new one cannot be created for another reason.
pub(crate) fn token(home: &Home) -> Result<(Token, Option<Token>), Error> {
    let made = Token::load_or_create(&home.token_path()).map_err(Error::from);
    match made {
        Err(error) if error.is_full() => {
            tracing::error!(%error, "the control token is not on disk yet, so clients cannot use it");
            let token = Token::fresh()?;
            Ok((token.clone(), Some(token)))
        }
        made => Ok((made?, None)),
    }
}

impl<'a> PendingFiles<'a> {
    /// Creates the list of pending files. The host record is always pending until the host is up.
    pub(crate) const fn new(home: &'a Home, record: Arc<OwnRecord>, token: Option<Token>) -> Self {
        Self {
            home,
            token,
            record: Some(record),
        }
    }

    /// Writes every file there is space for.
    ///
    /// # Errors
    /// Fails if a file cannot be written for another reason.
    pub(crate) fn write(&mut self) -> Result<(), Error> {
        if let Some(record) = &self.record
            && is_written(record.announce(wall_clock()), "run/daemon.json")?
        {
            self.record = None;
        }
        if let Some(token) = &self.token {
            let saved = token.save(&self.home.token_path()).map_err(Error::from);
            if is_written(saved, "run/control.token")? {
                self.token = None;
            }
        }
        Ok(())
    }

    /// Retries until no file is pending.
    ///
    /// # Errors
    /// As for [`PendingFiles::write`].
    pub(crate) async fn write_all(&mut self) -> Result<(), Error> {
        while self.record.is_some() || self.token.is_some() {
            tokio::time::sleep(RETRY_INTERVAL).await;
            self.write()?;
        }
        Ok(())
    }
}

/// Returns true if the file was written. A full disk is not an error.
fn is_written(written: Result<(), Error>, name: &str) -> Result<bool, Error> {
    match written {
        Err(error) if error.is_full() => {
            tracing::debug!(%error, name, "not written yet");
            Ok(false)
        }
        other => other.map(|()| true),
    }
}
