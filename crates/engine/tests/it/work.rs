//! Work items over the shell: created, picked, planned and completed over several turns, and their state after a crash.

use crate::house::{House, agent, at_rest, briefs, events, prompt, until_event};
use crate::runs::{request, run};
use holon_domain::WorkItemId;
use holon_domain::brief::BriefKind;
use holon_domain::event::Event;
use holon_domain::intent::WorkItemFilter;
use holon_domain::model::{ConversationItem, ModelFailure, ModelReply, ModelRequest};
use holon_domain::work_item::{WorkItemRecord, WorkItemState};
use holon_engine::request::RunRequest;
use holon_testkit::ports::{calls, says, says_and_calls};
use serde_json::{Value, json};

const HOME: &str = "/agents/main";

/// The items of agent `main`, newest change first.
async fn items(house: &House) -> Vec<WorkItemRecord> {
    let read = house.readers().read(|reader| {
        let (no, _) = reader.agent(&agent("main"))?.expect("an agent");
        reader.work_items(no, WorkItemFilter::All, 100)
    });
    read.await.expect("items").0
}

/// The last tool result of a conversation, as the model reads it.
fn last_result(request: &ModelRequest) -> Value {
    let results = request.conversation.iter().rev();
    let mut results = results.filter_map(|item| match item {
        ConversationItem::ToolResult { content, .. } => Some(content),
        ConversationItem::User { .. } | ConversationItem::Assistant { .. } => None,
    });
    serde_json::from_str(results.next().expect("a result")).expect("JSON")
}

/// The section of a request that shows the agent's work.
fn shown(request: &ModelRequest) -> Option<&str> {
    let blocks = request.frame.context_blocks.iter();
    let mut texts = blocks.map(|block| block.text.as_str());
    texts.find(|text| text.starts_with("Your work"))
}

fn creation(plan: &str) -> Result<ModelReply, ModelFailure> {
    let new = json!({
        "objective": "Split the fixtures", "plan": plan, "plan_status": "ready",
        "todo_list": [{"text": "split", "state": "pending"}],
    });
    calls(&[("CreateWorkItem", new)])
}

/// Creates and picks an item in the open turn. Returns its id once the model was called again.
pub(crate) async fn make_and_pick(house: &House, plan: &str) -> WorkItemId {
    house.model.next().await.answer(creation(plan));
    let asked = house.model.next().await;
    let made = last_result(&asked.request);
    let id = made["result"]["work_item"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    asked.answer(calls(&[("PickWorkItem", json!({ "work_item_id": id }))]));
    WorkItemId::from_stored(id)
}

#[tokio::test]
async fn a_plan_is_carried_out_over_several_turns_and_its_report_is_delivered() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    assert_eq!(house.plans.all()[&id], "# Plan\n");
    let asked = house.model.next().await;
    assert_eq!(
        last_result(&asked.request)["result"]["current_work_item_id"],
        json!(id)
    );
    assert_eq!(shown(&asked.request), None, "the turn began without work");
    asked.answer(says("planned"));
    // Runnable work wakes the agent again.
    let asked = house.model.next().await;
    let text = shown(&asked.request).expect("the work is shown");
    assert!(
        text.contains(id.as_str()) && text.contains("> # Plan") && text.contains("- [ ] split"),
        "{text}"
    );
    let change = json!({
        "work_item_id": id, "todo_list": [{"text": "split", "state": "in_progress"}],
    });
    asked.answer(calls(&[("UpdateWorkItem", change)]));
    let asked = house.model.next().await;
    assert!(
        shown(&asked.request).is_some_and(|text| text.contains("- [ ] split")),
        "as the turn began"
    );
    asked.answer(says("begun"));
    let asked = house.model.next().await;
    assert!(shown(&asked.request).is_some_and(|text| text.contains("[in progress] split")));
    let complete = json!({ "work_item_id": id });
    asked.answer(says_and_calls(
        "Split. All tests pass.",
        &[("CompleteWorkItem", complete)],
    ));
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
    let item = items(&house).await.pop().expect("an item");
    assert_eq!(item.state, WorkItemState::Completed);
    assert_eq!(
        item.result_summary.as_deref(),
        Some("Split. All tests pass.")
    );
    let told = briefs(&host, "main", 4).await;
    let report = told
        .iter()
        .find(|brief| brief.text == "Split. All tests pass.");
    assert_eq!(
        report.map(|brief| (brief.kind, brief.work_item_id.clone())),
        Some((BriefKind::Result, Some(id)))
    );
    assert!(house.model.is_quiet().await, "nothing is left to do");
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_crash_between_the_plan_and_the_item_makes_the_item_once() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    house.plans.held.send_replace(true);
    house.model.next().await.answer(creation("# Plan\n"));
    let mut written = house.plans.written.subscribe();
    written
        .wait_for(|count| *count == 1)
        .await
        .expect("written");
    assert_eq!(items(&house).await.len(), 0, "the file comes first");
    let after = house.after_crash();
    house.plans.held.send_replace(false);
    drop(host);
    let host = after.start().await;
    let asked = after.model.next().await;
    let id = last_result(&asked.request)["result"]["work_item"]["id"].clone();
    let made = items(&after).await;
    assert_eq!(
        made.iter().map(|item| json!(item.id)).collect::<Vec<_>>(),
        [id]
    );
    let plans: Vec<WorkItemId> = after.plans.all().into_keys().collect();
    assert_eq!(plans, [made[0].id.clone()], "one plan for one item");
    asked.answer(calls(&[(
        "CompleteWorkItem",
        json!({ "work_item_id": made[0].id }),
    )]));
    after.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
    after.is_sound("main").await;
}

