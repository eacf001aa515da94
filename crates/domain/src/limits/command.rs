//! Bounds of commands and of tasks.

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
