//! The command line of `holon config`, `holon init` and `holon agent model`.

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holon_domain::provider::{AuthKind, AuthSource, ReasoningEffort, RequestOption, Transport};

/// Subcommands of `holon config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the effective value of one setting and its source.
    Get {
        /// Key of the setting, for example model.default.
        key: String,
    },
    /// Write one setting into config.toml and keep the file's comments.
    Set {
        /// Key of the setting, for example model.default.
        key: String,
        /// New value; a list is written as TOML or with commas between its items.
        value: String,
    },
    /// Remove one setting from config.toml, so that its default applies again.
    Unset {
        /// Key of the setting, for example model.default.
        key: String,
    },
    /// Show the settings in config.toml.
    List {
        /// Show every setting with its effective value and source.
        #[arg(long)]
        effective: bool,
    },
    /// Show all known settings with their type and default.
    Schema,
    /// Check which models are available, which fallbacks apply, and what to do next.
    Doctor {
        /// Send one tiny real request to each model of the fallback chain.
        #[arg(long)]
        probe: bool,
    },
    /// List providers, and add or change your own.
    Providers {
        #[command(subcommand)]
        command: ProvidersCommand,
    },
    /// Store, list and remove credentials; their values are never shown.
    Credentials {
        #[command(subcommand)]
        command: CredentialsCommand,
    },
    /// List the models of all providers.
    Models {
        #[command(subcommand)]
        command: ModelsCommand,
    },
}

/// Subcommands of `holon config providers`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersCommand {
    /// Write a provider into config.toml, or override a built-in one.
    Set(ProviderArgs),
    /// Show the settings of one provider.
    Get {
        /// Id of the provider, the first part of a model reference.
        id: String,
    },
    /// List the usable providers and those in config.toml.
    List {
        /// Also list built-in providers that lack a credential.
        #[arg(long)]
        all: bool,
    },
    /// Remove a provider from config.toml; a built-in provider gets its built-in values back.
    Remove {
        /// Id of the provider to remove.
        id: String,
    },
    /// Check whether one provider is usable, and show what is missing.
    Doctor {
        /// Id of the provider to check.
        id: String,
        /// Send one tiny real request to the provider.
        #[arg(long)]
        probe: bool,
    },
}

/// Options of `config providers set`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProviderArgs {
    /// Id of the provider, the first part of a model reference.
    pub(crate) id: String,
    /// Wire protocol of the provider [default: openai_chat_completions].
    #[arg(long, value_name = "PROTOCOL", value_parser = transport())]
    pub(crate) transport: Option<Transport>,
    /// Base URL of the provider, for example http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Source of the credential [default: derived from the other credential options; none on this machine].
    #[arg(long, value_name = "SOURCE", value_parser = auth_source())]
    pub(crate) credential_source: Option<AuthSource>,
    /// Kind of the credential [default: api_key].
    #[arg(long, value_name = "KIND", value_parser = auth_kind())]
    pub(crate) credential_kind: Option<AuthKind>,
    /// Environment variable that holds the credential; separate several with commas.
    #[arg(long, value_name = "NAME")]
    pub(crate) credential_env: Option<String>,
    /// Stored credential profile to use.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) credential_profile: Option<String>,
    /// Program whose login is used as the credential.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) credential_external: Option<String>,
    /// Command that prints the credential, one word per option; repeat the option for its arguments.
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) credential_command: Vec<String>,
    /// Reasoning effort of the provider's models; an agent can override it.
    #[arg(long, value_name = "EFFORT", value_parser = effort())]
    pub(crate) reasoning_effort: Option<ReasoningEffort>,
    /// Optional part of a request that the provider is never sent; repeat the option for several.
    #[arg(long, value_name = "WORD", value_parser = request_option())]
    pub(crate) omit: Vec<RequestOption>,
}

/// Subcommands of `holon config credentials`.
#[derive(Debug, Subcommand)]
pub(crate) enum CredentialsCommand {
    /// Store a credential, read from a prompt without echo or from standard input.
    Set {
        /// Name of the profile; a built-in provider uses the profile of its own name.
        profile: String,
        /// Kind of the credential to store.
        #[arg(long, value_name = "KIND", default_value = "api_key", value_parser = stored_kind())]
        kind: AuthKind,
        /// Read the credential from standard input; one trailing line end is removed.
        #[arg(long)]
        stdin: bool,
        /// Store it in the system's keyring instead of credentials.json.
        #[arg(long)]
        keyring: bool,
    },
    /// List names and kinds of the stored credentials.
    List,
    /// Remove one stored credential.
    Remove {
        /// Name of the profile to remove.
        profile: String,
    },
}

/// Subcommands of `holon config models`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models that can be used now.
    List {
        /// Also list models whose provider lacks a credential.
        #[arg(long)]
        all: bool,
    },
}

/// Options of the `init` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Model to set up, as provider/model [default: the first usable one on this machine].
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
    /// Replace the model that is already set.
    #[arg(long)]
    pub(crate) force: bool,
    /// Set the model without sending it a test request.
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// Also set the other models that were found as fallbacks, without a question.
    #[arg(long)]
    pub(crate) fallbacks: bool,
}

/// Subcommands of `holon agent model`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentModelCommand {
    /// Show the model of an agent and the source of that choice.
    Get {
        /// Id of the agent [default: the host's default agent].
        id: Option<String>,
    },
    /// Set an agent's model; it takes effect at the next turn.
    Set(SetModelArgs),
    /// Clear an agent's model, so that the host's default applies from the next turn on.
    Clear {
        /// Id of the agent [default: the host's default agent].
        id: Option<String>,
    },
}

/// Options of `holon agent model set`.
#[derive(Debug, clap::Args)]
pub(crate) struct SetModelArgs {
    /// Model to use, as provider/model.
    pub(crate) model: String,
    /// Id of the agent [default: the host's default agent].
    pub(crate) id: Option<String>,
    /// Reasoning effort of the model [default: the provider's setting].
    #[arg(long, value_name = "EFFORT", value_parser = effort())]
    pub(crate) effort: Option<ReasoningEffort>,
    /// Most tokens that the model may think in one answer, at least 1024; 0 turns thinking off (Anthropic only)
    /// [default: the setting of the model].
    #[arg(long, value_name = "TOKENS")]
    pub(crate) thinking_tokens: Option<u32>,
    /// Model to ask if this one fails, as provider/model; may be repeated [default: the fallbacks of the host].
    #[arg(long, value_name = "REF")]
    pub(crate) fallback: Vec<String>,
    /// Ask no other model if this one fails.
    #[arg(long, conflicts_with = "fallback")]
    pub(crate) no_fallback: bool,
}

fn effort() -> impl TypedValueParser<Value = ReasoningEffort> {
    words(ReasoningEffort::ALL, ReasoningEffort::as_str)
}

fn request_option() -> impl TypedValueParser<Value = RequestOption> {
    words(RequestOption::ALL, RequestOption::as_str)
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

/// Builds a parser that accepts one of a set of words and refuses any other with the list.
fn words<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    spelled: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|one| spelled(*one))).try_map(move |word| {
        let found = all.iter().copied().find(|one| spelled(*one) == word);
        found.ok_or("not one of the words")
    })
}
