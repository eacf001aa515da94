//! The ways a provider goes wrong.

use std::time::Duration;

/// What goes wrong in a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This answer and no other.
    Status {
        /// The status.
        code: u16,
        /// Headers beside the length; `content-type` is JSON unless given here.
        headers: Vec<(String, String)>,
        /// The body, in whatever shape.
        body: String,
    },
    /// 429: too many requests.
    RateLimited {
        /// The pause it asks for: `retry-after` in whole seconds, `retry-after-ms` beside it if it has more.
        retry_after: Option<Duration>,
    },
    /// The allowance is used up, in the words of each protocol.
    Quota {
        /// Until it is renewed.
        resets_in: Option<Duration>,
    },
    /// 503, or 529 where a protocol has that.
    ServerError,
    /// 401, in words that repeat the key the server was sent.
    Unauthorized,
    /// 404: no such model.
    ModelNotFound,
    /// The request is longer than the model's context window.
    ContextTooLong {
        /// The window.
        window: u32,
    },
    /// The request asks for a longer answer than the model gives.
    OutputTooLong {
        /// The longest it gives.
        limit: u32,
    },
    /// The response that the request goes on from is not there.
    UnknownPrevious,
    /// A good status, and inside the answer that it failed on the server's side.
    FailedInAnswer,
    /// 200 with a page for people.
    HtmlOk,
    /// 307 to another place.
    Redirect {
        /// The place.
        to: String,
    },
    /// The connection is reset after the request.
    ResetBeforeAnswer,
    /// The connection is closed after the request, in order, without an answer.
    CloseBeforeAnswer,
    /// Nothing is sent at all.
    NoAnswer,
    /// Nothing is sent after the head.
    StallAfterHeaders,
    /// Nothing is sent after half of the body.
    StallInBody,
    /// The connection is reset after half of the body.
    ResetInBody,
    /// The connection is closed, in order, after half of the body that was announced.
    ShortBody,
    /// One byte of the body at a time, each so long after the one before. It never ends by itself.
    Drip {
        /// The pause.
        every: Duration,
    },
    /// The body is complete by its length, and its JSON is cut off.
    TruncatedJson,
    /// So many bytes that mean nothing, and only then a good answer.
    HugeBody {
        /// How many.
        bytes: u64,
    },
    /// A good answer after 256 MiB that mean nothing, compressed to next to nothing.
    GzipBomb,
    /// The answer does not say that it is over: a stream without its last event, a document without a reason to stop.
    MissingTerminal,
    /// All calls of the round have one id; two calls of `ExecCommand` if the round has fewer.
    DuplicateCallIds,
    /// The calls of the round have no ids; one call of `ExecCommand` if the round has none.
    MissingCallIds,
    /// A call of `ExecCommand` whose arguments break off.
    InvalidArguments,
    /// A call of a tool nobody offered.
    UnknownTool,
}

impl Fault {
    /// One of each kind that one request can meet, with figures for tests that want all of them.
    #[must_use]
    pub fn every() -> Vec<Self> {
        let mut all = Self::every_status();
        all.extend(Self::every_transfer());
        all.extend(Self::every_content());
        all
    }

    /// Faults that are an answer of their own.
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

    /// Faults of the way.
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

    /// Faults of what is said.
    #[must_use]
    pub fn every_content() -> Vec<Self> {
        vec![
            Self::TruncatedJson,
            Self::MissingTerminal,
            Self::DuplicateCallIds,
            Self::MissingCallIds,
            Self::InvalidArguments,
            Self::UnknownTool,
        ]
    }
}
