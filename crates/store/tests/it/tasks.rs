//! Tasks: forward-only statuses, lookups and retention.

use crate::samples::{Scribe, id};
use crate::{apply, with_agent};
use holon_domain::TaskId;
use holon_domain::effect::Effect;
use holon_domain::limits::{TASKS_KEPT, TASKS_PER_AGENT};
use holon_domain::needs::{Needs, Part};
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_store::{AgentNo, Db, Error, Ledger, Removal, WriteError};
use proptest::prelude::*;

use TaskStatus::{Cancelled, Cancelling, Completed, Failed, Interrupted, Queued, Running};

const ALL: [TaskStatus; 7] = [
    Queued,
    Running,
    Cancelling,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
];

/// The statuses that may follow a status.
fn ways_on(from: TaskStatus) -> &'static [TaskStatus] {
    match from {
        Queued => &ALL,
        Running => &[
            Running,
            Cancelling,
            Completed,
            Failed,
            Cancelled,
            Interrupted,
        ],
        Cancelling => &[Cancelling, Completed, Failed, Cancelled, Interrupted],
        Completed | Failed | Cancelled | Interrupted => &[],
    }
}

fn task_id(name: &str) -> TaskId {
    TaskId::from_stored(format!("task_{name}"))
}

fn names(tasks: &[TaskRecord]) -> Vec<String> {
    let name = |task: &TaskRecord| task.id.as_str().trim_start_matches("task_").to_owned();
    tasks.iter().map(name).collect()
}

fn active(db: &Db, no: AgentNo) -> Vec<String> {
    names(&db.reader().active_tasks(no).expect("reads"))
}

fn newest(db: &Db, no: AgentNo, limit: usize) -> Vec<String> {
    names(&db.reader().tasks(no, limit).expect("reads"))
}

#[test]
fn a_task_is_read_back_as_it_was_written_last() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    for status in [Queued, Running, Running, Cancelling, Cancelled] {
        apply(&mut db, no, &scribe.task("x", status).decide()).expect("writes");
        let written = crate::samples::task(&id("a"), "x", status);
        assert_eq!(
            db.reader().task(no, &task_id("x")),
            Ok(Some(written.clone()))
        );
        let needs = Needs {
            active_tasks: true,
            tasks: [task_id("x")].into(),
            ..Needs::default()
        };
        let loaded = db.write(|tx| tx.load(no, &needs)).expect("loads");
        assert_eq!(loaded.tasks[&task_id("x")], Some(written.clone()));
        let open = if status.is_terminal() {
            Vec::new()
        } else {
            vec![written.clone()]
        };
        assert_eq!(db.reader().active_tasks(no), Ok(open.clone()));
        assert_eq!(loaded.active_tasks, Part::Loaded(open.clone()));
        assert_eq!(db.reader().outstanding(no).expect("reads").tasks, open);
        assert_eq!(db.reader().tasks(no, 9), Ok(vec![written]));
    }
    assert_eq!(db.reader().task(no, &task_id("y")), Ok(None));
}

#[test]
fn a_status_moves_only_forward_and_never_on_from_an_end() {
    for from in ALL {
        for to in ALL {
            let mut scribe = Scribe::new("a");
            let (mut db, no) = with_agent(&scribe.record);
            apply(&mut db, no, &scribe.task("x", from).decide()).expect("writes");
            let before = db.image().expect("an image");
            let outcome = apply(&mut db, no, &scribe.admit("lost").task("x", to).decide());
            if ways_on(from).contains(&to) {
                assert_eq!(outcome, Ok(()), "{from:?} to {to:?}");
                continue;
            }
            assert!(
                matches!(outcome, Err(WriteError::Store(Error::Contradiction { .. }))),
                "{from:?} to {to:?}: {outcome:?}"
            );
            assert!(
                before == db.image().expect("an image"),
                "{from:?} to {to:?} changed the store"
            );
        }
    }
}

