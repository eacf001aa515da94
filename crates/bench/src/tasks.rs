//! A hundred tasks of one agent at once, through the real program: how long until all run, what they cost the host,
//! how soon the end of one is on record, how long until all are stopped. Against as many bare shells.
//!
//! Every command waits for a line from a pipe with a name that only this process holds open, so that none outlives it.

use crate::memory::{self, RESIDENT};
use crate::program::{Fallible, Served, expect_ok, home, script};
use crate::shim::SHELL;
use crate::stats::{Sample, round};
use crate::wire::Wire;
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Calls of one round; there is a limit on them.
const PER_ROUND: usize = 50;
/// For the host to come to rest before its memory is looked at.
const REST: Duration = Duration::from_millis(300);
/// The variable a command finds its agent's name in, bare or not.
const NAME: &str = "HOLON_AGENT_ID";

/// Two fleets: the tasks of the first end one after the other, those of the second are stopped.
pub(crate) async fn fleets(holon: &Path, count: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let bare = bare(dir.path(), count)?;
    let home = home(dir.path())?;
    let script = script(dir.path(), &rounds(dir.path(), count))?;
    let served = Served::start(holon, &home, &script).await?;
    let mut first = Fleet::start(&served, "first", dir.path(), count).await?;
    let ends = first.end_each().await?;
    let mut second = Fleet::start(&served, "second", dir.path(), count).await?;
    let stopped = second.stop().await?;
    Ok(json!({
        "tasks": count,
        "bare": bare,
        "start_all_ms": [first.started_ms(), second.started_ms()],
        "host_resident_kib": [first.resident, second.resident],
        "end_to_result_committed": ends.report(),
        "stop_all_ms": millis(stopped),
    }))
}

fn millis(took: Duration) -> f64 {
    round(took.as_secs_f64() * 1e3)
}

fn pipe_path(dir: &Path, name: &str, n: usize) -> PathBuf {
    dir.join(format!("{name}.{n}"))
}

/// Shell text that waits for its line.
fn waiting(dir: &Path, n: usize) -> String {
    let path = pipe_path(dir, &format!("${NAME}"), n);
    format!("read go < {}", path.display())
}

/// Pipes with names, held open at both ends: nobody waits to open one, and all readers see the end with our own.
fn pipes(dir: &Path, name: &str, count: usize) -> Fallible<Vec<File>> {
    let open = |n| {
        let path = pipe_path(dir, name, n);
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)?;
        Ok(OpenOptions::new().read(true).write(true).open(path)?)
    };
    (0..count).map(open).collect()
}

/// Rounds that start every task, one that ends the turn, and one for the results that never answers: what the agent
/// would do about them is not measured here.
fn rounds(dir: &Path, count: usize) -> String {
    let numbers: Vec<usize> = (0..count).collect();
    let call = |n: &usize| {
        let input = json!({ "cmd": waiting(dir, *n), "yield_time_ms": 0 });
        json!({ "tool": "ExecCommand", "input": input })
    };
    let start = |group: &[usize]| json!({ "calls": group.iter().map(call).collect::<Vec<_>>() });
    let mut rounds: Vec<Value> = numbers.chunks(PER_ROUND).map(start).collect();
    rounds.push(json!({ "text": "all run" }));
    rounds.push(json!({ "text": "never", "delay_ms": 3_600_000 }));
    json!({ "rounds": rounds, "on_end": "repeat_last" }).to_string()
}

/// An agent whose tasks run.
struct Fleet {
    agent: String,
    pipes: Vec<File>,
    control: Wire,
    events: Wire,
    started: Duration,
    /// Before and after its start.
    resident: [f64; 2],
}

impl Fleet {
    async fn start(served: &Served, agent: &str, dir: &Path, count: usize) -> Fallible<Self> {
        let pipes = pipes(dir, agent, count)?;
        let (mut control, mut events) = (served.wire().await?, served.wire().await?);
        let create = format!("/control/agents/{agent}/create");
        expect_ok(control.request("POST", &create, "{}").await?)?;
        events
            .stream(&format!("/agents/{agent}/events/stream"))
            .await?;
        tokio::time::sleep(REST).await;
        let before = memory::kib(served.pid(), RESIDENT)?;
        let prompt = format!("/control/agents/{agent}/prompt");
        let began = Instant::now();
        expect_ok(
            control
                .request("POST", &prompt, r#"{"text":"start"}"#)
                .await?,
        )?;
        let mut all_run = began;
        for _ in 0..count {
            all_run = events.await_event("task_created").await?;
        }
        tokio::time::sleep(REST).await;
        let after = memory::kib(served.pid(), RESIDENT)?;
        Ok(Self {
            agent: agent.to_owned(),
            pipes,
            control,
            events,
            started: all_run.duration_since(began),
            resident: [before, after],
        })
    }

    fn started_ms(&self) -> f64 {
        millis(self.started)
    }

    /// From the line a command waits for to its result on record, as a subscriber sees it.
    async fn end_each(&mut self) -> Fallible<Sample> {
        let mut ends = Sample::default();
        for pipe in &mut self.pipes {
            let began = Instant::now();
            pipe.write_all(b"\n")?;
            let at = self.events.await_event("task_result_received").await?;
            ends.add(at.duration_since(began));
        }
        Ok(ends)
    }

    /// Until the last of them is on record as stopped.
    async fn stop(&mut self) -> Fallible<Duration> {
        let path = format!("/control/agents/{}/control", self.agent);
        let began = Instant::now();
        expect_ok(
            self.control
                .request("POST", &path, r#"{"action":"stop"}"#)
                .await?,
        )?;
        let mut last = began;
        for _ in 0..self.pipes.len() {
            last = self
                .events
                .await_event_with("task_status_updated", r#""status":"cancelled""#)
                .await?;
        }
        Ok(last.duration_since(began))
    }
}

/// The same with shells that nobody keeps a record of.
fn bare(dir: &Path, count: usize) -> Fallible<Value> {
    let mut pipes = pipes(dir, "bare", count)?;
    let (mut children, started) = bare_start(dir, count)?;
    let mut ends = Sample::default();
    for (pipe, child) in pipes.iter_mut().zip(&mut children) {
        let began = Instant::now();
        pipe.write_all(b"\n")?;
        child.wait()?;
        ends.add(began.elapsed());
    }
    let (mut children, _) = bare_start(dir, count)?;
    let began = Instant::now();
    for child in &mut children {
        child.kill()?;
    }
    for child in &mut children {
        child.wait()?;
    }
    Ok(json!({
        "start_all_ms": millis(started),
        "end_to_reaped": ends.report(),
        "kill_all_ms": millis(began.elapsed()),
    }))
}

fn bare_start(dir: &Path, count: usize) -> Fallible<(Vec<Child>, Duration)> {
    let began = Instant::now();
    let mut children = Vec::new();
    for n in 0..count {
        children.push(
            Command::new(SHELL)
                .args(["-c", &waiting(dir, n)])
                .env(NAME, "bare")
                .stdin(Stdio::null())
                .spawn()?,
        );
    }
    Ok((children, began.elapsed()))
}
