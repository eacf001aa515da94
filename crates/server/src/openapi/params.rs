//! Parameters of queries that several routes share.

use super::operation::{QueryParam, number, text, words};
use holon_domain::limits::{EVENT_PAGE_MAX, LIST_PAGE_MAX};

/// Largest sequence number that is taken; one beyond the newest means the far end.
pub(super) const FAR: u64 = u64::MAX;
pub(super) const LIMIT: QueryParam = number("limit", 1, LIST_PAGE_MAX);
pub(super) const EVENT_LIMIT: QueryParam = number("limit", 1, EVENT_PAGE_MAX);
pub(super) const TURN: QueryParam = number("turn", 0, FAR);
pub(super) const AFTER_SEQ: QueryParam = number("after_seq", 0, FAR);
pub(super) const SEQ_PAGE: &[QueryParam] = &[number("before_seq", 0, FAR), AFTER_SEQ, LIMIT, EPOCH];
/// Identity of the store that a cursor belongs to; a cursor of another one is refused.
pub(super) const EPOCH: QueryParam = text("epoch");
pub(super) const PROJECTION: QueryParam = words("projection", &["operator", "local_debug"]);
pub(super) const SOURCE: QueryParam = text("source");
pub(super) const CALLBACK_QUERY: &[QueryParam] =
    &[SOURCE, text("correlation_id"), text("causation_id")];
pub(super) const FILTER: QueryParam = words("filter", &["active", "all"]);
pub(super) const ITEM_FILTER: QueryParam = words(
    "filter",
    &[
        "all",
        "open",
        "completed",
        "current",
        "queued",
        "blocked",
        "waiting_for_operator",
        "runnable",
    ],
);
