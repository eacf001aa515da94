//! The rules of a batch, with injected commit failures and a disk that is full at every position.

use super::CommitFault;
use crate::db::{Db, NOTE_PAUSE};
use crate::delete::Removal;
use crate::error::{Error, WriteError};
use crate::member::Member;
use crate::row::AgentNo;
use crate::samples::{Scribe, id};
use crate::tx::Tx;
use rusqlite::ffi::{SQLITE_FULL, SQLITE_IOERR_FSYNC};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

type Answers = Rc<RefCell<Vec<(usize, Result<(), WriteError>)>>>;
type Run<'a> = Box<dyn FnMut(&mut Tx<'_>) -> Result<(), Error> + 'a>;

/// A member that stores its answer under its number.
struct RecordingMember<'a> {
    number: usize,
    run: Run<'a>,
    answers: Answers,
}

impl Member for RecordingMember<'_> {
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Error> {
        (self.run)(tx)
    }
    fn answer(&mut self, verdict: Result<(), WriteError>) {
        self.answers.borrow_mut().push((self.number, verdict));
    }
}

/// Runs the closures as one batch and returns the answer of each, in order.
fn batch(db: &mut Db, runs: Vec<Run<'_>>) -> Vec<Result<(), WriteError>> {
    let answers: Answers = Rc::default();
    let mut members: std::collections::VecDeque<Box<dyn Member + '_>> = runs
        .into_iter()
        .enumerate()
        .map(|(number, run)| {
            Box::new(RecordingMember {
                number,
                run,
                answers: Rc::clone(&answers),
            }) as Box<dyn Member + '_>
        })
        .collect();
    while !members.is_empty() {
        db.run_batch(&mut || members.pop_front());
    }
    let mut told = answers.take();
    told.sort_by_key(|(number, _)| *number);
    told.into_iter().map(|(_, answer)| answer).collect()
}

/// Admits `text` to the agent `name`, which is created if it is missing.
fn admit(name: &'static str, text: String) -> Run<'static> {
    Box::new(move |tx| {
        let (no, mut scribe) = match tx.agent(&id(name))? {
            Some((no, record)) => (no, Scribe::from(record)),
            None => {
                let scribe = Scribe::new(name);
                (tx.create_agent(&scribe.record)?, scribe)
            }
        };
        tx.apply(no, &scribe.admit(&text).decide())
    })
}

fn refuse() -> Run<'static> {
    Box::new(|tx| {
        tx.create_agent(&Scribe::new("ghost").record)?;
        Err(Error::Refused {
            reason: "on purpose".to_owned(),
        })
    })
}

fn messages(db: &Db, name: &str) -> u64 {
    let found = db.reader().agent(&id(name)).expect("reads");
    found.map_or(0, |(no, _)| db.reader().queue(no).expect("reads").pending)
}

fn file_db() -> (tempfile::TempDir, Db) {
    let directory = tempfile::tempdir().expect("a directory");
    let db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
    (directory, db)
}

#[test]
fn a_member_that_fails_is_undone_and_the_others_share_one_commit() {
    let mut db = Db::in_memory().expect("opens");
    let told = batch(
        &mut db,
        vec![admit("a", "1".into()), refuse(), admit("a", "2".into())],
    );
    let refused = WriteError::Store(Error::Refused {
        reason: "on purpose".to_owned(),
    });
    assert_eq!(told, [Ok(()), Err(refused), Ok(())]);
    assert_eq!((messages(&db, "a"), db.commits()), (2, 1));
    assert_eq!(db.reader().agent(&id("ghost")), Ok(None));
}

#[test]
fn a_batch_in_which_everything_fails_makes_no_commit() {
    let mut db = Db::in_memory().expect("opens");
    assert!(
        batch(&mut db, vec![refuse(), refuse()])
            .iter()
            .all(Result::is_err)
    );
    assert_eq!(db.commits(), 0);
    assert!(db.conn.is_autocommit());
}

#[test]
fn a_write_that_only_reads_is_not_counted_as_a_commit() {
    let mut db = Db::in_memory().expect("opens");
    assert_eq!(db.write(|tx| tx.reader().next_due()), Ok(None));
    assert_eq!(db.commits(), 0);
}

