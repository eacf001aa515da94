//! Tests of work items: their scheduling state, the calls that change them, and the focus.

use super::*;
use holon_core::Rejection;
use holon_domain::agent::CurrentItem;
use holon_domain::limits;
use holon_domain::wait::WaitKind;
use holon_domain::work_item::{
    IdleTurns, ItemWait, Readiness, TodoItem, TodoState, WorkItemSchedulingState as State,
    WorkItemState,
};

#[test]
fn the_state_of_an_item_follows_from_its_record_alone() {
    let (world, id) = working();
    let base = item(&world, &id).clone();
    let wait = |kind| {
        Some(ItemWait {
            wait_id: WaitId::from_stored("wait_1"),
            kind,
        })
    };
    let idle = |count, wake_count| IdleTurns { count, wake_count };
    let base = || base.clone();
    let rows = [
        (base(), State::Runnable, Readiness::Runnable),
        (
            WorkItemRecord {
                plan_status: PlanStatus::Ready,
                ..base()
            },
            State::Runnable,
            Readiness::Runnable,
        ),
        (
            WorkItemRecord {
                idle_turns: idle(2, 7),
                ..base()
            },
            State::Runnable,
            Readiness::Runnable,
        ),
        (
            WorkItemRecord {
                idle_turns: idle(3, 7),
                ..base()
            },
            State::Stalled,
            Readiness::Runnable,
        ),
        (
            WorkItemRecord {
                idle_turns: idle(9, 6),
                ..base()
            },
            State::Runnable,
            Readiness::Runnable,
        ),
        (
            WorkItemRecord {
                plan_status: PlanStatus::NeedsInput,
                ..base()
            },
            State::WaitingOperator,
            Readiness::WaitingForOperator,
        ),
        (
            WorkItemRecord {
                wait: wait(WaitKind::Operator),
                ..base()
            },
            State::WaitingOperator,
            Readiness::WaitingForOperator,
        ),
        (
            WorkItemRecord {
                wait: wait(WaitKind::Task),
                ..base()
            },
            State::WaitingTask,
            Readiness::Blocked,
        ),
        (
            WorkItemRecord {
                wait: wait(WaitKind::External),
                ..base()
            },
            State::WaitingExternal,
            Readiness::Blocked,
        ),
        (
            WorkItemRecord {
                wait: wait(WaitKind::Timer),
                idle_turns: idle(3, 7),
                ..base()
            },
            State::WaitingTimer,
            Readiness::Blocked,
        ),
        (
            WorkItemRecord {
                blocked_by: Some("no key".to_owned()),
                plan_status: PlanStatus::NeedsInput,
                wait: wait(WaitKind::Task),
                ..base()
            },
            State::Blocked,
            Readiness::Blocked,
        ),
        (
            WorkItemRecord {
                state: WorkItemState::Completed,
                blocked_by: Some("no key".to_owned()),
                ..base()
            },
            State::Completed,
            Readiness::Completed,
        ),
    ];
    for (item, state, readiness) in rows {
        assert_eq!(item.scheduling_state(7), state, "{item:?}");
        assert_eq!(state.readiness(), readiness, "{item:?}");
    }
}

#[test]
fn an_item_of_the_agent_keeps_the_plan_and_the_provenance_of_its_turn() {
    let (world, id) = working();
    let item = item(&world, &id);
    assert_eq!(
        item.plan.as_ref().map(|plan| plan.preview.as_str()),
        Some("look first")
    );
    assert_eq!(
        item.provenance.authority,
        AuthorityClass::OperatorInstruction
    );
    assert_eq!(item.provenance.turn_index, Some(1));
    assert_eq!(item.workspace_id, world.agent.workspace.workspace_id);
    assert_eq!(current(&world), Some(&id));
    assert_eq!(world.violations(), []);
}

#[test]
fn calls_about_items_that_are_unknown_or_completed_are_refused_with_the_reason() {
    let (mut world, id) = working();
    let strange = WorkItemId::from_stored("work_nobody");
    let before = world.results().len();
    let calls = vec![
        pick(&strange),
        update(&strange, objective("x")),
        complete(&strange),
        complete(&id),
        pick(&id),
        update(&id, objective("x")),
        complete(&id),
        cancel_wait(&WaitId::from_stored("wait_nobody")),
        cancel_timer(&TimerId::from_stored("timer_nobody")),
    ];
    world.send(ModelAnswer::calls(calls).to(&world));
    let refused = [
        "unknown_work_item",
        "unknown_work_item",
        "unknown_work_item",
        "ok",
        "work_item_completed",
        "work_item_completed",
        "work_item_completed",
        "unknown_wait",
        "unknown_timer",
    ];
    assert_eq!(world.results()[before..], refused);
    let command = |work_item_id: &WorkItemId| {
        operator(WorkCommand::Resume {
            work_item_id: work_item_id.clone(),
        })
    };
    let replies = [
        world.send(command(&strange)).reply,
        world.send(command(&id)).reply,
    ];
    assert_eq!(
        replies,
        [
            Err(Rejection::NoSuchWorkItem {
                agent_id: make::agent_id()
            }),
            Err(Rejection::WorkItemCompleted {
                agent_id: make::agent_id()
            })
        ]
    );
}