#[test]
fn an_interrupted_child_may_come_to_another_end_and_to_no_other_state() {
    for to in ALL {
        let mut scribe = Scribe::new("a");
        let (mut db, no) = with_agent(&scribe.record);
        apply(&mut db, no, &scribe.child_task("x", Interrupted).decide()).expect("writes");
        let outcome = apply(&mut db, no, &scribe.child_task("x", to).decide());
        if matches!(to, Queued | Running | Cancelling) {
            assert!(
                matches!(outcome, Err(WriteError::Store(Error::Contradiction { .. }))),
                "{to:?}: {outcome:?}"
            );
        } else {
            assert_eq!(outcome, Ok(()), "{to:?}");
            let row = db.reader().task(no, &task_id("x")).expect("reads");
            assert_eq!(row.map(|row| row.status), Some(to));
        }
    }
}

#[test]
fn active_tasks_come_in_the_order_they_began_whatever_changed_since() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    for name in ["c", "a", "d", "b"] {
        apply(&mut db, no, &scribe.task(name, Running).decide()).expect("writes");
    }
    scribe.task("c", Cancelling).task("d", Completed);
    apply(&mut db, no, &scribe.decide()).expect("writes");
    assert_eq!(active(&db, no), ["c", "a", "b"]);
    assert_eq!(newest(&db, no, 9), ["b", "d", "a", "c"]);
    assert_eq!(newest(&db, no, 2), ["b", "d"]);
    assert_eq!(newest(&db, no, 0), [""; 0]);
}

#[test]
fn no_more_active_tasks_are_read_than_the_bound() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    for number in 0..=2 * TASKS_PER_AGENT {
        scribe.task(&number.to_string(), Running);
    }
    apply(&mut db, no, &scribe.decide()).expect("writes");
    let read = active(&db, no);
    assert_eq!(
        (read.len(), read.first().map(String::as_str)),
        (2 * TASKS_PER_AGENT, Some("0"))
    );
}

#[test]
fn the_same_id_in_two_agents_is_two_tasks() {
    let (mut one, mut two) = (Scribe::new("a"), Scribe::new("b"));
    let (mut db, first) = with_agent(&one.record);
    let second = db
        .write(|tx| tx.create_agent(&two.record))
        .expect("creates");
    apply(&mut db, first, &one.task("x", Failed).decide()).expect("writes");
    apply(&mut db, second, &two.task("x", Running).decide()).expect("writes");
    let status = |no| {
        let found = db.reader().task(no, &task_id("x")).expect("reads");
        found.map(|task| (task.agent_id.to_string(), task.status))
    };
    assert_eq!(status(first), Some(("a".to_owned(), Failed)));
    assert_eq!(status(second), Some(("b".to_owned(), Running)));
    assert_eq!(
        (active(&db, first).len(), active(&db, second).len()),
        (0, 1)
    );
}

#[test]
fn only_the_newest_ends_of_an_agent_are_kept_and_what_is_active_always_is() {
    let (mut scribe, mut other) = (Scribe::new("a"), Scribe::new("b"));
    let (mut db, no) = with_agent(&scribe.record);
    let neighbour = db
        .write(|tx| tx.create_agent(&other.record))
        .expect("creates");
    other.task("old", Completed);
    apply(&mut db, neighbour, &other.decide()).expect("writes");
    // The first two begin before all others: one ends last, one never.
    scribe.task("long", Running).task("endless", Running);
    for number in 1..=TASKS_KEPT {
        scribe.task(&number.to_string(), Completed);
    }
    apply(&mut db, no, &scribe.decide()).expect("writes");
    let there = |db: &Db, name: &str| {
        let found = db.reader().task(no, &task_id(name)).expect("reads");
        found.is_some()
    };
    assert!(there(&db, "1"), "as many as are kept");
    apply(&mut db, no, &scribe.task("long", Failed).decide()).expect("writes");
    assert!(!there(&db, "1") && there(&db, "2"), "the oldest end goes");
    assert!(
        there(&db, "long"),
        "it began first, and its end is the newest"
    );
    assert_eq!(active(&db, no), ["endless"]);
    scribe.task("next", Interrupted).task("after", Cancelled);
    apply(&mut db, no, &scribe.decide()).expect("writes");
    assert!(!there(&db, "3") && there(&db, "4"), "one end, one goes");
    let kept = usize::try_from(TASKS_KEPT).expect("fits") + 1;
    assert_eq!(newest(&db, no, usize::MAX).len(), kept);
    assert_eq!(newest(&db, neighbour, 9), ["old"]);
}

