//! Determines whether a file was written since the last boot, and so cannot have been affected by a power failure.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Returns true if a file or directory was created and last changed since the system started. In doubt it returns
/// false.
pub(super) fn is_from_this_boot(path: &Path) -> io::Result<bool> {
    let found = std::fs::metadata(path)?;
    let changed = found.modified()?;
    // Not every file system stores the creation time.
    let made = found.created().unwrap_or(changed);
    Ok(made.min(changed) > boot_time(SystemTime::now()))
}

fn boot_time(now: SystemTime) -> SystemTime {
    // The uptime is in whole seconds, rounded up. One second less, so that a file from the first second counts as
    // doubtful.
    let uptime = u64::try_from(rustix::system::sysinfo().uptime).unwrap_or(0);
    let up = Duration::from_secs(uptime.saturating_sub(1));
    now.checked_sub(up).unwrap_or(now)
}
