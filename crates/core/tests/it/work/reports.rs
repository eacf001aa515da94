//! Tests of completion reports: only the text of the round that completed the focused item.

use super::*;
use holon_domain::DeliverySummaryId;
use holon_domain::brief::{BriefKind, BriefText};
use holon_domain::work_item::{ReportText, TodoItem, TodoState, WorkItemState};

fn warnings(world: &World) -> Vec<String> {
    let kinds = world.events.iter().filter_map(|event| match event {
        Event::WorkItemCompletionWarning(warning) => Some(warning.kind.clone()),
        _ => None,
    });
    kinds.collect()
}

fn said(words: &'static str, calls: Vec<PlannedCall>) -> ModelAnswer {
    ModelAnswer {
        words,
        ..ModelAnswer::calls(calls)
    }
}

/// Returns the kinds of the warnings in the newest call's result.
fn answered_warnings(world: &World) -> Vec<String> {
    let result = world.log.iter().rev().find_map(|(_, entry)| match entry {
        holon_domain::log::LogEntry::ToolResult { envelope, .. } => Some(envelope),
        _ => None,
    });
    let value = serde_json::to_value(result.expect("a result")).expect("serialises");
    let warnings = value["result"]["warnings"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let kind = |warning: &serde_json::Value| warning["kind"].as_str().unwrap_or("").to_owned();
    warnings.iter().map(kind).collect()
}

#[test]
fn the_words_of_the_round_that_completed_the_focused_item_are_its_report() {
    let (mut world, id) = working();
    world.send(said("It builds again.", vec![complete(&id)]).to(&world));
    assert_eq!(
        item(&world, &id).result_summary.as_deref(),
        Some("It builds again.")
    );
    let report = world.briefs.last().expect("a brief");
    assert_eq!(
        (report.kind, report.work_item_id.as_ref()),
        (BriefKind::Result, Some(&id))
    );
    assert!(
        report.settles.is_empty(),
        "it is not the outcome of the prompt"
    );
    let turn = world.agent.open_turn.as_ref().expect("the turn goes on");
    let summary = &world.summaries[&DeliverySummaryId::of_item(&id)];
    assert_eq!(report.text, BriefText::Report(summary.id.clone()));
    assert_eq!(
        item(&world, &id).delivery_summary_id.as_ref(),
        Some(&summary.id)
    );
    let ReportText::Round(entry) = summary.text else {
        panic!("the words stand in the log: {summary:?}");
    };
    assert_eq!(turn.delivery, Some(entry));
    assert_eq!(
        (&summary.work_item_id, &summary.agent_id),
        (&id, &world.agent.identity.agent_id)
    );
    assert_eq!(summary.delivery.message_id, turn.message_id);
    assert_eq!(summary.delivery.created_at, world.now);
    assert_eq!(world.violations(), []);
    assert_eq!(warnings(&world), [""; 0]);
    assert_eq!(answered_warnings(&world), [""; 0]);
}

#[test]
fn without_words_there_is_no_report_but_a_warning() {
    let (mut world, id) = working();
    world.send(said("", vec![complete(&id)]).to(&world));
    assert_eq!(item(&world, &id).result_summary, None);
    assert_eq!(world.briefs.len(), 0);
    assert!(world.summaries.is_empty());
    assert_eq!(warnings(&world), ["missing_report"]);
    assert_eq!(answered_warnings(&world), ["missing_report"]);
}

#[test]
fn of_several_focused_completions_none_gets_the_words() {
    let (mut world, id) = working();
    let other = agent_makes(&mut world);
    let calls = vec![complete(&id), pick(&other), complete(&other)];
    world.send(said("Both are done.", calls).to(&world));
    assert_eq!(item(&world, &id).result_summary, None);
    assert_eq!(item(&world, &other).result_summary, None);
    assert_eq!(world.briefs.len(), 0);
}

#[test]
fn the_only_completed_item_of_a_round_gets_the_report_also_without_the_focus() {
    let (mut world, id) = working();
    let other = agent_makes(&mut world);
    world.send(said("That is done too.", vec![complete(&other)]).to(&world));
    let done = item(&world, &other).clone();
    assert_eq!(done.result_summary.as_deref(), Some("That is done too."));
    assert_eq!(done.delivery, None, "the row has the origin of the report");
    let summary = &world.summaries[&done.delivery_summary_id.expect("its delivery summary")];
    let delivery = &summary.delivery;
    let brief = world.briefs.last().expect("a brief");
    assert_eq!(delivery.brief_id, brief.id);
    assert_eq!(delivery.source, "assistant_round");
    assert_eq!(current(&world), Some(&id));
}

#[test]
fn a_completion_without_the_focus_and_without_text_is_warned_about() {
    let (mut world, _) = working();
    let other = agent_makes(&mut world);
    world.send(said("", vec![complete(&other)]).to(&world));
    assert_eq!(warnings(&world), ["missing_report"]);
}

#[test]
fn of_several_completions_without_the_focus_none_gets_the_words() {
    let (mut world, _) = working();
    let (one, two) = (agent_makes(&mut world), agent_makes(&mut world));
    let calls = vec![complete(&one), complete(&two)];
    world.send(said("Both are done.", calls).to(&world));
    assert_eq!(item(&world, &one).result_summary, None);
    assert_eq!(item(&world, &two).result_summary, None);
}

#[test]
fn a_completion_says_that_the_focus_is_released() {
    let (mut world, id) = working();
    world.send(said("It builds again.", vec![complete(&id)]).to(&world));
    let found = world.log.iter().rev().find_map(|(_, entry)| match entry {
        holon_domain::log::LogEntry::ToolResult { envelope, .. } => {
            Some(serde_json::json!(envelope))
        }
        _ => None,
    });
    let result = found.expect("a result");
    assert_eq!(result["result"]["focus_released"], true);
    assert_eq!(
        result["result"]["current_work_item_id"],
        serde_json::Value::Null
    );
    let summary = result["summary_text"].as_str().unwrap_or_default();
    assert!(summary.contains("no item has the focus now"), "{result}");
    assert!(summary.contains("is delivered as its report"), "{result}");
    assert_eq!(result["result"]["report_delivered"], true);
}

#[test]
fn a_completion_that_was_refused_is_none() {
    let (mut world, id) = working();
    let calls = vec![
        complete(&WorkItemId::from_stored("work_nobody")),
        complete(&id),
    ];
    world.send(said("It builds again.", calls).to(&world));
    assert_eq!(
        item(&world, &id).result_summary.as_deref(),
        Some("It builds again.")
    );
}

#[test]
fn words_of_another_round_are_no_report() {
    let (mut world, id) = working();
    world.send(said("", vec![complete(&id)]).to(&world));
    world.send(ModelAnswer::words("It builds again.").to(&world));
    assert_eq!(item(&world, &id).result_summary, None);
}

#[test]
fn a_completion_and_its_report_are_one_commit_also_when_a_command_follows() {
    let (mut world, id) = working();
    let sent = world.send(said("It builds again.", vec![complete(&id), make::exec()]).to(&world));
    let is_brief = |fact: &holon_domain::decision::Fact| {
        matches!(fact, holon_domain::decision::Fact::BriefWritten { .. })
    };
    assert_eq!(sent.facts.iter().filter(|fact| is_brief(fact)).count(), 1);
    assert_eq!(
        item(&world, &id).result_summary.as_deref(),
        Some("It builds again.")
    );
    let delivery = world.agent.open_turn.as_ref().map(|turn| turn.delivery);
    assert!(delivery.flatten().is_some(), "the report is the turn's");
    world.send(make::tool_ok(world.stamp().expect("a command runs")));
    assert_eq!(world.briefs.len(), 1, "it is adopted once");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_report_waits_while_another_focused_completion_may_follow() {
    let (mut world, id) = working();
    let other = agent_makes(&mut world);
    let calls = vec![complete(&id), make::exec(), pick(&other), complete(&other)];
    world.send(said("Both are done.", calls).to(&world));
    assert_eq!(world.briefs.len(), 0);
    world.send(make::tool_ok(world.stamp().expect("a command runs")));
    assert_eq!(world.briefs.len(), 0, "the text is about neither alone");
    assert_eq!(item(&world, &id).result_summary, None);
}

#[test]
fn the_words_of_a_round_are_the_report_of_one_item_also_when_another_commit_completes_a_second() {
    let (mut world, id) = working();
    let other = agent_makes(&mut world);
    let calls = vec![complete(&id), make::exec(), complete(&other)];
    world.send(said("It builds again.", calls).to(&world));
    assert!(item(&world, &id).result_summary.is_some());
    world.send(make::tool_ok(world.stamp().expect("a command runs")));
    assert_eq!(item(&world, &other).state, WorkItemState::Completed);
    assert_eq!(item(&world, &other).result_summary, None);
    assert_eq!(world.briefs.len(), 1);
    let found = world.log.iter().rev().find_map(|(_, entry)| match entry {
        holon_domain::log::LogEntry::ToolResult { envelope, .. } => {
            Some(serde_json::json!(envelope))
        }
        _ => None,
    });
    let result = found.expect("a result");
    assert_eq!(result["result"]["report_delivered"], false, "{result}");
}

#[test]
fn a_turn_that_ends_in_silence_after_a_report_is_settled_by_the_report() {
    let (mut world, id) = working();
    world.send(said("It builds again.", vec![complete(&id)]).to(&world));
    let report = world.briefs.last().expect("the report").text.clone();
    world.send(ModelAnswer::words("").to(&world));
    let outcome = world.briefs.last().expect("an outcome");
    assert_eq!(outcome.settles.len(), 1);
    assert_eq!(outcome.text, report);
}

#[test]
fn open_entries_of_the_checklist_are_allowed_with_a_warning() {
    let (mut world, id) = working();
    let entry = |state| TodoItem {
        text: "tell".to_owned(),
        state,
    };
    let change = WorkItemChange {
        todo_list: Some(vec![entry(TodoState::Pending), entry(TodoState::Completed)]),
        ..WorkItemChange::default()
    };
    call(&mut world, vec![update(&id, change)]);
    world.send(said("Done.", vec![complete(&id)]).to(&world));
    assert_eq!(warnings(&world), ["unfinished_todos"]);
    assert_eq!(answered_warnings(&world), ["unfinished_todos"]);
}
