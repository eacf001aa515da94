//! What a process takes of memory, as the system counts it.

use crate::program::{Fallible, INSTANT, Served, expect_ok, home, script};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Line of the resident memory in `/proc/PID/status`.
pub(crate) const RESIDENT: &str = "VmRSS:";
/// The part of it that is the process's own. The rest is the program's file, which the system can drop and read again.
pub(crate) const PRIVATE: &str = "RssAnon:";
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

/// Messages after which caches and pools have their usual size.
const WARM: usize = 100;

/// Resident memory of a host whose default agent has answered some messages, and after all of them.
pub(crate) async fn after_messages(holon: &Path, count: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), INSTANT)?).await?;
    let mut wire = served.wire().await?;
    let at_start = kib(served.pid(), RESIDENT)?;
    answer_messages(&mut wire, WARM.min(count)).await?;
    let warm = kib(served.pid(), RESIDENT)?;
    answer_messages(&mut wire, count.saturating_sub(WARM)).await?;
    Ok(json!({
        "messages": count,
        "resident_kib_at_start": at_start,
        "resident_kib_after_100": warm,
        "resident_kib": kib(served.pid(), RESIDENT)?,
        "private_kib": kib(served.pid(), PRIVATE)?,
        "peak_kib": kib(served.pid(), PEAK)?,
        "resident_mib_aim": 25,
    }))
}

/// Sends messages to the default agent, each after the answer to the one before.
async fn answer_messages(wire: &mut Wire, count: usize) -> Fallible<()> {
    for _ in 0..count {
        let sent = wire.request(
            "POST",
            "/control/agents/main/prompt",
            r#"{"text":"say hello to the operator"}"#,
        );
        expect_ok(sent.await?)?;
        await_idle(wire).await?;
    }
    Ok(())
}

/// Waits until the default agent is idle.
pub(crate) async fn await_idle(wire: &mut Wire) -> Fallible<()> {
    while !is_idle(wire).await? {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Returns true if the default agent has no open turn and no queued message.
async fn is_idle(wire: &mut Wire) -> Fallible<bool> {
    let (_, body) = wire.request("GET", "/agents/main/status", "").await?;
    let status: Value = serde_json::from_str(&body)?;
    let agent = status.get("agent").ok_or("no agent in the status")?;
    let is_running = agent
        .get("current_run_id")
        .is_some_and(|run| !run.is_null());
    Ok(!is_running && agent.get("pending") == Some(&json!(0)))
}
