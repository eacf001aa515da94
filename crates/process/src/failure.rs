//! Explains why a command did not start, with the next step to take.

use holon_domain::command::CommandFailure;
use std::io;
use std::path::Path;

/// Shell used if the caller names none.
pub(crate) const DEFAULT_SHELL: &str = "/bin/sh";

/// Turns a spawn error into a failure. The system reports "not found" for a missing shell and for a missing
/// directory; this function tells them apart.
pub(crate) fn explain(error: &io::Error, shell: &str, cwd: &Path) -> CommandFailure {
    let is_dir = std::fs::metadata(cwd).is_ok_and(|found| found.is_dir());
    let cwd = cwd.display();
    if !is_dir {
        return CommandFailure::MissingWorkdir {
            workdir: cwd.to_string(),
        };
    }
    let reason = match error.kind() {
        io::ErrorKind::NotFound => {
            format!("shell {shell} does not exist; leave the shell out to use the usual one")
        }
        // A search for a bare name also ends with this error if one directory of the search path is not accessible.
        io::ErrorKind::PermissionDenied => {
            format!(
                "shell {shell} may not be executed or was not found, or {cwd} may not be entered; \
                 check their permissions, or leave the shell out to use the usual one"
            )
        }
        io::ErrorKind::ArgumentListTooLong => {
            "the command text, or its environment, is too long for the system; \
             write the text to a file and run that file"
                .to_owned()
        }
        io::ErrorKind::InvalidInput => {
            format!(
                "{error}; the command, its directory and its environment must be free of NUL characters"
            )
        }
        _ => format!("{error} (shell {shell}, directory {cwd})"),
    };
    CommandFailure::Spawn { reason }
}
