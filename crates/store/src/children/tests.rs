//! Tests of what a parent reads of its child when rows of the child cannot be read.

use super::*;
use crate::db::Db;
use crate::samples::{Scribe, id, work_item};
use holon_domain::agent::CurrentItem;
use holon_domain::brief::BriefText;
use holon_domain::decision::Fact;
use holon_domain::task::TaskStatus;
use holon_domain::work_item::WorkItemSchedulingState;

/// A parent, and its child with a work item, a task and two outcomes.
fn family() -> (Db, AgentNo) {
    let mut db = Db::in_memory().expect("opens");
    let parent = Scribe::new("parent");
    let no = db
        .write(|tx| tx.create_agent(&parent.record))
        .expect("creates");
    let mut child = Scribe::new("child");
    child.record.settings.identity.lineage_parent_agent_id = Some(id("parent"));
    let item = work_item(&id("child"), "one");
    child.record.work.current = Some(CurrentItem {
        id: item.id.clone(),
        state: WorkItemSchedulingState::Runnable,
        idle_turns: 0,
    });
    child.record.active_tasks = 1;
    let child_no = db
        .write(|tx| tx.create_agent(&child.record))
        .expect("creates");
    let decision = child
        .fact(Fact::WorkItemWritten(Box::new(item)))
        .task("one", TaskStatus::Running)
        .brief(BriefText::Words("the first report".to_owned()))
        .brief(BriefText::Words("the second report".to_owned()))
        .event()
        .decide();
    db.write(|tx| tx.apply(child_no, &decision))
        .expect("writes");
    (db, no)
}

#[test]
fn a_row_of_a_child_that_cannot_be_read_is_left_out_of_what_its_parent_is_shown() {
    type Shown = (
        Option<TaskStatus>,
        Option<&'static str>,
        Option<&'static str>,
    );
    let task = Some(TaskStatus::Running);
    let (item, newest) = (Some("do one"), Some("the second report"));
    let cases: [(&str, Option<Shown>); 8] = [
        (
            "UPDATE agents SET birth = birth",
            Some((task, item, newest)),
        ),
        (
            "UPDATE work_items SET record = 'x'",
            Some((task, None, newest)),
        ),
        ("UPDATE tasks SET record = 'x'", Some((None, item, newest))),
        ("UPDATE briefs SET row = 'x'", Some((task, item, None))),
        (
            "UPDATE briefs SET row = CAST(x'ff' AS TEXT) WHERE seq = 2",
            Some((task, item, Some("the first report"))),
        ),
        (
            "UPDATE agents SET pending = -1 WHERE agent_id = 'child'",
            None,
        ),
        (
            "UPDATE agents SET record = 'x' WHERE agent_id = 'child'",
            None,
        ),
        (
            "UPDATE agents SET newest_entry = NULL WHERE agent_id = 'child'",
            None,
        ),
    ];
    for (damage, shown) in cases {
        let (db, parent) = family();
        assert!(db.conn.execute(damage, []).expect("changes") > 0);
        let facts = facts(&db.conn, parent, &id("child"));
        let facts = facts.unwrap_or_else(|error| panic!("{damage}: {error}"));
        let seen = facts.as_ref().map(|facts| {
            let objective = facts.objective.as_deref();
            (facts.task, objective, facts.last_result_brief.as_deref())
        });
        assert_eq!(seen, shown, "{damage}");
    }
}

#[test]
fn a_spawn_counts_for_its_hour_also_after_its_child_was_removed() {
    let (mut db, parent) = family();
    let spawn = |child: &str, at: i64| SpawnRecord {
        root: id("parent"),
        parent: id("parent"),
        child: id(child),
        depth: 1,
        supervised: true,
        spawned_at: Timestamp::from_millis(at),
    };
    let counted = |db: &Db| standing(&db.conn, parent).expect("reads").spawned;
    let at = Timestamp::from_millis;
    write(&db.conn, &spawn("child", 10)).expect("writes");
    let removed = db.write(|tx| tx.remove_rows_of(&id("child"), 1_000));
    assert_eq!(removed, Ok(crate::Removal::Done));
    assert_eq!(counted(&db), [at(10)], "the row of the child is gone");
    write(&db.conn, &spawn("other", HOUR_MS)).expect("writes");
    assert_eq!(counted(&db), [at(HOUR_MS), at(10)]);
    write(&db.conn, &spawn("third", 2 * HOUR_MS)).expect("writes");
    assert_eq!(counted(&db), [at(2 * HOUR_MS)], "an hour later");
}

#[test]
fn spawns_ahead_of_a_clock_that_was_set_back_are_forgotten() {
    let (db, _) = family();
    let spawn = |at: i64| SpawnRecord {
        root: id("parent"),
        parent: id("parent"),
        child: id("child"),
        depth: 1,
        supervised: true,
        spawned_at: Timestamp::from_millis(at),
    };
    let day = 24 * HOUR_MS;
    for number in 0..6 {
        write(&db.conn, &spawn(day + number)).expect("writes");
    }
    for number in 0..3 {
        write(&db.conn, &spawn(number)).expect("writes");
    }
    let count = |sql: &str| db.conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    assert_eq!(count("SELECT count(*) FROM spawns"), Ok(3));
    assert_eq!(
        count("SELECT count(*) FROM spawns WHERE spawned_at > 10"),
        Ok(0)
    );
}

/// A spawn of the child by the parent.
fn spawn_of_child(db: &Db) {
    let spawn = SpawnRecord {
        root: id("parent"),
        parent: id("parent"),
        child: id("child"),
        depth: 1,
        supervised: true,
        spawned_at: Timestamp::default(),
    };
    write(&db.conn, &spawn).expect("writes");
}

#[test]
fn a_child_is_no_orphan_while_any_row_may_be_that_of_its_parent() {
    let doubts = [
        "UPDATE agents SET agent_id = 'x' WHERE agent_id = 'parent'",
        "UPDATE agents SET agent_id = CAST(x'ff' AS TEXT) WHERE agent_id = 'parent'",
        "UPDATE agents SET agent_id = 'x', settings = 'x' WHERE agent_id = 'parent'",
        "UPDATE agents SET agent_id = 'x', settings = NULL, record = 'x' WHERE agent_id = 'parent'",
        "UPDATE agents SET agent_id = 'x', aside = 'log 1: cut off' WHERE agent_id = 'parent'",
    ];
    for damage in doubts {
        let (db, _) = family();
        spawn_of_child(&db);
        assert!(db.conn.execute(damage, []).expect("changes") > 0);
        let page = orphans(&db.conn, 0, 10).expect("reads");
        assert_eq!(page.children, [], "{damage}");
        assert_eq!(page.kept, [id("child")], "{damage}");
    }
    let (mut db, _) = family();
    spawn_of_child(&db);
    assert_eq!(orphans(&db.conn, 0, 10), Ok(OrphanPage::default()));
    let removed = db.write(|tx| tx.remove_rows_of(&id("parent"), 1_000));
    assert_eq!(removed, Ok(crate::Removal::Done));
    let page = orphans(&db.conn, 0, 10).expect("reads");
    assert_eq!(page.children, [id("child")], "its row is gone");
}
