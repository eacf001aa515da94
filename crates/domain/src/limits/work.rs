//! Bounds of work items, waits, wake hints and timers.

/// Ticks for wake hints from outside that an idle agent gets at once. After these, hints are told together, so that a
/// source that never stops cannot buy a model turn with each request.
pub const HINT_TICKS_AT_ONCE: u64 = 6;
/// Milliseconds after which an agent may get one more tick for wake hints at once, up to `HINT_TICKS_AT_ONCE`.
pub const HINT_TICK_REFILL_MS: u64 = 10_000;
/// Longest time from one tick for wake hints from outside to the next while hints are pending, in milliseconds.
pub const HINT_TICK_PAUSE_MS: u64 = 5_000;
/// Pause before the second tick for a work item without progress, in milliseconds. It doubles with each further idle
/// turn.
pub const WORK_TICK_PAUSE_MS: u64 = 30_000;
/// Longest pause between two ticks for work without progress, in milliseconds.
pub const WORK_TICK_PAUSE_MAX_MS: u64 = 300_000;
/// Most open work items of one agent. `CreateWorkItem` refuses more and asks to complete some.
pub const OPEN_WORK_ITEMS: u32 = 100_000;
/// Longest objective of a work item, in characters. A longer one is refused: details belong into the plan.
pub const OBJECTIVE_CHARACTERS: usize = 2_000;
/// Longest blocker text of a work item, in bytes. A longer one is refused.
pub const BLOCKED_BY_BYTES: usize = 2_000;
/// Most entries of one checklist. A longer list is refused.
pub const TODO_ITEMS: usize = 100;
/// Longest entry of a checklist, in characters. A longer one is refused.
pub const TODO_TEXT_CHARACTERS: usize = 1_000;
/// Bytes of a plan's preview in lists of work items; the descriptor of one item shows more.
pub const LIST_PLAN_PREVIEW_BYTES: usize = 200;
/// Bytes of a plan file that its descriptor shows. The agent reads the file for the rest.
pub const PLAN_PREVIEW_BYTES: usize = 4_000;
/// Largest plan that is read and hashed, in bytes. Of a larger file only the size is reported.
pub const PLAN_BYTES: u64 = 1 << 20;
/// Bytes of a completion report kept with its work item. The whole text is in the log.
pub const RESULT_SUMMARY_BYTES: usize = 16 << 10;
/// Milliseconds until a blocker is rechecked, if the agent names no other time.
pub const RECHECK_MS: u64 = 60 * 60 * 1_000;
/// Most items that one recheck tick names. Others follow with the next tick.
pub const RECHECKS_PER_TICK: usize = 16;
/// Model rounds without a change of a work item after which an agent in a long turn is reminded of its item.
/// `runtime.work_item_stale_reminder_rounds` overrides it.
pub const STALE_REMINDER_ROUNDS: u32 = 10;
/// Rounds from one such reminder to the next.
pub const STALE_REMINDER_COOLDOWN_ROUNDS: u32 = 10;
/// Longest such reminder, in estimated tokens. A longer one is left out, as is one for which the prompt has no room.
pub const STALE_REMINDER_TOKENS: u32 = 512;
/// Most active waits of one agent. `WaitFor` refuses more.
pub const ACTIVE_WAITS: u32 = 256;
/// Longest reason of a wait, in bytes. A longer one is refused.
pub const WAIT_REASON_BYTES: usize = 2_000;
/// Longest question of a wait, in bytes. A longer one is refused.
pub const WAIT_QUESTION_BYTES: usize = 2_000;
/// Most choices of a question. A longer list is refused.
pub const WAIT_CHOICES: usize = 8;
/// Longest choice of a question, in bytes. A longer one is refused.
pub const WAIT_CHOICE_BYTES: usize = 200;
/// Bytes of a wait's question or reason that a message repeats for the model; the rest is cut.
pub const WAIT_NOTE_BYTES: usize = 600;
/// Most waits that one message names for the model. It still ends or interrupts the others.
pub const WAIT_NOTES: usize = 8;
/// Most wake sources of one wait. A longer list is refused.
pub const WAKE_SOURCES: usize = 16;
/// Most pending wake hints of one agent, one for each source. Further sources share the last entry.
pub const WAKE_HINTS: u32 = 16;
/// Bytes of a wake hint's body that are kept; the rest is cut.
pub const HINT_BODY_BYTES: usize = 8 << 10;
/// Most earlier deliveries that a pending wake hint keeps beside the newest one; older ones are only counted.
pub const HINT_EARLIER: usize = 8;
/// Bytes of the bodies of all earlier deliveries of one wake hint; beyond that the oldest are only counted.
pub const HINT_EARLIER_BYTES: usize = 8 << 10;
/// Most active timers of one agent. `CreateTimer` refuses more.
pub const ACTIVE_TIMERS: u32 = 10_000;
/// Active timers that a status and `AgentGet` show. `ListTimers` and the list of timers show the rest.
pub const STATUS_TIMERS: usize = 50;
/// Most queued timer ticks of one agent. At this many a slot of a repeating timer counts as missed; a timer that fires
/// once always gets its tick.
pub const TIMER_TICKS_QUEUED: u32 = 256;
/// Shortest interval of a repeating timer, in milliseconds. A shorter one is refused: each slot begins a turn.
pub const TIMER_INTERVAL_MIN_MS: u64 = 1_000;
/// Shortest time between two ticks of a repeating timer that an operator caused, in milliseconds: two a minute. Slots in
/// between are passed over. At this interval or more the ticks are not paced.
pub const OPERATOR_TICK_INTERVAL_MS: u64 = 30_000;
/// Milliseconds after its planned time from which a tick tells its model that it begins late, and why.
pub const LATE_TICK_MS: u64 = 5_000;
/// Runs of slots that a timer remembers, so that none comes twice after the clock was set back. Beyond that the one
/// that ends first is forgotten.
pub const SLOT_RUNS_KEPT: usize = 4;
/// Turns of timer ticks whose tokens an agent remembers, for the estimate of what a timer will use in a day.
pub const TICK_TURNS_KEPT: usize = 5;
/// Longest summary of a timer, in characters. A longer one is refused.
pub const TIMER_SUMMARY_CHARACTERS: usize = 2_000;
/// Waits of one agent that are kept, active and ended ones together. The oldest ended ones are removed.
pub const WAITS_KEPT: u64 = 1_000;
/// Timers of one agent that are kept, active and ended ones together. The oldest ended ones are removed.
pub const TIMERS_KEPT: u64 = 11_000;
/// Missed timers and waits that a started agent handles in one commit. Others follow in the next commit.
pub const CAUGHT_UP_AT_ONCE: usize = 64;
/// Longest delay of a timer, a wait or a recheck, in milliseconds: ten years. A longer one is refused.
pub const TIMER_MAX_MS: u64 = 10 * 366 * 24 * 60 * 60 * 1_000;
/// Most missed slots that a timer with the policy `all` makes up for, one tick each, newest first. Older slots are only
/// counted.
pub const MISSED_SLOTS: u32 = 100;
/// Tools of one agent whose calls are timed, by name. Models invent names; calls of further ones are not timed.
pub const TIMED_TOOLS: usize = 64;
/// Longest name of a tool whose calls are timed, in bytes.
pub const TIMED_TOOL_NAME_BYTES: usize = 64;