#[test]
fn a_panic_undoes_one_member_and_is_answered_with_its_words() {
    let mut db = Db::in_memory().expect("opens");
    let mut first = admit("b", "lost".into());
    let panics: Run<'_> = Box::new(move |tx| {
        first(tx)?;
        panic!("a broken rule");
    });
    let told = batch(
        &mut db,
        vec![admit("a", "1".into()), panics, admit("a", "2".into())],
    );
    assert_eq!(
        told,
        [
            Ok(()),
            Err(WriteError::Panicked {
                message: "a broken rule".to_owned()
            }),
            Ok(())
        ]
    );
    assert_eq!((messages(&db, "a"), messages(&db, "b")), (2, 0));
}

#[test]
fn hooks_run_in_order_after_the_commit_and_only_for_members_that_hold() {
    let mut db = Db::in_memory().expect("opens");
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hooked = |number: u8, fails: Option<Error>| -> Run<'static> {
        let order = Arc::clone(&order);
        let mut write = admit("a", "x".into());
        Box::new(move |tx| {
            let order = Arc::clone(&order);
            tx.after_commit(Box::new(move || order.lock().expect("a lock").push(number)));
            write(tx)?;
            fails.clone().map_or(Ok(()), Err)
        })
    };
    let refused = Error::Refused {
        reason: String::new(),
    };
    let told = batch(
        &mut db,
        vec![hooked(1, None), hooked(2, Some(refused)), hooked(3, None)],
    );
    assert!(told[0].is_ok() && told[1].is_err() && told[2].is_ok());
    assert_eq!(*order.lock().expect("a lock"), [1, 3]);
}

#[test]
fn a_hook_that_panics_takes_nothing_from_the_others() {
    let mut db = Db::in_memory().expect("opens");
    let ran = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&ran);
    let outcome = db.write(|tx| {
        tx.after_commit(Box::new(|| panic!("a bad hook")));
        let seen = Arc::clone(&seen);
        tx.after_commit(Box::new(move || {
            seen.fetch_add(1, Ordering::Relaxed);
        }));
        Ok(7)
    });
    assert_eq!((outcome, ran.load(Ordering::Relaxed)), (Ok(7), 1));
}

#[test]
fn news_goes_out_once_per_agent_and_commit_with_the_newest_position() {
    let mut db = Db::in_memory().expect("opens");
    let mut news = db.subscribe();
    batch(
        &mut db,
        vec![
            admit("a", "1".into()),
            admit("b", "1".into()),
            admit("a", "2".into()),
            refuse(),
        ],
    );
    let mut heard = Vec::new();
    while let Ok(notice) = news.try_recv() {
        heard.push((notice.agent_id.to_string(), notice.newest_seq));
    }
    assert_eq!(heard, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
}

/// Limits the growth of the database to this many pages.
fn set_page_limit(db: &Db, more: u64) {
    let pages: u64 = db
        .conn
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .expect("counts");
    db.conn
        .execute_batch(&format!("PRAGMA max_page_count = {}", pages + more))
        .expect("sets");
}

#[test]
fn a_disk_that_is_full_for_one_member_at_any_position_fails_that_member_alone() {
    const MEMBERS: usize = 5;
    for position in 0..MEMBERS {
        let (_directory, mut db) = file_db();
        assert_eq!(batch(&mut db, vec![admit("a", "first".into())]), [Ok(())]);
        set_page_limit(&db, 64);
        let runs = || -> Vec<Run<'static>> {
            let text = |number| {
                if number == position {
                    "x".repeat(1 << 20)
                } else {
                    "small".to_owned()
                }
            };
            (0..MEMBERS)
                .map(|number| admit("a", text(number)))
                .collect()
        };
        let told = batch(&mut db, runs());
        for (number, answer) in told.iter().enumerate() {
            let expected = if number == position {
                Err(WriteError::DiskFull)
            } else {
                Ok(())
            };
            assert_eq!(
                *answer, expected,
                "member {number} with the large one at {position}"
            );
        }
        assert_eq!(
            messages(&db, "a"),
            MEMBERS as u64,
            "the first and all but one"
        );
        set_page_limit(&db, 1 << 16);
        assert_eq!(
            batch(&mut db, runs()),
            vec![Ok(()); MEMBERS],
            "there is space again"
        );
        assert_eq!(messages(&db, "a"), 2 * MEMBERS as u64);
    }
}

