//! A store whose files disappear while it is open, and between two processes.

use crate::samples::{Scribe, id};
use holon_store::{
    Db, Error, Home, HomeError, Occupant, StoreLost, Tx, WriteError, WriteOrder, Writer, survey,
};
use std::fs;
use std::path::{Path, PathBuf};

fn admit(tx: &mut Tx<'_>) -> Result<u64, Error> {
    let (no, mut scribe) = match tx.agent(&id("a"))? {
        Some((no, record)) => (no, Scribe::from(record)),
        None => {
            let scribe = Scribe::new("a");
            (tx.create_agent(&scribe.record)?, scribe)
        }
    };
    tx.apply(no, &scribe.admit("x").decide())?;
    Ok(scribe.record.counters.messages)
}

fn pending(db: &Db) -> u64 {
    let found = db.reader().agent(&id("a")).expect("reads");
    found.map_or(0, |(no, _)| db.reader().queue(no).expect("reads").pending)
}

struct StoreDir {
    directory: tempfile::TempDir,
}

impl StoreDir {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Creates a store with this many messages whose process ended without closing it.
    fn crashed(&self, messages: usize) -> PathBuf {
        let path = self.path("s.sqlite3");
        let mut db = Db::open(&path).expect("opens");
        for _ in 0..messages {
            db.write(admit).expect("writes");
        }
        path
    }
}

#[tokio::test]
async fn a_writer_that_has_nothing_to_do_notices_that_its_store_is_gone_and_says_so_to_those_who_come()
 {
    let dir = StoreDir::new();
    let home = Home::open(&dir.path("home")).expect("opens");
    let db = Db::open_home(&home, Occupant::Host).expect("opens");
    let mut lost = db.lost();
    let writer = Writer::start(db);
    assert_eq!(writer.write(WriteOrder::client(0), admit).await, Ok(1));
    fs::remove_file(home.lock_path()).expect("removes");
    let found = lost.wait_for(Option::is_some).await.expect("is told");
    let found: StoreLost = found.clone().expect("is lost");
    assert_eq!(found.path, home.lock_path());
    assert!(found.to_string().contains("was deleted"), "{found}");
    let late = writer.write(WriteOrder::client(0), admit).await;
    assert_eq!(late, Err(WriteError::StoreLost(found.clone())));
    assert_eq!(writer.lost(), Some(found.clone()));
    assert_eq!(writer.close().await, Err(Error::Lost(found)));
}

#[test]
fn a_home_whose_lock_file_was_deleted_takes_no_second_owner() {
    let dir = StoreDir::new();
    let path = dir.path("home");
    let first = Home::open(&path).expect("opens");
    fs::remove_file(first.lock_path()).expect("removes");
    let second = Home::open(&path);
    assert!(
        matches!(second, Err(HomeError::Owned { pid: None, .. })),
        "{second:?}"
    );
    assert!(!first.lock_path().exists(), "none was made in its place");
    drop(first);
    Home::open(&path).expect("opens again");
}

fn told(db: &Db, words: &str) -> bool {
    db.findings().iter().any(|found| found.contains(words))
}

#[tokio::test]
async fn what_went_with_the_log_of_a_crashed_process_is_told() {
    let dir = StoreDir::new();
    let path = dir.path("s.sqlite3");
    let writer = Writer::start(Db::open(&path).expect("opens"));
    for _ in 0..3 {
        writer
            .write(WriteOrder::client(0), admit)
            .await
            .expect("writes");
    }
    // The process records its progress when idle.
    let note = || fs::read_to_string(dir.path("s.sqlite3-held")).unwrap_or_default();
    while !note().contains("\"row_no\":3") {
        tokio::task::yield_now().await;
    }
    for name in ["s.sqlite3", "s.sqlite3-held", "s.sqlite3-wal"] {
        fs::copy(dir.path(name), dir.path(&format!("copy-{name}"))).expect("copies");
    }
    writer.close().await.expect("closes");
    for name in ["s.sqlite3", "s.sqlite3-held"] {
        let copy = fs::read(dir.path(&format!("copy-{name}"))).expect("reads");
        fs::write(dir.path(name), copy).expect("puts back");
    }
    let agents = dir.path("agents");
    let found = survey(&path, &agents).expect("reads");
    assert!(
        found
            .iter()
            .any(|line| line.contains("rows that were committed")),
        "{found:?}"
    );
    let db = Db::open(&path).expect("opens");
    assert_eq!(pending(&db), 0, "it was all in the log");
    assert!(
        told(&db, "write-ahead log") && told(&db, "rows that were committed"),
        "{:?}",
        db.findings()
    );
    db.close().expect("closes");
    let db = Db::open(&path).expect("opens");
    assert!(db.findings().is_empty(), "told once: {:?}", db.findings());
}

