//! Bounds of the host process: its start and end, its log, its threads and files.

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
/// Worker threads of the async runtime.
pub const WORKERS: usize = 4;
/// Threads for blocking work: reads, agent homes, file checks. Further work waits in line; few threads keep memory
/// small.
pub const BLOCKING_THREADS: usize = 16;
/// Open file descriptors that the host asks the system for at start.
pub const OPEN_FILES: u64 = 8_192;
