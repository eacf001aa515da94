//! Time and byte limits of one attempt.

use holon_domain::limits::{
    PROVIDER_ANSWER_BYTES, PROVIDER_CONNECT_MS, PROVIDER_CONTENT_MS, PROVIDER_DESCRIPTION_MS,
    PROVIDER_ERROR_BYTES, PROVIDER_ERROR_MS, PROVIDER_FIRST_BYTE_MS, PROVIDER_IDLE_MS,
    PROVIDER_LOOKUP_MS,
};
use std::time::Duration;

/// Limits of one attempt. The defaults and their reasons are in the domain's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// For a name lookup; at most half of `connect` is used.
    pub lookup: Duration,
    /// For opening a connection.
    pub connect: Duration,
    /// From the start of the request to the headers of the response, including the connection.
    pub first_byte: Duration,
    /// Between two chunks of a response.
    pub idle: Duration,
    /// For reading the body of a response with an error status.
    pub error: Duration,
    /// Without content. Comments and other signs of life are not content, so an answer that trickles may take any
    /// time and a connection that is only kept open may not.
    pub content: Duration,
    /// For a server's description of the context window of a model.
    pub description: Duration,
    /// Decompressed bytes of an answer, and bytes of one event of a stream.
    pub answer_bytes: usize,
    /// Bytes read of a response with an error status.
    pub error_bytes: usize,
}

impl HttpLimits {
    /// Returns the default limits with other times for the first byte and for silence. The limit without
    /// content is three times the first, or the default if that is longer.
    #[must_use]
    pub fn with_times(first_byte: Duration, idle: Duration) -> Self {
        let usual = Self::default();
        Self {
            first_byte,
            idle,
            content: usual.content.max(first_byte.saturating_mul(3)),
            ..usual
        }
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            lookup: Duration::from_millis(PROVIDER_LOOKUP_MS),
            connect: Duration::from_millis(PROVIDER_CONNECT_MS),
            first_byte: Duration::from_millis(PROVIDER_FIRST_BYTE_MS),
            idle: Duration::from_millis(PROVIDER_IDLE_MS),
            error: Duration::from_millis(PROVIDER_ERROR_MS),
            content: Duration::from_millis(PROVIDER_CONTENT_MS),
            description: Duration::from_millis(PROVIDER_DESCRIPTION_MS),
            answer_bytes: PROVIDER_ANSWER_BYTES,
            error_bytes: PROVIDER_ERROR_BYTES,
        }
    }
}
