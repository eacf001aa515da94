//! Errors before a provider is called or while a script is played, with the place and the next step.
//!
//! Failures of a provider over HTTP are built in `http::report`. Every variant maps to one failure kind, so the caller
//! never parses a message to decide what to do.

use holon_domain::attempt::TransportDiagnostics;
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, SCRIPT_BYTES};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::text;
use std::path::PathBuf;

/// A failure before a provider was called, or while a script was played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No configured provider has the id in the model reference.
    #[error(
        "provider {provider:?} is not known here; {}see them all with `holon config providers list --all`, or describe \
        it with `holon config providers set`",
        nearest.as_ref().map(|name| format!("did you mean {name}? ")).unwrap_or_default()
    )]
    UnknownProvider {
        provider: String,
        /// The known id with the most similar spelling, if one is close.
        nearest: Option<String>,
    },
    /// The provider is known and its base URL is unusable. The URL is not shown because it may hold a secret.
    #[error(
        "the base URL of provider {provider:?} {what}; correct it with `holon config providers set {provider}`"
    )]
    BadAddress {
        provider: String,
        /// Predicate that completes "the base URL of provider X ...".
        what: &'static str,
    },
    /// The provider is known and its transport cannot be used.
    #[error("{problem}; {next_step}")]
    UnsupportedTransport { problem: String, next_step: String },
    /// Two providers have the same id.
    #[error("there are two providers with the id {provider:?}; give one of them another id")]
    DuplicateProvider { provider: String },
    /// There is no file at the script's path.
    #[error("script {} does not exist; create it or choose another model", path.display())]
    Missing { path: PathBuf },
    /// The path names a directory, a pipe or a device.
    #[error("script {} is not a regular file; name a JSON file", path.display())]
    NotAFile { path: PathBuf },
    /// The file exists and cannot be read.
    #[error("script {} cannot be read: {source}; check its permissions", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The file exceeds the size limit of a script.
    #[error("script {} is larger than {SCRIPT_BYTES} bytes; split it into smaller scripts", path.display())]
    TooLarge { path: PathBuf },
    /// The file is not UTF-8.
    #[error("script {} is not UTF-8 text (first bad byte at offset {offset}); save it as UTF-8", path.display())]
    NotUtf8 {
        path: PathBuf,
        /// Byte offset of the first invalid byte.
        offset: usize,
    },
    /// The file is not JSON, or does not have the script's structure.
    #[error("script {}:{line}:{column}: {what}; correct the file and try again", path.display())]
    Malformed {
        path: PathBuf,
        /// The first one is 1.
        line: usize,
        /// The first one is 1.
        column: usize,
        /// The parser's message without its position.
        what: String,
    },
    /// The structure is right and the content breaks a rule.
    #[error("script {}: {what}", path.display())]
    Invalid {
        path: PathBuf,
        /// Names the rule, the round and the next step.
        what: String,
    },
    /// The script has no round for this request.
    #[error("script {} has {have} rounds and round {asked} was asked for; add a round or set on_end", path.display())]
    RanOut {
        path: PathBuf,
        /// Number of rounds in the script.
        have: usize,
        /// The requested round, counted from 1.
        asked: u64,
    },
    /// The script calls a tool that the request does not offer.
    #[error("script {}: round {round} calls {tool}; tools on offer: {offered}; correct the name in the script",
        path.display())]
    ToolNotOffered {
        path: PathBuf,
        /// The first one is 1.
        round: usize,
        tool: String,
        /// Names of the offered tools, joined with commas.
        offered: String,
    },
    /// The request does not contain what the script expects.
    #[error("script {}: round {round} expected {side} to contain {expected:?} and got {actual:?}; \
        correct the script or find out why the request differs", path.display())]
    Unexpected {
        path: PathBuf,
        /// The first one is 1.
        round: usize,
        /// The part of the request that was searched.
        side: &'static str,
        /// Shortened to fit the message.
        expected: String,
        /// Shortened to fit the message.
        actual: String,
    },
    /// A call uses a placeholder for a task, a work item, a wait or a timer, and the request names none.
    #[error("script {}: round {round} names {{{{{placeholder}}}}}, and nothing the model was told names one; \
        make one in an earlier round", path.display())]
    NothingNamed {
        path: PathBuf,
        /// The first one is 1.
        round: usize,
        /// The placeholder without its braces.
        placeholder: &'static str,
    },
    /// The filled-in placeholders made the answer larger than the limit.
    #[error("script {}: round {round} grows over {SCRIPT_BYTES} bytes once its placeholders are filled in; \
        use fewer of them", path.display())]
    AnswerTooLarge {
        path: PathBuf,
        /// The first one is 1.
        round: usize,
    },
    /// The caller cancelled the call; its result is dropped.
    #[error("the model call was cancelled")]
    Cancelled,
}

impl Error {
    /// Maps the error to the failure kind that decides about retries.
    #[must_use]
    pub const fn kind(&self) -> ModelFailureKind {
        match self {
            Self::UnknownProvider { .. }
            | Self::BadAddress { .. }
            | Self::UnsupportedTransport { .. }
            | Self::DuplicateProvider { .. } => ModelFailureKind::UnsupportedTransport,
            Self::Missing { .. }
            | Self::NotAFile { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::NotUtf8 { .. }
            | Self::Malformed { .. }
            | Self::Invalid { .. }
            | Self::RanOut { .. } => ModelFailureKind::ModelUnavailable,
            Self::ToolNotOffered { .. }
            | Self::Unexpected { .. }
            | Self::NothingNamed { .. }
            | Self::AnswerTooLarge { .. } => ModelFailureKind::InvalidResponse,
            Self::Cancelled => ModelFailureKind::Connection,
        }
    }

    const fn stage(&self) -> &'static str {
        match self {
            Self::UnknownProvider { .. }
            | Self::BadAddress { .. }
            | Self::UnsupportedTransport { .. }
            | Self::DuplicateProvider { .. } => "route",
            Self::Cancelled => "cancel",
            Self::Missing { .. }
            | Self::NotAFile { .. }
            | Self::Unreadable { .. }
            | Self::TooLarge { .. }
            | Self::NotUtf8 { .. }
            | Self::Malformed { .. }
            | Self::Invalid { .. }
            | Self::RanOut { .. }
            | Self::ToolNotOffered { .. }
            | Self::Unexpected { .. }
            | Self::NothingNamed { .. }
            | Self::AnswerTooLarge { .. } => "script",
        }
    }
}

impl From<Error> for ModelFailure {
    fn from(error: Error) -> Self {
        let source_chain = std::error::Error::source(&error)
            .map(ToString::to_string)
            .into_iter()
            .collect();
        Self {
            kind: error.kind(),
            message: text::preview(&error.to_string(), FAILURE_SUMMARY_BYTES),
            retry_after_ms: None,
            usage: None,
            learned: None,
            counts_answer: false,
            diagnostics: Some(Box::new(TransportDiagnostics {
                stage: error.stage().to_owned(),
                source_chain,
                ..TransportDiagnostics::default()
            })),
        }
    }
}
