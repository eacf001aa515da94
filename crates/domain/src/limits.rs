//! Every bound of the runtime, its reason, and what happens at it.

/// Largest body of one message, in bytes. A larger one is refused with 413 and no side effect:
/// prompts are instructions, and files travel by path.
pub const MESSAGE_BODY_BYTES: usize = 1 << 20;
/// Largest JSON metadata of one message, in bytes. Larger is refused.
pub const MESSAGE_METADATA_BYTES: usize = 16 << 10;
/// Largest `correlation_id` or `causation_id` of a message, in bytes. Larger is refused. Both are copied into the
/// message's row and its events; a trace id with its state has less than half of this.
pub const MESSAGE_LINK_BYTES: usize = 512;
/// Largest string of a message's origin (channel, sender, source, actor, ...), in bytes. Larger is refused. They are
/// names, and every event and prompt about the message repeats them.
pub const ORIGIN_NAME_BYTES: usize = 512;
/// Most entries in one agent's queue. At the limit all ingress is refused with 429 (`queue_full`) until the queue
/// drains; what was admitted stays.
pub const QUEUE_ENTRIES: u64 = 110_000;
/// Most entries in one agent's queue at which messages that are not an operator's are still admitted; then they are
/// refused with 429 (`queue_full_for_others`). The room above it is kept for operators, so that outsiders who fill a
/// queue cannot lock out the person who can stop them.
pub const QUEUE_ENTRIES_OTHERS: u64 = 100_000;
/// Most queued prompts and results of tasks one model request takes in; the rest wait for the next.
pub const JOINING_PER_ROUND: usize = 256;
/// Most bytes of their bodies one model request takes in. The first is taken in whatever its size, so that none waits
/// for ever.
pub const JOINING_BYTES_PER_ROUND: usize = 64 << 10;
/// Most follow-ups one turn may put into its own queue; the next `Enqueue` gets a tool error.
pub const FOLLOWUPS_PER_TURN: u32 = 16;
/// Turns in a row that only the agent itself caused (its follow-ups, its own rests, the ends of its tasks) before they
/// are paced.
/// Nothing is dropped: each further one waits longer, and anybody else's message goes first.
pub const UNPACED_TURNS: u32 = 8;
/// First pause of a paced turn; doubles with each.
pub const PACE_BASE_MS: u64 = 1_000;
/// Longest pause of a paced turn: thirty an hour.
pub const PACE_MAX_MS: u64 = 120_000;
/// How far the wall clock may fall behind the monotonic one between two looks before that counts as a step back. Clocks
/// that are corrected slowly stay far below it.
pub const CLOCK_STEP_MS: u64 = 250;
/// Due entries that fire within one second. After a step forward of the clock, or a long time down, more are overdue;
/// they come second by second, so that they do not all ask their providers at once.
pub const DUE_PER_SECOND: usize = 256;
/// Answers cut off by the output limit, in a row, that a turn recovers from.
pub const OUTPUT_LIMIT_RECOVERIES: u32 = 2;
/// Most tool calls one round may ask for; calls beyond it get a tool error each.
pub const CALLS_PER_ROUND: usize = 64;
/// Most model rounds of one turn, also when its message sets no bound. At the bound the turn ends with a failure brief,
/// so no model calls tools for ever.
pub const ROUNDS_PER_TURN: u32 = 500;
/// Most internal decisions one input may cause in its commit; more are left to the next commit.
pub const STEPS_PER_COMMIT: u32 = 64;
/// Most inputs for other agents one commit hands over; the rest is kept as `deliver` effects, this many in each.
pub const SENDS_PER_COMMIT: usize = 256;
/// Retries per provider candidate, beside the first try.
pub const PROVIDER_RETRIES: u32 = 2;
/// First pause between tries.
pub const BACKOFF_BASE_MS: u64 = 1_000;
/// How pauses between tries grow, from one to the next: a second, then half a minute, which most bad minutes of a
/// provider are over in.
pub const BACKOFF_GROWTH: u64 = 30;
/// How they grow while somebody sits and waits.
pub const BACKOFF_GROWTH_ATTENDED: u64 = 2;
/// Longest pause between tries, also when the provider asks for more.
pub const BACKOFF_MAX_MS: u64 = 60_000;
/// Models a turn may turn to after the first; further ones are never asked.
pub const FALLBACKS: usize = 16;
/// How long a turn that nobody waits for on the line stays suspended for trouble without a named end and asks again by
/// itself, unless `runtime.provider_patience_secs` says otherwise: a night and a day. Then it stays suspended until an
/// operator acts.
pub const PROVIDER_PATIENCE_MS: u64 = 24 * 60 * 60 * 1_000;
/// Longest pause of a suspended turn before it asks its models again, unless the provider named a later renewal.
pub const SUSPENSION_PAUSE_MAX_MS: u64 = 300_000;
/// Queued runs of one agent whose callers left that are remembered; of more, the oldest are forgotten and may fail with
/// their provider instead of being suspended.
pub const LEFT_BY_CALLER: usize = 256;
/// Queued prompts behind a turn in trouble whose operators are told that they wait; those behind them are told as these
/// are answered.
pub const QUEUED_PROMPTS: usize = 64;
/// Queued messages that are looked at to find these prompts, and bytes of them; what lies behind is not told of.
pub const QUEUED_PROMPTS_SEEN: usize = 256;
/// See [`QUEUED_PROMPTS_SEEN`].
pub const QUEUED_PROMPTS_SEEN_BYTES: usize = 1 << 20;
/// How long an operator's prompt waits for a provider before a brief says so.
pub const ACKNOWLEDGE_AFTER_MS: u64 = 60_000;
/// The longest a turn waits for network or allowance while somebody sits and waits for its end; with the tries between
/// the pauses that is about a minute.
pub const ATTENDED_PATIENCE_MS: u64 = 30_000;
/// The farthest renewal of an allowance a turn waits for, and the most it waits for renewals altogether: a week and a
/// day, since weekly allowances are the longest.
pub const RENEWAL_PATIENCE_MS: u64 = 8 * 24 * 60 * 60 * 1_000;
/// How often one round of a run that somebody waits for is parked until an allowance is renewed.
pub const PARKS_PER_ROUND: u32 = 3;
/// The least a model is allowed to write, however full its window seems, or a quarter of a smaller window: the estimate
/// of what is in it is rough, and an answer that is cut off helps nobody. A provider that has no room says so.
pub const MIN_OUTPUT_TOKENS: u32 = 4_096;
/// Resumptions after an unclean exit without one new log entry that found the same of the call in hand. At this many, a
/// message of which nothing was found, or whose command was over each time, is set aside with a failure brief and the
/// queue goes on; a command that was alive each time goes on as a task.
pub const RESUMES_WITHOUT_PROGRESS: u32 = 3;
/// Earlier messages a prompt shows.
pub const RECENT_MESSAGES: usize = 12;
/// Bytes of one earlier message or answer a prompt shows.
pub const RECENT_MESSAGE_BYTES: usize = 4_000;
/// Tokens a model may write in one round when its real limit is not known.
pub const MAX_OUTPUT_TOKENS: u32 = 8_192;
/// Estimated tokens of one tool result a model reads by default.
pub const TOOL_OUTPUT_TOKENS: u32 = 8_000;
/// And at most.
pub const TOOL_OUTPUT_TOKENS_MAX: u32 = 64_000;
/// Bytes kept in memory of one command's stream; the middle beyond it is dropped while the pipe is drained.
pub const COMMAND_STREAM_BYTES: usize = 512 << 10;
/// How long a call waits for its command before the command goes on as a task, when the call does not say.
pub const YIELD_MS: u64 = 10_000;
/// And at most.
pub const YIELD_MAX_MS: u64 = 600_000;
/// Commands of one batch.
pub const BATCH_COMMANDS: usize = 12;
/// How long a command of a batch may run when the call does not say.
pub const BATCH_COMMAND_MS: u64 = 120_000;
/// Bytes of one output stream of a command kept on disk: its beginning and its end. The rest is drained and dropped.
pub const COMMAND_OUTPUT_BYTES: u64 = 64 << 20;
/// Disk the output files of one agent may take; the oldest of commands that are over go first.
pub const OUTPUT_KEPT_BYTES: u64 = 1 << 30;
/// Tasks of one agent that are not over. At this many a command is refused until one has ended.
pub const TASKS_PER_AGENT: usize = 128;
/// Tasks of one agent that are over and still listed; older ones go.
pub const TASKS_KEPT: u64 = 1_000;
/// Bytes of a task's last output that are kept in its row and told with its end.
pub const TASK_SUMMARY_BYTES: usize = 4_000;
/// How long a task that is asked to stop may take before it is killed.
pub const TASK_STOP_GRACE_MS: u64 = 5_000;
/// How long a look at a task's output waits for the task's end when the call does not say.
pub const TASK_WAIT_MS: u64 = 30_000;
/// And at most.
pub const TASK_WAIT_MAX_MS: u64 = 600_000;
/// Bytes one call writes to a task. More is refused: write it in several calls, or to a file that the command reads. Up
/// to a mebibyte of what was written may wait to be read; then input is refused until the command has read some.
pub const TASK_INPUT_BYTES: usize = 64 << 10;
/// Bytes of `ToolError::details` a model reads, and an event carries; larger details become a preview and a digest.
pub const TOOL_ERROR_DETAIL_BYTES: usize = 1_000;
/// Longest `Sleep(duration_ms)`: one day. Longer waits are timers.
pub const SLEEP_MAX_MS: u64 = 24 * 60 * 60 * 1_000;
/// Facts kept with the resolution of a continuation; each is cut to the size of an event's preview.
pub const CONTINUATION_EVIDENCE: usize = 4;
/// Bytes of a text preview on an event.
pub const EVENT_PREVIEW_BYTES: usize = 240;
/// Bytes of a failure summary.
pub const FAILURE_SUMMARY_BYTES: usize = 600;
/// Causes kept in a failure's source chain.
pub const SOURCE_CHAIN: usize = 8;
/// Inputs in one commit.
pub const BATCH_INPUTS: usize = 256;
/// Bytes of input in one commit.
pub const BATCH_BYTES: usize = 1 << 20;
/// Time one commit collects inputs while more keep coming.
pub const BATCH_MS: u64 = 5;
/// Inputs that may wait for the writer. Beyond it callers are refused with 503 and a retry hint.
pub const WRITER_QUEUE: usize = 8_192;
/// Read connections.
pub const READERS: usize = 4;
/// Longest read transaction; a reader that takes longer is interrupted.
pub const READ_DEADLINE_MS: u64 = 5_000;
/// Disk the audit events may take, over all agents; the oldest of the largest holders go first.
pub const EVENT_BUDGET_BYTES: u64 = 1 << 30;
/// Events of each agent that retention never removes.
pub const EVENTS_KEPT_PER_AGENT: u64 = 1_000;
/// Events one retention step removes.
pub const RETENTION_STEP: u64 = 2_000;
/// Events one page returns by default.
pub const EVENT_PAGE: u64 = 128;
/// The most one page returns.
pub const EVENT_PAGE_MAX: u64 = 512;
/// Events a stream may fall behind before it is closed with a gap frame; the reader resumes by cursor.
pub const STREAM_LAG: usize = 1_024;
/// Streams open at once on one host; the next gets 503.
pub const STREAMS: usize = 512;
/// Largest request body, in bytes.
pub const REQUEST_BODY_BYTES: usize = 4 << 20;
/// Largest script of the scripted provider, in bytes.
pub const SCRIPT_BYTES: u64 = 4 << 20;
/// How long a graceful shutdown waits for running effects before it leaves them to recovery.
pub const DRAIN_MS: u64 = 5_000;
/// How long a start waits for an owner of the home that is going down; a shutdown is bounded by less.
pub const OWNER_LEAVING_MS: u64 = 15_000;
/// Pause after the first failed attempt to remove an agent's home; it doubles with each further one.
pub const REMOVAL_PAUSE_MS: u64 = 1_000;
/// Longest pause between two attempts to remove an agent's home. There is no last attempt.
pub const REMOVAL_PAUSE_MAX_MS: u64 = 300_000;
/// The pause before the second tick for an item that made no progress, in milliseconds; doubled for each further idle turn.
pub const WORK_TICK_PAUSE_MS: u64 = 30_000;
/// The longest pause between two ticks for work without progress, in milliseconds.
pub const WORK_TICK_PAUSE_MAX_MS: u64 = 300_000;
/// Open work items of one agent. `CreateWorkItem` refuses more and asks to complete some.
pub const OPEN_WORK_ITEMS: u32 = 100_000;
/// The longest objective of a work item, in bytes. A longer one is refused: details belong into the plan.
pub const OBJECTIVE_BYTES: usize = 2_000;
/// The longest blocker text of a work item, in bytes. A longer one is refused.
pub const BLOCKED_BY_BYTES: usize = 2_000;
/// Entries of one checklist. A longer list is refused.
pub const TODO_ITEMS: usize = 100;
/// The longest entry of a checklist, in bytes. A longer one is refused.
pub const TODO_TEXT_BYTES: usize = 1_000;
/// How much of a plan file stands in its descriptor, in bytes. The agent reads the file for the rest.
pub const PLAN_PREVIEW_BYTES: usize = 4_000;
/// The largest plan that is read and hashed, in bytes. Of a larger file only the size is told.
pub const PLAN_BYTES: u64 = 1 << 20;
/// How much of a completion report is kept with its item, in bytes. The whole text stands in the log.
pub const RESULT_SUMMARY_BYTES: usize = 16 << 10;
/// The recheck of a blocker when the agent names none, in milliseconds.
pub const RECHECK_MS: u64 = 60 * 60 * 1_000;
/// Items named by one recheck tick. Others follow with the next.
pub const RECHECKS_PER_TICK: usize = 16;
/// Model rounds without a change of a work item after which an agent in a long turn is reminded of its item, unless
/// `runtime.work_item_stale_reminder_rounds` says otherwise.
pub const STALE_REMINDER_ROUNDS: u32 = 10;
/// Rounds from one such reminder to the next.
pub const STALE_REMINDER_COOLDOWN_ROUNDS: u32 = 10;
/// The longest such reminder, in estimated tokens. A longer one is left out, and so is one that the prompt has no room
/// for.
pub const STALE_REMINDER_TOKENS: u32 = 512;
/// Active waits of one agent. `WaitFor` refuses more.
pub const ACTIVE_WAITS: u32 = 256;
/// The longest reason of a wait, in bytes. A longer one is refused.
pub const WAIT_REASON_BYTES: usize = 2_000;
/// Wake sources of one wait. A longer list is refused.
pub const WAKE_SOURCES: usize = 16;
/// Pending wake hints of one agent, each of another source. Further sources share the last place.
pub const WAKE_HINTS: u32 = 16;
/// How much of a wake hint's body is kept, in bytes.
pub const HINT_BODY_BYTES: usize = 8 << 10;
/// Active timers of one agent. `CreateTimer` refuses more.
pub const ACTIVE_TIMERS: u32 = 10_000;
/// Queued messages of one agent that its timers sent. At this many a slot of a repeating timer is counted as missed; a
/// timer that fires once is never left out.
pub const TIMER_TICKS_QUEUED: u32 = 256;
/// The longest summary of a timer, in bytes. A longer one is refused.
pub const TIMER_SUMMARY_BYTES: usize = 2_000;
/// Waits of one agent that are kept after their end, with the active ones.
pub const WAITS_KEPT: u64 = 1_000;
/// Timers of one agent that are kept after their end, with the active ones.
pub const TIMERS_KEPT: u64 = 11_000;
/// Timers that a started agent makes up for in one commit. Others follow in the next.
pub const UNPARKED_AT_ONCE: usize = 64;
/// The longest delay of a timer, a wait or a recheck, in milliseconds: ten years.
pub const TIMER_MAX_MS: u64 = 10 * 366 * 24 * 60 * 60 * 1_000;
/// Missed slots that a timer with the policy `all` makes up for, one tick each, newest first; older ones are counted only.
pub const MISSED_SLOTS: u32 = 100;
/// Worker threads of the async runtime.
pub const WORKERS: usize = 4;
/// Threads for work that blocks: reads, homes, looks at files. More wait in line; few threads keep memory small.
pub const BLOCKING_THREADS: usize = 16;
/// Open files the host asks for.
pub const OPEN_FILES: u64 = 8_192;
/// Connections open at once on one listener; further ones wait to be accepted, so one listener cannot starve another.
pub const CONNECTIONS: usize = 1_024;
/// Bytes a request's head may take; a larger one is refused with 431.
pub const REQUEST_HEAD_BYTES: usize = 32 << 10;
/// How long a client may take over a request's head, and over its body; then the connection is closed, or 408.
pub const REQUEST_READ_MS: u64 = 10_000;
/// Pause between the signs of life on an idle stream.
pub const STREAM_HEARTBEAT_MS: u64 = 15_000;
/// How long a stream's reader may take nothing at all before its connection is closed.
pub const STREAM_STALL_MS: u64 = 60_000;
/// Briefs one answer holds when the caller does not say how many.
pub const BRIEF_PAGE: u64 = 20;
/// The most briefs or transcript entries one answer holds.
pub const LIST_PAGE_MAX: u64 = 500;
/// How long the client waits for a connection on this machine.
pub const CONNECT_LOCAL_MS: u64 = 2_000;
/// The same for a host that is not this machine.
pub const CONNECT_REMOTE_MS: u64 = 5_000;
/// How long the client waits for the next bytes of an answer. A one-shot run is exempt: it takes as long as the work.
pub const ANSWER_IDLE_MS: u64 = 30_000;
/// How long the client waits on a silent stream: three missed signs of life.
pub const STREAM_IDLE_MS: u64 = 45_000;
/// Times in a row the client opens a broken stream again before it gives up.
pub const STREAM_RETRIES: u32 = 8;
/// The largest answer the client takes in, in bytes.
pub const ANSWER_BYTES: usize = 64 << 20;
/// How long the name of a provider may be looked up. A name service that works answers in far less, and this must be
/// below the time to connect, or a silent name service would look like a slow provider.
pub const PROVIDER_LOOKUP_MS: u64 = 5_000;
/// How long a provider may take to accept a connection, name look-up and TLS included. A host that is up answers in far
/// less; what takes longer is tried again rather than waited for.
pub const PROVIDER_CONNECT_MS: u64 = 10_000;
/// How long a provider may take to begin its answer. Where answers come in one piece it begins when the model is done,
/// so this is how long a model may think.
pub const PROVIDER_FIRST_BYTE_MS: u64 = 300_000;
/// How long an answer that has begun may be silent.
pub const PROVIDER_IDLE_MS: u64 = 300_000;
/// How long the words of an answer with a bad status may take. The status has decided already.
pub const PROVIDER_ERROR_MS: u64 = 3_000;
/// How long one attempt may take in all, however steadily bytes drip in.
pub const PROVIDER_TOTAL_MS: u64 = 900_000;
/// Largest answer of a provider, unpacked, largest single event of a stream, and most that is kept of a stream. The
/// longest answers of today's models are below one MiB; more is refused as no answer, so a gzip bomb costs no more
/// than this, and what is copied of it while it is read no more than a few times this.
pub const PROVIDER_ANSWER_BYTES: usize = 4 << 20;
/// Memory that one JSON document of a provider may take once parsed, as estimated. A document of many tiny values takes
/// up to a hundred times its own length. The largest answer of a model that writes a hundred thousand tokens of nothing
/// but small objects takes less than this.
pub const PROVIDER_PARSED_BYTES: usize = 32 << 20;
/// How much larger than one answer a whole stream may be: it says everything several times, in small pieces.
pub const PROVIDER_STREAM_FACTOR: usize = 8;
/// Bytes read of an answer with a bad status; what follows is not looked at.
pub const PROVIDER_ERROR_BYTES: usize = 64 << 10;
/// Longest wait a provider's words or headers are believed to ask for: the longest month.
pub const PROVIDER_WAIT_MAX_MS: u64 = 31 * 24 * 60 * 60 * 1_000;
/// Smallest limit that is learned from an error. No model has less, and a lesson is kept for good.
pub const PROVIDER_LEARNED_MIN_TOKENS: u32 = 256;
/// Largest limit that is learned from an error.
pub const PROVIDER_LEARNED_MAX_TOKENS: u32 = 100_000_000;
/// Stored responses that a later request may go on from; the one not used for longest is forgotten, and the next
/// request of that agent is sent whole.
pub const PROVIDER_CONTINUATIONS: usize = 256;
/// Most models taken from a provider's own list; the rest is left out.
pub const PROVIDER_MODELS: usize = 2_000;
/// Most credentials a host remembers to keep them out of what providers answer. Of more, the one that was fetched longest
/// ago is forgotten. A command that prints a new one every five minutes fills it in five hours.
pub const KNOWN_SECRETS: usize = 64;
/// Open connections kept per provider for the next round.
pub const PROVIDER_IDLE_CONNECTIONS: usize = 8;
/// How long such a connection is kept. Most servers close theirs after a minute or more; ours closes first.
pub const PROVIDER_KEEP_ALIVE_MS: u64 = 55_000;
/// Tokens of request and answer together that a model nobody knows is trusted with. Most models that are run at all take
/// this much; a larger window is set in `models.catalog` or learned from the provider's error.
pub const UNKNOWN_WINDOW_TOKENS: u32 = 32_000;
/// How much of a window a prompt may take when nothing else is known; the rest is for the answer and for the error of
/// counting tokens by estimate.
pub const WINDOW_PERCENT: u8 = 90;
/// Tokens a model nobody knows may write in one round: the smallest output limit still in use.
pub const UNKNOWN_MAX_OUTPUT_TOKENS: u32 = 4_096;
/// Longest credential, in bytes. A longer one is refused: it would not fit the head of a request.
pub const CREDENTIAL_BYTES: usize = 16 << 10;
/// Largest file a credential is looked for in, in bytes. A larger one is refused.
pub const CREDENTIAL_FILE_BYTES: u64 = 1 << 20;
/// Stored credential profiles. One more is refused until one is removed.
pub const CREDENTIAL_PROFILES: usize = 256;
/// Largest `config.toml`, in bytes. A larger one is refused.
pub const CONFIG_FILE_BYTES: u64 = 1 << 20;
