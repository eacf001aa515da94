//! What a host does to run in the background: a session of its own, and no terminal or pipe of its starter.

use crate::error::Error;
use std::fs::File;

/// Leaves the session of the process that started this one, so that its terminal and its signals do not matter.
///
/// # Errors
/// Fails if the process leads a group already.
pub fn detach() -> Result<(), Error> {
    rustix::process::setsid()
        .map(drop)
        .map_err(|error| Error::System {
            what: "begin a session of its own",
            source: error.into(),
        })
}

/// Replaces standard input by nothing, after it was read.
pub fn release_stdin() {
    if let Ok(nothing) = File::open("/dev/null") {
        rustix::stdio::dup2_stdin(&nothing).ok();
    }
}

/// Replaces standard output by nothing, after the starter has read the report.
pub fn release_stdout() {
    if let Ok(nothing) = File::options().write(true).open("/dev/null") {
        rustix::stdio::dup2_stdout(&nothing).ok();
    }
}
