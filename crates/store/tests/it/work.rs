//! Work items, waits, timers and hints: the rows a decision loads, at a cost that does not depend on their number.

use crate::samples::{self, Scribe, at, id};
use crate::{apply, with_agent};
use holon_domain::WorkItemId;
use holon_domain::decision::Fact;
use holon_domain::intent::WorkItemFilter;
use holon_domain::limits::{CAUGHT_UP_AT_ONCE, TIMERS_KEPT, WAITS_KEPT};
use holon_domain::needs::{LoadedRows, Needs};
use holon_domain::timer::TimerStatus;
use holon_domain::wait::WaitStatus;
use holon_domain::work_item::{IdleTurns, Recheck, WorkItemRecord, WorkItemState};
use holon_store::{AgentNo, Db, Ledger, Removal};
use std::sync::atomic::Ordering;

fn load(db: &mut Db, no: AgentNo, needs: &Needs) -> LoadedRows {
    db.write(|tx| Ledger::load(tx, no, needs)).expect("loads")
}

fn write(db: &mut Db, no: AgentNo, facts: impl IntoIterator<Item = Fact>) {
    let mut scribe = Scribe::new("a");
    for fact in facts {
        scribe.fact(fact);
    }
    apply(db, no, &scribe.decide()).expect("writes");
}

fn written(item: WorkItemRecord) -> Fact {
    Fact::WorkItemWritten(Box::new(item))
}

/// An item with this many idle turns counted at this wake, changed at this time.
fn idle(name: &str, count: u32, wake_count: u64, changed: i64) -> WorkItemRecord {
    WorkItemRecord {
        idle_turns: IdleTurns { count, wake_count },
        updated_at: at(changed),
        ..samples::work_item(&id("a"), name)
    }
}

fn next(db: &mut Db, no: AgentNo, wake_count: u64) -> Vec<String> {
    let needs = Needs {
        next_items: Some(wake_count),
        ..Needs::default()
    };
    let loaded = load(db, no, &needs);
    let items = loaded.next_items.loaded().expect("was asked for").iter();
    items
        .map(|item| item.id.as_str().trim_start_matches("work_").to_owned())
        .collect()
}

#[test]
fn the_next_item_has_the_fewest_idle_turns_that_count_and_is_longest_unchanged() {
    let (mut db, no) = with_agent(&samples::agent("a"));
    let blocked = WorkItemRecord {
        blocked_by: Some("no key".to_owned()),
        ..idle("blocked", 0, 0, 0)
    };
    let done = WorkItemRecord {
        state: WorkItemState::Completed,
        ..idle("done", 0, 0, 0)
    };
    let items = [
        blocked,
        done,
        idle("new", 0, 5, 30),
        idle("old", 0, 3, 10),
        idle("void-stalled", 3, 4, 1),
        idle("void-once", 1, 4, 2),
        idle("once", 1, 5, 3),
        idle("twice", 2, 5, 4),
        idle("stalled", 3, 5, 5),
    ];
    write(&mut db, no, items.map(written));
    assert_eq!(
        next(&mut db, no, 5),
        ["old", "new", "void-once", "void-stalled"]
    );
    assert_eq!(next(&mut db, no, 6), ["old", "new", "void-once", "once"]);
    let fresh = ["old", "new", "void-once", "void-stalled"];
    let blocked = fresh.map(|name| WorkItemRecord {
        blocked_by: Some("no key".to_owned()),
        ..idle(name, 0, 5, 40)
    });
    write(&mut db, no, blocked.map(written));
    assert_eq!(
        next(&mut db, no, 5),
        ["once", "twice"],
        "the stalled one is not offered"
    );
}

#[test]
fn an_item_that_is_written_again_moves_to_its_new_class() {
    let (mut db, no) = with_agent(&samples::agent("a"));
    write(&mut db, no, [written(idle("x", 0, 0, 0))]);
    assert_eq!(next(&mut db, no, 0), ["x"]);
    let done = WorkItemRecord {
        state: WorkItemState::Completed,
        ..idle("x", 0, 0, 1)
    };
    write(&mut db, no, [written(done.clone())]);
    assert_eq!(next(&mut db, no, 0), Vec::<String>::new());
    let reader = db.reader();
    assert_eq!(reader.work_item(no, &done.id), Ok(Some(done.clone())));
    let count = |filter| reader.work_items(no, filter, 9).expect("reads").1;
    assert_eq!(count(WorkItemFilter::Open), 0);
    assert_eq!(count(WorkItemFilter::Completed), 1);
    assert_eq!(count(WorkItemFilter::All), 1);
}

