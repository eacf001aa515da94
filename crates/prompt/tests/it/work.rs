//! The agent's work in a frame: its content, the order in which parts are dropped, and its stability within a turn.

use crate::fixture::{Scene, at, kept, later};
use holon_domain::WorkItemId;
use holon_domain::agent::{CurrentItem, ItemCounts};
use holon_domain::timer::TimerRecord;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{
    ItemStep, PlanArtifact, StepAction, WorkItemRecord, WorkItemSchedulingState, WorkOverview,
};
use holon_prompt::{PlanFile, Work, build, rebuild};
use serde_json::{Value, json};

pub(crate) fn item(name: &str, more: &Value) -> WorkItemRecord {
    let mut row = json!({
        "id": format!("work_{name}"), "agent_id": "main", "workspace_id": "ws-1",
        "objective": format!("Do {name}"), "state": "open", "plan_status": "ready",
        "provenance": {"authority": "operator_instruction"},
        "revision": 3, "created_at": at(1), "updated_at": at(2),
    });
    let members = row.as_object_mut().expect("a row");
    members.extend(more.as_object().expect("members").clone());
    serde_json::from_value(row).expect("an item")
}

fn wait(id: &str, more: &Value) -> WaitRecord {
    let mut row = json!({
        "id": id, "agent_id": "main", "kind": "task", "status": "active", "waiting_for": "the build",
        "wake_sources": [{"kind": "task_result", "task_id": "task_1"}, {"kind": "operator_input"}],
        "due_at": at(900), "created_at": at(1), "updated_at": at(2),
    });
    let members = row.as_object_mut().expect("a row");
    members.extend(more.as_object().expect("members").clone());
    serde_json::from_value(row).expect("a wait")
}

fn timer() -> TimerRecord {
    serde_json::from_value(json!({
        "id": "timer_1", "agent_id": "main", "created_at": at(1),
        "schedule": {"kind": "once", "at": at(500)}, "status": "active",
        "summary": "look at\nthe nightly", "next_fire_at": at(500),
    }))
    .expect("a timer")
}

pub(crate) fn plan(text: &str) -> PlanArtifact {
    PlanArtifact::of_content(text.as_bytes(), at(2))
}

/// One item of every class.
pub(crate) fn busy() -> Scene {
    let mut scene = Scene::new();
    let current = item(
        "current",
        &json!({
            "plan": plan("# Plan\n\nRead, then \u{202e}split.\n"),
            "todo_list": [
                {"text": "read", "state": "completed"},
                {"text": "split", "state": "in_progress"},
                {"text": "check", "state": "pending"},
            ],
            "wait": {"wait_id": "wait_1", "kind": "task"},
        }),
    );
    scene.agent.work.current = Some(CurrentItem {
        id: current.id.clone(),
        state: WorkItemSchedulingState::WaitingTask,
        idle_turns: 0,
    });
    scene.agent.work.items = ItemCounts {
        runnable: 2,
        waiting_operator: 1,
        waiting_task: 1,
        blocked: 17,
        ..ItemCounts::default()
    };
    scene.agent.work.active_waits = 2;
    scene.agent.work.active_timers = 1;
    let of_item = json!({"work_item_id": "work_current"});
    scene.work = WorkOverview {
        current: Some(current),
        current_wait: Some(wait("wait_1", &of_item)),
        triggered: vec![item("triggered", &json!({}))],
        queued: vec![item(
            "queued",
            &json!({"todo_list": [{"text": "begin", "state": "pending"}]}),
        )],
        waiting_operator: vec![item("asked", &json!({"plan_status": "needs_input"}))],
        blocked: vec![item("blocked", &json!({"blocked_by": "review of\n#12"}))],
        completed: vec![item(
            "done",
            &json!({"state": "completed", "result_summary": "Done.\nAll tests pass."}),
        )],
        due_rechecks: vec![item("due", &json!({"blocked_by": "CI"}))],
        waits: vec![
            wait("wait_1", &of_item),
            wait(
                "wait_2",
                &json!({"wake_sources": [{"kind": "external_ingress", "source": "github"}]}),
            ),
        ],
        timers: vec![timer()],
        trace: vec![
            step(
                4,
                StepAction::Said("I read the module.\nNow I split it.".to_owned()),
            ),
            step(
                4,
                StepAction::Called {
                    tool: "ExecCommand".to_owned(),
                    summary: "exit 101 after 12 ms".to_owned(),
                    failed: true,
                },
            ),
        ],
    };
    scene
}

