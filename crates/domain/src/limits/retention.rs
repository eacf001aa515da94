//! Bounds of what is kept: events, turns and briefs.

/// Bytes of disk that the audit events of all agents may take. Beyond it the oldest events of the agents with the most
/// are removed.
pub const EVENT_BUDGET_BYTES: u64 = 1 << 30;
/// Newest events of each agent that retention never removes.
pub const EVENTS_KEPT_PER_AGENT: u64 = 1_000;
/// Most events that one retention step removes, so that the writer is never blocked for long.
pub const RETENTION_STEP: u64 = 2_000;
/// Bytes of disk that the pages of the database may take. Beyond it the oldest turns of all agents are removed, with
/// their messages, events and output files, until a sixteenth of it is free.
pub const STORE_BUDGET_BYTES: u64 = 4 << 30;
/// Days for which history is kept; 0 for no limit of age.
pub const HISTORY_DAYS: u64 = 0;
/// Most days that a setting or a request may name.
pub const HISTORY_DAYS_MAX: u64 = 36_500;
/// Newest messages of each agent whose turns stay when the store needs space. More than a prompt and a work item show. By
/// age only the turns stay that the next prompt shows.
pub const HISTORY_MESSAGES_KEPT: usize = 128;
/// Newest briefs of each agent that retention never removes.
pub const BRIEFS_KEPT_PER_AGENT: u64 = 1_000;
/// Most log entries that one step of retention removes, so that the writer is never blocked for long.
pub const HISTORY_STEP: usize = 512;
/// Bytes of log entries after which a step of retention ends.
pub const HISTORY_STEP_BYTES: u64 = 4 << 20;
/// Steps of retention that one request of an operator takes. The answer says where the next request goes on.
pub const PRUNE_STEPS_PER_REQUEST: u32 = 64;