#[test]
fn a_full_disk_ends_the_transaction_and_members_before_it_are_run_again() {
    let (_directory, mut db) = file_db();
    assert_eq!(batch(&mut db, vec![admit("a", "first".into())]), [Ok(())]);
    set_page_limit(&db, 64);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let mut write = admit("a", "small".into());
    let small: Run<'_> = Box::new(move |tx| {
        counted.fetch_add(1, Ordering::Relaxed);
        write(tx)
    });
    let told = batch(&mut db, vec![small, admit("a", "x".repeat(1 << 20))]);
    assert_eq!(told, [Ok(()), Err(WriteError::DiskFull)]);
    assert_eq!(
        runs.load(Ordering::Relaxed),
        2,
        "its first run went with the transaction"
    );
    assert_eq!(messages(&db, "a"), 2, "and left nothing behind");
}

/// Ends the transaction behind the writer's back, and then returns the outcome.
fn rogue(outcome: Result<(), Error>) -> Run<'static> {
    Box::new(move |tx| {
        tx.reader().end_transaction_for_test();
        outcome.clone()
    })
}

#[test]
fn a_member_that_ends_the_transaction_itself_harms_nobody() {
    let gone = Error::Refused {
        reason: "gone".to_owned(),
    };
    for outcome in [Err(gone), Ok(())] {
        let (_directory, mut db) = file_db();
        let told = batch(
            &mut db,
            vec![
                admit("a", "1".into()),
                rogue(outcome.clone()),
                admit("a", "2".into()),
            ],
        );
        assert!(told[0].is_ok() && told[1].is_err() && told[2].is_ok());
        assert_eq!(messages(&db, "a"), 2);

        let (_directory, mut db) = file_db();
        let told = batch(&mut db, vec![rogue(outcome), admit("a", "1".into())]);
        assert!(told[0].is_err() && told[1].is_ok(), "{told:?}");
        assert_eq!(messages(&db, "a"), 1);
    }
}

#[test]
fn a_first_member_that_writes_and_fails_leaves_nothing_to_the_next() {
    let (_directory, mut db) = file_db();
    let panics: Run<'_> = Box::new(|tx| {
        tx.create_agent(&Scribe::new("ghost").record)?;
        panic!("on purpose")
    });
    let told = batch(
        &mut db,
        vec![refuse(), panics, admit("a", "1".into()), refuse()],
    );
    let held: Vec<bool> = told.iter().map(Result::is_ok).collect();
    assert_eq!(held, [false, false, true, false]);
    assert_eq!((messages(&db, "a"), db.commits()), (1, 1));
    assert_eq!(db.reader().agent(&id("ghost")), Ok(None));
}

#[test]
fn a_commit_that_failed_and_does_not_hold_is_made_again_member_by_member() {
    for code in [SQLITE_FULL, SQLITE_IOERR_FSYNC] {
        let (_directory, mut db) = file_db();
        db.faults.extend([CommitFault::Fails(code)]);
        let told = batch(
            &mut db,
            vec![admit("a", "1".into()), refuse(), admit("a", "2".into())],
        );
        assert!(told[0].is_ok() && told[1].is_err() && told[2].is_ok());
        assert_eq!((messages(&db, "a"), db.commits()), (2, 2));
    }
}

#[test]
fn a_member_whose_commit_finds_no_space_twice_is_told_so_and_the_rest_goes_on() {
    let (_directory, mut db) = file_db();
    let full = CommitFault::Fails(SQLITE_FULL);
    db.faults.extend([full, full, CommitFault::Works]);
    let told = batch(
        &mut db,
        vec![admit("a", "1".into()), admit("a", "2".into())],
    );
    assert_eq!(told, [Err(WriteError::DiskFull), Ok(())]);
    assert_eq!(messages(&db, "a"), 1);
    assert_eq!(
        batch(&mut db, vec![admit("a", "3".into())]),
        [Ok(())],
        "no wedged state is left"
    );
}

#[test]
fn a_commit_whose_sync_failed_twice_is_answered_as_unknown() {
    let (_directory, mut db) = file_db();
    let failed = CommitFault::Fails(SQLITE_IOERR_FSYNC);
    db.faults.extend([failed, failed]);
    assert_eq!(
        batch(&mut db, vec![admit("a", "1".into())]),
        [Err(WriteError::CommitUnknown)]
    );
    assert_eq!(batch(&mut db, vec![admit("a", "1".into())]), [Ok(())]);
    assert_eq!(messages(&db, "a"), 1);
}