fn step(turn_index: u64, action: StepAction) -> ItemStep {
    ItemStep { turn_index, action }
}

/// Returns the block about work, if there is one.
fn shown(scene: &Scene) -> Option<String> {
    let built = scene.built();
    let blocks = built.frame.context_blocks.into_iter();
    let mut about_work = blocks.filter(|block| block.text.starts_with("Your work"));
    about_work.next().map(|block| block.text)
}

#[test]
fn work_of_every_class_reads_as_published() {
    insta::assert_snapshot!("work", shown(&busy()).expect("work"));
}

#[test]
fn without_work_a_frame_is_what_it_was_without_this_part() {
    let scene = Scene::new();
    let built = scene.built();
    assert_eq!(
        (built.work.clone(), built.shown_items.clone()),
        (None, Vec::new())
    );
    let mut input = scene.input();
    input.work = Work::Kept(None);
    assert_eq!(build(&input), built);
    assert_eq!(built.sections, 4, "three lasting parts and the input");
}

#[test]
fn later_requests_of_a_turn_repeat_the_text_of_the_first() {
    let scene = busy();
    let first = scene.built();
    assert_eq!(first.shown_items.len(), 7, "{:?}", first.shown_items);
    let later = rebuild(&later(&scene, &first), kept(&first));
    assert_eq!(later.frame, first.frame);
    assert_eq!(later.shown_items, Vec::<WorkItemId>::new());
}

#[test]
fn short_of_room_classes_give_way_in_their_order_and_the_current_item_last() {
    let mut scene = busy();
    scene.tools = holon_domain::tool_set::ToolSet::default();
    let marks = [
        "Completed last",
        "Active timers",
        "blocked or wait",
        "wait for the operator",
        "Latest steps",
        "Other items",
        "Reminders",
        "whose wait has ended",
        "checklist:",
        "- wait_2 of no item",
    ];
    let mut gone = 0;
    for budget in (0..8_000).rev().step_by(10) {
        scene.budget_tokens = budget;
        let text = shown(&scene).expect("the current item is never left out");
        let kept: Vec<bool> = marks.iter().map(|mark| text.contains(mark)).collect();
        let missing = kept.iter().filter(|kept| !**kept).count();
        assert!(
            kept.iter().take(missing).all(|kept| !*kept),
            "{kept:?} at {budget}"
        );
        assert!(missing >= gone, "room never comes back");
        assert!(text.contains("work_current"), "the current item is named");
        assert!(text.contains("wait_1"), "the wait is named");
        assert_eq!(text.contains("left out for lack of room"), missing > 0);
        gone = missing;
    }
    assert_eq!(gone, marks.len(), "every class was left out in the end");
}

#[test]
fn open_steps_of_a_long_checklist_are_shown_before_done_ones() {
    let mut scene = busy();
    let mut steps: Vec<Value> = (0..200)
        .map(|number| json!({"text": format!("step {number} {}", "x".repeat(80)), "state": "completed"}))
        .collect();
    steps.push(json!({"text": "paint the door", "state": "in_progress"}));
    steps.push(json!({"text": "oil the hinge", "state": "pending"}));
    let current = item("current", &json!({ "todo_list": steps }));
    scene.work.current = Some(current);
    let text = shown(&scene).expect("work");
    assert!(text.contains("[in progress] paint the door"), "{text}");
    assert!(text.contains("[ ] oil the hinge"), "{text}");
    assert!(
        text.contains("of them done; GetWorkItem shows all"),
        "{text}"
    );
}

#[test]
fn an_item_of_the_queue_shows_who_made_it_and_how_its_plan_begins() {
    let mut scene = busy();
    let foreign = json!({
        "provenance": {"authority": "external_evidence"},
        "plan": plan("\nAsk the port first.\nThen sail.\n"),
    });
    scene.work.queued = vec![item("foreign", &foreign)];
    let text = shown(&scene).expect("work");
    let line = text.lines().find(|line| line.contains("Do foreign"));
    let line = line.expect("the item");
    assert!(line.contains("external_evidence"), "{line}");
    assert!(line.ends_with("| plan: Ask the port first."), "{line}");
}