/// Reads all pages of a list and returns the names on each. Between two pages, `between` may change items.
fn pages(
    db: &mut Db,
    no: AgentNo,
    filter: WorkItemFilter,
    mut between: impl FnMut(&mut Db),
) -> Vec<Vec<String>> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let reader = db.reader();
        let (_, agent) = reader.agent(&id("a")).expect("reads").expect("the agent");
        let page = reader
            .work_item_page(no, &agent, filter, after, 2)
            .expect("a page");
        let names = page.items.iter().map(|(_, item)| item.id.as_str());
        let names = names.map(|name| name.trim_start_matches("work_").to_owned());
        pages.push(names.collect());
        let Some(next) = page.next else {
            return pages;
        };
        after = Some(next);
        between(db);
    }
}

#[test]
fn a_list_is_read_in_pages_and_a_change_in_between_repeats_no_item() {
    let (mut db, no) = with_agent(&samples::agent("a"));
    // Two of them changed at the same time.
    let changed = [("v", 10), ("w", 20), ("x", 20), ("y", 30), ("z", 40)];
    let items = changed.map(|(name, at)| written(idle(name, 0, 0, at)));
    write(&mut db, no, items);
    for filter in [
        WorkItemFilter::All,
        WorkItemFilter::Open,
        WorkItemFilter::Runnable,
    ] {
        let quiet = pages(&mut db, no, filter, |_| {});
        assert_eq!(
            quiet,
            [vec!["z", "y"], vec!["x", "w"], vec!["v"]],
            "{filter:?}"
        );
    }
    let mut now = 100;
    let busy = pages(&mut db, no, WorkItemFilter::All, |db| {
        // An item that was shown and one that was not move to the front.
        now += 1;
        write(
            db,
            no,
            ["z", "x"].map(|name| written(idle(name, 0, 0, now))),
        );
    });
    assert_eq!(
        busy,
        [vec!["z", "y"], vec!["w", "v"]],
        "x is on the first page now"
    );
}

#[test]
fn a_recheck_is_found_from_when_it_came_until_it_was_shown() {
    let (mut db, no) = with_agent(&samples::agent("a"));
    let stages = [(Some(7), None, 0), (None, None, 1), (None, Some(at(9)), 0)];
    for (due, consumed_at, found) in stages {
        let item = WorkItemRecord {
            blocked_by: Some("no key".to_owned()),
            recheck: Some(Recheck {
                at: at(5),
                due,
                authority: holon_domain::authority::AuthorityClass::OperatorInstruction,
                consumed_at,
            }),
            ..samples::work_item(&id("a"), "x")
        };
        write(&mut db, no, [written(item)]);
        assert_eq!(
            db.reader().due_rechecks(no).expect("reads").len(),
            found,
            "{due:?}"
        );
    }
}

#[test]
fn active_waits_and_parked_timers_are_found_and_old_ones_are_let_go() {
    let (mut db, no) = with_agent(&samples::agent("a"));
    let agent = id("a");
    let wait = |n: u64, status| {
        let wait = samples::wait(&agent, &n.to_string(), status);
        Fact::WaitWritten(Box::new(wait))
    };
    let over = (2..WAITS_KEPT + 10).map(|n| wait(n, WaitStatus::Resolved));
    write(
        &mut db,
        no,
        std::iter::once(wait(1, WaitStatus::Active)).chain(over),
    );
    let reader = db.reader();
    let active = reader.active_waits(no).expect("reads");
    assert_eq!(active.len(), 1, "the oldest is active and kept");
    assert_eq!(active[0].id.as_str(), "wait_1");
    let kept = reader.newest_waits(no, 10_000).expect("reads").len() as u64;
    assert!((WAITS_KEPT..=WAITS_KEPT + 16).contains(&kept), "{kept}");

    let timer = |n: u64, status, due| {
        let timer = samples::timer(&agent, &n.to_string(), status, due);
        Fact::TimerWritten(Box::new(timer))
    };
    let deferred = (0..CAUGHT_UP_AT_ONCE as u64 + 5).map(|n| timer(n, TimerStatus::Active, None));
    let armed = (1_000..1_003).map(|n| timer(n, TimerStatus::Active, Some(n)));
    let over = (2_000..2_000 + TIMERS_KEPT).map(|n| timer(n, TimerStatus::Completed, None));
    write(&mut db, no, deferred.chain(armed).chain(over));
    let needs = Needs {
        deferred_timers: true,
        ..Needs::default()
    };
    let page = load(&mut db, no, &needs);
    let page = page.deferred_timers.loaded().expect("was asked for").len();
    assert_eq!(page, CAUGHT_UP_AT_ONCE);
    let active = db.reader().active_timers(no, 10_000).expect("reads");
    assert_eq!(active.len(), CAUGHT_UP_AT_ONCE + 5 + 3);
}

