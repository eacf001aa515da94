//! Command line of operator delivery: targets of the host, and bindings to remote operators.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use holon_domain::Timestamp;
use holon_domain::delivery::TargetAuth;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;

/// Subcommands of `holon delivery`.
#[derive(Debug, Subcommand)]
pub(crate) enum DeliveryCommand {
    /// Add a target that gets requests to act and completed work of agents.
    Add(AddTargetArgs),
    /// List the targets: what goes there, whether it arrives, and what waits.
    List,
    /// Send a trial text to a target; shows what was sent and what came back.
    Test {
        /// Name of the target.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
    },
    /// Try what waits for a target or a remote operator at once, instead of after its pause.
    Retry {
        /// Name of the target, or with --agent the id of a binding; see `holon binding list`.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        /// Agent whose binding is meant.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// Remove a target and its secret; what waits for it is given up.
    Remove {
        /// Name of the target.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
    },
}

/// Options of `holon delivery add`.
#[derive(Debug, Args)]
pub(crate) struct AddTargetArgs {
    /// Name of the target, for lists.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Address to which JSON is posted.
    #[arg(long, value_name = "URL", group = "place")]
    pub(crate) http: Option<String>,
    /// Address of an ntfy topic, such as `https://ntfy.sh/my-topic`.
    #[arg(long, value_name = "URL", group = "place")]
    pub(crate) ntfy: Option<String>,
    /// Program to run with the text on its standard input; its arguments follow `--`.
    #[arg(long, value_name = "PROGRAM", group = "place")]
    pub(crate) command: Option<String>,
    /// Arguments of the program.
    #[arg(last = true, requires = "command", value_name = "ARG")]
    pub(crate) arguments: Vec<String>,
    /// Use of a secret in requests.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = AuthWord::None)]
    pub(crate) auth: AuthWord,
    /// Read the secret from standard input [default: ask for it at the terminal].
    #[arg(long)]
    pub(crate) secret_stdin: bool,
    /// Deliver results of turns too.
    #[arg(long)]
    pub(crate) turn_results: bool,
    /// Deliver only what this agent writes; may be repeated [default: every public agent].
    #[arg(long = "agent", value_name = "ID")]
    pub(crate) agents: Vec<String>,
}

/// The use of a secret on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuthWord {
    /// The receiver asks for none.
    None,
    /// Sent as `Authorization: Bearer`.
    Bearer,
    /// Key of a signature over id, time and body.
    Hmac,
}

impl From<AuthWord> for TargetAuth {
    fn from(word: AuthWord) -> Self {
        match word {
            AuthWord::None => Self::None,
            AuthWord::Bearer => Self::Bearer,
            AuthWord::Hmac => Self::Hmac,
        }
    }
}

/// Subcommands of `holon binding`.
#[derive(Debug, Subcommand)]
pub(crate) enum BindingCommand {
    /// Bind an agent to an operator on a messaging system.
    Add(AddBindingArgs),
    /// List the bindings of an agent.
    List {
        /// Id of the agent [default: the host's default agent].
        agent: Option<String>,
    },
    /// End a binding at once: it admits nothing and receives nothing any more.
    Revoke {
        /// Id of the agent.
        agent: String,
        /// Id of the binding.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        binding: String,
    },
}

/// Options of `holon binding add`.
#[derive(Debug, Args)]
pub(crate) struct AddBindingArgs {
    /// Id of the agent.
    pub(crate) agent: String,
    /// Program that connects the messaging system.
    #[arg(long, value_name = "NAME")]
    pub(crate) transport: String,
    /// Operator as the transport names them.
    #[arg(long, value_name = "ID")]
    pub(crate) actor: String,
    /// Route for deliveries that answer no message.
    #[arg(long, value_name = "ID")]
    pub(crate) route: String,
    /// Another route that a message may name for its answer; may be repeated.
    #[arg(long = "reply-route", value_name = "ID")]
    pub(crate) reply_routes: Vec<String>,
    /// Address to which deliveries are posted.
    #[arg(long, value_name = "URL")]
    pub(crate) callback: String,
    /// Use of a secret in deliveries.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = AuthWord::Bearer)]
    pub(crate) auth: AuthWord,
    /// Read the secret from standard input [default: ask for it at the terminal].
    #[arg(long)]
    pub(crate) secret_stdin: bool,
    /// Name of the key, sent with each delivery for a receiver that has several.
    #[arg(long, value_name = "ID")]
    pub(crate) key_id: Option<String>,
    /// Time from which on the binding admits nothing, such as 2027-01-31T00:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) expires_at: Option<Timestamp>,
    /// Messaging system, such as matrix; messages must then name it.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Identity of the operator in the messaging system; messages must then name it.
    #[arg(long, value_name = "REF")]
    pub(crate) identity: Option<String>,
    /// Deliver results of turns that answer no message of the operator too.
    #[arg(long)]
    pub(crate) turn_results: bool,
}

/// Reads a time with its zone.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    let read: Result<Timestamp, serde::de::value::Error> =
        Timestamp::deserialize(text.into_deserializer());
    read.map_err(|error| format!("{error}; write it like 2027-01-31T00:00:00Z"))
}