#[test]
fn items_that_are_left_out_do_not_count_as_shown() {
    let mut scene = busy();
    scene.tools = holon_domain::tool_set::ToolSet::default();
    let all = scene.built().shown_items.len();
    scene.budget_tokens = 8_000;
    while scene.built().shown_items.len() == all {
        scene.budget_tokens -= 10;
    }
    let built = scene.built();
    let text = built.work.expect("some work");
    assert!(built.shown_items.len() < all);
    for id in &built.shown_items {
        assert!(text.contains(id.as_str()), "{id}");
    }
}

#[test]
fn a_plan_that_was_edited_or_lost_is_shown_as_it_is_now() {
    let mut scene = busy();
    for (look, words) in [
        (PlanFile::Missing, "(there is no such file)"),
        (PlanFile::Changed(plan("# Other\n")), "> # Other"),
        (PlanFile::Changed(plan("")), "(empty)"),
        (
            PlanFile::Changed(PlanArtifact::of_content(&[0xff], at(2))),
            "no text",
        ),
        (
            PlanFile::Changed(PlanArtifact::of_size(1 << 40, at(2))),
            "too large to be shown",
        ),
    ] {
        scene.plan = look;
        let text = shown(&scene).expect("work");
        assert!(text.contains(words), "{words}: {text}");
        assert!(!text.contains("> # Plan"), "{words}: {text}");
    }
}

#[test]
fn the_longest_work_there_can_be_stays_within_bounds() {
    let mut scene = busy();
    let long = "ä\n".repeat(1_000);
    let todo = json!({"text": "t".repeat(1_000), "state": "pending"});
    let huge = json!({
        "objective": long, "blocked_by": long, "result_summary": "r\n".repeat(8_000),
        "plan": plan(&"p\n".repeat(5_000)), "todo_list": vec![todo; 100],
    });
    let many = |count: usize| {
        (0..count)
            .map(|n| item(&format!("n{n}"), &huge))
            .collect::<Vec<_>>()
    };
    scene.budget_tokens = 1_000_000;
    scene.work = WorkOverview {
        current: Some(item("current", &huge)),
        triggered: many(3),
        queued: many(5),
        waiting_operator: many(3),
        blocked: many(3),
        completed: many(3),
        due_rechecks: many(16),
        ..scene.work
    };
    let text = shown(&scene).expect("work");
    assert!(text.len() < 64_000, "{} bytes", text.len());
    assert!(text.contains("of them done; GetWorkItem shows all"));
}

#[test]
fn a_completed_item_without_a_report_is_not_shown() {
    let mut scene = busy();
    scene
        .work
        .completed
        .push(item("silent", &json!({"state": "completed"})));
    let text = shown(&scene).expect("work");
    assert!(text.contains("All tests pass."), "{text}");
    assert!(!text.contains("silent"), "{text}");
    assert!(
        !scene
            .built()
            .shown_items
            .iter()
            .any(|id| id.as_str().contains("silent"))
    );
    scene.work.completed.remove(0);
    assert!(!shown(&scene).expect("work").contains("Completed last"));
}

#[test]
fn what_an_operator_asked_for_stands_beside_what_was_made() {
    let mut scene = busy();
    let order = |words: &str| Some(words.to_owned());
    scene.work.timers[0].order = order("Watch the \"nightly\"\nfor me.");
    scene.work.waits[1].order = order("Tell me when #12 is merged.");
    scene.work.queued[0].order = order("Tidy up.");
    if let Some(current) = &mut scene.work.current {
        current.order = order("Split the module.");
    }
    let text = build(&scene.input()).work.expect("work");
    for words in [
        r#" | your operator had asked: "Watch the \"nightly\""#,
        r#" | your operator had asked: "Tell me when #12 is merged.""#,
        r#" | your operator had asked: "Tidy up.""#,
        "\nyour operator had asked: \"Split the module.\"",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
}
