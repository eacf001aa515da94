//! The parts of the runtime that speak in an agent's own queue, by the names their messages carry.
//! The names are for people: what a decision needs to know stands in `Cause`.

/// Wakes an agent from a rest it asked for.
pub(crate) const SLEEP_WAIT: &str = "sleep_wait";
/// Queues what an agent asks itself to do.
pub(crate) const TOOL_ENQUEUE: &str = "tool_enqueue";