#[tokio::test]
async fn the_plan_of_a_call_whose_turn_was_stopped_is_removed() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    house.plans.held.send_replace(true);
    house.model.next().await.answer(creation("# Plan\n"));
    let mut written = house.plans.written.subscribe();
    written
        .wait_for(|count| *count == 1)
        .await
        .expect("written");
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    assert_eq!(house.plans.all().len(), 1);
    house.plans.held.send_replace(false);
    host.shut_down().await.expect("goes down");
    assert_eq!(house.plans.all().len(), 0, "it belongs to no item");
    assert_eq!(items(&house).await.len(), 0);
}

#[tokio::test]
async fn a_boot_after_a_crash_removes_plans_that_belong_to_no_item() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let asked = house.model.next().await;
    let orphan = WorkItemId::from_stored("work_orphan");
    house.plans.edit(HOME, &orphan, b"nobody's");
    let after = house.after_crash();
    drop((asked, host));
    let host = after.start().await;
    while after.plans.all().contains_key(&orphan) {
        // Each read waits for a reader thread, so the boot can proceed meanwhile.
        items(&after).await;
    }
    assert!(
        after.plans.all().contains_key(&id),
        "an item keeps its plan"
    );
    after.model.next().await.answer(calls(&[(
        "CompleteWorkItem",
        json!({ "work_item_id": id }),
    )]));
    after.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn a_plan_that_was_edited_is_shown_and_recorded_as_it_is_now() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let asked = house.model.next().await;
    house.plans.edit(HOME, &id, b"# Better plan\n");
    asked.answer(says("planned"));
    let asked = house.model.next().await;
    assert!(shown(&asked.request).is_some_and(|text| text.contains("> # Better plan")));
    asked.answer(calls(&[(
        "CompleteWorkItem",
        json!({ "work_item_id": id }),
    )]));
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
    until_event(&host, "main", "work_item_plan_artifact_refreshed").await;
    let item = items(&house).await.pop().expect("an item");
    assert_eq!(item.plan.expect("a plan").preview, "# Better plan\n");
    let warned = events(&host, "main").await.into_iter().any(|event| {
        matches!(event, Event::WorkItemCompletionWarning(warning) if warning.kind == "missing_report")
    });
    assert!(warned, "completed without words");
}

