//! Reads what a storm left on disk and in the process table.

use crate::Fallible;
use crate::check::{Evidence, PatchTraces};
use crate::job::{LEDGER, PATCHED};
use crate::process;
use crate::provider::FailureCounts;
use crate::record::Records;
use crate::rest::AgentView;
use crate::rows;
use crate::world::World;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time a process may outlive its host; idle shims end when they see that it is gone.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between the checks of the process table.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Collects all evidence. The host must be down.
pub(crate) async fn collect(
    world: &World,
    records: &Records,
    views: Vec<AgentView>,
    failures: FailureCounts,
) -> Fallible<Evidence> {
    let processes = remaining_processes(world).await;
    let marks = std::fs::read_to_string(world.marks())?;
    let delivered = std::fs::read_to_string(world.deliveries())?;
    Ok(Evidence {
        rows: rows::read(&world.database())?,
        acknowledged: records.acknowledged.clone(),
        runs: records.runs_completed.clone(),
        failed_runs: records.runs_failed.clone(),
        failures,
        marks: marks.lines().map(str::to_owned).collect(),
        delivered: delivered.lines().map(str::to_owned).collect(),
        workspaces: workspaces(&world.workspaces())?,
        plans: plans(&world.agents())?,
        wakes: records.wakes.clone(),
        deliveries: records.deliveries.clone(),
        views,
        processes,
    })
}

/// Returns lines of the host's log that no crash explains.
pub(crate) fn faults_in_log(world: &World) -> Fallible<Vec<String>> {
    let log = std::fs::read_to_string(world.host_log())?;
    let bad = log
        .lines()
        .filter(|line| line.contains("panicked") || line.contains(" ERROR "));
    Ok(bad.map(|line| format!("host.log: {line}")).collect())
}

async fn remaining_processes(world: &World) -> Vec<String> {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        let left = process::processes_using(world.root());
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn workspaces(dir: &Path) -> Fallible<BTreeMap<String, PatchTraces>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let ledger = std::fs::read_to_string(path.join(LEDGER))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let left = PatchTraces {
            lines: ledger.lines().skip(1).map(ledger_line).collect(),
            files: names(&path.join(PATCHED))?,
        };
        found.insert(name.into_owned(), left);
    }
    Ok(found)
}

/// Reads every plan file, by agent and work item.
fn plans(agents: &Path) -> Fallible<BTreeMap<(String, String), String>> {
    let mut found = BTreeMap::new();
    for agent in names(agents)? {
        let items = agents.join(&agent).join("work-items");
        for item in names(&items)? {
            let text = std::fs::read_to_string(items.join(&item).join("plan.md"));
            found.insert((agent.clone(), item), text.unwrap_or_default());
        }
    }
    Ok(found)
}

/// Parses a token and its number of files. An invalid line belongs to no patch, which the checker reports.
fn ledger_line(line: &str) -> (String, u64) {
    let read = line.split_once(' ');
    let read = read.and_then(|(token, added)| Some((token.to_owned(), added.parse().ok()?)));
    read.unwrap_or_else(|| (line.to_owned(), 0))
}

/// Lists the names in a directory, which may be missing.
fn names(dir: &Path) -> Fallible<Vec<String>> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}
