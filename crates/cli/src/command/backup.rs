//! `holon backup` and `holon restore`: a whole home as one file, and a home made from it.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{render, settings};
use holon_config::Flags;
use holon_daemon::backup;
use std::path::{Path, PathBuf};

/// Backs the home up into a new file.
pub(super) fn back_up(
    home: Option<PathBuf>,
    file: &Path,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = home_of(home)?;
    let progress = |bytes: u64| output.progress(&format!("{} MB", bytes >> 20));
    let made = backup::back_up(&home, file, holon_daemon::wall_clock(), &progress);
    output.clear_progress();
    output.answer(&made?, render::backup::made);
    Ok(Exit::Done)
}

/// Restores a backup into the home.
pub(super) fn restore(
    home: Option<PathBuf>,
    file: &Path,
    output: &Output,
) -> Result<Exit, Failure> {
    let restored = backup::restore(file, &home_of(home)?)?;
    output.answer(&restored, render::backup::restored);
    Ok(Exit::Done)
}

/// Returns the home that the command line or the environment names. Its settings file is not needed.
fn home_of(home: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let flags = Flags {
        home,
        ..Flags::default()
    };
    let (settings, _) = settings::load_client(&flags)?;
    Ok(settings.home.value)
}
