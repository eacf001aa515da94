//! What is measured through the real program: start, memory, HTTP admission, event streams, one-shot runs.

use crate::backlog;
use crate::bare::{Bare, Rows};
use crate::memory;
use crate::program::{Fallible, HELD, INSTANT, Served, expect_ok, home, script};
use crate::stats::{Sample, rate, round};
use crate::wire::Wire;
use crate::world;
use holon_domain::{AgentId, Timestamp};
use holon_store::Db;
use holon_testkit::ports::FixedModel;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Durable admission over HTTP with some clients, in alternation with the bare rows.
pub(crate) async fn http_admission(
    holon: &Path,
    clients: usize,
    per_block: usize,
) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), HELD)?).await?;
    let mut wires = Vec::new();
    for n in 0..clients {
        let mut wire = served.wire().await?;
        expect_ok(
            wire.request("POST", &format!("/control/agents/client-{n}/create"), "{}")
                .await?,
        )?;
        expect_ok(enqueue(&mut wire, n).await?)?;
        wires.push(wire);
    }
    let db = home.join("state/holon.sqlite3");
    let rows = http_rows(&db, &mut wires).await?;
    let bare_db = dir.path().join("bare.sqlite3");
    Db::open(&bare_db)?.close()?;
    let mut bare = Bare::open(&bare_db)?;
    let (mut baseline, mut subject) = (Sample::default(), Sample::default());
    let (mut bare_time, mut time) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..8 {
        let began = Instant::now();
        baseline.extend(bare.write(&rows, per_block)?);
        bare_time += began.elapsed();
        let began = Instant::now();
        let (sample, back) = http_block(wires, per_block / clients).await?;
        time += began.elapsed();
        subject.extend(sample);
        wires = back;
    }
    let (bare_rate, http_rate) = (
        rate(per_block * 8, bare_time),
        rate(per_block / clients * clients * 8, time),
    );
    Ok(json!({
        "bare": baseline.report(), "bare_per_second": bare_rate,
        "subject": subject.report(), "per_second": http_rate,
        "share_of_bare_rate": round(http_rate / bare_rate * 100.0),
    }))
}

async fn http_rows(db: &Path, wires: &mut [Wire]) -> Fallible<Rows> {
    // Agent number 1 is the default agent; the rows of an enqueue to it have the same shape.
    let wire = wires.first_mut().ok_or("no client")?;
    expect_ok(
        wire.request(
            "POST",
            "/agents/main/enqueue",
            r#"{"text":"something happened outside"}"#,
        )
        .await?,
    )?;
    let before = Rows::marks(db)?;
    expect_ok(
        wire.request(
            "POST",
            "/agents/main/enqueue",
            r#"{"text":"something happened outside"}"#,
        )
        .await?,
    )?;
    Ok(Rows::learn(db, &before)?)
}

async fn enqueue(wire: &mut Wire, n: usize) -> Fallible<(u16, String)> {
    wire.request(
        "POST",
        &format!("/agents/client-{n}/enqueue"),
        r#"{"text":"something happened outside"}"#,
    )
    .await
}

async fn http_block(wires: Vec<Wire>, each: usize) -> Fallible<(Sample, Vec<Wire>)> {
    let mut tasks = Vec::new();
    for (n, mut wire) in wires.into_iter().enumerate() {
        tasks.push(tokio::spawn(async move {
            let mut sample = Sample::default();
            for _ in 0..each {
                let began = Instant::now();
                expect_ok(enqueue(&mut wire, n).await?)?;
                sample.add(began.elapsed());
            }
            Ok::<_, Box<dyn Error + Send + Sync>>((sample, wire))
        }));
    }
    let (mut all, mut back) = (Sample::default(), Vec::new());
    for task in tasks {
        let (sample, wire) = task.await??;
        all.extend(sample);
        back.push(wire);
    }
    Ok((all, back))
}

/// Start until healthy, resident memory, and bytes on disk, with this many idle agents.
pub(crate) async fn idle_agents(holon: &Path, count: usize, starts: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    fill(&home.join("state/holon.sqlite3"), count)?;
    let script = script(dir.path(), INSTANT)?;
    // The first start makes the default agent and the token; it is not counted.
    drop(Served::start(holon, &home, &script).await?);
    let (mut healthy, mut resident) = (Sample::default(), 0.0);
    for _ in 0..starts {
        let served = Served::start(holon, &home, &script).await?;
        healthy.add(served.healthy_after);
        resident = memory::kib(served.pid(), memory::RESIDENT)?;
    }
    // The host is gone, so its log is in the database.
    let disk = bytes_below(&home.join("state"))? + bytes_below(&home.join("agents"))?;
    Ok(json!({
        "agents": count,
        "start_to_healthy": healthy.report(),
        "resident_kib": resident,
        "disk_kib": round(disk as f64 / 1024.0),
        "disk_bytes_per_agent": round(disk as f64 / count.max(1) as f64),
    }))
}

