//! Stores and removes secrets in the system's keyring, through the program that comes with it.
//!
//! Secrets are read like any credential command, see `port::credential`. A secret is written through a pipe, never in
//! an argument or a variable.

use crate::error::Error;
use crate::port::shell_words;
use holon_config::keyring;
use holon_domain::command::{CommandEnd, CommandOutput};
use holon_process::CommandSpec;
use secrecy::{ExposeSecret as _, SecretString};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Timeout of the keyring, which may have to ask the user to unlock it.
const TIMEOUT_MS: u64 = 120_000;
/// Most bytes kept of its stderr.
const CAPTURE_BYTES: usize = 4 << 10;

/// Stores a secret in the keyring.
///
/// # Errors
/// Fails if there is no keyring, or it refuses.
pub async fn store(home: &Path, profile: &str, secret: &SecretString) -> Result<(), Error> {
    let spec = spec(&keyring::store(home, profile));
    let input = secret.expose_secret().trim().as_bytes();
    let output = holon_process::run_with_input(spec, input, CancellationToken::new()).await;
    check_output(output)
}

/// Removes a secret from the keyring. Idempotent.
///
/// # Errors
/// Fails if there is no keyring, or it refuses.
pub async fn clear(home: &Path, profile: &str) -> Result<(), Error> {
    let spec = spec(&keyring::clear(home, profile));
    check_output(holon_process::run(spec, CancellationToken::new()).await)
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

fn check_output(
    output: Result<CommandOutput, holon_domain::command::CommandFailure>,
) -> Result<(), Error> {
    let output = output.map_err(|failure| Error::Keyring {
        reason: failure.to_string(),
    })?;
    let reason = match output.end {
        CommandEnd::Exited { status: 0 } => return Ok(()),
        // Exit status of a shell whose program was not found.
        CommandEnd::Exited { status: 127 } => format!("{} is not installed", keyring::PROGRAM),
        CommandEnd::Exited { .. } | CommandEnd::Signalled { .. } => {
            let said = output.stderr.head.trim();
            format!("{} said: {said}", keyring::PROGRAM)
        }
        CommandEnd::TimedOut => format!("{} did not end", keyring::PROGRAM),
    };
    Err(Error::Keyring { reason })
}