#[test]
fn tasks_go_with_their_agent_in_bounded_steps_and_its_neighbours_stay() {
    let (mut scribe, mut other) = (Scribe::new("a"), Scribe::new("b"));
    let (mut db, no) = with_agent(&scribe.record);
    let neighbour = db
        .write(|tx| tx.create_agent(&other.record))
        .expect("creates");
    for scribe in [&mut scribe, &mut other] {
        for name in ["1", "2", "3"] {
            scribe.task(name, Running);
        }
        scribe.task("4", Completed).task("5", Cancelled);
    }
    apply(&mut db, no, &scribe.decide()).expect("writes");
    apply(&mut db, neighbour, &other.decide()).expect("writes");
    let mut steps = 0;
    while db.write(|tx| tx.remove_agent_rows(no, 2)).expect("removes") == Removal::More {
        steps += 1;
        let left = newest(&db, no, 9).len();
        assert_eq!(left, 5_usize.saturating_sub(2 * steps), "two at a time");
    }
    assert_eq!(newest(&db, no, 9), [""; 0]);
    assert_eq!(newest(&db, neighbour, 9), ["5", "4", "3", "2", "1"]);
    assert_eq!(active(&db, neighbour), ["1", "2", "3"]);
}

#[test]
fn boot_finds_an_agent_of_which_only_a_task_is_open_with_the_effect_it_holds() {
    let effects = [
        Effect::WatchTask {
            task_id: task_id("x"),
        },
        Effect::StopTask {
            task_id: task_id("x"),
            force: true,
        },
    ];
    for effect in effects {
        let mut scribe = Scribe::new("a");
        let (mut db, no) = with_agent(&scribe.record);
        db.write(|tx| tx.create_agent(&Scribe::new("idle").record))
            .expect("creates");
        scribe.task("x", Running).open(effect.clone());
        apply(&mut db, no, &scribe.decide()).expect("writes");
        let db = Db::from_image(&db.image().expect("an image")).expect("starts");
        let found = db.reader().agents_to_recover(None, 9).expect("reads");
        assert_eq!((found.agents, found.next), (vec![id("a")], None));
        let open = db.reader().open_effects(&id("a"), 0, 9).expect("reads");
        let open: Vec<_> = open.into_iter().map(|open| open.effect).collect();
        assert_eq!(open, [effect]);
        assert_eq!(active(&db, no), ["x"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_writes_leaves_the_tasks_a_plain_list_would(
        writes in prop::collection::vec((0..6_u8, prop::sample::select(ALL.to_vec())), 1..40)
    ) {
        let mut scribe = Scribe::new("a");
        let (mut db, no) = with_agent(&scribe.record);
        let mut model: Vec<(String, TaskStatus)> = Vec::new();
        for (which, status) in writes {
            let name = which.to_string();
            let before = scribe.clone();
            let outcome = apply(&mut db, no, &scribe.event().task(&name, status).decide());
            let known = model.iter_mut().find(|(known, _)| *known == name);
            let fits = known.as_ref().is_none_or(|(_, from)| ways_on(*from).contains(&status));
            prop_assert_eq!(outcome.is_ok(), fits);
            match (known, fits) {
                (Some(known), true) => known.1 = status,
                (None, _) => model.push((name, status)),
                (Some(_), false) => scribe = before,
            }
            let open = |(_, status): &&(String, TaskStatus)| !status.is_terminal();
            let expected: Vec<&str> = model.iter().filter(open).map(|(name, _)| name.as_str()).collect();
            prop_assert_eq!(active(&db, no), expected);
            let stored = db.reader().outstanding(no).expect("reads").tasks;
            prop_assert_eq!(db.reader().active_tasks(no).expect("reads"), stored);
        }
        let page = db.reader().tasks(no, 99).expect("reads");
        let statuses: Vec<TaskStatus> = page.iter().rev().map(|task| task.status).collect();
        prop_assert_eq!(statuses, model.iter().map(|(_, status)| *status).collect::<Vec<_>>());
    }
}
