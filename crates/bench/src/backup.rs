//! A backup of a running host with a large store: how long it takes, and what admissions wait for meanwhile.

use crate::backlog::Backlog;
use crate::program::{Fallible, HELD, Served, expect_ok, home, script};
use crate::stats::{Sample, round};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes of each message that fills the store.
const BODY: usize = 256 << 10;
/// Plain copies and backups, in alternation.
const ROUNDS: usize = 3;
/// Admissions without a backup before each of them.
const QUIET: usize = 500;

/// Backs up a home whose store has about this many bytes, while one client goes on sending messages. The baseline is a
/// plain copy of the store's file, and the same client on the host without a backup.
pub(crate) async fn running(holon: &Path, bytes: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let store = home.join("state/holon.sqlite3");
    let mut backlog = Backlog::create(&store, "archive")?;
    backlog.add_large_messages(bytes / BODY, BODY)?;
    backlog.stop()?;
    backlog.close()?;
    let served = Served::start(holon, &home, &script(dir.path(), HELD)?).await?;
    let mut wire = served.wire().await?;
    let created = wire.request("POST", "/control/agents/client/create", "{}");
    expect_ok(created.await?)?;
    // The first message opens a turn that never ends; those that follow are queued.
    admit(&mut wire).await?;
    let store_bytes = fs::metadata(&store)?.len();
    let (mut copies, mut backups) = (Sample::default(), Sample::default());
    let (mut quiet, mut during) = (Sample::default(), Sample::default());
    for number in 0..ROUNDS {
        copies.add(plain_copy(&store, &dir.path().join("copy"))?);
        for _ in 0..QUIET {
            quiet.add(admit(&mut wire).await?);
        }
        let target = dir.path().join(format!("{number}.tar"));
        let made = tokio::task::spawn_blocking({
            let (holon, home, target) = (holon.to_owned(), home.clone(), target.clone());
            move || back_up(&holon, &home, &target)
        });
        while !made.is_finished() {
            during.add(admit(&mut wire).await?);
        }
        backups.add(made.await??);
        fs::remove_file(&target)?;
    }
    let rate = |took: &Sample| round(store_bytes as f64 / took.quantile(0.5));
    Ok(json!({
        "store_mb": round(store_bytes as f64 / 1e6),
        "plain_copy": copies.report(),
        "plain_copy_mb_per_second": rate(&copies),
        "backup": backups.report(),
        "backup_mb_per_second": rate(&backups),
        "admission_quiet": quiet.report(),
        "admission_during_backup": during.report(),
        "p50_ratio": round(during.quantile(0.5) / quiet.quantile(0.5)),
        "p99_ratio": round(during.quantile(0.99) / quiet.quantile(0.99)),
    }))
}

async fn admit(wire: &mut Wire) -> Fallible<Duration> {
    let began = Instant::now();
    let body = r#"{"text":"something happened outside"}"#;
    expect_ok(wire.request("POST", "/agents/client/enqueue", body).await?)?;
    Ok(began.elapsed())
}

fn back_up(holon: &Path, home: &Path, target: &Path) -> Fallible<Duration> {
    let began = Instant::now();
    let status = Command::new(holon)
        .arg("backup")
        .arg(target)
        .env("HOLON_HOME", home)
        .stdout(Stdio::null())
        .status()?;
    let took = began.elapsed();
    match status.success() {
        true => Ok(took),
        false => Err(format!("the backup ended with {status}").into()),
    }
}

/// Copies a file and waits until the copy is on disk.
fn plain_copy(from: &Path, to: &PathBuf) -> Fallible<Duration> {
    let began = Instant::now();
    fs::copy(from, to)?;
    File::open(to)?.sync_all()?;
    let took = began.elapsed();
    fs::remove_file(to)?;
    Ok(took)
}
