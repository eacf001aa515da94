//! What one attempt may take: time in six measures, and bytes.

use holon_domain::limits::{
    PROVIDER_ANSWER_BYTES, PROVIDER_CONNECT_MS, PROVIDER_ERROR_BYTES, PROVIDER_ERROR_MS,
    PROVIDER_FIRST_BYTE_MS, PROVIDER_IDLE_MS, PROVIDER_LOOKUP_MS, PROVIDER_TOTAL_MS,
};
use std::time::Duration;

/// Limits of one attempt. The defaults and their reasons stand in the domain's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// To look up a host's name; at most half of what connecting may take.
    pub lookup: Duration,
    /// To get a connection.
    pub connect: Duration,
    /// From the start of the request to the head of the answer, connecting included.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// To read the words of an answer with a bad status.
    pub error: Duration,
    /// All in all.
    pub total: Duration,
    /// Bytes of an answer once unpacked, and of one event of a stream.
    pub answer_bytes: usize,
    /// Bytes read of an answer with a bad status.
    pub error_bytes: usize,
}

impl HttpLimits {
    /// The usual limits with these times to begin an answer and to be silent in it. The whole may take three times
    /// the first, or the usual time if that is more.
    #[must_use]
    pub fn with_times(first_byte: Duration, idle: Duration) -> Self {
        let usual = Self::default();
        Self {
            first_byte,
            idle,
            total: usual.total.max(first_byte.saturating_mul(3)),
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
            total: Duration::from_millis(PROVIDER_TOTAL_MS),
            answer_bytes: PROVIDER_ANSWER_BYTES,
            error_bytes: PROVIDER_ERROR_BYTES,
        }
    }
}
