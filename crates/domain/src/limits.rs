//! Every bound of the runtime with its unit, its reason, and what happens at the bound.
//!
//! This file holds the bounds of messages, turns, prompts, children and the store; each other subject has a file.

mod archive;
mod budget;
mod command;
mod delivery;
mod guidance;
mod host;
mod http;
mod incoming;
mod memory;
mod provider;
mod reply;
mod retention;
mod web;
mod work;
mod workspace;

pub use archive::*;
pub use budget::*;
pub use command::*;
pub use delivery::*;
pub use guidance::*;
pub use host::*;
pub use http::*;
pub use incoming::*;
pub use memory::*;
pub use provider::*;
pub use reply::*;
pub use retention::*;
pub use web::*;
pub use work::*;
pub use workspace::*;

/// Deepest nesting of JSON in a request, in a delivered payload and in the arguments of a call. A deeper request is
/// refused, a deeper payload is kept as text, and a call with deeper arguments gets an error as its result.
pub const JSON_DEPTH: usize = 64;
/// Largest body of one message, in bytes. A larger one is refused with 413 and no side effect:
/// prompts are instructions, and files travel by path.
pub const MESSAGE_BODY_BYTES: usize = 1 << 20;
/// Largest JSON metadata of one message, in bytes. A larger one is refused with 413.
pub const MESSAGE_METADATA_BYTES: usize = 16 << 10;
/// Largest `correlation_id` or `causation_id` of a message, in characters. Larger is refused. Both are copied into the
/// message's row and its events; a trace id with its state has less than half of this.
pub const MESSAGE_LINK_CHARACTERS: usize = 512;
/// Largest string of a message's origin (channel, sender, source, actor, ...), in characters. Larger is refused. They
/// are names, and every event and prompt about the message repeats them.
pub const ORIGIN_NAME_CHARACTERS: usize = 512;
/// Most entries in one agent's queue. At the limit every new message is refused with 429 (`queue_full`) until the queue
/// drains; admitted messages stay.
pub const QUEUE_ENTRIES: u64 = 110_000;
/// Queue length from which messages that are not an operator's are refused with 429 (`queue_full_for_others`). The room
/// above it is reserved for operators, so that outsiders who fill a queue cannot lock out the person who can stop them.
pub const QUEUE_ENTRIES_OTHERS: u64 = 100_000;
/// Most queued prompts and task results that join one model request; the rest wait for the next request.
pub const JOINING_PER_ROUND: usize = 256;
/// Longest body of the newest queued message that joins a round although older ones fill it; a longer one waits its turn.
pub const NEWEST_JOINING_BYTES: usize = 4 << 10;
/// Most messages that a turn lists as not joining it. After more of them only the newest short ones join the turn.
pub const APART_MESSAGES: usize = 256;
/// Most bytes of message bodies that join one model request. The first message always joins, even if it is larger, so
/// that no message waits forever.
pub const JOINING_BYTES_PER_ROUND: usize = 64 << 10;
/// Most follow-ups one turn may put into its own queue; the next `Enqueue` gets a tool error.
pub const FOLLOWUPS_PER_TURN: u32 = 16;
/// Turns in a row that only the agent itself caused (follow-ups, ends of its rests and tasks) before they are paced.
/// Nothing is dropped: each further turn waits longer, and messages from operators and from outside go first.
pub const UNPACED_TURNS: u32 = 8;
/// First pause of a paced turn, in milliseconds. The pause doubles with each further one.
pub const PACE_BASE_MS: u64 = 1_000;
/// Unreadable rows that a host remembers to report; it passes over more, and counts them no further.
pub const PASSED_OVER_KEPT: usize = 1_000;
/// Unreadable rows that the report of storage names.
pub const PASSED_OVER_SHOWN: usize = 8;
/// Longest pause of a paced turn, in milliseconds: thirty turns an hour.
pub const PACE_MAX_MS: u64 = 120_000;
/// Milliseconds that the wall clock may fall behind the monotonic clock between two checks before the runtime treats it
/// as a step back. Gradual clock corrections stay far below it.
pub const CLOCK_STEP_MS: u64 = 250;
/// Milliseconds after its planned time from which a due entry counts as overdue. Entries on time are never held back.
pub const OVERDUE_MS: u64 = 1_000;
/// Overdue entries that fire in one second. After a step forward of the clock, or a long downtime, more are overdue;
/// they fire one after the other, so that they do not all call their providers at once.
pub const OVERDUE_PER_SECOND: u64 = 2_000;
/// Overdue entries that fire at once before they are spread over time.
pub const OVERDUE_AT_ONCE: u32 = 256;
/// Due entries that are handed over together. What comes due meanwhile waits until these are committed.
pub const DUE_PASS: usize = 64;
/// Answers in a row cut off by the output limit that a turn recovers from. The next one ends the turn with a failure.
pub const OUTPUT_LIMIT_RECOVERIES: u32 = 2;
/// Rounds in a row that repeat the same invalid calls before the turn ends with a failure. A model corrects a call after
/// one or two errors or not at all; without a bound it would repeat the call until its rounds are used up.
pub const INVALID_ROUNDS: u32 = 5;
/// Most tool calls one round may ask for; calls beyond it get a tool error each.
pub const CALLS_PER_ROUND: usize = 64;
/// Most model rounds of one turn, even if its message sets no bound. At the bound the turn ends with a failure brief,
/// so that a model cannot call tools forever.
pub const ROUNDS_PER_TURN: u32 = 500;
/// Most internal decisions one input may cause in its commit; more are left to the next commit.
pub const STEPS_PER_COMMIT: u32 = 64;
/// Most supervising agents above a new child, unless the host's settings allow more. At the limit `SpawnAgent` gets a tool
/// error. A child that makes children is rarely wanted and multiplies every mistake. A public agent owns itself and begins
/// at 0.
pub const SPAWN_DEPTH: u32 = 1;
/// Greatest depth that the settings may allow.
pub const SPAWN_DEPTH_MAX: u32 = 3;
/// Most reasons that a child's row and its event give for a worktree that is kept; more are left out. `holon worktree
/// list` shows all.
pub const KEPT_REASONS: usize = 8;
/// Most changed files of a kept worktree that a child's row and its event name; the number of all is beside them.
pub const KEPT_FILES: usize = 64;
/// Most supervised children of one tree that have not ended, and so also of one agent. At the limit `SpawnAgent` gets a
/// tool error; a child that ends makes room. Each of them may ask a model at the same time.
pub const LIVE_CHILDREN: u32 = 8;
/// Most bytes of an agent's settings, with its workspaces and bindings. A change that makes them larger is refused. They
/// are read and written as a whole.
pub const AGENT_SETTINGS_BYTES: usize = 256 << 10;
/// Most characters of a model reference, `provider/model`, that is named anew; a longer one is refused. Settings, turns and usage
/// rows carry it. It leaves room for the path of a script or a model file.
pub const MODEL_REF_CHARACTERS: usize = 1 << 10;
/// Most agents that one tree may make within an hour, removed ones included. At the limit `SpawnAgent` gets a tool error.
/// It bounds a model that makes agents in every round.
pub const SPAWNS_PER_HOUR: usize = 32;
/// Ended children of an agent whose history is kept. A further spawn removes the oldest beyond them.
pub const ENDED_CHILDREN_KEPT: usize = 64;
/// Longest label of a child's task, in bytes, taken from its first message.
pub const CHILD_LABEL_BYTES: usize = 120;
/// Longest report of a child that its parent receives, in bytes. A longer one is cut, and says so; files carry more.
pub const CHILD_REPORT_BYTES: usize = 16 << 10;
/// Most inputs for other agents one commit hands over; the rest is kept as `deliver` effects, this many in each.
pub const SENDS_PER_COMMIT: usize = 256;
/// Queued runs of one agent that the host remembers as left by their caller. The oldest beyond it are forgotten; they
/// may then fail with their provider instead of being suspended.
pub const LEFT_BY_CALLER: usize = 256;
/// Most queued prompts behind a suspended turn that are acknowledged with a brief. Later ones are acknowledged as these
/// are answered.
pub const QUEUED_PROMPTS: usize = 64;
/// Most queued messages that are searched for such prompts.
pub const QUEUED_PROMPTS_SEEN: usize = 256;
/// Most bytes of queued messages that are searched for such prompts.
pub const QUEUED_PROMPTS_SEEN_BYTES: usize = 1 << 20;
/// Milliseconds that an operator's prompt waits for a provider before a brief acknowledges it.
pub const ACKNOWLEDGE_AFTER_MS: u64 = 60_000;
/// Fewest output tokens that a request allows, even if the context window seems full, or an eighth of a smaller window.
/// The estimate of a prompt is rough, and a cut-off answer is useless. A provider without room refuses the request.
pub const MIN_OUTPUT_TOKENS: u32 = 4_096;
/// Restarts in a row after which an open turn had no new log entry and the current call was found in the same state. At
/// this many a running command is turned into a task. In all other states the message is set aside with a failure brief
/// and the queue continues.
pub const RESUMES_WITHOUT_PROGRESS: u32 = 3;
/// Share of a model's window above which the thread of earlier turns is folded, in percent.
pub const THREAD_HIGH_PERCENT: usize = 60;
/// Largest thread in any window, in estimated tokens, unless a setting says otherwise. Above it the oldest turns are
/// folded into a recap.
pub const THREAD_TOKENS_MAX: u32 = 160_000;
/// Smallest bound of a thread that can be set, in estimated tokens. A smaller one has no room for a recap.
pub const THREAD_TOKENS_LEAST: u32 = 500;
/// Largest bound of a thread that can be set, in estimated tokens; more than any model's window.
pub const THREAD_TOKENS_MOST: u32 = 10_000_000;
/// Size that a fold of the thread aims at, in percent of the size above which it is folded.
pub const THREAD_LOW_PERCENT: usize = 40;
/// Most that pinned turns may take together, in percent of that size. A pin beyond it is refused.
pub const THREAD_PIN_PERCENT: usize = 20;
/// Most turns of an agent that are pinned at once; a further pin is refused. The agent's row holds them.
pub const THREAD_PINS: usize = 64;
/// Size above which a cold thread is folded before a turn that no operator began, in estimated tokens, unless a setting
/// says otherwise.
pub const THREAD_COLD_TOKENS: u32 = 16_000;
/// Milliseconds after a turn from which on a provider's cache counts as expired, unless a setting says otherwise.
pub const THREAD_COLD_AFTER_MS: u64 = 300_000;
/// Size that such a fold aims at, in percent of that size.
pub const THREAD_COLD_PERCENT: usize = 40;
/// Turns of a thread above which it is folded, whatever their size.
pub const THREAD_TURNS_HIGH: usize = 1_000;
/// Most ended turns that a request reads of a thread. Older ones are not shown; a fold stands for them long before.
pub const THREAD_TURNS: usize = 2_000;
/// Bytes of rows after which a request reads no older turn of a thread.
pub const THREAD_ROWS_BYTES: usize = 8 << 20;
/// Bytes of the message of an ended turn whose prompt an earlier build made; the rest is cut.
pub const RECENT_MESSAGE_BYTES_MAX: usize = 32_768;
/// Share of a prompt's token budget that is left to the answers and results of the turn: one part of this many.
pub const TURN_BUDGET_SHARE: u32 = 8;
/// Most tokens that a model may write in one round if its own limit is not known.
pub const MAX_OUTPUT_TOKENS: u32 = 8_192;
/// Estimated tokens of one tool result that a model reads, if the call names no other amount.
pub const TOOL_OUTPUT_TOKENS: u32 = 8_000;
/// Most estimated tokens of one tool result that a call may ask for. A larger request is cut to this.
pub const TOOL_OUTPUT_TOKENS_MAX: u32 = 64_000;
/// Bytes of `ToolError::details` that a model reads and that an event carries. Larger details become a preview and a
/// digest.
pub const TOOL_ERROR_DETAIL_BYTES: usize = 1_000;
/// Longest `Sleep(duration_ms)`, in milliseconds: one day. Use a timer for a longer pause.
pub const SLEEP_MAX_MS: u64 = 24 * 60 * 60 * 1_000;
/// Most facts kept with the resolution of a continuation; each is cut to the size of an event's preview.
pub const CONTINUATION_EVIDENCE: usize = 4;
/// Bytes of a text preview in an event; the rest is cut.
pub const EVENT_PREVIEW_BYTES: usize = 240;
/// Bytes of a brief's text in `brief_created`; the rest is cut, and `GET /agents/{id}/briefs` has all of it.
pub const EVENT_BRIEF_BYTES: usize = 16 << 10;
/// Bytes of the texts of briefs on one page of events; the other events have their previews.
pub const EVENT_PAGE_BRIEF_BYTES: usize = 256 << 10;
/// Bytes of a failure summary; the rest is cut.
pub const FAILURE_SUMMARY_BYTES: usize = 600;
/// Most causes kept in the source chain of a failure.
pub const SOURCE_CHAIN: usize = 8;
/// Most inputs that the writer handles in one commit.
pub const BATCH_INPUTS: usize = 256;
/// Most bytes of input that the writer handles in one commit.
pub const BATCH_BYTES: usize = 1 << 20;
/// Milliseconds that the writer collects inputs for one commit while more keep arriving.
pub const BATCH_MS: u64 = 5;
/// Most requests of clients that wait for the writer. Beyond it callers are refused with 503 and a retry hint; outcomes
/// and other inputs of the runtime always have room.
pub const WRITER_QUEUE: usize = 8_192;
/// Removals of agents that the host's event stream keeps, with the names of their agents. Beyond that the oldest go, and
/// pages say up to which cursor removals are not kept.
pub const REMOVALS_KEPT: usize = 10_000;
/// Database connections for readers of one purpose: the performers of effects, the requests of clients, and the pages of
/// event streams each have as many. Further reads wait for a free one.
pub const READERS: usize = 4;
/// Agents that one read of a list of all agents covers. The next ones are read after it, so that no read takes long.
pub const AGENTS_READ_AT_ONCE: usize = 256;
/// Longest read transaction in milliseconds. A reader that takes longer is interrupted.
pub const READ_DEADLINE_MS: u64 = 5_000;
