//! Restarts from an image, after a close and after a crash.

use crate::samples::{Scribe, id};
use crate::{apply, with_agent};
use holon_store::{Db, Readers, Writer};

#[test]
fn an_image_holds_what_was_committed_and_counts_as_an_unclean_exit() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    apply(&mut db, no, &scribe.admit("1").decide()).expect("writes");
    let image = db.image().expect("an image");
    apply(&mut db, no, &scribe.admit("2").decide()).expect("writes");
    let crashed = Db::from_image(&image).expect("starts");
    let (no, record) = crashed
        .reader()
        .agent(&id("a"))
        .expect("reads")
        .expect("is there");
    assert_eq!(
        (
            crashed.reader().queue(no).expect("reads").pending,
            record.counters.messages
        ),
        (1, 1)
    );
    assert!(!crashed.last_exit().was_clean());
    assert_eq!(crashed.epoch(), db.epoch());
    assert_eq!(crashed.commits(), 0);
}

#[test]
fn an_image_of_a_file_starts_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
    db.write(|tx| tx.create_agent(&Scribe::new("a").record))
        .expect("creates");
    let copy = Db::from_image(&db.image().expect("an image")).expect("starts");
    assert!(copy.reader().agent(&id("a")).expect("reads").is_some());
}

#[test]
fn something_that_is_no_image_is_refused() {
    assert!(Db::from_image(b"not a database").is_err());
    assert!(Db::from_image(&[]).is_err());
}

#[test]
fn a_new_store_counts_as_clean_a_closed_one_too_and_a_dropped_one_does_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let db = Db::open(&path).expect("opens");
    let epoch = db.epoch().to_owned();
    assert!(db.last_exit().was_clean());
    drop(db);
    let db = Db::open(&path).expect("opens");
    assert!(!db.last_exit().was_clean(), "it was dropped");
    db.close().expect("closes");
    let db = Db::open(&path).expect("opens");
    assert!(db.last_exit().was_clean(), "it was closed");
    assert_eq!(db.epoch(), epoch);
}

#[test]
fn closing_empties_the_write_ahead_log() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let mut db = Db::open(&path).expect("opens");
    db.write(|tx| tx.create_agent(&Scribe::new("a").record))
        .expect("creates");
    db.close().expect("closes");
    let left = std::fs::metadata(directory.path().join("s.sqlite3-wal")).map(|wal| wal.len());
    assert!(left.is_err() || left.is_ok_and(|bytes| bytes == 0));
}

#[test]
fn two_stores_have_two_epochs_and_only_their_user_reads_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a directory");
    let (one, two) = (
        directory.path().join("1.sqlite3"),
        directory.path().join("2.sqlite3"),
    );
    let (first, second) = (
        Db::open(&one).expect("opens"),
        Db::open(&two).expect("opens"),
    );
    assert_ne!(first.epoch(), second.epoch());
    for suffix in ["", "-wal", "-shm"] {
        let path = directory.path().join(format!("1.sqlite3{suffix}"));
        let mode = std::fs::metadata(&path)
            .expect("is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_restored_copy_without_a_write_ahead_log_gets_one_when_it_is_opened() {
    // Journal mode in the file header: 1 for a rollback journal, 2 for a write-ahead log.
    let journal = |path: &std::path::Path| std::fs::read(path).expect("reads")[18..20].to_vec();
    let directory = tempfile::tempdir().expect("a directory");
    let (path, copy) = (
        directory.path().join("s.sqlite3"),
        directory.path().join("copy.sqlite3"),
    );
    let mut db = Db::open(&path).expect("opens");
    db.write(|tx| tx.create_agent(&Scribe::new("a").record))
        .expect("creates");
    std::fs::write(&copy, db.image().expect("an image")).expect("writes");
    assert_eq!((journal(&path), journal(&copy)), (vec![2, 2], vec![1, 1]));
    let restored = Db::open(&copy).expect("opens");
    assert!(restored.reader().agent(&id("a")).expect("reads").is_some());
    assert_eq!(journal(&copy), [2, 2]);
}

#[test]
fn a_creation_that_was_cut_off_is_started_over() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("s.sqlite3.new"), "half").expect("writes");
    std::fs::write(directory.path().join("s.sqlite3.new-journal"), "half").expect("writes");
    let db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
    assert!(db.last_exit().was_clean());
    assert!(!directory.path().join("s.sqlite3.new").exists());
}

#[tokio::test]
async fn a_sound_file_passes_the_quick_check() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let writer = Writer::start(Db::open(&path).expect("opens"));
    let readers = Readers::open(&path).expect("opens");
    assert_eq!(readers.quick_check().await, Ok(Vec::new()));
    writer.close().await.expect("closes");
}

/// Copies the file and the part of its log that a crash might leave.
fn crash(from: &std::path::Path, to: &std::path::Path, log_bytes: usize) {
    let wal = |path: &std::path::Path| path.with_extension("sqlite3-wal");
    std::fs::copy(from, to).expect("copies");
    let log = std::fs::read(wal(from)).expect("reads");
    std::fs::write(wal(to), &log[..log_bytes.min(log.len())]).expect("writes");
}

#[test]
fn a_crash_at_any_byte_of_the_log_leaves_a_sound_prefix_of_the_commits() {
    const COMMITS: u64 = 6;
    let directory = tempfile::tempdir().expect("a directory");
    let (live, copy) = (
        directory.path().join("live.sqlite3"),
        directory.path().join("copy.sqlite3"),
    );
    let mut db = Db::open(&live).expect("opens");
    let mut scribe = Scribe::new("a");
    let no = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    for _ in 0..COMMITS {
        apply(&mut db, no, &scribe.admit("x").open_effect().decide()).expect("writes");
    }
    let length = usize::try_from(
        std::fs::metadata(live.with_extension("sqlite3-wal"))
            .expect("is there")
            .len(),
    );
    let length = length.expect("fits");
    let mut seen = std::collections::BTreeSet::new();
    for part in 0..=60 {
        crash(&live, &copy, length * part / 60);
        let found = Db::open(&copy).expect("opens");
        let agent = found.reader().agent(&id("a")).expect("reads");
        let held = agent
            .as_ref()
            .map_or(0, |(_, record)| record.counters.messages);
        if let Some((no, _)) = agent {
            assert_eq!(found.reader().queue(no).expect("reads").pending, held);
            assert_eq!(
                found.reader().outstanding(no).expect("reads").effects.len() as u64,
                held
            );
        }
        seen.insert(held);
        drop(found);
    }
    assert_eq!(seen.first(), Some(&0), "nothing of the log");
    assert_eq!(seen.last(), Some(&COMMITS), "all that was answered");
    assert!(seen.len() > 2, "and something between: {seen:?}");
}