#[test]
fn a_commit_that_holds_but_reports_failure_is_answered_as_written_once() {
    let (_directory, mut db) = file_db();
    let mut news = db.subscribe();
    db.faults
        .extend([CommitFault::HoldsButFails(SQLITE_IOERR_FSYNC)]);
    let told = batch(
        &mut db,
        vec![admit("a", "1".into()), admit("a", "2".into())],
    );
    assert_eq!(told, [Ok(()), Ok(())]);
    assert_eq!((messages(&db, "a"), db.commits()), (2, 1));
    assert_eq!(news.try_recv().map(|notice| notice.newest_seq), Ok(2));
    assert!(news.try_recv().is_err());
}

/// Removes every row of the agent `name` and counts its runs.
fn remove(name: &'static str, runs: &Arc<AtomicUsize>) -> Run<'static> {
    let runs = Arc::clone(runs);
    Box::new(move |tx| {
        runs.fetch_add(1, Ordering::Relaxed);
        if let Some((no, _)) = tx.agent(&id(name))? {
            assert_eq!(tx.remove_agent_rows(no, 1_000)?, Removal::Done);
        }
        Ok(())
    })
}

#[test]
fn a_commit_that_holds_is_recognised_although_a_later_member_removed_what_an_earlier_one_wrote() {
    let (_directory, mut db) = file_db();
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        db.faults
            .extend([CommitFault::HoldsButFails(SQLITE_IOERR_FSYNC)]);
        let told = batch(&mut db, vec![admit("a", "1".into()), remove("a", &runs)]);
        assert_eq!(told, [Ok(()), Ok(())]);
    }
    assert_eq!(runs.load(Ordering::Relaxed), 2, "nothing was run again");
    assert_eq!(db.reader().agent(&id("a")), Ok(None));
}