#[test]
fn the_focus_is_cleared_by_completion_and_by_nothing_else() {
    let (mut world, id) = working();
    let changes = [
        blocked("no key", 1_000),
        unblocked(),
        plan_status(PlanStatus::NeedsInput),
        plan_status(PlanStatus::Ready),
        objective("mend it well"),
    ];
    for change in changes {
        call(&mut world, vec![update(&id, change)]);
        assert_eq!(current(&world), Some(&id));
    }
    let other = agent_makes(&mut world);
    call(&mut world, vec![complete(&other)]);
    assert_eq!(current(&world), Some(&id), "another item was completed");
    call(&mut world, vec![complete(&id)]);
    assert_eq!(current(&world), None);
    assert_eq!(world.violations(), []);
}

#[test]
fn an_operators_item_waits_for_the_agent_to_pick_it() {
    let (mut world, id) = working();
    let other = operator_makes(&mut world, "answer the mail");
    assert_eq!(current(&world), Some(&id));
    call(&mut world, vec![pick(&other)]);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(
        turn.work_item_id.as_ref(),
        Some(&other),
        "later calls are about it"
    );
    let picked = world.events.iter().rev().find_map(|event| match event {
        Event::WorkItemPicked(picked) => Some(picked.clone()),
        _ => None,
    });
    let picked = picked.expect("an event");
    assert_eq!(picked.previous_work_item_id.as_ref(), Some(&id));
    assert!(
        picked.reason_missing,
        "a runnable item was left without a reason"
    );
}

#[test]
fn only_the_agent_names_a_blocker() {
    let (mut world, id) = working();
    let change = |change| {
        operator(WorkCommand::Update {
            work_item_id: id.clone(),
            change,
        })
    };
    let refused = world.send(change(blocked("a whim", 1_000))).reply;
    assert!(
        matches!(refused, Err(Rejection::InvalidWork { .. })),
        "{refused:?}"
    );
    assert_eq!(item(&world, &id).blocked_by, None);
    call(&mut world, vec![update(&id, blocked("no key", 1_000))]);
    assert!(
        world.send(change(unblocked())).reply.is_ok(),
        "an operator may clear it"
    );
    assert_eq!(state(&world, &id), State::Runnable);
}

#[test]
fn an_update_that_says_the_same_again_changes_nothing() {
    let (mut world, id) = working();
    call(&mut world, vec![update(&id, objective("mend it well"))]);
    let before = item(&world, &id).clone();
    world.advance(1_000);
    call(&mut world, vec![update(&id, objective("mend it well"))]);
    call(&mut world, vec![update(&id, unblocked())]);
    assert_eq!(item(&world, &id), &before);
}

#[test]
fn a_stopped_agent_takes_no_new_work_and_no_hint_and_its_items_can_be_ended() {
    let (mut world, id) = working();
    world.send(Input::Stop);
    let before = world.agent.clone();
    let commands = [
        operator(WorkCommand::Create(new_item("x"))),
        woken(hint("ci")),
    ];
    for command in commands {
        let refused = world.send(command).reply;
        assert!(
            matches!(refused, Err(Rejection::Stopped { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(world.agent, before);
    let ended = world.send(operator(WorkCommand::Complete { work_item_id: id }));
    assert!(ended.reply.is_ok(), "{:?}", ended.reply);
    assert_eq!(world.agent.work.items.open(), 0);
    assert_eq!(world.violations(), []);
}

#[test]
fn an_agent_with_as_many_open_items_as_it_may_have_makes_no_more() {
    let (mut world, _) = working();
    world.agent.work.items.blocked = limits::OPEN_WORK_ITEMS - 1;
    let before = world.results().len();
    world.send(ModelAnswer::calls(vec![create()]).to(&world));
    assert_eq!(world.results()[before..], ["limit_reached"]);
}

#[test]
fn two_entries_in_progress_are_taken_with_a_warning() {
    let (mut world, id) = working();
    let entry = |text: &str, state| TodoItem {
        text: text.to_owned(),
        state,
    };
    let todo_list = vec![
        entry("look", TodoState::InProgress),
        entry("mend", TodoState::InProgress),
        entry("tell", TodoState::Pending),
    ];
    let change = WorkItemChange {
        todo_list: Some(todo_list),
        ..WorkItemChange::default()
    };
    call(&mut world, vec![update(&id, change)]);
    assert_eq!(item(&world, &id).todo_list.len(), 3);
    let written = world.events.iter().rev().find_map(|event| match event {
        Event::WorkItemWritten(written) => Some(written.warnings.len()),
        _ => None,
    });
    assert_eq!(written, Some(1));
}

#[test]
fn an_agent_at_rest_says_which_work_makes_it_continuable() {
    use holon_core::assess::{AssessmentInput, assess};
    use holon_domain::closure::{ClosureOutcome, ReactivationMode};
    let mut world = states::idle();
    let id = operator_makes(&mut world, "answer the mail");
    say(&mut world);
    let closure = assess(AssessmentInput::new(&world.agent, &world.queue()))
        .closure
        .expect("at rest");
    assert_eq!(closure.outcome, ClosureOutcome::Continuable);
    let signal = closure.work_signal.expect("iff continuable");
    assert_eq!(signal.reactivation_mode, ReactivationMode::ActivateQueued);
    assert_eq!(signal.work_item_id, id);
    assert_eq!(world.agent.work.current, None::<CurrentItem>);

    let (mut world, id) = ticked();
    say(&mut world);
    let closure = assess(AssessmentInput::new(&world.agent, &world.queue()))
        .closure
        .expect("at rest");
    let signal = closure.work_signal.expect("iff continuable");
    assert_eq!(signal.reactivation_mode, ReactivationMode::ContinueActive);
    assert_eq!(signal.work_item_id, id);
}
