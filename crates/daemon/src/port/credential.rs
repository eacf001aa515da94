//! Credentials for the router. They are looked up for every call, so that a renewed login or a new profile is used at
//! once. Only the output of a credential command and of the keyring is cached, for a short time; the command is run again
//! after a refusal.
//!
//! Invariant: no secret is shown. The output of a command appears in no error and in no log.

mod keyring_look;

use self::keyring_look::{FileStamp, KeyringLooks};
use super::wall_clock;
use async_trait::async_trait;
use holon_config::{Env, Found, ProviderEntry, Providers};
use holon_domain::command::{CommandEnd, CommandOutput};
use holon_llm::{Credential, Credentials};
use holon_process::CommandSpec;
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Timeout of a credential command. It must not wait for user input.
const COMMAND_MS: u64 = 30_000;
/// Most bytes a credential command may print.
const COMMAND_BYTES: usize = 64 << 10;
/// Time a credential is cached; shorter than the lifetime of any token worth a command.
const CACHE_TIME: Duration = Duration::from_secs(5 * 60);

/// The cached credential of one provider.
type CachedSecret = Arc<tokio::sync::Mutex<Option<PrintedSecret>>>;

/// A credential that a command printed.
struct PrintedSecret {
    at: Instant,
    /// The credential file when the keyring's program was run; absent for other commands.
    stamp: Option<FileStamp>,
    secret: SecretString,
}

/// A command that prints a credential.
struct SecretCommand {
    argv: Vec<String>,
    /// The credential file as it is now, if the command belongs to the keyring.
    stamp: Option<FileStamp>,
}

/// Looks up the credentials of a host's providers.
pub(crate) struct Keys {
    providers: Providers,
    env: Env,
    home: PathBuf,
    commands: Mutex<HashMap<String, CachedSecret>>,
    looks: KeyringLooks,
    /// The last refused credential of each provider.
    refused: Mutex<HashMap<String, RefusedCredential>>,
}

/// A credential with which a provider could not be asked.
enum RefusedCredential {
    /// None could be sent: it was missing, expired or unreadable.
    Unusable,
    /// The provider refused it. `None` if the request was sent without a credential.
    Sent(Option<SecretString>),
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment may contain keys.
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// Creates the lookup for these providers, with this environment and home.
    pub(crate) fn new(providers: Providers, env: Env, home: PathBuf) -> Self {
        Self {
            providers,
            env,
            home,
            commands: Mutex::default(),
            looks: KeyringLooks::default(),
            refused: Mutex::default(),
        }
    }

    /// Returns true if a provider has a usable credential other than the one that was refused last. The operator's
    /// command is not run for this, so a credential that it prints never counts as renewed. The keyring is read once
    /// after each change of the credential file.
    pub(crate) async fn is_renewed(&self, provider: &str) -> bool {
        let Some(entry) = self.providers.get(provider).cloned() else {
            return false;
        };
        let now = match self.find_source(entry).await {
            Ok((Found::NotNeeded, _)) => None,
            Ok((Found::Secret { secret, .. }, _)) => Some(secret),
            Ok((Found::Command { argv, .. }, Some(stamp)))
                if self.looks.is_outdated(provider, stamp) =>
            {
                let stamp = Some(stamp);
                let printed = self.command_secret(provider, SecretCommand { argv, stamp }, None);
                match printed.await {
                    Ok(secret) => Some(secret),
                    Err(_) => return false,
                }
            }
            Ok((Found::Command { .. }, _)) | Err(_) => return false,
        };
        match self.refused().get(provider) {
            Some(RefusedCredential::Sent(before)) => !is_same(before.as_ref(), now.as_ref()),
            Some(RefusedCredential::Unusable) | None => true,
        }
    }