#[test]
fn a_commit_that_does_not_hold_is_not_mistaken_for_the_agent_whose_number_was_given_again() {
    let (_directory, mut db) = file_db();
    assert_eq!(batch(&mut db, vec![admit("a", "1".into())]), [Ok(())]);
    db.faults.extend([CommitFault::Fails(SQLITE_FULL)]);
    let runs = Arc::new(AtomicUsize::new(0));
    let told = batch(&mut db, vec![remove("a", &runs), admit("b", "1".into())]);
    assert_eq!(told, [Ok(()), Ok(())]);
    assert_eq!((messages(&db, "a"), messages(&db, "b")), (0, 1));
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[test]
fn a_failed_commit_without_an_event_to_look_for_is_unknown() {
    let (_directory, mut db) = file_db();
    let failed = CommitFault::Fails(SQLITE_IOERR_FSYNC);
    db.faults.extend([failed]);
    assert_eq!(outcome_after(&mut db), Err(WriteError::CommitUnknown));
    assert_eq!(outcome_after(&mut db), Ok(AgentNo(1)));
}

#[test]
fn a_commit_without_an_event_that_finds_no_space_twice_is_told_so() {
    let (_directory, mut db) = file_db();
    let full = CommitFault::Fails(SQLITE_FULL);
    db.faults.extend([full, full]);
    assert_eq!(outcome_after(&mut db), Err(WriteError::DiskFull));
    assert_eq!(outcome_after(&mut db), Ok(AgentNo(1)));
}

fn outcome_after(db: &mut Db) -> Result<AgentNo, WriteError> {
    db.write(|tx| tx.create_agent(&Scribe::new("a").record))
}

fn is_lost(told: &[Result<(), WriteError>]) -> bool {
    told.iter()
        .all(|answer| matches!(answer, Err(WriteError::StoreLost(_))))
}

#[test]
fn a_commit_into_a_store_that_is_lost_is_acknowledged_to_nobody_and_none_follows() {
    let (directory, mut db) = file_db();
    let (here, away) = (
        directory.path().join("s.sqlite3"),
        directory.path().join("away"),
    );
    assert_eq!(batch(&mut db, vec![admit("a", "1".into())]), [Ok(())]);
    let mut news = db.subscribe();
    std::fs::rename(&here, &away).expect("moves");
    let told = batch(
        &mut db,
        vec![admit("a", "2".into()), refuse(), admit("a", "3".into())],
    );
    assert!(is_lost(&told[..1]) && is_lost(&told[2..]), "{told:?}");
    assert!(matches!(told[1], Err(WriteError::Store(_))), "{told:?}");
    assert!(news.try_recv().is_err(), "nobody hears of it");
    std::fs::rename(&away, &here).expect("moves back");
    let late = batch(&mut db, vec![admit("a", "4".into())]);
    assert!(is_lost(&late), "what was lost stays lost: {late:?}");
    assert_eq!(messages(&db, "a"), 3, "nothing was begun any more");
}

#[test]
fn a_failed_commit_is_not_made_again_in_a_backup_that_took_the_place_of_the_store() {
    for code in [SQLITE_FULL, SQLITE_IOERR_FSYNC] {
        let (directory, mut db) = file_db();
        let here = directory.path().join("s.sqlite3");
        assert_eq!(batch(&mut db, vec![admit("a", "1".into())]), [Ok(())]);
        let backup = directory.path().join("backup");
        std::fs::write(&backup, db.image().expect("copies")).expect("writes");
        let before = std::fs::read(&backup).expect("reads");
        std::fs::rename(&backup, &here).expect("takes its place");
        db.faults.extend([CommitFault::Fails(code)]);
        let told = batch(
            &mut db,
            vec![admit("a", "2".into()), admit("a", "3".into())],
        );
        assert!(is_lost(&told), "{told:?}");
        drop(db);
        assert!(std::fs::read(&here).expect("reads") == before, "untouched");
    }
}

#[test]
fn a_store_that_was_overwritten_in_its_place_is_not_written_to_again() {
    let (directory, mut db) = file_db();
    assert_eq!(batch(&mut db, vec![admit("a", "1".into())]), [Ok(())]);
    db.conn
        .execute("UPDATE meta SET value = 'another' WHERE key = 'epoch'", [])
        .expect("changes");
    db.faults.extend([CommitFault::Fails(SQLITE_IOERR_FSYNC)]);
    let told = batch(&mut db, vec![admit("a", "2".into())]);
    assert!(is_lost(&told), "{told:?}");
    drop(directory);
}

#[test]
fn the_first_commit_after_a_pause_that_an_older_log_lacks_is_told() {
    let (directory, mut db) = file_db();
    let here = directory.path().join("s.sqlite3");
    let log = directory.path().join("s.sqlite3-wal");
    assert_eq!(batch(&mut db, vec![admit("a", "1".into())]), [Ok(())]);
    db.tend();
    let note = || std::fs::read_to_string(directory.path().join("s.sqlite3-held"));
    let older = std::fs::read(&log).expect("reads");
    let noted = note().expect("reads");
    let now = std::time::Instant::now();
    db.noted_at = Some(now + 1_000 * NOTE_PAUSE);
    assert_eq!(batch(&mut db, vec![admit("a", "2".into())]), [Ok(())]);
    assert_eq!(note().expect("reads"), noted, "a busy host notes nothing");
    db.noted_at = now.checked_sub(NOTE_PAUSE);
    assert_eq!(batch(&mut db, vec![admit("a", "3".into())]), [Ok(())]);
    drop(db);
    std::fs::write(&log, older).expect("puts back");
    let again = Db::open(&here).expect("opens");
    assert_eq!(messages(&again, "a"), 1);
    let told = again.findings().iter();
    let lost: Vec<_> = told
        .filter(|found| found.contains("missing from"))
        .collect();
    assert_eq!(lost.len(), 1, "{:?}", again.findings());
}

#[test]
fn what_was_acknowledged_survives_the_log_it_stood_in() {
    let (directory, mut db) = file_db();
    let here = directory.path().join("s.sqlite3");
    assert_eq!(batch(&mut db, vec![admit("a", "1".into())]), [Ok(())]);
    std::fs::remove_file(directory.path().join("s.sqlite3-wal")).expect("removes");
    assert!(is_lost(&batch(&mut db, vec![admit("a", "2".into())])));
    drop(db);
    let again = Db::open(&here).expect("opens");
    assert!(messages(&again, "a") >= 1, "{}", messages(&again, "a"));
    assert!(
        again.findings().iter().any(|found| found.contains("log")),
        "{:?}",
        again.findings()
    );
}
