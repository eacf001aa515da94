//! Files that are not sound stores: refused by name with a next step, and left unchanged.

use crate::samples::Scribe;
use holon_store::{Db, Error, Readers};
use std::path::Path;

/// Overwrites four bytes of a store's header.
fn patch(file: &mut [u8], at: usize, value: u32) {
    file[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

fn sound_file(directory: &Path) -> Vec<u8> {
    let path = directory.join("sound.sqlite3");
    let mut db = Db::open(&path).expect("opens");
    db.write(|tx| tx.create_agent(&Scribe::new("a").record))
        .expect("creates");
    db.close().expect("closes");
    std::fs::read(path).expect("reads")
}

#[test]
fn a_file_that_is_not_a_sound_store_is_refused_and_left_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let sound = sound_file(directory.path());
    let patched = |at, value| {
        let mut file = sound.clone();
        patch(&mut file, at, value);
        file
    };
    let mut scrambled = sound.clone();
    scrambled[100..200].fill(0xff);
    let cases: [(&str, Vec<u8>, &str); 8] = [
        ("zero length", Vec::new(), "empty"),
        ("a cut-off header", sound[..60].to_vec(), "cut off"),
        ("garbage", vec![0x5a; 8_192], "not an SQLite database"),
        (
            "text",
            b"{\"this\": \"is no database\"}".repeat(9),
            "not an SQLite database",
        ),
        (
            "a cut-off file",
            sound[..sound.len() / 2].to_vec(),
            "cut off",
        ),
        (
            "another program's file",
            patched(68, 0x1234_5678),
            "another program",
        ),
        ("an unmarked database", patched(68, 0), "another program"),
        ("a scrambled first page", scrambled, "malformed"),
    ];
    for (what, bytes, said) in cases {
        let path = directory.path().join("damaged.sqlite3");
        std::fs::write(&path, &bytes).expect("writes");
        let error = Db::open(&path).map(drop).expect_err(what);
        assert!(matches!(error, Error::Damaged { .. }), "{what}: {error:?}");
        let text = error.to_string();
        let parts = [
            path.to_str().expect("a name"),
            said,
            "left untouched",
            "backup",
            ".recover",
        ];
        assert!(
            parts.iter().all(|part| text.contains(part)),
            "{what}: {text}"
        );
        assert!(Readers::open(&path).is_err(), "{what} is not read either");
        assert!(
            std::fs::read(&path).expect("reads") == bytes,
            "{what} was changed"
        );
    }
}

#[test]
fn a_store_of_a_newer_build_is_refused_with_both_versions() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut bytes = sound_file(directory.path());
    patch(&mut bytes, 60, 999);
    let path = directory.path().join("newer.sqlite3");
    std::fs::write(&path, &bytes).expect("writes");
    let error = Db::open(&path).map(drop).expect_err("is refused");
    assert!(
        matches!(error, Error::NewerSchema { found: 999, known, .. } if known < 999),
        "{error:?}"
    );
    assert!(std::fs::read(&path).expect("reads") == bytes);
}

#[test]
fn a_store_whose_file_is_gone_but_whose_log_is_there_is_not_made_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let wal = directory.path().join("s.sqlite3-wal");
    std::fs::write(&wal, "frames").expect("writes");
    let error = Db::open(&path).map(drop).expect_err("is refused");
    assert!(error.to_string().contains("write-ahead log"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_store_in_a_directory_that_is_not_there_is_an_error_with_its_path() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("missing").join("s.sqlite3");
    let error = Db::open(&path).map(drop).expect_err("is refused");
    assert!(
        matches!(&error, Error::File { path: named, .. } if *named == path),
        "{error:?}"
    );
}

/// Changes rows of a closed store with SQL.
fn change(path: &Path, sql: &str) {
    let changed = rusqlite::Connection::open(path)
        .and_then(|conn| conn.execute(sql, []))
        .expect("changes");
    assert!(changed > 0, "{sql}");
}

#[test]
fn a_store_that_lost_its_epoch_or_its_exit_mark_opens_with_a_new_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let first = Db::open(&path).expect("opens");
    let mut epochs = vec![first.epoch().to_owned()];
    first.close().expect("closes");
    for sql in [
        "DELETE FROM meta WHERE key = 'epoch'",
        "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE key = 'epoch'",
    ] {
        change(&path, sql);
        let db = Db::open(&path).expect("opens");
        epochs.push(db.epoch().to_owned());
        db.close().expect("closes");
        let again = Db::open(&path).expect("opens");
        assert_eq!(Some(again.epoch()), epochs.last().map(String::as_str));
        assert!(again.last_exit().was_clean());
        again.close().expect("closes");
    }
    epochs.sort();
    epochs.dedup();
    assert_eq!(epochs.len(), 3, "each is new: {epochs:?}");
    change(&path, "DELETE FROM meta WHERE key = 'clean_exit'");
    let db = Db::open(&path).expect("opens");
    assert!(!db.last_exit().was_clean(), "nobody says that it was");
    db.close().expect("closes");
    let again = Db::open(&path).expect("opens");
    assert!(again.last_exit().was_clean(), "the mark is back");
}

#[test]
fn the_number_of_an_agent_whose_row_is_gone_is_not_given_to_another() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let mut db = Db::open(&path).expect("opens");
    let mut scribe = Scribe::new("a");
    let first = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    let decision = scribe.event().decide();
    db.write(|tx| tx.apply(first, &decision)).expect("writes");
    db.close().expect("closes");
    change(&path, "DELETE FROM agents");
    let mut db = Db::open(&path).expect("opens");
    let mut scribe = Scribe::new("b");
    let second = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    assert_ne!(first, second);
    let decision = scribe.event().decide();
    db.write(|tx| tx.apply(second, &decision)).expect("writes");
}
