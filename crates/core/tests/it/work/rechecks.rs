//! Tests of rechecks: a reminder of a blocker comes once, one tick names all due items, and showing an item consumes
//! its reminder.

use super::*;
use holon_domain::limits;
use holon_domain::model::ModelFailureKind;
use holon_domain::work_item::WorkItemSchedulingState as State;

const HOUR: u64 = 3_600_000;

/// Builds a resting agent with items that are blocked for these durations.
fn blocked_items(rechecks: &[u64]) -> (World, Vec<WorkItemId>) {
    let mut world = states::calling_model();
    let mut ids = Vec::new();
    for recheck_after in rechecks {
        let id = agent_makes(&mut world);
        call(
            &mut world,
            vec![update(&id, blocked("no key", *recheck_after))],
        );
        ids.push(id);
    }
    say(&mut world);
    assert_eq!(
        world.agent.open_turn, None,
        "blocked work starts no turn by itself"
    );
    (world, ids)
}

fn shows(world: &mut World, ids: &[WorkItemId]) {
    let said = ModelAnswer {
        shown: ids.to_vec(),
        ..ModelAnswer::words("still no key")
    };
    world.send(said.to(world));
}

#[test]
fn a_recheck_wakes_the_agent_once_and_leaves_the_item_blocked() {
    let (mut world, ids) = blocked_items(&[HOUR]);
    world.let_due_come();
    assert_eq!(tick_of(&world), Some("work_item_recheck".to_owned()));
    let (words, _) = began_with(&world);
    assert!(
        words.contains("no key") && words.contains(ids[0].as_str()),
        "{words}"
    );
    assert_eq!(state(&world, &ids[0]), State::Blocked);
    shows(&mut world, &ids);
    assert_eq!(state(&world, &ids[0]), State::Blocked);
    assert_eq!(world.agent.work.due_rechecks, 0);
    assert_eq!(
        (world.agent.open_turn.is_some(), world.due.len()),
        (false, 0),
        "one-shot"
    );
    assert!(
        item(&world, &ids[0])
            .recheck
            .as_ref()
            .is_some_and(|it| it.consumed_at.is_some())
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn reminders_that_come_together_are_one_tick() {
    let (mut world, ids) = blocked_items(&[HOUR, HOUR, 2 * HOUR]);
    world.send(news());
    world.advance(HOUR);
    world.let_due_come();
    world.let_due_come();
    say(&mut world);
    let (words, _) = began_with(&world);
    assert!(
        ids[..2].iter().all(|id| words.contains(id.as_str())),
        "{words}"
    );
    assert!(!words.contains(ids[2].as_str()), "{words}");
    shows(&mut world, &ids);
    assert_eq!(world.agent.open_turn, None, "one tick for both");
}

#[test]
fn a_reminder_is_consumed_only_by_an_answered_request_that_showed_its_item() {
    let (mut world, ids) = blocked_items(&[HOUR]);
    world.let_due_come();
    shows(&mut world, &[]);
    assert_eq!(world.agent.work.due_rechecks, 1, "it was not shown");
    assert_eq!(
        world.agent.open_turn, None,
        "and is not told again by itself"
    );
    world.send(news());
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(
        ModelFailureKind::InvalidRequest,
        stamp,
        world.now,
    ));
    assert_eq!(world.agent.work.due_rechecks, 1, "no answer came");
    world.send(news());
    shows(&mut world, &ids);
    assert_eq!(world.agent.work.due_rechecks, 0);
    assert_eq!(world.violations(), []);
}

#[test]
fn more_reminders_than_one_tick_names_follow_with_the_next() {
    let count = limits::RECHECKS_PER_TICK + 3;
    let (mut world, ids) = blocked_items(&vec![HOUR; count]);
    world.send(news());
    for _ in 0..count {
        world.let_due_come();
    }
    say(&mut world);
    let mut told = 0;
    while world.agent.open_turn.is_some() {
        let (words, _) = began_with(&world);
        let named: Vec<WorkItemId> = ids
            .iter()
            .filter(|id| words.contains(id.as_str()))
            .cloned()
            .collect();
        told += named.len();
        shows(&mut world, &named);
    }
    assert_eq!((told, world.agent.work.due_rechecks), (count, 0));
    assert_eq!(world.violations(), []);
}

#[test]
fn clearing_or_renewing_the_blocker_and_completion_end_the_reminder() {
    type End = fn(&WorkItemId) -> PlannedCall;
    let ends: [(&str, End, usize); 3] = [
        ("cleared", |id| update(id, unblocked()), 0),
        ("renewed", |id| update(id, blocked("no key yet", HOUR)), 1),
        ("completed", |id| complete(id), 0),
    ];
    for (name, end, entries) in ends {
        for come in [false, true] {
            let (mut world, ids) = blocked_items(&[HOUR]);
            world.send(news());
            if come {
                world.let_due_come();
                assert_eq!(world.agent.work.due_rechecks, 1);
            }
            call(&mut world, vec![end(&ids[0])]);
            assert_eq!(world.agent.work.due_rechecks, 0, "{name}");
            assert_eq!(world.due.len(), entries, "{name}");
            assert_eq!(world.violations(), [], "{name}");
        }
    }
}

#[test]
fn other_changes_leave_the_time_of_a_reminder_alone() {
    let (mut world, ids) = blocked_items(&[HOUR]);
    let before = item(&world, &ids[0]).recheck.clone();
    world.send(news());
    call(&mut world, vec![update(&ids[0], objective("mend it well"))]);
    assert_eq!(item(&world, &ids[0]).recheck, before);
}

#[test]
fn a_reminder_is_worth_no_more_than_the_turn_that_named_the_blocker() {
    let (mut world, id) = working();
    say(&mut world);
    say(&mut world);
    world.send(news());
    call(&mut world, vec![update(&id, blocked("ask mallory", HOUR))]);
    say(&mut world);
    world.let_due_come();
    let (words, authority) = began_with(&world);
    assert!(words.contains("mallory"), "{words}");
    assert_eq!(authority, AuthorityClass::ExternalEvidence);
}

#[test]
fn a_reminder_that_comes_while_the_agent_is_stopped_is_told_after_its_start() {
    let (mut world, _) = blocked_items(&[HOUR]);
    world.send(Input::Stop);
    world.let_due_come();
    assert_eq!(
        (world.due.len(), world.agent.open_turn.is_some()),
        (0, false)
    );
    world.send(Input::Start);
    let world = states::ready(world);
    assert_eq!(tick_of(&world), Some("work_item_recheck".to_owned()));
}
