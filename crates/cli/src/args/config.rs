//! The command line of `holon config`, `holon init` and `holon agent model`.

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holon_domain::provider::{AuthKind, AuthSource, ReasoningEffort, Transport};

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show one setting: what counts, and who set it.
    Get {
        /// Which, for example model.default.
        key: String,
    },
    /// Write one setting into config.toml; comments in it are kept.
    Set {
        /// Which, for example model.default.
        key: String,
        /// To what; lists and tables are written as TOML.
        value: String,
    },
    /// Remove one setting from config.toml, so that its default counts again.
    Unset {
        /// Which.
        key: String,
    },
    /// Show what config.toml says.
    List {
        /// Show every setting with the value that counts and who set it.
        #[arg(long)]
        effective: bool,
    },
    /// Show every setting there is, with its kind and its default.
    Schema,
    /// Show which models can be asked, what happens when one fails, and what to do next.
    Doctor {
        /// Ask each model of the chain one tiny real question.
        #[arg(long)]
        probe: bool,
    },
    /// Look at providers and add your own.
    Providers {
        #[command(subcommand)]
        command: ProvidersCommand,
    },
    /// Store, list and remove credentials; values are never shown.
    Credentials {
        #[command(subcommand)]
        command: CredentialsCommand,
    },
    /// Look at models.
    Models {
        #[command(subcommand)]
        command: ModelsCommand,
    },
}

/// What to do with providers.
#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersCommand {
    /// Write a provider into config.toml, or change one that is built in.
    Set(ProviderArgs),
    /// Show one provider.
    Get {
        /// Its id, the first part of a model reference.
        id: String,
    },
    /// Show the providers that are set up.
    List {
        /// Show also those that lack a credential.
        #[arg(long)]
        all: bool,
    },
    /// Remove a provider from config.toml; one that is built in is as built in again.
    Remove {
        /// Its id.
        id: String,
    },
    /// Show whether one provider can be asked, and what is missing.
    Doctor {
        /// Its id.
        id: String,
        /// Ask it one tiny real question.
        #[arg(long)]
        probe: bool,
    },
}

/// Options of `config providers set`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProviderArgs {
    /// Its id, the first part of a model reference.
    pub(crate) id: String,
    /// How it is spoken to [default: openai_chat_completions].
    #[arg(long, value_name = "PROTOCOL", value_parser = transport())]
    pub(crate) transport: Option<Transport>,
    /// Where it is, for example http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Where its credential comes from [default: what the next options say; none on this machine].
    #[arg(long, value_name = "SOURCE", value_parser = auth_source())]
    pub(crate) credential_source: Option<AuthSource>,
    /// What its credential is [default: api_key].
    #[arg(long, value_name = "KIND", value_parser = auth_kind())]
    pub(crate) credential_kind: Option<AuthKind>,
    /// The variable that holds it; several with commas between them.
    #[arg(long, value_name = "NAME")]
    pub(crate) credential_env: Option<String>,
    /// The stored profile that holds it.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) credential_profile: Option<String>,
    /// The program whose login is used.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) credential_external: Option<String>,
    /// The command that prints it; one word each, so repeat the option for its arguments.
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) credential_command: Vec<String>,
    /// How hard its models should think unless an agent says otherwise.
    #[arg(long, value_name = "EFFORT", value_parser = effort())]
    pub(crate) reasoning_effort: Option<ReasoningEffort>,
}

/// What to do with credentials.
#[derive(Debug, Subcommand)]
pub(crate) enum CredentialsCommand {
    /// Store a credential; it is read from a prompt without echo, or from standard input.
    Set {
        /// Its name; a built-in provider finds the one that is named like it.
        profile: String,
        /// What it is.
        #[arg(long, value_name = "KIND", default_value = "api_key", value_parser = stored_kind())]
        kind: AuthKind,
        /// Read it from standard input; one line end at its end is taken off.
        #[arg(long)]
        stdin: bool,
        /// Keep it in the system's keyring instead of credentials.json.
        #[arg(long)]
        keyring: bool,
    },
    /// Show the names and kinds of what is stored.
    List,
    /// Remove a stored credential.
    Remove {
        /// Its name.
        profile: String,
    },
}

/// What to do with models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Show the models that can be asked.
    List {
        /// Show also those whose provider lacks a credential.
        #[arg(long)]
        all: bool,
    },
}

/// Options of `init`.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Model to set up, as provider/model [default: the first that can be found].
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
    /// Replace the model that is set already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask the model a question before it is set.
    #[arg(long)]
    pub(crate) no_probe: bool,
}

/// What to do with an agent's model.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentModelCommand {
    /// Show which model an agent asks, and why that one.
    Get {
        /// Which agent [default: the host's default agent].
        id: Option<String>,
    },
    /// Give an agent a model of its own, from its next turn on.
    Set {
        /// The model, as provider/model.
        model: String,
        /// Which agent [default: the host's default agent].
        id: Option<String>,
        /// How hard the model should think.
        #[arg(long, value_name = "EFFORT", value_parser = effort())]
        effort: Option<ReasoningEffort>,
    },
    /// Let an agent ask the host's default model again, from its next turn on.
    Clear {
        /// Which agent [default: the host's default agent].
        id: Option<String>,
    },
}

fn effort() -> impl TypedValueParser<Value = ReasoningEffort> {
    words(ReasoningEffort::ALL, ReasoningEffort::as_str)
}

fn transport() -> impl TypedValueParser<Value = Transport> {
    words(Transport::ALL, Transport::as_str)
}

fn auth_source() -> impl TypedValueParser<Value = AuthSource> {
    words(AuthSource::ALL, AuthSource::as_str)
}

fn auth_kind() -> impl TypedValueParser<Value = AuthKind> {
    words(AuthKind::ALL, AuthKind::as_str)
}

fn stored_kind() -> impl TypedValueParser<Value = AuthKind> {
    const STORED: &[AuthKind] = &[
        AuthKind::ApiKey,
        AuthKind::BearerToken,
        AuthKind::Oauth,
        AuthKind::SessionToken,
    ];
    words(STORED, AuthKind::as_str)
}

/// One of a set of words; any other is refused with the list.
fn words<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    spelled: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|one| spelled(*one))).try_map(move |word| {
        let found = all.iter().copied().find(|one| spelled(*one) == word);
        found.ok_or("not one of the words")
    })
}
