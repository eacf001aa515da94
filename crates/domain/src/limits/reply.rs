//! Bounds of replies that are kept for repetitions of their requests.

/// Time for which the reply to a request with an idempotency key is kept.
pub const KEPT_REPLY_MS: u64 = 24 * 3_600_000;
/// Replies above this many bytes of which only the newest are kept.
pub const KEPT_REPLY_LARGE_BYTES: usize = 4 << 10;
/// Newest large replies that are kept. Of an older one it is only known that it was given, so that its request is not
/// carried out again.
pub const KEPT_REPLIES_LARGE: usize = 128;
/// Longest idempotency key of a request, in bytes.
pub const REQUEST_KEY_BYTES: usize = 255;
/// Largest response that is kept for repetitions of its request, in bytes. A larger one is given once.
pub const KEPT_RESPONSE_BYTES: usize = 256 << 10;
/// Largest outcome of a run with a temporary agent that is kept whole for repetitions of its request, in bytes. A larger
/// one is kept with shorter texts, so that no repetition runs it again.
pub const KEPT_RUN_BYTES: usize = 1 << 20;
/// Time that a run with a temporary agent goes on for after its caller has left, if its request has an idempotency key. A
/// repetition of the request joins it meanwhile; afterwards it is ended and its agent removed.
pub const RUN_REJOIN_MS: u64 = 10_000;
