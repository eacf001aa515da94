//! Tests of calls that stand before `WaitFor` or `Sleep` in one answer: the turn ends if none of their results has to be
//! read first.

use super::*;
use crate::laws::assert_rows_agree;
use crate::make::bounded_prompt;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::TerminalReason;
use holon_domain::wait::WaitQuestion;

fn answer(world: &mut World, words: &'static str, calls: Vec<PlannedCall>) {
    let said = ModelAnswer {
        words,
        ..ModelAnswer::calls(calls)
    };
    world.send(said.to(world));
}

fn an_hour() -> PlannedCall {
    wait_for(vec![WakeCondition::After {
        delay_ms: 3_600_000,
    }])
}

#[test]
fn a_wait_behind_calls_that_only_change_something_ends_the_turn() {
    let (mut world, id) = working();
    let calls = vec![
        update(&id, objective("mend the build today")),
        make::enqueue(Priority::Background),
        an_hour(),
    ];
    answer(&mut world, "I look again in an hour.", calls);
    assert_eq!(world.ended_as(), Some(TerminalReason::Slept));
    assert_eq!(world.agent.work.active_waits, 1);
    assert_eq!(item(&world, &id).objective, "mend the build today");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_wait_behind_a_failed_call_or_a_look_is_refused_so_that_the_results_are_read() {
    let strange = WorkItemId::from_stored("work_nobody");
    let refused: [(&str, Vec<PlannedCall>); 3] = [
        ("ok", vec![make::agent_get()]),
        ("unknown_work_item", vec![pick(&strange)]),
        ("invalid_tool_input", vec![make::misunderstood()]),
    ];
    for (first, mut calls) in refused {
        let (mut world, _) = working();
        let before = world.results().len();
        calls.push(an_hour());
        answer(&mut world, "", calls);
        assert_eq!(world.results()[before..], [first, "sleep_not_alone"]);
        assert!(world.agent.open_turn.is_some(), "{first}: it reads");
        assert_eq!(world.agent.work.active_waits, 0);
        // What one answer left unread does not hold up the next one.
        answer(&mut world, "", vec![an_hour()]);
        assert_eq!(world.agent.work.active_waits, 1, "{first}");
    }
}

#[test]
fn a_wait_behind_a_patch_ends_the_turn_once_the_patch_succeeded() {
    for (succeeds, waits) in [(true, 1), (false, 0)] {
        let (mut world, _) = working();
        answer(&mut world, "", vec![commands::patch(), an_hour()]);
        let stamp = world.stamp().expect("the patch is applied");
        let result = match succeeds {
            true => ToolEnvelope::success("ApplyPatch", "1 file", serde_json::json!({})),
            false => ToolEnvelope::failure(
                "ApplyPatch",
                ToolError::new(ToolErrorKind::ContextNotFound, "line 3 is not there"),
            ),
        };
        world.send(Input::ToolFinished {
            stamp,
            consequence: Consequence::Result(result),
            duration_ms: 1,
        });
        assert_eq!(world.agent.work.active_waits, waits);
        assert_eq!(world.agent.open_turn.is_some(), !succeeds);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_wait_that_is_not_the_last_call_is_refused() {
    let (mut world, id) = working();
    let before = world.results().len();
    answer(&mut world, "", vec![an_hour(), pick(&id)]);
    assert_eq!(world.results()[before..], ["sleep_not_alone", "ok"]);
    assert!(world.agent.open_turn.is_some());
}

#[test]
fn a_rest_behind_the_completion_of_an_item_delivers_its_report_once() {
    let (mut world, id) = working();
    let before = world.briefs.len();
    answer(
        &mut world,
        "It builds again.",
        vec![complete(&id), make::sleep(None)],
    );
    assert_eq!(world.ended_as(), Some(TerminalReason::Slept));
    let report = item(&world, &id).result_summary.as_deref();
    assert_eq!(report, Some("It builds again."));
    // One row is the report, the other settles the prompt and names the same text; only the first is delivered.
    let rows = &world.briefs[before..];
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(rows[0].text, rows[1].text);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_question_beside_the_report_of_an_item_is_asked() {
    let (mut world, id) = working();
    let question = WaitQuestion {
        text: "Shall I publish it?".to_owned(),
        choices: Vec::new(),
        any_message: false,
    };
    let wait = NewWait {
        question: Some(question),
        ..new_wait(vec![WakeCondition::Operator])
    };
    let calls = vec![complete(&id), ("WaitFor", Ok(Intent::WaitFor(wait)))];
    answer(&mut world, "It builds again.", calls);
    let last = world.briefs.last().expect("the outcome of the turn");
    let action = last.action_required.as_ref().expect("it asks");
    assert!(action.next_step.contains("Shall I publish it?"));
    assert_eq!(world.violations(), []);
}

#[test]
fn the_last_round_of_a_request_may_change_something_and_rest() {
    let mut world = states::calling_model_for(bounded_prompt(1));
    let calls = vec![make::enqueue(Priority::Background), an_hour()];
    answer(&mut world, "I look again in an hour.", calls);
    assert_eq!(world.ended_as(), Some(TerminalReason::Slept));
}

#[test]
fn a_call_of_the_last_round_that_runs_outside_is_awaited_before_the_rest() {
    for (result, ended_as) in [
        (
            ToolEnvelope::success("ApplyPatch", "1 file", serde_json::json!({})),
            TerminalReason::Slept,
        ),
        (
            ToolEnvelope::failure(
                "ApplyPatch",
                ToolError::new(ToolErrorKind::ContextNotFound, "line 3 is not there"),
            ),
            TerminalReason::MaxRounds,
        ),
    ] {
        let mut world = states::calling_model_for(bounded_prompt(1));
        let words = "I look again in an hour.";
        answer(&mut world, words, vec![commands::patch(), an_hour()]);
        assert_rows_agree(&world);
        let stamp = world.stamp().expect("the patch is applied");
        world.send(Input::ToolFinished {
            stamp,
            consequence: Consequence::Result(result),
            duration_ms: 1,
        });
        assert_eq!(world.ended_as(), Some(ended_as));
        assert_rows_agree(&world);
    }
}

#[test]
fn a_plan_that_is_called_ready_with_an_empty_file_is_warned_of() {
    let warning = |world: &World| {
        let results = world.log.iter().rev().filter_map(|(_, entry)| match entry {
            holon_domain::log::LogEntry::ToolResult { envelope, .. } => Some(envelope),
            _ => None,
        });
        let newest = results.map(|envelope| serde_json::to_value(envelope).expect("JSON"));
        let newest = newest.into_iter().next().expect("a result");
        newest["result"]["plan_warning"]["kind"]
            .as_str()
            .map(str::to_owned)
    };
    let ready = || plan_status(PlanStatus::Ready);
    let (mut world, id) = working();
    call(&mut world, vec![update(&id, ready())]);
    assert_eq!(warning(&world), None, "the file says: look first");
    let emptied = world.items.get_mut(&id).expect("the item");
    emptied.plan = Some(plan("  \n"));
    call(&mut world, vec![update(&id, ready())]);
    assert_eq!(warning(&world).as_deref(), Some("empty_plan"));
    call(&mut world, vec![update(&id, objective("another aim"))]);
    assert_eq!(warning(&world), None, "it says nothing of the plan");
}
