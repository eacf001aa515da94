//! Every bound of the runtime with its unit, its reason, and what happens at the bound.

mod budget;
mod delivery;
mod memory;
mod reply;
mod retention;
mod web;

pub use budget::*;
pub use delivery::*;
pub use memory::*;
pub use reply::*;
pub use retention::*;
pub use web::*;

/// Largest body of one message, in bytes. A larger one is refused with 413 and no side effect:
/// prompts are instructions, and files travel by path.
pub const MESSAGE_BODY_BYTES: usize = 1 << 20;
/// Largest JSON metadata of one message, in bytes. A larger one is refused with 413.
pub const MESSAGE_METADATA_BYTES: usize = 16 << 10;
/// Largest `correlation_id` or `causation_id` of a message, in bytes. Larger is refused. Both are copied into the
/// message's row and its events; a trace id with its state has less than half of this.
pub const MESSAGE_LINK_BYTES: usize = 512;
/// Largest string of a message's origin (channel, sender, source, actor, ...), in bytes. Larger is refused. They are
/// names, and every event and prompt about the message repeats them.
pub const ORIGIN_NAME_BYTES: usize = 512;
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
/// Longest pause of a paced turn, in milliseconds: thirty turns an hour.
pub const PACE_MAX_MS: u64 = 120_000;
/// Milliseconds that the wall clock may fall behind the monotonic clock between two checks before the runtime treats it
/// as a step back. Gradual clock corrections stay far below it.
pub const CLOCK_STEP_MS: u64 = 250;
/// Due entries that fire within one second. After a step forward of the clock, or a long downtime, more are overdue;
/// they fire second by second, so that they do not all call their providers at once.
pub const DUE_PER_SECOND: usize = 256;
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
/// Most agents above a new one, unless the host's settings allow more. At the limit `SpawnAgent` gets a tool error. A
/// child that makes children is rarely wanted and multiplies every mistake.
pub const SPAWN_DEPTH: u32 = 1;
/// Greatest depth that the settings may allow.
pub const SPAWN_DEPTH_MAX: u32 = 3;
/// Most reasons that a child's row and its event give for a worktree that is kept; more are left out. `holon worktree
/// list` shows all.
pub const KEPT_REASONS: usize = 8;
/// Most supervised children of one tree that have not ended, and so also of one agent. At the limit `SpawnAgent` gets a
/// tool error; a child that ends makes room. Each of them may ask a model at the same time.
pub const LIVE_CHILDREN: u32 = 8;
/// Most agents that one tree may make within an hour. At the limit `SpawnAgent` gets a tool error. It bounds a model that
/// makes agents in every round.
pub const SPAWNS_PER_HOUR: usize = 32;
/// Ended children of an agent whose history is kept. A further spawn removes the oldest beyond them.
pub const ENDED_CHILDREN_KEPT: usize = 64;
/// Longest label of a child's task, in bytes, taken from its first message.
pub const CHILD_LABEL_BYTES: usize = 120;
/// Longest report of a child that its parent receives, in bytes. A longer one is cut, and says so; files carry more.
pub const CHILD_REPORT_BYTES: usize = 16 << 10;
/// Most inputs for other agents one commit hands over; the rest is kept as `deliver` effects, this many in each.
pub const SENDS_PER_COMMIT: usize = 256;
/// Retries per model after the first attempt. Then the next model of the chain is asked.
pub const PROVIDER_RETRIES: u32 = 2;
/// First pause between attempts (backoff), in milliseconds.
pub const BACKOFF_BASE_MS: u64 = 1_000;
/// Factor by which the pause between attempts grows: one second, then half a minute, which outlasts most short outages
/// of a provider.
pub const BACKOFF_GROWTH: u64 = 30;
/// The same factor for a turn whose caller waits for its end.
pub const BACKOFF_GROWTH_ATTENDED: u64 = 2;
/// Longest pause between attempts, in milliseconds, even if the provider asks for more.
pub const BACKOFF_MAX_MS: u64 = 60_000;
/// Most fallback models of one turn. Further ones of the chain are never asked.
pub const FALLBACKS: usize = 16;
/// Fewest tokens of thinking that can be asked for, by the rule of the Anthropic API. A smaller number is refused.
pub const MIN_THINKING_TOKENS: u32 = 1_024;
/// Milliseconds that a turn without a waiting caller stays suspended and retries by itself, unless
/// `runtime.provider_patience_secs` sets another time. Outages until a named renewal do not count. After this time it
/// stays suspended until an operator acts.
pub const PROVIDER_PATIENCE_MS: u64 = 24 * 60 * 60 * 1_000;
/// Longest pause of a suspended turn before it asks its models again, in milliseconds. A later renewal that the
/// provider named is waited for.
pub const SUSPENSION_PAUSE_MAX_MS: u64 = 300_000;
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
/// Longest time in milliseconds that a turn waits for the network or for a new allowance while its caller waits for its
/// end. With the attempts between the pauses that is about a minute.
pub const ATTENDED_PATIENCE_MS: u64 = 30_000;
/// Farthest renewal of an allowance that a turn waits for, and the most it waits for renewals in total, in
/// milliseconds: a week and a day, since weekly allowances are the longest.
pub const RENEWAL_PATIENCE_MS: u64 = 8 * 24 * 60 * 60 * 1_000;
/// Most times that one round is parked until an allowance is renewed, if a caller waits for the run. Then the turn
/// fails.
pub const PARKS_PER_ROUND: u32 = 3;
/// Fewest output tokens that a request allows, even if the context window seems full, or an eighth of a smaller window.
/// The estimate of a prompt is rough, and a cut-off answer is useless. A provider without room refuses the request.
pub const MIN_OUTPUT_TOKENS: u32 = 4_096;
/// Restarts in a row after which an open turn had no new log entry and the current call was found in the same state. At
/// this many a running command is turned into a task. In all other states the message is set aside with a failure brief
/// and the queue continues.
pub const RESUMES_WITHOUT_PROGRESS: u32 = 3;
/// Most earlier messages that a prompt shows. Beyond it the oldest are left out.
pub const RECENT_MESSAGES: usize = 48;
/// Earlier turns that a prompt shows: at least this many, and fewer than twice as many. The first one shown moves only
/// once in so many turns, so that a provider's cache serves the history in between.
pub const RECENT_TURNS: u64 = 12;
/// Earlier turns that are left out together when the prompt has no room for all. One at a time would change the beginning
/// of the history in every turn, and no cache would serve it.
pub const RECENT_TURNS_CUT: u64 = 4;
/// Bytes of one earlier message or answer that every prompt shows; the rest is cut in a prompt with a small budget.
pub const RECENT_MESSAGE_BYTES: usize = 4_000;
/// Bytes of one earlier message or answer that a prompt with a large budget shows.
pub const RECENT_MESSAGE_BYTES_MAX: usize = 32_768;
/// Share of a prompt's token budget that is left to the answers and results of the turn: one part of this many.
pub const TURN_BUDGET_SHARE: u32 = 8;
/// Most tokens that a model may write in one round if its own limit is not known.
pub const MAX_OUTPUT_TOKENS: u32 = 8_192;
/// Estimated tokens of one tool result that a model reads, if the call names no other amount.
pub const TOOL_OUTPUT_TOKENS: u32 = 8_000;
/// Most estimated tokens of one tool result that a call may ask for. A larger request is cut to this.
pub const TOOL_OUTPUT_TOKENS_MAX: u32 = 64_000;
/// Bytes of one command's stream kept in memory. The middle of a longer stream is dropped while the pipe is drained.
pub const COMMAND_STREAM_BYTES: usize = 512 << 10;
/// Milliseconds that a call waits for its command, if the call names no other time. Then the command continues as a
/// task.
pub const YIELD_MS: u64 = 10_000;
/// Longest time in milliseconds that a call may wait for its command. A longer one is refused.
pub const YIELD_MAX_MS: u64 = 600_000;
/// Most commands of one batch. A longer batch is refused.
pub const BATCH_COMMANDS: usize = 12;
/// Milliseconds that a command of a batch may run, if the call names no other time. Then it is stopped.
pub const BATCH_COMMAND_MS: u64 = 120_000;
/// Bytes of one output stream of a command kept on disk: its beginning and its end. The rest is drained and dropped.
pub const COMMAND_OUTPUT_BYTES: u64 = 64 << 20;
/// Bytes of disk that the output files of one agent may take. Beyond it the oldest files of ended commands are removed.
pub const OUTPUT_KEPT_BYTES: u64 = 1 << 30;
/// Most running tasks of one agent. At this many a command is refused until a task has ended.
pub const TASKS_PER_AGENT: usize = 128;
/// Ended tasks of one agent that are kept and listed. Older ones are removed.
pub const TASKS_KEPT: u64 = 1_000;
/// Bytes of a task's last output that are kept in its row and in the message about its end.
pub const TASK_SUMMARY_BYTES: usize = 4_000;
/// Milliseconds that a task may take to stop after it was asked to. Then it is killed.
pub const TASK_STOP_GRACE_MS: u64 = 5_000;
/// Milliseconds that `TaskOutput` waits for the end of a task, if the call names no other time.
pub const TASK_WAIT_MS: u64 = 30_000;
/// Longest time in milliseconds that `TaskOutput` may wait for the end of a task. A longer one is refused.
pub const TASK_WAIT_MAX_MS: u64 = 600_000;
/// Most bytes that one call writes to a task. More is refused: the agent writes in several calls, or to a file that the
/// command reads. Up to one mebibyte may wait to be read; then input is refused until the command has read some.
pub const TASK_INPUT_BYTES: usize = 64 << 10;
/// Bytes of `ToolError::details` that a model reads and that an event carries. Larger details become a preview and a
/// digest.
pub const TOOL_ERROR_DETAIL_BYTES: usize = 1_000;
/// Longest `Sleep(duration_ms)`, in milliseconds: one day. Use a timer for a longer pause.
pub const SLEEP_MAX_MS: u64 = 24 * 60 * 60 * 1_000;
/// Most facts kept with the resolution of a continuation; each is cut to the size of an event's preview.
pub const CONTINUATION_EVIDENCE: usize = 4;
/// Bytes of a text preview in an event; the rest is cut.
pub const EVENT_PREVIEW_BYTES: usize = 240;
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
/// Most inputs that wait for the writer. Beyond it callers are refused with 503 and a retry hint.
pub const WRITER_QUEUE: usize = 8_192;
/// Database connections for readers. Further reads wait for a free one.
pub const READERS: usize = 4;
/// Longest read transaction in milliseconds. A reader that takes longer is interrupted.
pub const READ_DEADLINE_MS: u64 = 5_000;
/// Events that one page returns by default.
pub const EVENT_PAGE: u64 = 128;
/// Most events that one page returns.
pub const EVENT_PAGE_MAX: u64 = 512;
/// Most events that a stream may fall behind. Then it is closed with a gap frame, and the reader resumes with its
/// cursor.
pub const STREAM_LAG: usize = 1_024;
/// Most streams open at once on one host. The next one is refused with 503.
pub const STREAMS: usize = 512;
/// Largest body of an HTTP request, in bytes. A larger one is refused with 413.
pub const REQUEST_BODY_BYTES: usize = 4 << 20;
/// Bytes that the bodies of all requests with a token may hold together while they arrive, beyond
/// `ROOMLESS_BODY_BYTES` of each. A request without room is refused with 503.
pub const BODY_ROOM_BYTES: usize = 32 << 20;
/// The same for requests without a token: deliveries from outside.
pub const DELIVERY_ROOM_BYTES: usize = 16 << 20;
/// Bytes of a request body that need no room beside others, so that small requests are served whatever others send.
pub const ROOMLESS_BODY_BYTES: usize = 16 << 10;
/// Largest script of the scripted provider, in bytes. A larger one is refused.
pub const SCRIPT_BYTES: u64 = 4 << 20;
/// Milliseconds that a graceful shutdown waits for running effects. Then it leaves them to recovery.
pub const DRAIN_MS: u64 = 5_000;
/// Milliseconds that `holon daemon start` waits until the host in the background answers. After that it fails and
/// leaves the host as it is: recovery of a large home, or a full disk, may take longer.
pub const DAEMON_START_MS: u64 = 60_000;
/// Milliseconds that `holon daemon` waits for another `holon daemon` command on the same home. After that it fails.
pub const LIFECYCLE_WAIT_MS: u64 = 120_000;
/// Milliseconds that `holon daemon stop` waits for a host that was asked over its socket. Then it sends SIGTERM.
pub const DAEMON_STOP_ASKED_MS: u64 = 12_000;
/// Milliseconds that `holon daemon stop` waits after SIGTERM. Then it sends SIGKILL.
pub const DAEMON_STOP_TERM_MS: u64 = 8_000;
/// Milliseconds that `holon daemon stop` waits after SIGKILL. Then it fails.
pub const DAEMON_STOP_KILL_MS: u64 = 5_000;
/// Bytes of a background host's log from which on a new file is begun.
pub const DAEMON_LOG_BYTES: u64 = 8 << 20;
/// Older log files of a background host that are kept. The oldest beyond it is deleted.
pub const DAEMON_LOG_FILES: usize = 3;
/// Most lines that `holon daemon logs` shows at once. A larger number is refused.
pub const LOG_LINES_MAX: u64 = 10_000;
/// Milliseconds that a starting host waits for a host that still owns the home and is shutting down. A shutdown takes
/// less.
pub const OWNER_LEAVING_MS: u64 = 15_000;
/// Pause after the first failed attempt to remove an agent's home, in milliseconds. It doubles with each further
/// failure.
pub const REMOVAL_PAUSE_MS: u64 = 1_000;
/// Longest pause between two attempts to remove an agent's home, in milliseconds. The attempts never end.
pub const REMOVAL_PAUSE_MAX_MS: u64 = 300_000;
/// Shortest time between two ticks for wake hints from outside, in milliseconds. A first hint is told at once; those of
/// a source that never stops are told together, so that it cannot buy a model turn with each request.
pub const HINT_TICK_PAUSE_MS: u64 = 5_000;
/// Pause before the second tick for a work item without progress, in milliseconds. It doubles with each further idle
/// turn.
pub const WORK_TICK_PAUSE_MS: u64 = 30_000;
/// Longest pause between two ticks for work without progress, in milliseconds.
pub const WORK_TICK_PAUSE_MAX_MS: u64 = 300_000;
/// Most open work items of one agent. `CreateWorkItem` refuses more and asks to complete some.
pub const OPEN_WORK_ITEMS: u32 = 100_000;
/// Longest objective of a work item, in bytes. A longer one is refused: details belong into the plan.
pub const OBJECTIVE_BYTES: usize = 2_000;
/// Longest blocker text of a work item, in bytes. A longer one is refused.
pub const BLOCKED_BY_BYTES: usize = 2_000;
/// Most entries of one checklist. A longer list is refused.
pub const TODO_ITEMS: usize = 100;
/// Longest entry of a checklist, in bytes. A longer one is refused.
pub const TODO_TEXT_BYTES: usize = 1_000;
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
/// External triggers of one agent that are kept, active and revoked ones together. The oldest revoked ones are removed.
pub const TRIGGERS_KEPT: u64 = 32;
/// Largest payload of a delivery to a capability URL, in bytes. A larger one is refused.
pub const CALLBACK_BODY_BYTES: usize = 256 << 10;
/// Largest payload of a webhook, in bytes. A larger one is refused.
pub const WEBHOOK_BODY_BYTES: usize = 1 << 20;
/// Longest delivery id of a sender, in bytes. A longer one is refused.
pub const DELIVERY_ID_BYTES: usize = 255;
/// Deliveries that one capability or one agent's webhook may receive at once. Beyond it they are refused with 429 until
/// the allowance has grown again.
pub const DELIVERY_BURST: u32 = 128;
/// Deliveries per second by which that allowance grows again.
pub const DELIVERIES_PER_SECOND: u32 = 16;
/// Senders whose allowance is remembered; the ones that are full again are forgotten first.
pub const DELIVERY_BUCKETS: usize = 4_096;
/// Unknown tokens and wrong signatures that are answered at once, for all senders together. Beyond it they are refused
/// with 429 until the allowance has grown again. Valid deliveries are not affected.
pub const GUESS_BURST: u32 = 256;
/// Unknown tokens and wrong signatures per second by which that allowance grows again.
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
/// Largest secret of a webhook, in bytes.
pub const WEBHOOK_SECRET_BYTES: usize = 1_024;
/// Most active timers of one agent. `CreateTimer` refuses more.
pub const ACTIVE_TIMERS: u32 = 10_000;
/// Active timers that a status and `AgentGet` show. `ListTimers` and the list of timers show the rest.
pub const STATUS_TIMERS: usize = 50;
/// Most queued timer ticks of one agent. At this many a slot of a repeating timer counts as missed; a timer that fires
/// once always gets its tick.
pub const TIMER_TICKS_QUEUED: u32 = 256;
/// Shortest interval of a repeating timer, in milliseconds. A shorter one is refused: each slot begins a turn.
pub const TIMER_INTERVAL_MIN_MS: u64 = 1_000;
/// Longest summary of a timer, in bytes. A longer one is refused.
pub const TIMER_SUMMARY_BYTES: usize = 2_000;
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
/// Worker threads of the async runtime.
pub const WORKERS: usize = 4;
/// Threads for blocking work: reads, agent homes, file checks. Further work waits in line; few threads keep memory
/// small.
pub const BLOCKING_THREADS: usize = 16;
/// Open file descriptors that the host asks the system for at start.
pub const OPEN_FILES: u64 = 8_192;
/// Most connections open at once on one listener, so that one listener cannot starve another. A further one takes the
/// place of the oldest that has sent no whole request head, and waits if each has sent one. Where the system allows few open files, a listener serves fewer: two thirds of what is left of the limit
/// after a reserve of 256 for TCP, and one third for the socket.
pub const CONNECTIONS: usize = 1_024;
/// Largest head of an HTTP request, in bytes. A larger one is refused with 431.
pub const REQUEST_HEAD_BYTES: usize = 32 << 10;
/// Milliseconds that a client may take to send the head of a request, and again for its body. Then the connection is
/// closed or the request refused with 408.
pub const REQUEST_READ_MS: u64 = 10_000;
/// Pieces of streamed answers that wait for a slow subscriber. It misses the oldest beyond that; the stored round still
/// has everything.
pub const DELTAS_KEPT: usize = 1_024;
/// Milliseconds between two heartbeats on an idle stream.
pub const STREAM_HEARTBEAT_MS: u64 = 15_000;
/// Milliseconds that the reader of a stream may accept no data. Then its connection is closed.
pub const STREAM_STALL_MS: u64 = 60_000;
/// Briefs that one response contains by default.
pub const BRIEF_PAGE: u64 = 20;
/// Most briefs or transcript entries that one response contains.
pub const LIST_PAGE_MAX: u64 = 500;
/// Milliseconds that the client waits for a connection to a host on the same machine.
pub const CONNECT_LOCAL_MS: u64 = 2_000;
/// Milliseconds that the client waits for a connection to a host on another machine.
pub const CONNECT_REMOTE_MS: u64 = 5_000;
/// Milliseconds that the client waits for the next bytes of a response. One-shot runs are exempt: they take as long as
/// the work.
pub const ANSWER_IDLE_MS: u64 = 30_000;
/// Milliseconds that the client waits on a silent stream: three missed heartbeats.
pub const STREAM_IDLE_MS: u64 = 45_000;
/// Times in a row that the client reconnects a broken stream before it gives up.
pub const STREAM_RETRIES: u32 = 8;
/// Largest response that the client reads, in bytes.
pub const ANSWER_BYTES: usize = 64 << 20;
/// Timeout of a DNS lookup of a provider, in milliseconds. It must be below the connect timeout, or a silent name
/// server would look like a slow provider.
pub const PROVIDER_LOOKUP_MS: u64 = 5_000;
/// Timeout of a connection to a provider, in milliseconds, DNS lookup and TLS included. A host that is up answers in
/// far less; a slower one is retried.
pub const PROVIDER_CONNECT_MS: u64 = 10_000;
/// Timeout for the first byte of a streamed answer, in milliseconds. An answer in one piece begins when the model is
/// done, so it may take three times as long.
pub const PROVIDER_FIRST_BYTE_MS: u64 = 300_000;
/// Timeout between two pieces of an answer that has begun, in milliseconds.
pub const PROVIDER_IDLE_MS: u64 = 300_000;
/// Timeout for the body of an error response, in milliseconds. The status has already decided the outcome.
pub const PROVIDER_ERROR_MS: u64 = 3_000;
/// Timeout without content in an answer, in milliseconds, even if comments or other signs of life keep arriving. There
/// is no limit on the length of an answer in time.
pub const PROVIDER_CONTENT_MS: u64 = 900_000;
/// Largest answer of a provider after decompression, largest single event of a stream, and most bytes kept of a stream.
/// The longest answers of today's models are below one MiB. A larger answer is refused, so a gzip bomb costs no more
/// than a few times this.
pub const PROVIDER_ANSWER_BYTES: usize = 4 << 20;
/// Estimated memory that one JSON document of a provider may take once parsed. A document of many tiny values takes up
/// to a hundred times its own length. An answer of a hundred thousand tokens of nothing but small objects takes less
/// than this.
pub const PROVIDER_PARSED_BYTES: usize = 32 << 20;
/// Factor by which a whole stream may be larger than one answer: a stream repeats its content in small pieces.
pub const PROVIDER_STREAM_FACTOR: usize = 8;
/// Bytes read of an error response; the rest is ignored.
pub const PROVIDER_ERROR_BYTES: usize = 64 << 10;
/// Longest retry delay that is accepted from a provider's headers or message, in milliseconds: the longest month.
pub const PROVIDER_WAIT_MAX_MS: u64 = 31 * 24 * 60 * 60 * 1_000;
/// Time in which a server describes the context window of a model, in milliseconds. A round waits no longer for it.
/// Without a description the window is assumed.
pub const PROVIDER_DESCRIPTION_MS: u64 = 2_000;
/// Milliseconds after which a server that did not describe a model in time is asked again. They double with each
/// further failure. A server that fails at once, and one that has not loaded the model yet, is first asked again
/// without a pause.
pub const PROVIDER_DESCRIPTION_PAUSE_MS: u64 = 60_000;
/// Longest of these pauses, and the time after which a server is asked again that has described a model, or has none to
/// describe. It may have been started anew with another window.
pub const PROVIDER_DESCRIPTION_AGE_MS: u64 = 60 * 60 * 1_000;
/// Most models whose description is remembered. Beyond it no server is asked for one.
pub const PROVIDER_DESCRIPTIONS: usize = 1_000;
/// Smallest limit that is learned from a provider. No model has less, and a learned limit is kept.
pub const PROVIDER_LEARNED_MIN_TOKENS: u32 = 256;
/// Largest limit that is learned from a provider.
pub const PROVIDER_LEARNED_MAX_TOKENS: u32 = 100_000_000;
/// Most stored responses that a later request may continue from. The least recently used one is forgotten, and the next
/// request of that agent is sent whole.
pub const PROVIDER_CONTINUATIONS: usize = 256;
/// Most models read from a provider's own list; the rest is ignored.
pub const PROVIDER_MODELS: usize = 2_000;
/// Most credentials that a host remembers in order to redact them from provider responses. Beyond it the one fetched
/// longest ago is forgotten. A command that prints a new one every five minutes fills it in five hours.
pub const KNOWN_SECRETS: usize = 64;
/// Idle connections kept per provider for the next round.
pub const PROVIDER_IDLE_CONNECTIONS: usize = 8;
/// Milliseconds that an idle connection is kept. Most servers close theirs after a minute or more; the host closes
/// first.
pub const PROVIDER_KEEP_ALIVE_MS: u64 = 55_000;
/// Context window, in tokens, that is assumed for an unknown model. Most models take this much; set a larger one in
/// `models.catalog`, or let the host learn it from the server's description of itself or from the provider's error.
pub const UNKNOWN_WINDOW_TOKENS: u32 = 32_000;
/// Share of a context window, in percent, that a prompt may take by default. The rest is for the answer and for the
/// error of the token estimate.
pub const WINDOW_PERCENT: u8 = 90;
/// Output tokens that are assumed for an unknown model: the smallest output limit still in use.
pub const UNKNOWN_MAX_OUTPUT_TOKENS: u32 = 4_096;
/// Longest credential, in bytes. A longer one is refused: it would not fit the head of a request.
pub const CREDENTIAL_BYTES: usize = 16 << 10;
/// Largest file that is searched for a credential, in bytes. A larger one is refused.
pub const CREDENTIAL_FILE_BYTES: u64 = 1 << 20;
/// Most stored credential profiles. One more is refused until one is removed.
pub const CREDENTIAL_PROFILES: usize = 256;
/// Largest `config.toml`, in bytes. A larger one is refused.
pub const CONFIG_FILE_BYTES: u64 = 1 << 20;
/// Most workspaces attached to one agent. At the limit a new one is refused (`workspace_limit`) until another is
/// detached. They are listed in each status.
pub const ATTACHED_WORKSPACES: usize = 64;
/// Milliseconds that one git command of the runtime may take to look at a repository. At the limit its process group is
/// killed and the request fails.
pub const GIT_READ_MS: u64 = 20_000;
/// Milliseconds that git may take to make or remove a worktree. At the limit its process group is killed; the next
/// attempt goes on from the record of the worktree.
pub const GIT_WRITE_MS: u64 = 300_000;
/// Most bytes that one git command of the runtime may print. At the limit it is killed and the request fails.
pub const GIT_OUTPUT_BYTES: usize = 32 << 20;
/// Largest `.git` file, `gitdir` or `commondir` pointer that is read, in bytes. A larger one is refused.
pub const GIT_POINTER_BYTES: u64 = 8 << 10;
/// Longest label in the name of a worktree, in bytes. A longer one is cut.
pub const ISOLATION_LABEL_BYTES: usize = 40;
/// Most workspaces in the host's registry. At the limit the one that an agent was given longest ago is forgotten;
/// agents keep their own attached workspaces.
pub const WORKSPACES_REGISTERED: usize = 4_096;
/// Most agents of one execution root that a status looks at. Further ones are not named.
pub const OCCUPANTS_LISTED: usize = 16;
/// Largest record of a managed worktree, in bytes. A larger file is no record.
pub const WORKTREE_RECORD_BYTES: u64 = 64 << 10;
/// Largest reflog of a managed worktree that a clean-up reads, in bytes. A worktree with a larger one is kept.
pub const WORKTREE_REFLOG_BYTES: u64 = 1 << 20;
/// Most managed worktrees that one clean-up or list looks at, of one host. Further ones are left for the next call,
/// and the answer says so.
pub const WORKTREES_LISTED: usize = 1_000;
/// Largest instruction file (`AGENTS.md`, `CLAUDE.md`) that is loaded, in bytes. A larger one is not loaded, and the
/// prompt and the status say so: every prompt carries the file, so it must leave room for the work.
pub const INSTRUCTION_FILE_BYTES: u64 = 64 << 10;
/// Share of a prompt's token budget to which instruction files are cut first when the parts that are always shown do not
/// fit: one part of this many. The longest file is cut first, and the prompt names the file in which the rest is.
pub const INSTRUCTION_BUDGET_SHARE: u32 = 4;
/// Most instruction files whose content is kept in memory, so that an unchanged file is not read again. Beyond it the
/// kept contents are dropped and read again.
pub const INSTRUCTION_FILES_KEPT: usize = 256;
/// Most tokens of a workspace's instruction file below the result of the call that enters the workspace. A longer one is
/// cut, and the text names the file in which the rest is; the next turn's prompt shows it by its own bounds.
pub const ENTERED_INSTRUCTION_TOKENS: usize = 8_000;
/// Most tokens of the lines of a workspace's skills below that result. The rest is counted, and the text names the root.
pub const ENTERED_SKILL_TOKENS: usize = 2_000;
/// Largest frontmatter of a `SKILL.md`, in bytes. A skill with a larger one is not listed, and a note says why.
pub const SKILL_FRONTMATTER_BYTES: u64 = 64 << 10;
/// Largest `SKILL.md`, in bytes. A larger one is not listed: an agent opens the whole file.
pub const SKILL_FILE_BYTES: u64 = 1 << 20;
/// Most characters of a skill's description, by the public format. A longer one is not listed.
pub const SKILL_DESCRIPTION_CHARS: usize = 1_024;
/// Most directories of a skill root that are looked at; the rest is left out with a note.
pub const SKILLS_PER_ROOT: usize = 256;
/// Most skills that are active for one agent. At the limit the one that was used longest ago is no longer active.
pub const ACTIVE_SKILLS: usize = 64;
/// Share of a prompt's token budget that the catalogue of skills may take: one part of this many. The rest is counted,
/// and the prompt names the root in which it is.
pub const SKILL_BUDGET_SHARE: u32 = 16;
/// Most files of a skill that is installed. An installation of more fails and leaves nothing.
pub const INSTALL_FILES: usize = 5_000;
/// Most bytes of a skill that is installed. An installation of more fails and leaves nothing.
pub const INSTALL_BYTES: u64 = 50 << 20;
/// Deepest directory of a skill that is installed. An installation of a deeper one fails and leaves nothing.
pub const INSTALL_DEPTH: usize = 16;
/// Milliseconds that fetching one template or skill from a remote repository may take. At the limit git is killed, the
/// request fails and nothing is left.
pub const FETCH_MS: u64 = 120_000;
/// Most bytes that git may download for one template or skill. A partial fetch carries the directories of the
/// repository and the files of the one that was asked for. At the limit git is killed and the request fails.
pub const FETCH_BYTES: u64 = 96 << 20;
/// Most bytes of the list of a repository's files, which is read to find a skill by its name. A longer one is refused.
pub const FETCH_LIST_BYTES: usize = 32 << 20;
/// Most skills that a template may name. A template with more is refused.
pub const TEMPLATE_SKILLS: usize = 32;
/// Largest `skills.json` of a template, in bytes. A larger one is refused.
pub const TEMPLATE_SKILLS_BYTES: u64 = 64 << 10;
/// Largest text that an operator may add to the `AGENTS.md` of a new agent, in bytes. A larger one is refused.
pub const OPERATOR_SEED_BYTES: usize = 16 << 10;
/// Most files in the archive of an agent. An export or an import of more is refused.
pub const ARCHIVE_FILES: usize = 50_000;
/// Most bytes of the archive of an agent. An export or an import of more is refused.
pub const ARCHIVE_BYTES: u64 = 2 << 30;
/// Largest file of a home that an export takes, in bytes. It is read whole to look for secrets; a larger one is left out
/// and listed.
pub const ARCHIVE_FILE_BYTES: u64 = 64 << 20;
/// Longest path of a file in an archive, in bytes. A file with a longer one is left out and listed.
pub const ARCHIVE_PATH_BYTES: usize = 240;
/// Deepest directory in an archive. An export lists what is deeper and leaves it out, an import refuses it.
pub const ARCHIVE_DEPTH: usize = 32;
/// Largest manifest, and largest durable record, of an archive, in bytes. A larger one is refused.
pub const ARCHIVE_TEXT_BYTES: u64 = 64 << 20;
/// Most work items in an archive, open ones first. An export lists how many more there are, an import refuses more.
pub const ARCHIVE_WORK_ITEMS: usize = 10_000;
/// Newest entries of the transcript, and newest briefs, that an export writes as files into `history`. It lists how many
/// more there are.
pub const ARCHIVE_HISTORY_ENTRIES: usize = 1_000;
/// Milliseconds that the host waits for the next part of an archive that is sent to it. Then the import is refused.
pub const ARCHIVE_READ_MS: u64 = 60_000;

/// Most named tokens of a host.
pub const NAMED_TOKENS: usize = 256;

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
/// Most delivery targets of a host. One more is refused.
pub const DELIVERY_TARGETS: usize = 16;
