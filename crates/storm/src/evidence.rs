//! Reads what a storm left on disk and in the process table.

use crate::Fallible;
use crate::check::{Evidence, Patched};
use crate::job::{LEDGER, PATCHED};
use crate::process;
use crate::provider::Failed;
use crate::record::Records;
use crate::rest::Told;
use crate::rows;
use crate::world::World;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Longest a process may outlive its host; supervisors that wait for work end when they see that it is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two looks at the process table.
const LOOK: Duration = Duration::from_millis(20);

/// Gathers everything. The host must be down.
pub(crate) async fn collect(
    world: &World,
    records: &Records,
    told: Vec<Told>,
    failed: Failed,
) -> Fallible<Evidence> {
    let processes = left_over(world).await;
    let marks = std::fs::read_to_string(world.marks())?;
    Ok(Evidence {
        rows: rows::read(&world.database())?,
        acknowledged: records.acknowledged.clone(),
        runs: records.runs_completed.clone(),
        failed_runs: records.runs_failed.clone(),
        failed,
        marks: marks.lines().map(str::to_owned).collect(),
        workspaces: workspaces(&world.workspaces())?,
        told,
        processes,
    })
}

/// Lines of the host's log that no crash explains.
pub(crate) fn faults_in_log(world: &World) -> Fallible<Vec<String>> {
    let log = std::fs::read_to_string(world.host_log())?;
    let bad = log
        .lines()
        .filter(|line| line.contains("panicked") || line.contains(" ERROR "));
    Ok(bad.map(|line| format!("host.log: {line}")).collect())
}

async fn left_over(world: &World) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = process::naming(world.root());
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn workspaces(dir: &Path) -> Fallible<BTreeMap<String, Patched>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let ledger = std::fs::read_to_string(path.join(LEDGER))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let left = Patched {
            lines: ledger.lines().skip(1).map(ledger_line).collect(),
            files: names(&path.join(PATCHED))?,
        };
        found.insert(name.into_owned(), left);
    }
    Ok(found)
}

/// A token and its number of files; a line that is neither belongs to no patch, which the checker finds.
fn ledger_line(line: &str) -> (String, u64) {
    let read = line.split_once(' ');
    let read = read.and_then(|(token, added)| Some((token.to_owned(), added.parse().ok()?)));
    read.unwrap_or_else(|| (line.to_owned(), 0))
}

/// Names in a directory, which need not be there.
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
