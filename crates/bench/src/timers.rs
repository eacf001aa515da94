//! Timers: the start and the memory of a host with many pending ones, one look at the due queue, and how late a timer
//! fires.

use crate::backlog::Backlog;
use crate::memory;
use crate::program::{Fallible, INSTANT, Served, expect_ok, home, script};
use crate::stats::{Sample, rate};
use crate::wire::Wire;
use holon_domain::Timestamp;
use holon_store::{DueScope, Readers};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Starts of the host.
const STARTS: usize = 15;
/// Looks at the due queue, each like that of the due loop.
const LOOKS: usize = 500;
/// Entries of one look.
const PAGE: usize = 256;
/// Milliseconds ahead of now that a look covers.
const HORIZON_MS: u64 = 60_000;
/// Timers whose lateness is measured, one after the other.
const FIRED: usize = 60;
/// Milliseconds until such a timer fires.
const DELAY_MS: u64 = 300;
/// Timers of the quiet agent beside the noisy one, and the milliseconds from one to the next.
const BESIDE: usize = 40;
const BESIDE_EVERY_MS: u64 = 25;
/// Milliseconds until the timers of the noisy agent come, besides the time it takes to set them.
const SETTING_MS: u64 = 2_000;
const ENTRIES_AIM: u64 = 2_000;
const LATE_P50_AIM_MS: u64 = 2;
const LATE_P99_AIM_MS: u64 = 10;

/// A host without timers against one with this many pending timers of one agent.
pub(crate) async fn pending(holon: &Path, count: usize) -> Fallible<Value> {
    let (none, _) = started(holon, 0).await?;
    let (many, late) = started(holon, count).await?;
    Ok(json!({
        "timers": count, "without": none, "with": many, "lateness_with": late,
    }))
}

/// Start, memory and one look with this many timers, and the lateness of another timer beside them.
async fn started(holon: &Path, count: usize) -> Fallible<(Value, Value)> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let db = home.join("state/holon.sqlite3");
    let mut backlog = Backlog::create(&db, "keeper")?;
    backlog.add_timers(count)?;
    backlog.close()?;
    let script = script(dir.path(), INSTANT)?;
    // The first start makes the token; it is not counted.
    drop(Served::start(holon, &home, &script).await?);
    let (mut healthy, mut resident) = (Sample::default(), 0.0);
    for _ in 0..STARTS {
        let served = Served::start(holon, &home, &script).await?;
        healthy.add(served.healthy_after);
        resident = memory::kib(served.pid(), memory::RESIDENT)?;
    }
    let looks = looks(&db).await?;
    let served = Served::start(holon, &home, &script).await?;
    let late = lateness_of(&served).await?;
    let figures = json!({
        "start_to_healthy": healthy.report(),
        "resident_kib": resident,
        "due_query": looks.report(),
    });
    Ok((figures, late))
}

/// Looks at the due queue as the due loop does, without waiting for entries.
async fn looks(db: &Path) -> Fallible<Sample> {
    let readers = Readers::open(db)?;
    let mut sample = Sample::default();
    for _ in 0..LOOKS {
        let until = holon_daemon::wall_clock().plus_millis(HORIZON_MS);
        let took = readers.read(move |reader| {
            let began = Instant::now();
            reader.due(&DueScope::All, until, None, PAGE)?;
            Ok(began.elapsed())
        });
        sample.add(took.await?);
    }
    Ok(sample)
}

/// The lateness of timers of a host that does nothing else.
pub(crate) async fn lateness(holon: &Path) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), INSTANT)?).await?;
    lateness_of(&served).await
}

