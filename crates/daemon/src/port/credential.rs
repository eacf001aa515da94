//! Credentials as the router asks for them: looked up afresh for every call, so that a renewed login or a new profile
//! counts at once. Only what a credential command prints is kept, for a short time.
//!
//! Invariant: nothing here shows a secret. What a command printed is in no error and in no log.

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

/// How long a credential command may take; one that asks a person takes longer and does not belong here.
const COMMAND_MS: u64 = 30_000;
/// The most a credential command may print.
const COMMAND_BYTES: usize = 64 << 10;
/// How long what it printed is used; shorter than the life of any token worth a command.
const KEPT: Duration = Duration::from_secs(5 * 60);

/// What one command printed, and when.
type Kept = Arc<tokio::sync::Mutex<Option<(Instant, SecretString)>>>;

/// The credentials of a host's providers.
pub(crate) struct Keys {
    providers: Providers,
    env: Env,
    home: PathBuf,
    commands: Mutex<HashMap<String, Kept>>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment may hold keys.
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// The credentials of these providers, from this environment and this home.
    pub(crate) fn new(providers: Providers, env: Env, home: PathBuf) -> Self {
        Self {
            providers,
            env,
            home,
            commands: Mutex::default(),
        }
    }

    /// Forgets what a provider's command printed: the provider did not accept it.
    pub(crate) fn forget(&self, provider: &str) {
        self.kept().remove(provider);
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<String, Kept>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the credential is. Reads files, so it happens off the async threads.
    async fn found(&self, entry: ProviderEntry) -> Result<Found, String> {
        let (env, home) = (self.env.clone(), self.home.clone());
        let looked = tokio::task::spawn_blocking(move || {
            holon_config::credential(&entry, &env, &home, wall_clock())
        });
        match looked.await {
            Ok(found) => found.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the credential could not be looked up: {stopped}")),
        }
    }

    /// What the provider's command prints; run by one caller at a time, for the others to use.
    async fn printed(&self, provider: &str, argv: &[String]) -> Result<SecretString, String> {
        let kept = Arc::clone(self.kept().entry(provider.to_owned()).or_default());
        let mut kept = kept.lock().await;
        if let Some((at, secret)) = &*kept
            && at.elapsed() < KEPT
        {
            return Ok(secret.clone());
        }
        let secret = run(provider, argv).await?;
        *kept = Some((Instant::now(), secret.clone()));
        Ok(secret)
    }
}

#[async_trait]
impl Credentials for Keys {
    async fn credential(&self, provider: &str) -> Result<Option<Credential>, String> {
        let Some(entry) = self.providers.get(provider).cloned() else {
            return Err(self.providers.unknown(provider));
        };
        match self.found(entry).await? {
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
                let secret = self.printed(provider, &argv).await?;
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

/// Runs a credential command. Its complaints are not repeated: they might hold what must not be seen.
async fn run(provider: &str, argv: &[String]) -> Result<SecretString, String> {
    let spec = CommandSpec {
        cmd: shell_words(argv),
        shell: None,
        login: false,
        // Names of programs and files in it count from the same place whoever starts it.
        cwd: PathBuf::from("/"),
        env: Vec::new(),
        remove_env: Vec::new(),
        timeout_ms: COMMAND_MS,
        capture_bytes: COMMAND_BYTES,
    };
    let wrong = |what: &str| {
        let program = argv.first().map_or("", String::as_str);
        format!(
            "the credential command of {provider} ({program}) {what}; run it yourself to see why"
        )
    };
    let output = holon_process::run(spec, CancellationToken::new())
        .await
        .map_err(|failure| wrong(&format!("could not be run: {failure}")))?;
    secret_of(&output).map_err(|what| wrong(&what))
}

/// The one line a command printed, or what is wrong with it.
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

/// The words as a shell reads them back, each exactly as it is.
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

    /// The keys of one provider whose credential a command prints; the words are those of a shell.
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

    async fn printed(keys: &Keys) -> Result<String, String> {
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
        assert_eq!(printed(&keys).await.unwrap(), "1");
        assert_eq!(printed(&keys).await.unwrap(), "1");
        keys.forget("work");
        assert_eq!(printed(&keys).await.unwrap(), "2");
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
            let said = printed(&keys(script)).await.unwrap_err();
            assert!(said.contains(what), "{script}: {said}");
            assert!(said.contains("the credential command of work"), "{said}");
            assert!(!said.contains("s3cret"), "{said}");
        }
    }

    #[tokio::test]
    async fn words_of_a_command_arrive_as_they_are() {
        let argv: Vec<String> = ["printf", "%s|%s|%s", "it's", "$HOME", "a b"]
            .map(str::to_owned)
            .to_vec();
        let said = run("work", &argv).await.unwrap();
        assert_eq!(said.expose_secret(), "it's|$HOME|a b");
    }

    #[test]
    fn keys_show_nothing_of_what_they_know() {
        assert_eq!(format!("{:?}", keys("true")), "Keys { .. }");
    }
}
