//! The list compared with the queue it is made from, also for agents of earlier builds.

use crate::db::Db;
use crate::row::AgentNo;
use crate::samples::Scribe;
use holon_domain::message::Priority;
use holon_domain::queue::QueueStatus;

fn stored(scribe: &mut Scribe) -> (Db, AgentNo) {
    let mut db = Db::in_memory().expect("opens");
    let no = db.write(|tx| tx.create_agent(&scribe.record));
    (db, no.expect("creates"))
}

fn apply(db: &mut Db, no: AgentNo, scribe: &mut Scribe) {
    let decision = scribe.decide();
    db.write(|tx| tx.apply(no, &decision)).expect("writes");
}

/// Resets the agent's row to the state of an earlier build.
fn forget_list(db: &Db) {
    let sql = "DELETE FROM interjections; UPDATE agents SET interjections_listed = NULL";
    db.conn.execute_batch(sql).expect("writes");
}

fn found(db: &Db, no: AgentNo) -> Vec<u64> {
    let entries = db.reader().joining(no, &[]).expect("reads");
    entries.iter().map(|entry| entry.seq).collect()
}

#[test]
fn an_agent_of_an_earlier_build_is_listed_at_its_first_write() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = stored(&mut scribe);
    scribe.admit_as(Priority::Background, "later");
    scribe.admit_as(Priority::Interject, "first");
    scribe.admit_as(Priority::Interject, "second");
    apply(&mut db, no, &mut scribe);
    forget_list(&db);
    assert_eq!(found(&db, no), [2, 3], "before it is listed");

    scribe.shift(2, QueueStatus::Queued, QueueStatus::Interjected);
    scribe.admit_as(Priority::Interject, "third");
    apply(&mut db, no, &mut scribe);
    assert_eq!(found(&db, no), [3, 4], "and after");
    let listed = "SELECT count(*) FROM interjections";
    let listed = db.conn.query_row(listed, [], |row| row.get::<_, i64>(0));
    assert_eq!(listed, Ok(2));
}

#[test]
fn a_message_that_returns_to_the_queue_is_listed_again_in_its_place() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = stored(&mut scribe);
    scribe.admit_as(Priority::Interject, "first");
    scribe.admit_as(Priority::Interject, "second");
    apply(&mut db, no, &mut scribe);
    scribe.shift(1, QueueStatus::Queued, QueueStatus::Dequeued);
    apply(&mut db, no, &mut scribe);
    assert_eq!(found(&db, no), [2]);
    scribe.shift(1, QueueStatus::Dequeued, QueueStatus::Queued);
    apply(&mut db, no, &mut scribe);
    assert_eq!(found(&db, no), [1, 2]);
}

#[test]
fn the_newest_short_message_joins_although_older_ones_fill_the_round() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = stored(&mut scribe);
    let long = "a remark ".repeat(800);
    for _ in 0..20 {
        scribe.admit_as(Priority::Interject, &long);
    }
    scribe.admit_as(Priority::Interject, "stop now");
    apply(&mut db, no, &mut scribe);
    let joining = found(&db, no);
    assert!(joining.len() < 21, "the older ones do not all fit");
    assert_eq!(joining.last(), Some(&21));
    scribe.admit_as(Priority::Interject, &long);
    apply(&mut db, no, &mut scribe);
    assert!(!found(&db, no).contains(&22), "a long one waits");
}
