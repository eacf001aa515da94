//! Many starts at once: one host, and every start reports it.

use crate::daemon::DaemonWorld;
use crate::support::hello;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Stdio};

/// Number of starts in one race.
const STARTS: usize = 20;
/// Variable with the number of races; see CONTRIBUTING.md.
const ROUNDS: &str = "HOLON_RACE_ROUNDS";

#[allow(
    clippy::disallowed_methods,
    reason = "the length of this test is chosen by its caller"
)]
fn rounds() -> usize {
    let asked = std::env::var(ROUNDS).ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(2)
}

/// Counts the processes that serve a home, by either of its names.
fn hosts(names: &[&Path]) -> usize {
    let is_host = |dir: std::path::PathBuf| {
        let line = std::fs::read(dir.join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let names_home = |name: &&Path| words.contains(&name.as_os_str().as_encoded_bytes());
        words.contains(&b"serve".as_slice()) && names.iter().any(names_home)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter(|entry| is_host(entry.path())).count()
}

fn spawn(daemon: &DaemonWorld, home: &Path, model: &str) -> Child {
    daemon
        .0
        .command()
        .args([
            "daemon", "start", "--port", "0", "--json", "--model", model, "--home",
        ])
        .arg(home)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn of_many_starts_at_once_one_owns_the_home_and_all_report_it() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    // Half of the starts reach the home by a link.
    let link = daemon.0.path().join("link");
    std::os::unix::fs::symlink(daemon.0.home(), &link).unwrap();
    std::fs::create_dir(daemon.0.home()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(daemon.0.home(), private).unwrap();
    for round in 0..rounds() {
        let started: Vec<Child> = (0..STARTS)
            .map(|number| {
                let home = if number % 2 == 0 {
                    daemon.0.home()
                } else {
                    link.clone()
                };
                spawn(&daemon, &home, &model)
            })
            .collect();
        let mut actions = Vec::new();
        let mut pids = BTreeSet::new();
        for child in started {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "round {round}: {output:?}");
            let view: Value = serde_json::from_slice(&output.stdout).unwrap();
            actions.push(view["action"].as_str().unwrap().to_owned());
            pids.insert(view["pid"].as_u64().unwrap());
        }
        let owners = actions.iter().filter(|action| *action == "started").count();
        assert_eq!(owners, 1, "round {round}: {actions:?}");
        assert_eq!(
            actions
                .iter()
                .filter(|action| *action == "already_running")
                .count(),
            STARTS - 1
        );
        assert_eq!(pids.len(), 1, "round {round}: {pids:?}");
        assert_eq!(hosts(&[&daemon.0.home(), &link]), 1, "round {round}");
        assert_eq!(daemon.stop()["action"], "stopped");
    }
}