#[test]
fn commits_of_a_young_process_that_an_older_log_lacks_are_told() {
    let dir = StoreDir::new();
    let path = dir.path("s.sqlite3");
    let mut db = Db::open(&path).expect("opens");
    db.write(admit).expect("writes");
    let wal = dir.path("s.sqlite3-wal");
    let older = fs::read(&wal).expect("reads");
    for _ in 0..2 {
        db.write(admit).expect("writes");
    }
    drop(db);
    // The same file gets older content, so only the noted progress can tell.
    fs::write(&wal, older).expect("puts back");
    let db = Db::open(&path).expect("opens");
    assert_eq!(pending(&db), 1);
    assert!(told(&db, "rows that were committed"), "{:?}", db.findings());
}

#[test]
fn a_crash_that_took_nothing_with_it_leaves_nothing_to_tell() {
    let dir = StoreDir::new();
    let path = dir.crashed(2);
    let agents = dir.path("agents");
    assert_eq!(survey(&path, &agents), Ok(Vec::new()));
    let db = Db::open(&path).expect("opens");
    assert!(db.findings().is_empty(), "{:?}", db.findings());
    assert_eq!(pending(&db), 2);
    db.close().expect("closes");
    for name in ["s.sqlite3-wal", "s.sqlite3-shm"] {
        drop(fs::remove_file(dir.path(name)));
    }
    assert_eq!(survey(&path, &agents), Ok(Vec::new()), "a file alone");
    assert_eq!(survey(&dir.path("none"), &agents), Ok(Vec::new()));
}

#[test]
fn a_log_is_not_mixed_with_a_file_that_took_the_place_of_its_own() {
    let dir = StoreDir::new();
    let path = dir.path("s.sqlite3");
    let mut db = Db::open(&path).expect("opens");
    db.write(admit).expect("writes");
    let backup = dir.path("backup");
    fs::write(&backup, db.image().expect("copies")).expect("writes");
    db.write(admit).expect("writes");
    drop(db);
    let before = fs::read(&backup).expect("reads");
    fs::rename(&path, dir.path("held")).expect("moves");
    fs::rename(&backup, &path).expect("takes its place");
    let error = Db::open(&path).map(drop).expect_err("is refused");
    assert!(matches!(error, Error::ForeignLog { .. }), "{error:?}");
    assert!(error.to_string().contains("move the log aside"), "{error}");
    assert!(survey(&path, &dir.path("agents")).is_err());
    assert!(fs::read(&path).expect("reads") == before, "untouched");
    fs::rename(dir.path("s.sqlite3-wal"), dir.path("held-wal")).expect("moves");
    let db = Db::open(&path).expect("opens");
    assert_eq!(pending(&db), 1, "what the backup had");
    assert!(told(&db, "another file"), "{:?}", db.findings());
    let held = Db::open(&dir.path("held")).expect("opens");
    assert_eq!(
        pending(&held),
        2,
        "and nothing that was acknowledged is missing here"
    );
}

#[test]
fn a_store_behind_a_symbolic_link_is_refused_with_the_next_step() {
    for name in ["s.sqlite3", "s.sqlite3-wal", "s.sqlite3-shm"] {
        let dir = StoreDir::new();
        let path = dir.crashed(2);
        let (here, away) = (dir.path(name), dir.path("away"));
        fs::rename(&here, &away).expect("moves");
        std::os::unix::fs::symlink(&away, &here).expect("links");
        let error = Db::open(&path).map(drop).expect_err("is refused");
        let text = error.to_string();
        assert!(
            text.contains(&format!(
                "{} is a symbolic link to {}",
                here.display(),
                away.display()
            )) && text.contains("move"),
            "{text}"
        );
        assert_eq!(survey(&path, &dir.path("agents")), Err(error));
        fs::rename(&away, &here).expect("moves back");
        let db = Db::open(&path).expect("opens");
        assert_eq!(pending(&db), 2, "{name}: nothing acknowledged is missing");
    }
}

#[test]
fn a_log_that_went_with_all_commits_is_told_as_a_loss() {
    let dir = StoreDir::new();
    let path = dir.crashed(3);
    fs::remove_file(dir.path("s.sqlite3-wal")).expect("removes");
    let db = Db::open(&path).expect("opens");
    assert_eq!(pending(&db), 0, "it was all in the log");
    assert!(told(&db, "rows that were committed"), "{:?}", db.findings());
    assert!(!told(&db, "nothing is missing"), "{:?}", db.findings());
}

fn directory(agents: &Path, name: &str) {
    fs::create_dir_all(agents.join(name)).expect("makes");
}

#[test]
fn homes_without_an_agent_are_named() {
    let dir = StoreDir::new();
    let path = dir.crashed(1);
    let agents = dir.path("agents");
    for name in ["a", "stray", ".under-way"] {
        directory(&agents, name);
    }
    fs::write(agents.join("a-file"), "").expect("writes");
    let found = survey(&path, &agents).expect("reads");
    assert_eq!(found.len(), 1, "{found:?}");
    let named = agents.join("stray").display().to_string();
    assert!(found[0].starts_with(&named), "{found:?}");
    let db = Db::open(&path).expect("opens");
    assert_eq!(db.strays(&agents), Ok(found));
    for number in 0..30 {
        directory(&agents, &format!("more-{number}"));
    }
    let found = db.strays(&agents).expect("reads");
    assert_eq!(found.len(), 21);
    assert!(found[20].contains("11 more"), "{found:?}");
}
