//! What a process takes of memory, as the system counts it.

use crate::program::Fallible;

/// Line of the resident memory in `/proc/PID/status`.
pub(crate) const RESIDENT: &str = "VmRSS:";
/// The most it ever had since its program began.
pub(crate) const PEAK: &str = "VmHWM:";

/// One figure of a process, in KiB.
pub(crate) fn kib(pid: u32, figure: &str) -> Fallible<f64> {
    Ok(field(pid, figure)?.parse()?)
}

/// The process that started another, and is there while that one is.
pub(crate) fn parent(pid: u32) -> Fallible<u32> {
    Ok(field(pid, "PPid:")?.parse()?)
}

fn field(pid: u32, name: &str) -> Fallible<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let line = line.ok_or_else(|| format!("process {pid} has no {name}"))?;
    let value = line.split_whitespace().next().ok_or("no figure")?;
    Ok(value.to_owned())
}