/// Adds up the sizes of the files below a directory.
fn bytes_below(directory: &Path) -> Fallible<u64> {
    let mut sum = 0;
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let found = entry.metadata()?;
            if found.is_dir() {
                open.push(entry.path());
            } else {
                sum += found.len();
            }
        }
    }
    Ok(sum)
}

fn fill(db: &Path, count: usize) -> Fallible<()> {
    let ports = world::ports(FixedModel::Text);
    let facts = holon_core::HostConditions::new(holon_domain::model::ModelChain::none());
    let kernel = holon_engine::kernel::Kernel::new(holon_engine::SharedConditions::new(facts));
    let mut db = Db::open(db)?;
    let names: Vec<usize> = (0..count).collect();
    for group in names.chunks(500) {
        db.write(|tx| {
            for n in group {
                let new = idle_agent(*n);
                let agent_id = new.identity.agent_id.clone();
                let mut entropy = ports.entropy.source();
                let now = Timestamp::from_millis(0);
                let work = kernel.create(tx, new, now, entropy.as_mut())?;
                for effect in work.effects.values() {
                    let stamp = holon_core::Stamp::of(effect);
                    let ready = holon_core::Input::HomePrepared {
                        stamp,
                        result: Ok(()),
                    };
                    drop(kernel.handle(tx, &agent_id, &ready, now, entropy.as_mut())?);
                }
            }
            Ok(())
        })?;
    }
    Ok(db.close()?)
}

fn idle_agent(n: usize) -> holon_core::input::NewAgent {
    let agent_id =
        AgentId::parse_stored(&format!("idle-{n}")).unwrap_or_else(|_| unreachable!("a safe name"));
    backlog::public_agent(&agent_id)
}

/// From a POST to the event at the last of some subscribers.
pub(crate) async fn subscribers(holon: &Path, count: usize, events: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), HELD)?).await?;
    let mut poster = served.wire().await?;
    expect_ok(
        poster
            .request("POST", "/control/agents/watched/create", "{}")
            .await?,
    )?;
    let path = "/agents/watched/enqueue";
    expect_ok(poster.request("POST", path, r#"{"text":"first"}"#).await?)?;
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut wire = served.wire().await?;
        wire.stream("/agents/watched/events/stream").await?;
        streams.push(wire);
    }
    let (mut posts, mut median, mut last) =
        (Sample::default(), Sample::default(), Sample::default());
    for _ in 0..events {
        let mut waits = Vec::new();
        for mut wire in streams.drain(..) {
            waits.push(tokio::spawn(async move {
                wire.await_event("message_admitted")
                    .await
                    .map(|at| (at, wire))
            }));
        }
        let began = Instant::now();
        expect_ok(poster.request("POST", path, r#"{"text":"next"}"#).await?)?;
        posts.add(began.elapsed());
        let mut came = Vec::new();
        for wait in waits {
            let (at, wire) = wait.await??;
            came.push(at.duration_since(began));
            streams.push(wire);
        }
        came.sort();
        median.add(came.get(came.len() / 2).copied().unwrap_or_default());
        last.add(came.last().copied().unwrap_or_default());
    }
    Ok(json!({
        "subscribers": count,
        "post_answered": posts.report(),
        "post_to_median_subscriber": median.report(),
        "post_to_last_subscriber": last.report(),
    }))
}

/// `holon run` with a model that answers at once, against `true` and `--version`, in alternation.
pub(crate) fn one_shot(holon: &Path, times: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let model = format!("scripted/{}", script(dir.path(), INSTANT)?.display());
    let (mut nothing, mut version, mut run) =
        (Sample::default(), Sample::default(), Sample::default());
    for _ in 0..times {
        nothing.add(timed(&mut Command::new("true"))?);
        version.add(timed(Command::new(holon).arg("--version"))?);
        run.add(timed(
            Command::new(holon)
                .args(["run", "hello", "--model", &model])
                .env("HOLON_HOME", &home),
        )?);
    }
    Ok(json!({ "true": nothing.report(), "version": version.report(), "run": run.report() }))
}

/// `holon status` of a running host, against `true` and `--version`, in alternation.
pub(crate) async fn cli_start(holon: &Path, times: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let _served = Served::start(holon, &home, &script(dir.path(), INSTANT)?).await?;
    let (mut nothing, mut version, mut status) =
        (Sample::default(), Sample::default(), Sample::default());
    for _ in 0..times {
        nothing.add(timed(&mut Command::new("true"))?);
        version.add(timed(Command::new(holon).arg("--version"))?);
        status.add(timed(
            Command::new(holon).arg("status").env("HOLON_HOME", &home),
        )?);
    }
    Ok(json!({ "true": nothing.report(), "version": version.report(), "status": status.report() }))
}

fn timed(command: &mut Command) -> Fallible<Duration> {
    let began = Instant::now();
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let took = began.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}