#[test]
fn a_hint_replaces_the_one_of_its_source_and_all_go_at_once() {
    let (mut db, no) = with_agent(&samples::agent("a"));
    let hint = |key, count| Fact::HintWritten(Box::new(samples::hint(key, count)));
    write(&mut db, no, [hint("b", 1), hint("a", 1), hint("b", 2)]);
    let found = db.reader().hints(no).expect("reads");
    let found: Vec<_> = found
        .iter()
        .map(|hint| (hint.key.as_str(), hint.count))
        .collect();
    assert_eq!(found, [("a", 1), ("b", 2)]);
    write(&mut db, no, [Fact::HintsCleared]);
    assert_eq!(db.reader().hints(no).expect("reads").len(), 0);
}

#[test]
fn nothing_of_an_agents_work_is_left_after_its_removal() {
    let (mut db, no) = with_agent(&samples::agent("a"));
    let agent = id("a");
    let facts = [
        written(idle("x", 0, 0, 0)),
        Fact::WaitWritten(Box::new(samples::wait(&agent, "x", WaitStatus::Active))),
        Fact::TimerWritten(Box::new(samples::timer(
            &agent,
            "x",
            TimerStatus::Active,
            Some(1),
        ))),
        Fact::HintWritten(Box::new(samples::hint("x", 1))),
    ];
    write(&mut db, no, facts);
    let mut steps = 0;
    while db.write(|tx| tx.remove_agent_rows(no, 1)).expect("removes") == Removal::More {
        steps += 1;
        assert!(steps < 20, "comes to an end");
    }
    let left = db.reader().outstanding(no).expect("reads");
    assert_eq!((left.items.len(), left.waits.len()), (0, 0));
    assert_eq!((left.timers.len(), left.hints.len()), (0, 0));
}

/// All lookups of one scheduling decision.
fn look_ups(named: &WorkItemId) -> Needs {
    Needs {
        queue_head: true,
        work_items: [named.clone()].into(),
        next_items: Some(9),
        due_rechecks: true,
        active_waits: true,
        hints: true,
        deferred_timers: true,
        ..Needs::default()
    }
}

/// Virtual machine steps of SQLite for a decision's lookups beside this many items. A fifth is blocked with a due
/// recheck, a fifth is stalled, and the runnable rest is spread over all counts of idle turns.
fn steps_beside(items: u64) -> u64 {
    let (mut db, no) = with_agent(&samples::agent("a"));
    let blocked = |n: u64| WorkItemRecord {
        blocked_by: Some("no key".to_owned()),
        recheck: Some(Recheck {
            at: at(5),
            due: None,
            authority: holon_domain::authority::AuthorityClass::OperatorInstruction,
            consumed_at: None,
        }),
        ..idle(&n.to_string(), 0, 0, 0)
    };
    let changed = |n: u64| i64::try_from(n).expect("small");
    let item = |n: u64| match n % 5 {
        0 => blocked(n),
        1 => idle(&n.to_string(), 3, 9, changed(n)),
        kind => idle(
            &n.to_string(),
            u32::try_from(kind).expect("small") - 2,
            n % 10,
            changed(n),
        ),
    };
    let numbers: Vec<u64> = (0..items).collect();
    for part in numbers.chunks(10_000) {
        write(&mut db, no, part.iter().map(|n| written(item(*n))));
    }
    let counted = db.count_steps().expect("counts");
    let needs = look_ups(&WorkItemId::from_stored("work_7"));
    load(&mut db, no, &needs);
    let before = counted.load(Ordering::Relaxed);
    let loaded = load(&mut db, no, &needs);
    let found = loaded.next_items.loaded().expect("was asked for").len();
    assert!(found > 2, "there is work to offer");
    counted.load(Ordering::Relaxed) - before
}

#[test]
fn the_look_ups_of_a_scheduling_decision_cost_the_same_with_any_number_of_items() {
    let [few, many, most] = [10, 1_000, 100_000].map(steps_beside);
    assert!(few <= many, "{few} and {many}: what is found is bounded");
    assert!(many.abs_diff(most) <= many / 20, "{many} and {most}");
}
