//! Names of the runtime's subsystems that queue messages for an agent. The names are shown to people; decisions read
//! `Cause` instead.

/// Wakes an agent from a rest it asked for.
pub(crate) const SLEEP_WAIT: &str = "sleep_wait";
/// Queues what an agent asks itself to do.
pub(crate) const TOOL_ENQUEUE: &str = "tool_enqueue";
/// Tells an agent that the latest time of a wait has come.
pub(crate) const WAIT_OVER: &str = "wait_over";
/// Tells an agent that a wait goes on without one of the sources that could end it.
pub(crate) const WAIT_CHANGED: &str = "wait_changed";
/// Makes an agent continue its work items.
pub(crate) const WORK_QUEUE: &str = "work_queue";
/// Reminds an agent of blocked work.
pub(crate) const WORK_ITEM_RECHECK: &str = "work_item_recheck";
/// Tells an agent about pending wake hints.
pub(crate) const WAKE_HINT: &str = "wake_hint";
/// Tells an agent that a timer fired.
pub(crate) const TIMER: &str = "timer";
