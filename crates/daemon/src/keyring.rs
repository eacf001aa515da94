//! Puts secrets into the system's keyring and takes them out again, by the program that comes with it.
//!
//! Reading goes the way of every credential command; see `port::credential`. What is handed over goes through a pipe,
//! never through an argument or a variable.

use crate::error::Error;
use crate::port::shell_words;
use holon_config::keyring;
use holon_domain::command::{CommandEnd, CommandOutput};
use holon_process::CommandSpec;
use secrecy::{ExposeSecret as _, SecretString};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// How long the keyring may take; it may have to ask a person to unlock it.
const TIMEOUT_MS: u64 = 120_000;
/// The most that is kept of its complaints.
const CAPTURE_BYTES: usize = 4 << 10;

/// Hands a secret to the keyring.
///
/// # Errors
/// When there is no keyring, or it refuses.
pub async fn store(home: &Path, profile: &str, secret: &SecretString) -> Result<(), Error> {
    let spec = spec(&keyring::store(home, profile));
    let input = secret.expose_secret().trim().as_bytes();
    let output = holon_process::run_with_input(spec, input, CancellationToken::new()).await;
    judge(output)
}

/// Takes a secret out of the keyring; harmless when it is gone.
///
/// # Errors
/// When there is no keyring, or it refuses.
pub async fn clear(home: &Path, profile: &str) -> Result<(), Error> {
    let spec = spec(&keyring::clear(home, profile));
    judge(holon_process::run(spec, CancellationToken::new()).await)
}

fn spec(argv: &[String]) -> CommandSpec {
    CommandSpec {
        cmd: shell_words(argv),
        shell: None,
        login: false,
        cwd: PathBuf::from("/"),
        env: Vec::new(),
        remove_env: Vec::new(),
        timeout_ms: TIMEOUT_MS,
        capture_bytes: CAPTURE_BYTES,
    }
}

fn judge(
    output: Result<CommandOutput, holon_domain::command::CommandFailure>,
) -> Result<(), Error> {
    let output = output.map_err(|failure| Error::Keyring {
        reason: failure.to_string(),
    })?;
    let reason = match output.end {
        CommandEnd::Exited { status: 0 } => return Ok(()),
        // What a shell says of a program that is not there.
        CommandEnd::Exited { status: 127 } => format!("{} is not installed", keyring::PROGRAM),
        CommandEnd::Exited { .. } | CommandEnd::Signalled { .. } => {
            let said = output.stderr.head.trim();
            format!("{} said: {said}", keyring::PROGRAM)
        }
        CommandEnd::TimedOut => format!("{} did not end", keyring::PROGRAM),
    };
    Err(Error::Keyring { reason })
}