    /// Returns the credentials of all providers as far as they can be read. No command is run for this.
    pub(crate) async fn readable_secrets(&self) -> Vec<SecretString> {
        let mut secrets = Vec::new();
        for entry in self.providers.iter().cloned().collect::<Vec<_>>() {
            if let Ok((Found::Secret { secret, .. }, _)) = self.find_source(entry).await {
                secrets.push(secret);
            }
        }
        secrets
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, HashMap<String, RefusedCredential>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, provider: &str, refused: RefusedCredential) {
        self.refused().insert(provider.to_owned(), refused);
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, HashMap<String, CachedSecret>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the source of a credential, with the state of the credential file before it was read. It reads files, so it
    /// runs off the async threads.
    async fn find_source(
        &self,
        entry: ProviderEntry,
    ) -> Result<(Found, Option<FileStamp>), String> {
        let (env, home) = (self.env.clone(), self.home.clone());
        let lookup = tokio::task::spawn_blocking(move || {
            let stamp = FileStamp::read(&entry, &home);
            let found = holon_config::credential(&entry, &env, &home, wall_clock());
            found.map(|found| (found, stamp))
        });
        match lookup.await {
            Ok(found) => found.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the credential could not be looked up: {stopped}")),
        }
    }

    /// Looks up a provider's credential. `refused` is the secret that the provider has just refused, which is not taken
    /// from the cache.
    async fn look_up(
        &self,
        provider: &str,
        refused: Option<&SecretString>,
    ) -> Result<Option<Credential>, String> {
        let Some(entry) = self.providers.get(provider).cloned() else {
            return Err(self.providers.unknown(provider));
        };
        let (kind, secret, account_id) = match self.find_source(entry).await? {
            (Found::NotNeeded, _) => return Ok(None),
            (
                Found::Secret {
                    kind,
                    secret,
                    account_id,
                },
                _,
            ) => (kind, secret, account_id),
            (Found::Command { argv, kind }, stamp) => {
                let command = SecretCommand { argv, stamp };
                let secret = self.command_secret(provider, command, refused).await?;
                (kind, secret, None)
            }
        };
        Ok(Some(Credential {
            kind,
            secret,
            account_id,
        }))
    }

    /// Returns the output of the provider's command. One caller runs it at a time, and the others use its result,
    /// unless it is the refused secret, or the credential file has changed since the keyring was read.
    async fn command_secret(
        &self,
        provider: &str,
        command: SecretCommand,
        refused: Option<&SecretString>,
    ) -> Result<SecretString, String> {
        let SecretCommand { argv, stamp } = command;
        let cached = Arc::clone(self.cached().entry(provider.to_owned()).or_default());
        let mut cached = cached.lock().await;
        if let Some(printed) = &*cached
            && printed.at.elapsed() < CACHE_TIME
            && printed.stamp == stamp
            && !is_same(refused, Some(&printed.secret))
        {
            return Ok(printed.secret.clone());
        }
        if let Some(stamp) = stamp {
            self.looks.note(provider, stamp);
        }
        let secret = run(provider, &argv).await?;
        *cached = Some(PrintedSecret {
            at: Instant::now(),
            stamp,
            secret: secret.clone(),
        });
        Ok(secret)
    }
}

#[async_trait]
impl Credentials for Keys {
    async fn credential(&self, provider: &str) -> Result<Option<Credential>, String> {
        let found = self.look_up(provider, None).await;
        if found.is_err() {
            self.note(provider, RefusedCredential::Unusable);
        }
        found
    }

    async fn renewed(&self, provider: &str, refused: &Credential) -> Option<Credential> {
        let found = self.look_up(provider, Some(&refused.secret)).await.ok()??;
        (!is_same(Some(&refused.secret), Some(&found.secret))).then_some(found)
    }

    fn note_refused(&self, provider: &str, refused: Option<&Credential>) {
        let secret = refused.map(|refused| refused.secret.clone());
        self.note(provider, RefusedCredential::Sent(secret));
    }
}

/// Compares two secrets, each `None` if there is none.
fn is_same(one: Option<&SecretString>, other: Option<&SecretString>) -> bool {
    one.map(ExposeSecret::expose_secret) == other.map(ExposeSecret::expose_secret)
}

/// Runs a credential command. Its stderr is not repeated in errors, because it might contain a secret.
async fn run(provider: &str, argv: &[String]) -> Result<SecretString, String> {
    let spec = CommandSpec {
        cmd: shell_words(argv),
        shell: None,
        login: false,
        // A fixed directory, so that relative names do not depend on how the host was started.
        cwd: PathBuf::from("/"),
        env: Vec::new(),
        remove_env: Vec::new(),
        timeout_ms: COMMAND_MS,
        capture_bytes: COMMAND_BYTES,
    };
    let failure_text = |what: &str| {
        let program = argv.first().map_or("", String::as_str);
        format!(
            "the credential command of {provider} ({program}) {what}; run it yourself to see why"
        )
    };
    let output = holon_process::run(spec, CancellationToken::new())
        .await
        .map_err(|failure| failure_text(&format!("could not be run: {failure}")))?;
    secret_of(&output).map_err(|what| failure_text(&what))
}

/// Returns the line a command printed, or the problem with it.
fn secret_of(output: &CommandOutput) -> Result<SecretString, String> {
    match output.end {
        CommandEnd::Exited { status: 0 } => {}
        CommandEnd::Exited { status } => return Err(format!("ended with exit status {status}")),
        CommandEnd::Signalled { signal } => return Err(format!("was ended by signal {signal}")),
        CommandEnd::TimedOut => {
            return Err(format!("did not end within {} seconds", COMMAND_MS / 1000));
        }
    }
    if output.stdout.dropped_bytes > 0 {
        return Err(format!("printed more than {COMMAND_BYTES} bytes"));
    }
    let secret = output.stdout.head.trim();
    if secret.is_empty() {
        return Err("printed nothing".to_owned());
    }
    if secret.chars().any(char::is_control) {
        return Err("printed more than one line".to_owned());
    }
    Ok(SecretString::from(secret))
}

/// Quotes the words for a shell.
pub(crate) fn shell_words(argv: &[String]) -> String {
    let quoted: Vec<String> = argv
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    format!("exec {}", quoted.join(" "))
}

#[cfg(test)]
mod tests;
