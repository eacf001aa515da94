//! Command line of external triggers and webhooks.

use super::AgentArg;
use clap::builder::NonEmptyStringValueParser;
use clap::{Subcommand, ValueEnum};
use holon_domain::trigger::DeliveryMode;

/// Subcommands of `holon trigger`.
#[derive(Debug, Subcommand)]
pub(crate) enum TriggerCommand {
    /// List an agent's external triggers without their URLs.
    List {
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Show the secret URL of an external trigger; a caller that has it needs nothing else.
    Show {
        /// Id of the trigger [default: the active one that wakes the agent].
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        trigger: Option<String>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Make an external trigger, unless the agent has an active one of this mode.
    Create {
        /// Effect of a delivery.
        #[arg(long, value_name = "MODE", value_enum)]
        mode: ModeWord,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Give an external trigger another URL; the old one stops to work at once.
    Rotate {
        /// Id of the trigger.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        trigger: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Make the URL of an external trigger useless for good.
    Revoke {
        /// Id of the trigger.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        trigger: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// The mode of a trigger on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeWord {
    /// A delivery wakes the agent; its content is a hint.
    #[value(name = "wake_hint")]
    WakeHint,
    /// The content of a delivery becomes a message of the agent.
    #[value(name = "enqueue_message")]
    EnqueueMessage,
}

impl From<ModeWord> for DeliveryMode {
    fn from(word: ModeWord) -> Self {
        match word {
            ModeWord::WakeHint => Self::WakeHint,
            ModeWord::EnqueueMessage => Self::EnqueueMessage,
        }
    }
}

/// Subcommands of `holon webhook`.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Accept webhooks for an agent.
    Set {
        /// Id of the agent.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        agent: String,
        /// Read the secret that senders sign with from standard input.
        #[arg(long)]
        secret_stdin: bool,
        /// Accept webhooks without a signature too, as evidence of unknown origin.
        #[arg(long)]
        allow_unsigned: bool,
    },
    /// Show the address of an agent's webhooks and which it accepts.
    Show {
        /// Id of the agent.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        agent: String,
    },
    /// Forget the secret and accept no webhooks any more.
    Remove {
        /// Id of the agent.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        agent: String,
    },
}