/// From the planned time to the fire, as the event of the fire says, and to that event at a subscriber. All times have
/// whole milliseconds. The baseline is a plain sleep of the same length, in alternation.
async fn lateness_of(served: &Served) -> Fallible<Value> {
    let mut control = served.wire().await?;
    let create = "/control/agents/late/create";
    expect_ok(control.request("POST", create, "{}").await?)?;
    let mut events = served.wire().await?;
    events.stream("/agents/late/events/stream").await?;
    let (mut bare, mut late, mut told) = (Sample::default(), Sample::default(), Sample::default());
    let body = json!({ "duration_ms": DELAY_MS, "summary": "look" }).to_string();
    for _ in 0..FIRED {
        bare.add(bare_lateness().await);
        let path = "/control/agents/late/timers";
        let (status, answer) = control.request("POST", path, &body).await?;
        expect_ok((status, answer.clone()))?;
        let timer: Value = serde_json::from_str(&answer)?;
        let planned = time(&timer["next_fire_at"])?;
        let event = fire(&mut events, timer["id"].as_str().ok_or("no id")?).await?;
        let heard = holon_daemon::wall_clock();
        late.add(since(planned, time(&event["ts"])?));
        told.add(since(planned, heard));
    }
    Ok(json!({
        "delay_ms": DELAY_MS,
        "bare_sleep": bare.report(),
        "lateness": late.report(),
        "p50_us_aim": LATE_P50_AIM_MS * 1_000, "p99_us_aim": LATE_P99_AIM_MS * 1_000,
        "to_event_at_subscriber": told.report(),
    }))
}

/// Due entries a second of one noisy agent whose timers all come at once, and the lateness of the timers of another agent
/// meanwhile.
pub(crate) async fn beside_noisy(holon: &Path, count: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), INSTANT)?).await?;
    let mut control = served.wire().await?;
    for agent in ["noisy", "quiet"] {
        let create = format!("/control/agents/{agent}/create");
        expect_ok(control.request("POST", &create, "{}").await?)?;
    }
    let mut events = served.wire().await?;
    events.stream("/events/stream").await?;
    let came = holon_daemon::wall_clock().plus_millis(SETTING_MS + count as u64 * 5);
    for _ in 0..count {
        set_timer(&mut control, "noisy", came).await?;
    }
    for n in 0..BESIDE {
        let at = came.plus_millis(n as u64 * BESIDE_EVERY_MS);
        set_timer(&mut control, "quiet", at).await?;
    }
    let (mut late, mut last, mut left) = (Sample::default(), came, count + BESIDE);
    while left > 0 {
        events.await_event("timer_fired").await?;
        let line = events.line().await?;
        let data = line.strip_prefix("data:").ok_or("an event without data")?;
        let event: Value = serde_json::from_str(data.trim())?;
        let (at, planned) = (time(&event["ts"])?, time(&event["payload"]["planned_at"])?);
        if event["agent_id"] == "quiet" {
            late.add(since(planned, at));
        } else {
            last = last.max(at);
        }
        left -= 1;
    }
    let took = since(came, last);
    Ok(json!({
        "entries": count,
        "entries_a_second": rate(count, took), "entries_a_second_aim": ENTRIES_AIM,
        "lateness_beside": late.report(), "p99_us_aim": LATE_P99_AIM_MS * 1_000,
    }))
}

async fn set_timer(control: &mut Wire, agent: &str, at: Timestamp) -> Fallible<()> {
    let path = format!("/control/agents/{agent}/timers");
    let body = json!({ "at": at, "summary": "look" }).to_string();
    expect_ok(control.request("POST", &path, &body).await?)
}

/// How late a sleep of this process ends.
async fn bare_lateness() -> Duration {
    let planned = holon_daemon::wall_clock().plus_millis(DELAY_MS);
    tokio::time::sleep(Duration::from_millis(DELAY_MS)).await;
    since(planned, holon_daemon::wall_clock())
}

/// Waits for the event of this timer's fire.
async fn fire(events: &mut Wire, timer: &str) -> Fallible<Value> {
    loop {
        events.await_event("timer_fired").await?;
        let line = events.line().await?;
        if line.contains(timer) {
            let data = line.strip_prefix("data:").ok_or("an event without data")?;
            return Ok(serde_json::from_str(data.trim())?);
        }
    }
}

fn time(value: &Value) -> Fallible<Timestamp> {
    Ok(serde_json::from_value(value.clone())?)
}

fn since(planned: Timestamp, at: Timestamp) -> Duration {
    Duration::from_millis(at.millis_since(planned))
}
