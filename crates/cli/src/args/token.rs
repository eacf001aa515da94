//! Command line of named tokens.

use clap::builder::NonEmptyStringValueParser;
use clap::{Subcommand, ValueEnum};
use holon_domain::request_key::TokenScope;

/// Subcommands of `holon token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a named token and print its secret, which is shown this once.
    Create {
        /// Name of the token, for lists and for its revocation.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        /// Rights of the token.
        #[arg(long, value_name = "SCOPE", value_enum, default_value_t = ScopeWord::Read)]
        scope: ScopeWord,
    },
    /// List the named tokens and their scopes.
    List,
    /// Revoke a token; requests and streams of its holder end at once.
    Revoke {
        /// Name of the token.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
    },
}

/// The scope of a token on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeWord {
    /// Look at agents, events and the host.
    Read,
    /// Also send messages to agents and wake them.
    Prompt,
    /// Everything that the control token may do.
    Control,
}

impl From<ScopeWord> for TokenScope {
    fn from(word: ScopeWord) -> Self {
        match word {
            ScopeWord::Read => Self::Read,
            ScopeWord::Prompt => Self::Prompt,
            ScopeWord::Control => Self::Control,
        }
    }
}
