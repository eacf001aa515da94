//! Opening a home: the lock first, then the store, so that nobody else touches the file while it is looked at.

use crate::error::Error;
use holon_store::{Db, Home};
use std::path::Path;

/// Takes the home.
///
/// # Errors
/// When it cannot be used or somebody else has it; the words name the next step.
pub(crate) fn take_home(path: &Path) -> Result<Home, Error> {
    let home = Home::open(path)?;
    if home.root().to_str().is_none() {
        return Err(Error::HomeNotText {
            path: home.root().to_owned(),
        });
    }
    Ok(home)
}

/// Opens the store of a home that is ours. Comes last: a store that was opened and not closed again counts as
/// the trace of a crash.
///
/// # Errors
/// When it is damaged, of a later build, or cannot be used.
pub(crate) fn open_store(home: &Home) -> Result<Db, Error> {
    Ok(Db::open(&home.db_path())?)
}
