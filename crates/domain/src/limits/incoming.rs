//! Bounds of deliveries from outside: triggers, callbacks and webhooks.

/// External triggers of one agent that are kept, active and revoked ones together. The oldest revoked ones are removed.
pub const TRIGGERS_KEPT: u64 = 32;
/// Largest payload of a delivery to a capability URL, in bytes. A larger one is refused.
pub const CALLBACK_BODY_BYTES: usize = 256 << 10;
/// Largest payload of a webhook, in bytes. A larger one is refused.
pub const WEBHOOK_BODY_BYTES: usize = 1 << 20;
/// Longest delivery id of a sender, in characters. A longer one is refused.
pub const DELIVERY_ID_CHARACTERS: usize = 255;
/// Deliveries that one capability or one agent's webhook may receive at once. Beyond it they are refused with 429 until
/// the allowance has grown again.
pub const DELIVERY_BURST: u32 = 128;
/// Deliveries per second by which that allowance grows again.
pub const DELIVERIES_PER_SECOND: u32 = 16;
/// Senders whose allowance is remembered; the ones that are full again are forgotten first.
pub const DELIVERY_BUCKETS: usize = 4_096;
/// Unknown tokens and wrong signatures that are answered at once, for all senders together. Beyond it they are refused
/// with 429 until the allowance has grown again. Valid deliveries are not affected. Names that no webhook was known by since
/// the host started have as much, which is used up before they are looked up.
pub const GUESS_BURST: u32 = 256;
/// Unknown tokens, names and wrong signatures per second by which each of these allowances grows again.
pub const GUESSES_PER_SECOND: u32 = 16;
/// Requests with a wrong bearer token that are answered to one address at once. Beyond it they are refused with 429 until
/// the allowance has grown again. A right token is never refused.
pub const WRONG_TOKEN_BURST: u32 = 300;
/// Requests with a wrong bearer token per second by which that allowance grows again.
pub const WRONG_TOKENS_PER_SECOND: u32 = 5;
/// Addresses whose wrong tokens are counted; those whose allowance is full again are forgotten first.
pub const WRONG_TOKEN_ADDRESSES: usize = 1_024;
/// Largest difference between the time that a signed webhook names and the host's clock, in milliseconds. Beyond it the
/// webhook is refused as a replay.
pub const WEBHOOK_WINDOW_MS: u64 = 5 * 60_000;
/// Largest secret of a webhook, in characters.
pub const WEBHOOK_SECRET_CHARACTERS: usize = 1_024;
/// Milliseconds for which a webhook's secret is used before it is looked up again. The sender is not proven before the
/// lookup, so this limits what a flood of webhooks costs.
pub const WEBHOOK_SECRET_AGE_MS: u64 = 1_000;
