//! Credentials for the router. They are looked up for every call, so that a renewed login or a new profile is used at
//! once. Only the output of a credential command is cached, for a short time.
//!
//! Invariant: no secret is shown. The output of a command appears in no error and in no log.

use super::wall_clock;
use async_trait::async_trait;
use holon_config::{Env, Found, ProviderEntry, Providers};
use holon_domain::command::{CommandEnd, CommandOutput};
use holon_domain::provider::AuthKind;
use holon_llm::{Credential, Credentials};
use holon_process::CommandSpec;
use secrecy::SecretString;
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

/// The cached credential of one provider, and the time it was printed.
type CachedSecret = Arc<tokio::sync::Mutex<Option<(Instant, SecretString)>>>;

/// Looks up the credentials of a host's providers.
pub(crate) struct Keys {
    providers: Providers,
    env: Env,
    home: PathBuf,
    commands: Mutex<HashMap<String, CachedSecret>>,
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
        }
    }

    /// Drops a provider's cached credential, which the provider refused.
    pub(crate) fn forget(&self, provider: &str) {
        self.cached().remove(provider);
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, HashMap<String, CachedSecret>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the source of a credential. It reads files, so it runs off the async threads.
    async fn find_source(&self, entry: ProviderEntry) -> Result<Found, String> {
        let (env, home) = (self.env.clone(), self.home.clone());
        let lookup = tokio::task::spawn_blocking(move || {
            holon_config::credential(&entry, &env, &home, wall_clock())
        });
        match lookup.await {
            Ok(found) => found.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the credential could not be looked up: {stopped}")),
        }
    }

    /// Returns the output of the provider's command. One caller runs it at a time, and the others use its result.
    async fn command_secret(
        &self,
        provider: &str,
        argv: &[String],
    ) -> Result<SecretString, String> {
        let cached = Arc::clone(self.cached().entry(provider.to_owned()).or_default());
        let mut cached = cached.lock().await;
        if let Some((at, secret)) = &*cached
            && at.elapsed() < CACHE_TIME
        {
            return Ok(secret.clone());
        }
        let secret = run(provider, argv).await?;
        *cached = Some((Instant::now(), secret.clone()));
        Ok(secret)
    }
}

#[async_trait]
impl Credentials for Keys {
    async fn credential(&self, provider: &str) -> Result<Option<Credential>, String> {
        let Some(entry) = self.providers.get(provider).cloned() else {
            return Err(self.providers.unknown(provider));
        };
        match self.find_source(entry).await? {
            Found::NotNeeded => Ok(None),
            Found::Secret {
                kind,
                secret,
                account_id,
            } => Ok(Some(Credential {
                kind,
                secret,
                account_id,
            })),
            Found::Command { argv, kind } => {
                let secret = self.command_secret(provider, &argv).await?;
                Ok(Some(command_credential(kind, secret)))
            }
        }
    }
}

fn command_credential(kind: AuthKind, secret: SecretString) -> Credential {
    Credential {
        kind,
        secret,
        account_id: None,
    }
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
mod tests {
    use super::*;
    use holon_config::{FileSettings, Flags, resolve};
    use secrecy::ExposeSecret as _;
    use std::path::Path;

    /// Creates a lookup with one provider whose credential this shell script prints.
    fn keys(script: &str) -> Keys {
        let text = format!(
            "[providers.work]\ntransport = \"openai_responses\"\nbase_url = \"https://llm.example/v1\"\n\
             [providers.work.auth]\nsource = \"credential_process\"\nkind = \"bearer_token\"\n\
             command = [\"/bin/sh\", \"-c\", {}]\n",
            serde_json::Value::from(script)
        );
        let file = FileSettings::parse(&text, Path::new("/h/config.toml")).unwrap();
        let flags = Flags {
            home: Some("/h".into()),
            ..Flags::default()
        };
        let settings = resolve(&Env::default(), &flags, Some(&file)).unwrap();
        Keys::new(settings.providers, Env::default(), "/h".into())
    }

    async fn command_secret(keys: &Keys) -> Result<String, String> {
        let credential = keys.credential("work").await?.unwrap();
        assert_eq!(credential.kind, AuthKind::BearerToken);
        Ok(credential.secret.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn a_command_prints_the_credential_and_is_not_run_again_until_it_was_refused() {
        let dir = tempfile::tempdir().unwrap();
        let count = dir.path().join("count");
        let count = count.display();
        let keys = keys(&format!(
            "echo run >> '{count}'; wc -l < '{count}' | tr -d ' '"
        ));
        assert_eq!(command_secret(&keys).await.unwrap(), "1");
        assert_eq!(command_secret(&keys).await.unwrap(), "1");
        keys.forget("work");
        assert_eq!(command_secret(&keys).await.unwrap(), "2");
    }

    #[tokio::test]
    async fn a_command_that_fails_is_named_and_nothing_it_said_is_repeated() {
        for (script, what) in [
            ("echo s3cret; exit 3", "ended with exit status 3"),
            ("echo s3cret >&2; kill -9 $$", "was ended by signal 9"),
            ("true", "printed nothing"),
            ("echo s3cret; echo s3cret", "printed more than one line"),
            (
                "yes s3cret | head -c 100000",
                "printed more than 65536 bytes",
            ),
        ] {
            let shown = command_secret(&keys(script)).await.unwrap_err();
            assert!(shown.contains(what), "{script}: {shown}");
            assert!(shown.contains("the credential command of work"), "{shown}");
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }

    #[tokio::test]
    async fn words_of_a_command_arrive_as_they_are() {
        let argv: Vec<String> = ["printf", "%s|%s|%s", "it's", "$HOME", "a b"]
            .map(str::to_owned)
            .to_vec();
        let shown = run("work", &argv).await.unwrap();
        assert_eq!(shown.expose_secret(), "it's|$HOME|a b");
    }

    #[test]
    fn keys_show_nothing_of_what_they_know() {
        assert_eq!(format!("{:?}", keys("true")), "Keys { .. }");
    }
}
