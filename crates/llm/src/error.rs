//! Why nothing could be asked at all, or a script cannot be played, in words that name the place and the next step.
//!
//! What a provider over HTTP answers or fails to answer is told in `http::report`. Every variant maps to one failure kind, so the caller never reads the words to decide what to do.

use holon_domain::attempt::TransportDiagnostics;
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, SCRIPT_BYTES};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::text;
use std::path::PathBuf;

/// What went wrong before a provider was asked, or while a script was played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The provider part of the model reference names nothing this build can speak to.
    #[error(
        "provider {provider:?} is not known here; {}see them all with `holon config providers list --all`, or describe \
        it with `holon config providers set`",
        nearest.as_ref().map(|name| format!("did you mean {name}? ")).unwrap_or_default()
    )]
    UnknownProvider {
        /// As asked for.
        provider: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// The provider is known and its address is of no use. The address is not repeated: it may hold a secret.
    #[error(
        "the base URL of provider {provider:?} {what}; correct it with `holon config providers set {provider}`"
    )]
    BadAddress {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Two providers have one id.
    #[error("there are two providers with the id {provider:?}; give one of them another id")]
    DuplicateProvider {
        /// The id.
        provider: String,
    },
    /// No file at the script's path.
    #[error("script {} does not exist; create it or choose another model", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A directory, a pipe or a device.
    #[error("script {} is not a regular file; name a JSON file", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// The file is there and cannot be read.
    #[error("script {} cannot be read: {source}; check its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than a script may be.
    #[error("script {} is larger than {SCRIPT_BYTES} bytes; split it into smaller scripts", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("script {} is not UTF-8 text (first bad byte at offset {offset}); save it as UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Offset of the first byte that is wrong.
        offset: usize,
    },
    /// The file is not JSON, or not of the script's shape.
    #[error("script {}:{line}:{column}: {what}; correct the file and try again", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The parser's words.
        what: String,
    },
    /// The shape is right and the content breaks a rule.
    #[error("script {}: {what}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The rule, the round and the next step.
        what: String,
    },
    /// The script has no round for this request.
    #[error("script {} has {have} rounds and round {asked} was asked for; add a round or set on_end", path.display())]
    RanOut {
        /// The file.
        path: PathBuf,
        /// Rounds it has.
        have: usize,
        /// The round asked for, counted from 1.
        asked: u64,
    },
    /// The script calls a tool the request does not offer.
    #[error("script {}: round {round} calls {tool}; tools on offer: {offered}; correct the name in the script",
        path.display())]
    ToolNotOffered {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        round: usize,
        /// The tool.
        tool: String,
        /// The ones there are, joined.
        offered: String,
    },
    /// The request is not what the script expected.
    #[error("script {}: round {round} expected {side} to contain {expected:?} and got {actual:?}; \
        correct the script or find out why the request differs", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        round: usize,
        /// Which part of the request.
        side: &'static str,
        /// What was expected, bounded.
        expected: String,
        /// What was there, bounded.
        actual: String,
    },
    /// A call wants a task, a work item, a wait or a timer, and the model was told of none.
    #[error("script {}: round {round} names {{{{{placeholder}}}}}, and nothing the model was told names one; \
        make one in an earlier round", path.display())]
    NothingNamed {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        round: usize,
        /// The placeholder, without its braces.
        placeholder: &'static str,
    },
    /// Placeholders made the answer larger than an answer may be.
    #[error("script {}: round {round} grows over {SCRIPT_BYTES} bytes once its placeholders are filled in; \
        use fewer of them", path.display())]
    AnswerTooLarge {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        round: usize,
    },
    /// The caller gave up; what is returned then is dropped.
    #[error("the model call was cancelled")]
    Cancelled,
}

impl Error {
    /// The class of failure this is.
    #[must_use]
    pub const fn kind(&self) -> ModelFailureKind {
        match self {
            Self::UnknownProvider { .. }
            | Self::BadAddress { .. }
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
            diagnostics: Some(Box::new(TransportDiagnostics {
                stage: error.stage().to_owned(),
                source_chain,
                ..TransportDiagnostics::default()
            })),
        }
    }
}
