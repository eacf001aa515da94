//! Opens a home: takes the lock first, then opens the store, so that no other process changes the file meanwhile.

use crate::error::Error;
use holon_domain::limits::OWNER_LEAVING_MS;
use holon_store::{Db, Home, HomeError, Occupant};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Interval at which a home is checked whose owner is shutting down.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Takes the home. If its owner is shutting down, waits for a bounded time; any other owner is an error at once.
///
/// # Errors
/// Fails if the home cannot be used or another process has it; the message names the next step.
pub(crate) async fn take_home(path: &Path) -> Result<Home, Error> {
    let deadline = Instant::now() + Duration::from_millis(OWNER_LEAVING_MS);
    let mut is_logged = false;
    let home = loop {
        let pid = match Home::open(path) {
            Err(HomeError::Owned {
                pid, leaving: true, ..
            }) if Instant::now() < deadline => pid,
            other => break other?,
        };
        if !is_logged {
            let home = path.display();
            tracing::warn!(pid, %home, "the process that has the home is going down; waiting for it");
            is_logged = true;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    };
    if home.root().to_str().is_none() {
        return Err(Error::HomeNotText {
            path: home.root().to_owned(),
        });
    }
    Ok(home)
}

/// Opens the store of a home that this process holds, and logs what is missing. Call it last: a store that was opened
/// and not closed again looks like a crash.
///
/// # Errors
/// Fails if the store is damaged, from a later build, or cannot be used.
pub(crate) fn open_store(home: &Home, occupant: Occupant) -> Result<Db, Error> {
    let db = Db::open_home(home, occupant)?;
    let strays = db.strays(&home.agents_dir())?;
    for finding in db.findings().iter().chain(&strays) {
        tracing::error!("{finding}");
    }
    Ok(db)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_owned(taken: &Result<Home, Error>) -> bool {
        matches!(taken, Err(Error::Home(HomeError::Owned { .. })))
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_is_going_down_is_waited_for_and_any_other_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("home");
        let began = Instant::now();
        let owner = Home::open(&path).expect("opens");
        assert!(is_owned(&take_home(&path).await));
        assert_eq!(began.elapsed(), Duration::ZERO, "it stays");
        owner.note_leaving();
        assert!(is_owned(&take_home(&path).await), "it does not go");
        assert!(began.elapsed() >= Duration::from_millis(OWNER_LEAVING_MS));
        // The waiting call is polled first, and finds the owner still there.
        let (taken, ()) = tokio::join!(biased; take_home(&path), async { drop(owner) });
        assert!(taken.is_ok(), "{taken:?}");
    }
}
