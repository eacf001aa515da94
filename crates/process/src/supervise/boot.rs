//! Whether something on disk is of this run of the machine, and so has seen no loss of power.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Whether a file or directory was made and last changed since the system started. In doubt it was not.
pub(super) fn is_since(path: &Path) -> io::Result<bool> {
    let found = std::fs::metadata(path)?;
    let changed = found.modified()?;
    // Not every file system knows it.
    let made = found.created().unwrap_or(changed);
    Ok(made.min(changed) > started(SystemTime::now()))
}

fn started(now: SystemTime) -> SystemTime {
    // Whole seconds rounded up; a second less, and what was made in the first one is in doubt.
    let uptime = u64::try_from(rustix::system::sysinfo().uptime).unwrap_or(0);
    let up = Duration::from_secs(uptime.saturating_sub(1));
    now.checked_sub(up).unwrap_or(now)
}
