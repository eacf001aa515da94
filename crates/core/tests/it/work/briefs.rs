//! Tests of the briefs about work: that it continues, or that it waits for the operator.

use super::*;
use holon_domain::brief::{ActionCode, BriefKind, BriefText};
use holon_domain::work_item::WorkItemState;

fn kinds(world: &World) -> Vec<BriefKind> {
    world.briefs.iter().map(|brief| brief.kind).collect()
}

#[test]
fn an_operator_who_was_answered_is_told_that_work_goes_on() {
    let (world, id) = ticked();
    assert_eq!(kinds(&world), [BriefKind::Result, BriefKind::Ack]);
    let (outcome, ack) = (&world.briefs[0], &world.briefs[1]);
    assert_eq!(outcome.settles.len(), 1, "the answer is the one outcome");
    assert!(ack.settles.is_empty() && ack.acknowledges.is_empty());
    assert_eq!(ack.work_item_id.as_ref(), Some(&id));
    let BriefText::Words(words) = &ack.text else {
        panic!("words of the runtime: {ack:?}");
    };
    assert!(words.contains("mend the build"), "{words}");
}

#[test]
fn work_that_waits_for_a_task_goes_on_too() {
    let (mut world, _) = working();
    let task_id = task(&mut world);
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::Task { task_id }])],
    );
    assert_eq!(kinds(&world), [BriefKind::Result, BriefKind::Ack]);
}

#[test]
fn a_turn_after_which_nothing_goes_on_has_its_outcome_alone() {
    let (mut world, id) = working();
    call(&mut world, vec![update(&id, blocked("no key", 1_000))]);
    say(&mut world);
    assert_eq!(kinds(&world), [BriefKind::Result]);
    let mut world = states::calling_model();
    say(&mut world);
    assert_eq!(kinds(&world), [BriefKind::Result]);
}

#[test]
fn a_tick_that_nobody_waits_for_is_not_acknowledged() {
    let (mut world, id) = ticked();
    let before = world.briefs.len();
    call(&mut world, vec![update(&id, objective("mend it well"))]);
    say(&mut world);
    assert_eq!(kinds(&world)[before..], [BriefKind::Result]);
}

#[test]
fn a_turn_that_ends_with_a_question_asks_the_operator_to_act() {
    let (mut world, _) = working();
    let silent = ModelAnswer {
        words: "",
        ..ModelAnswer::calls(vec![wait_for(vec![WakeCondition::Operator])])
    };
    world.send(silent.to(&world));
    let brief = world.briefs.last().expect("an outcome");
    let action = brief.action_required.as_ref().expect("it asks");
    assert_eq!(action.code, ActionCode::OperatorInput);
    assert_eq!(
        brief.text,
        BriefText::Words("the answer".to_owned()),
        "a silent turn says why"
    );
    assert_eq!(brief.settles.len(), 1);
}

#[test]
fn a_silent_wait_for_something_else_tells_the_operator_what_it_waits_for() {
    let (mut world, _) = working();
    let silent = ModelAnswer {
        words: "",
        ..ModelAnswer::calls(vec![wait_for(vec![WakeCondition::External {
            source: None,
        }])])
    };
    world.send(silent.to(&world));
    let outcome = world.briefs.iter().find(|brief| !brief.settles.is_empty());
    let outcome = outcome.expect("the prompt has its outcome");
    assert_eq!(
        outcome.text,
        BriefText::Words("No answer yet. Waiting for: the answer".to_owned())
    );
}

#[test]
fn a_plan_that_needs_input_asks_the_operator_to_act() {
    let (mut world, id) = working();
    call(
        &mut world,
        vec![update(&id, plan_status(PlanStatus::NeedsInput))],
    );
    say(&mut world);
    let brief = world.briefs.last().expect("an outcome");
    let action = brief.action_required.as_ref().expect("it asks");
    assert_eq!(action.code, ActionCode::OperatorInput);
    world.send(prompt());
    assert_eq!(class(&world), ContinuationClass::ResumeExpectedWait);
    call(
        &mut world,
        vec![update(&id, plan_status(PlanStatus::Ready))],
    );
    say(&mut world);
    let outcome = world
        .briefs
        .iter()
        .rev()
        .find(|brief| !brief.settles.is_empty());
    assert_eq!(outcome.expect("an outcome").action_required, None);
}

#[test]
fn going_to_rest_records_why_and_what_is_expected() {
    let (mut world, id) = working();
    call(&mut world, vec![update(&id, blocked("no key", 1_000))]);
    let wait = NewWait {
        recheck_after_ms: Some(60_000),
        ..new_wait(vec![WakeCondition::External { source: None }])
    };
    call(&mut world, vec![complete(&id)]);
    call(&mut world, vec![("WaitFor", Ok(Intent::WaitFor(wait)))]);
    let decision = world.events.iter().rev().find_map(|event| match event {
        Event::SchedulerDecision(decision) => Some(decision.clone()),
        _ => None,
    });
    let decision = decision.expect("it is recorded");
    let choice = holon_domain::event::SchedulerChoice::WaitForExternalChange;
    assert_eq!(decision.decision, choice);
    assert!(decision.reason.contains("the answer"), "{decision:?}");
    assert!(
        decision
            .evidence
            .iter()
            .any(|line| line.starts_with("wakes at")),
        "{decision:?}"
    );
}

#[test]
fn the_choice_of_a_message_records_what_it_was_chosen_from() {
    let mut world = states::calling_model();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(make::admit(make::prompt(Priority::Background)));
    say(&mut world);
    let evidence = world.events.iter().rev().find_map(|event| match event {
        Event::SchedulerDecision(decision) => Some(decision.evidence.clone()),
        _ => None,
    });
    let expected = "first of the queue by priority (normal) and age, before 1 message";
    assert_eq!(evidence, Some(vec![expected.to_owned()]));
}

#[test]
fn the_report_of_a_completed_item_carries_its_files_and_operators_may_load_them() {
    let (mut world, id) = working();
    // A path that leads out of the home completes nothing.
    let refused = complete_with(&id, &["work/report.md", "../keys"]);
    world.send(ModelAnswer::calls(vec![refused]).to(&world));
    let last = world.results().pop().expect("a result");
    assert_eq!(last, "invalid_tool_input");
    assert_eq!(world.items[&id].state, WorkItemState::Open);
    assert!(world.agent.outbox.attached.is_empty());

    // One that is not there does not either.
    let files = ["work/report.md", "./plot.png"];
    for fault in [Some("there is no file \"./plot.png\" in your home"), None] {
        world.send(ModelAnswer::calls(vec![complete_with(&id, &files)]).to(&world));
        assert_eq!(world.items[&id].state, WorkItemState::Open);
        let stamp = world.stamp().expect("the files are looked at");
        world.send(Input::ToolFinished {
            stamp,
            consequence: Consequence::FilesSeen {
                fault: fault.map(str::to_owned),
            },
            duration_ms: 1,
        });
        let is_open = world.items[&id].state == WorkItemState::Open;
        assert_eq!(is_open, fault.is_some());
    }
    assert_eq!(world.agent.outbox.attached, ["work/report.md", "plot.png"]);
    let report = world
        .briefs
        .iter()
        .find(|brief| brief.work_item_id.as_ref() == Some(&id))
        .expect("a report");
    let names: Vec<&str> = report
        .attachments
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(names, ["work/report.md", "plot.png"]);
    let told = world.events.iter().find_map(|event| match event {
        Event::BriefCreated(e) if e.brief_id == report.id => Some(e.attachments.clone()),
        _ => None,
    });
    assert_eq!(told.as_ref(), Some(&report.attachments));
}
