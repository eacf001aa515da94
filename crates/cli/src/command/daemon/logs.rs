//! `holon daemon logs`: the end of the log, its new lines, and the last failures.

use super::view::DaemonLogs;
use crate::addressing::hint;
use crate::args::LogsArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::render;
use holon_daemon::{DaemonRecord, FailureFiles, LogFollower};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Interval at which a followed log is read.
const READ_INTERVAL: Duration = Duration::from_millis(200);

/// A line of a followed log, as JSON for programs.
#[derive(Serialize)]
struct LogLine {
    line: String,
}

/// Prints the log of a home's host.
pub(super) async fn run(home: &Path, args: &LogsArgs, output: &Output) -> Result<Exit, Failure> {
    let path = holon_daemon::log_path(home);
    let unreadable = |error: std::io::Error| {
        let message = format!("{} cannot be read: {error}", path.display());
        Failure::new(Exit::Failed, "file_failed", message)
    };
    let follower = args.follow.then(|| LogFollower::at_end(path.clone()));
    let follower = follower.transpose().map_err(unreadable)?;
    let lines = usize::try_from(args.lines).unwrap_or(usize::MAX);
    let tail = holon_daemon::log_tail(&path, lines).map_err(unreadable)?;
    let Some(follower) = follower else {
        output.answer(&view(home, tail), render::daemon::logs);
        return Ok(Exit::Done);
    };
    for line in tail {
        print(line, output);
    }
    follow(follower, output).await.map_err(unreadable)?;
    Ok(Exit::Done)
}

/// Prints new lines until nobody is there to print for.
async fn follow(mut log: LogFollower, output: &Output) -> std::io::Result<()> {
    let mut ticks = tokio::time::interval(READ_INTERVAL);
    let mut ended = std::pin::pin!(output.ended());
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = &mut ended => return Ok(()),
        }
        for line in log.read()? {
            print(line, output);
        }
    }
}

fn print(line: String, output: &Output) {
    output.item(&LogLine { line }, |line| line.line.clone());
}

fn view(home: &Path, tail: Vec<String>) -> DaemonLogs {
    let failures = FailureFiles::of(home);
    let run_dir = home.join("run");
    let record = DaemonRecord::load(&run_dir);
    let log_path = holon_daemon::log_path(home);
    let manager = record
        .as_ref()
        .and_then(|record| record.service_manager.as_deref());
    let message = match manager {
        Some("systemd") => hint(
            "the host is run by systemd, which keeps its log; holon service status names the command that shows it",
        ),
        Some(manager) => format!("the host is run by {manager}, which keeps its log"),
        None if record
            .as_ref()
            .is_some_and(|record| record.log_path.is_none()) =>
        {
            let lines = match tail.len() {
                0 => String::new(),
                count => format!("; the {count} lines above are of an earlier host"),
            };
            format!("the running host writes its log to the stderr of its process{lines}")
        }
        None if tail.is_empty() && !log_path.exists() => {
            "there is no log: no host was started here with holon daemon start".to_owned()
        }
        None => format!("the last {} lines of {}", tail.len(), log_path.display()),
    };
    DaemonLogs {
        ok: true,
        metadata_path: DaemonRecord::path(&run_dir),
        last_failure: FailureFiles::load(&failures.last_path()),
        startup_failure: FailureFiles::load(&failures.startup_path()),
        shutdown_failure: FailureFiles::load(&failures.shutdown_path()),
        last_failure_path: failures.last_path(),
        startup_failure_path: failures.startup_path(),
        shutdown_failure_path: failures.shutdown_path(),
        runtime_metadata: record,
        log_path,
        tail,
        message,
    }
}
