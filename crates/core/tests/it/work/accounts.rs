//! Tests of the events that account for work: requests of operators, ends of turns, cancelled and risky waits, and the
//! scheduler's rests.

use super::*;
use holon_domain::log::LogEntry;
use holon_domain::work_item::{ReminderSkip, StaleReminder};

/// Returns the new kinds of events among these, in order.
fn kinds<'a>(world: &'a World, wanted: &[&str]) -> Vec<&'a str> {
    let kinds = world.events.iter().map(Event::kind);
    kinds.filter(|kind| wanted.contains(kind)).collect()
}

fn external() -> WakeCondition {
    WakeCondition::External {
        source: Some("ci".to_owned()),
    }
}

#[test]
fn requests_of_an_operator_are_recorded_beside_what_they_make() {
    let mut world = states::calling_model();
    operator_makes(&mut world, "mend the build");
    let at = world.now.plus_millis(1_000);
    let timer = new_timer(TimerSchedule::Once { at });
    world.send(operator(WorkCommand::CreateTimer(timer)));
    world.send(woken(hint("ci")));
    world.send(woken(hint("ci")));
    let wanted = [
        "work_item_enqueue_requested",
        "timer_create_requested",
        "wake_requested",
        "wake_hint_coalesced",
    ];
    let expected = [
        "work_item_enqueue_requested",
        "timer_create_requested",
        "wake_requested",
        "wake_requested",
        "wake_hint_coalesced",
    ];
    assert_eq!(kinds(&world, &wanted), expected);
}

#[test]
fn what_the_agent_makes_itself_is_no_request_of_an_operator() {
    let (world, _) = working();
    let wanted = ["work_item_enqueue_requested", "timer_create_requested"];
    assert_eq!(kinds(&world, &wanted), [""; 0]);
}

#[test]
fn the_end_of_a_turn_is_recorded_in_its_item_unless_it_was_called_off() {
    let (mut world, id) = ticked();
    let from = world.events.len();
    say(&mut world);
    let ends: Vec<_> = world.events[from..]
        .iter()
        .filter_map(|event| match event {
            Event::WorkItemTurnEndCommitted(end) => Some(end.clone()),
            _ => None,
        })
        .collect();
    let [end] = ends.as_slice() else {
        panic!("one end: {ends:?}");
    };
    assert_eq!(end.work_item_id, id);
    assert_eq!(end.committed_state, WorkItemSchedulingState::Runnable);
    assert!(!end.work_item_state_changed);
    let (mut world, _) = ticked();
    let from = world.events.len();
    world.send(Input::Stop);
    let kinds = world.event_kinds(from);
    assert!(
        kinds.contains(&"work_item_turn_end_commit_skipped"),
        "{kinds:?}"
    );
    assert!(
        !kinds.contains(&"work_item_turn_end_committed"),
        "{kinds:?}"
    );
}

#[test]
fn a_wait_that_may_never_end_or_that_holds_no_item_is_recorded() {
    let wanted = [
        "external_wait_without_recovery",
        "missing_current_work_item_before_wait",
        "waiting_intent_cancelled",
    ];
    let (world, _) = waiting(vec![external()]);
    assert_eq!(kinds(&world, &wanted), ["external_wait_without_recovery"]);
    let (world, _) = waiting(vec![external(), WakeCondition::After { delay_ms: 5 }]);
    assert_eq!(kinds(&world, &wanted), [""; 0]);
    let mut world = states::calling_model();
    agent_makes(&mut world);
    call(&mut world, vec![wait_for(vec![WakeCondition::Operator])]);
    assert_eq!(
        kinds(&world, &wanted),
        ["missing_current_work_item_before_wait"]
    );
}

#[test]
fn a_cancelled_wait_is_recorded_and_a_resolved_one_is_not() {
    let wanted = ["waiting_intent_cancelled"];
    let (mut world, _) = waiting(vec![WakeCondition::Operator]);
    let wait_id = world.waits[0].id.clone();
    world.send(operator(WorkCommand::CancelWait { wait_id }));
    assert_eq!(kinds(&world, &wanted), wanted);
    let (mut world, _) = waiting(vec![external()]);
    world.send(woken(hint("ci")));
    assert_eq!(kinds(&world, &wanted), [""; 0]);
}

#[test]
fn a_rest_beside_runnable_work_is_recorded_with_its_status_and_its_next_wake() {
    let (mut world, id) = ticked();
    let from = world.events.len();
    say(&mut world);
    assert_eq!(state(&world, &id), WorkItemSchedulingState::Runnable);
    let mut rests = 0;
    let mut found = 0;
    for event in &world.events[from..] {
        match event {
            Event::SchedulerPostureDecision(rest) => {
                rests += 1;
                assert_ne!(rest.next_status, rest.previous_status);
                assert!(rest.wakes_at.is_some_and(|at| at > world.now), "{rest:?}");
            }
            Event::SchedulerDiagnostic(diagnostic) => {
                found += 1;
                assert_eq!(diagnostic.kind, "idle_posture_has_runnable_work");
                assert_eq!(diagnostic.severity, "info");
                assert_eq!(diagnostic.work_item_id.as_ref(), Some(&id));
            }
            _ => {}
        }
    }
    assert_eq!((rests, found), (1, 1));
    let (world, _) = waiting(vec![WakeCondition::Operator]);
    let diagnosed = kinds(&world, &["scheduler_diagnostic"]);
    assert_eq!(diagnosed, [""; 0], "an item that waits is not runnable");
}

#[test]
fn a_rest_is_a_warning_once_one_more_idle_turn_sets_the_work_aside() {
    let (world, _) = stalled();
    let severities: Vec<&str> = world
        .events
        .iter()
        .filter_map(|event| match event {
            Event::SchedulerDiagnostic(diagnostic) => Some(diagnostic.severity.as_str()),
            _ => None,
        })
        .collect();
    let (last, before) = severities.split_last().expect("rests beside work");
    assert_eq!(*last, "warning");
    assert!(
        !before.is_empty() && before.iter().all(|one| *one == "info"),
        "{severities:?}"
    );
}

#[test]
fn a_reminder_is_recorded_with_the_answer_of_the_request_that_held_it() {
    let (mut world, id) = working();
    let reminded = |skipped: Option<ReminderSkip>| ModelAnswer {
        reminder: Some(StaleReminder {
            work_item_id: id.clone(),
            rounds_since_update: 10,
            skipped,
        }),
        ..ModelAnswer::calls(vec![update(&id, objective("mend it well"))])
    };
    world.send(reminded(None).to(&world));
    world.send(reminded(Some(ReminderSkip::OverBudget)).to(&world));
    world.send(reminded(Some(ReminderSkip::OverLimit)).to(&world));
    let wanted = [
        "work_item_stale_reminder_injected",
        "work_item_stale_reminder_skipped",
        "work_item_stale_reminder_skipped",
    ];
    assert_eq!(kinds(&world, &wanted), wanted);
    let reasons = world.events.iter().filter_map(|event| match event {
        Event::WorkItemStaleReminderSkipped(e) => Some(e.reason.as_str()),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["over_budget", "over_limit"]);
    let entries = world.log.iter().filter_map(|(_, entry)| match entry {
        LogEntry::ContinuationPrompt { text, reason } => Some((text.as_str(), reason.as_str())),
        _ => None,
    });
    let held = [("Mind the item.", "work_item_reminder")];
    assert_eq!(
        entries.collect::<Vec<_>>(),
        held,
        "later requests repeat it"
    );
}
