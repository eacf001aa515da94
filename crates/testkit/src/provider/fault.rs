//! The faults of a provider.

use std::time::Duration;

/// The fault of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A literal answer from the script.
    Status {
        code: u16,
        /// Headers beside the length; `content-type` is JSON unless given here.
        headers: Vec<(String, String)>,
        /// Body of any format.
        body: String,
    },
    /// Status 429: too many requests.
    RateLimited {
        /// Requested pause: `retry-after` in whole seconds, with `retry-after-ms` if it has a fraction.
        retry_after: Option<Duration>,
    },
    /// The quota is used up, in the format of each protocol.
    Quota {
        /// Time until it is renewed.
        resets_in: Option<Duration>,
    },
    /// Status 503, or 529 in protocols that have it.
    ServerError,
    /// Status 401, with a message that repeats the sent key.
    Unauthorized,
    /// Status 404: no such model.
    ModelNotFound,
    /// The request is longer than the model's context window.
    ContextTooLong {
        /// Size of the window in tokens.
        window: u32,
    },
    /// The request asks for a longer answer than the model can give.
    OutputTooLong {
        /// Longest output in tokens.
        limit: u32,
    },
    /// The response that the request continues from is unknown.
    UnknownPrevious,
    /// Status 200, with a body that reports a failure on the server's side.
    FailedInAnswer,
    /// Status 200 with an HTML page.
    HtmlOk,
    /// Status 307 to another address.
    Redirect {
        /// Target of the redirect.
        to: String,
    },
    /// The connection is reset after the request.
    ResetBeforeAnswer,
    /// The connection is closed in order after the request, without an answer.
    CloseBeforeAnswer,
    /// The server sends nothing at all.
    NoAnswer,
    /// The server sends nothing after the head.
    StallAfterHeaders,
    /// The server sends nothing after half of the body.
    StallInBody,
    /// The connection is reset after half of the body.
    ResetInBody,
    /// The connection is closed in order after half of the announced body.
    ShortBody,
    /// The body arrives byte by byte with a pause before each. It never ends by itself.
    Drip {
        /// Pause before each byte.
        every: Duration,
    },
    /// The body has its full length, but its JSON is cut off.
    TruncatedJson,
    /// This many meaningless bytes, followed by a valid answer.
    HugeBody { bytes: u64 },
    /// A valid answer after 256 MiB of meaningless bytes, compressed to very little.
    GzipBomb,
    /// The answer lacks its end: a stream without its last event, a document without a stop reason.
    MissingTerminal,
    /// All calls of the round have one id. Adds calls of `ExecCommand` if there are fewer than two.
    DuplicateCallIds,
    /// The calls of the round have no ids. Adds a call of `ExecCommand` if there is none.
    MissingCallIds,
    /// A call of `ExecCommand` with truncated arguments.
    InvalidArguments,
    /// A call of a tool that the request did not offer.
    UnknownTool,
    /// A call of `ExecCommand` with truncated arguments, in a stream that never says that they are complete.
    OpenArguments,
    /// Text in one event of this size.
    HugeEvent { bytes: usize },
    /// Text without an end, in large pieces. A client that reads on gets nothing more after 8 MiB.
    EndlessAnswer,
    /// A stream that reports a failure after half of its events; a document that reports one.
    ErrorInAnswer,
    /// Another answer follows in the same body.
    TwoAnswers,
    /// A stream whose events arrive in reverse, between its first and its last.
    ReversedEvents,
}

impl Fault {
    /// Lists one fault of each kind, with figures for tests over all of them.
    #[must_use]
    pub fn every() -> Vec<Self> {
        let mut all = Self::every_status();
        all.extend(Self::every_transfer());
        all.extend(Self::every_content());
        all
    }

    /// Lists the faults that replace the answer.
    #[must_use]
    pub fn every_status() -> Vec<Self> {
        vec![
            Self::Status {
                code: 418,
                headers: Vec::new(),
                body: r#"{"error":{"message":"a teapot"}}"#.to_owned(),
            },
            Self::RateLimited { retry_after: None },
            Self::RateLimited {
                retry_after: Some(Duration::ZERO),
            },
            Self::Quota { resets_in: None },
            Self::Quota {
                resets_in: Some(Duration::from_secs(3_600)),
            },
            Self::ServerError,
            Self::Unauthorized,
            Self::ModelNotFound,
            Self::ContextTooLong { window: 4_096 },
            Self::OutputTooLong { limit: 1_024 },
            Self::UnknownPrevious,
            Self::FailedInAnswer,
            Self::HtmlOk,
            Self::Redirect {
                to: "http://127.0.0.1:9/elsewhere".to_owned(),
            },
        ]
    }

    /// Lists the faults of the transfer.
    #[must_use]
    pub fn every_transfer() -> Vec<Self> {
        vec![
            Self::ResetBeforeAnswer,
            Self::CloseBeforeAnswer,
            Self::NoAnswer,
            Self::StallAfterHeaders,
            Self::StallInBody,
            Self::ResetInBody,
            Self::ShortBody,
            Self::Drip {
                every: Duration::from_millis(100),
            },
            Self::HugeBody { bytes: 100 << 20 },
            Self::GzipBomb,
        ]
    }

    /// Lists the faults of the content.
    #[must_use]
    pub fn every_content() -> Vec<Self> {
        vec![
            Self::TruncatedJson,
            Self::MissingTerminal,
            Self::DuplicateCallIds,
            Self::MissingCallIds,
            Self::InvalidArguments,
            Self::UnknownTool,
            Self::OpenArguments,
            Self::HugeEvent { bytes: 1 << 20 },
            Self::EndlessAnswer,
            Self::ErrorInAnswer,
            Self::TwoAnswers,
            Self::ReversedEvents,
        ]
    }
}
