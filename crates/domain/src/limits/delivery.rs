//! Bounds of the outbox and of deliveries to operators.

/// Most routes that an agent's outbox remembers. Idle routes beyond it are forgotten, oldest first.
pub const OUTBOX_LANES: usize = 32;
/// Most deliveries of one agent that wait on one route. At the bound the oldest one is given up with a recorded reason,
/// so that an outbox never grows without limit.
pub const DELIVERIES_PENDING: u64 = 256;
/// Ended deliveries of one agent and route that are kept for inspection.
pub const DELIVERIES_KEPT: u64 = 64;
/// First pause before a delivery is submitted again, in milliseconds. It doubles with each further failure.
pub const DELIVERY_PAUSE_MS: u64 = 5_000;
/// Longest pause between two attempts of a delivery, in milliseconds.
pub const DELIVERY_PAUSE_MAX_MS: u64 = 900_000;
/// Longest pause that a receiver may ask for with `Retry-After`, in milliseconds. A longer one is shortened to it.
pub const DELIVERY_RETRY_AFTER_MAX_MS: u64 = 3_600_000;
/// Time after which a delivery that no receiver accepted is given up, in milliseconds: three days, which outlasts a
/// weekend.
pub const DELIVERY_PATIENCE_MS: u64 = 3 * 24 * 3_600_000;
/// Longest time of one attempt of a delivery, in milliseconds, redirects included.
pub const DELIVERY_ATTEMPT_MS: u64 = 20_000;
/// Longest text of one delivery, in bytes. A longer brief is cut, and the text says so.
pub const DELIVERY_TEXT_BYTES: usize = 32 << 10;
/// Most attempts that one host makes at the same time on one target.
pub const DELIVERIES_AT_ONCE: usize = 2;
/// Most bytes that are read of the answer to a delivery. The rest is dropped with its connection.
pub const DELIVERY_ANSWER_BYTES: usize = 16 << 10;
/// Longest message of `NotifyOperator`, in bytes. A longer one gets a tool error: a notification is read on a phone.
pub const NOTIFICATION_BYTES: usize = 4 << 10;
/// Longest summary of a notification, in bytes.
pub const NOTIFICATION_SUMMARY_BYTES: usize = 160;
/// Most notifications of one turn; the next call gets a tool error.
pub const NOTIFICATIONS_PER_TURN: u32 = 4;
/// Most notifications of one agent in an hour; the next call gets a tool error.
pub const NOTIFICATIONS_PER_HOUR: u32 = 20;
/// Most bindings of one agent to remote operators that are active. One more is refused; the oldest ended one gives way.
pub const OPERATOR_BINDINGS: usize = 8;
/// Most metadata of one binding, in bytes of its JSON; a larger one is refused. Every request of the agent carries it.
pub const BINDING_METADATA_BYTES: usize = 4 << 10;
/// Longest argument of a command target, in bytes; a longer one is refused. A script belongs into a file.
pub const TARGET_ARGUMENT_BYTES: usize = 4 << 10;
/// Most arguments of a command target, its program included; more are refused.
pub const TARGET_ARGUMENTS: usize = 32;
/// Most delivery targets of a host. One more is refused.
pub const DELIVERY_TARGETS: usize = 16;

/// Most files that one call of `NotifyOperator` or `CompleteWorkItem` attaches; more get a tool error.
pub const ATTACHMENTS_PER_NOTIFICATION: usize = 8;
/// Longest path of an attached file in its agent's home, in bytes; a longer one gets a tool error.
pub const ATTACHMENT_PATH_BYTES: usize = 512;
/// Attached files of an agent that can be downloaded; an older one is forgotten for a newer one.
pub const ATTACHMENTS_KEPT: usize = 64;
/// Largest attached file that can be downloaded, in bytes; a larger one is refused and stays in the home.
pub const ATTACHMENT_BYTES: u64 = 16 << 20;