#[tokio::test]
async fn a_plan_that_cannot_be_written_makes_no_item_and_is_told() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    *house.plans.failure.lock().expect("a lock") = Some("a link is in the way".to_owned());
    house.model.next().await.answer(creation("# Plan\n"));
    let asked = house.model.next().await;
    let told = last_result(&asked.request);
    assert_eq!(told["ok"], false);
    assert!(
        told["message"]
            .as_str()
            .is_some_and(|words| words.contains("a link is in the way"))
    );
    asked.answer(says("it cannot be done"));
    at_rest(&host, "main").await;
    assert_eq!(items(&house).await.len(), 0);
}

#[tokio::test]
async fn stored_work_is_read_by_calls() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let asked = house.model.next().await;
    asked.answer(calls(&[
        (
            "CreateTimer",
            json!({ "after_ms": 60_000, "summary": "look" }),
        ),
        ("GetWorkItem", json!({ "work_item_id": "work_none" })),
        (
            "GetWorkItem",
            json!({ "work_item_id": id, "include_todo_list": true }),
        ),
        ("ListWorkItems", json!({ "filter": "current" })),
        ("ListWorkItems", json!({ "filter": "queued" })),
        ("ListTimers", json!({})),
        ("CompleteWorkItem", json!({ "work_item_id": id })),
    ]));
    let asked = house.model.next().await;
    let results: Vec<Value> = asked
        .request
        .conversation
        .iter()
        .filter_map(|item| match item {
            ConversationItem::ToolResult { content, .. } => {
                Some(serde_json::from_str(content).expect("JSON"))
            }
            ConversationItem::User { .. } | ConversationItem::Assistant { .. } => None,
        })
        .collect();
    let [_, _, timer, unknown, one, current, queued, timers, _] = results.as_slice() else {
        panic!("{results:?}");
    };
    assert_eq!(unknown["kind"], "unknown_work_item");
    assert_eq!(one["result"]["work_item"]["todo_list"][0]["text"], "split");
    assert_eq!(one["result"]["context"]["current_work_item_id"], json!(id));
    assert_eq!(
        (
            &current["result"]["returned"],
            &queued["result"]["returned"]
        ),
        (&json!(1), &json!(0))
    );
    assert_eq!(queued["result"]["total_matching"], 0);
    assert_eq!(
        timers["result"]["timers"][0]["id"],
        timer["result"]["timer"]["id"]
    );
    asked.answer(says("done"));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn the_answer_of_a_run_is_its_newest_report_and_its_last_words_go_with_it() {
    let house = House::new();
    let host = house.start().await;
    let outcome = run(&host, request("split the fixtures"), async {
        let id = make_and_pick(&house, "# Plan\n").await;
        let complete = json!({ "work_item_id": id });
        let report = says_and_calls("Split. All tests pass.", &[("CompleteWorkItem", complete)]);
        house.model.next().await.answer(report);
        house.model.next().await.answer(says("bye"));
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.final_text, "Split. All tests pass.");
    assert_eq!(response.raw_final_text.as_deref(), Some("bye"));
    host.shut_down().await.expect("goes down");
}

#[tokio::test]
async fn a_report_of_an_earlier_turn_is_not_the_answer_of_a_run() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let complete = json!({ "work_item_id": id });
    let report = says_and_calls("Split.", &[("CompleteWorkItem", complete)]);
    house.model.next().await.answer(report);
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
    let again = RunRequest {
        agent_id: Some(agent("main")),
        ..request("and now?")
    };
    let outcome = run(&host, again, async {
        let asked = house.model.next().await;
        assert!(shown(&asked.request).is_some_and(|text| text.contains("> Split.")));
        asked.answer(says("nothing more"));
    });
    assert_eq!(
        outcome.await.expect("a response").final_text,
        "nothing more"
    );
}
