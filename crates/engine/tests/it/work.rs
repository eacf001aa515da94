//! Work items over the shell: created, picked, planned and completed over several turns, and their state after a crash.

use crate::house::{House, agent, at_rest, briefs, create, events, prompt, status, until_event};
use crate::runs::{request, run};
use crate::talk::{current, id_in, results};
use holon_domain::WorkItemId;
use holon_domain::brief::BriefKind;
use holon_domain::event::Event;
use holon_domain::intent::{WorkItemChange, WorkItemFilter};
use holon_domain::model::{ModelFailure, ModelReply, ModelRequest};
use holon_domain::summary::Posture;
use holon_domain::work_item::{WorkItemRecord, WorkItemState, WorkItemView};
use holon_engine::Host;
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
fn last_result(request: &ModelRequest) -> String {
    results(request).pop().expect("a result")
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
    let id = id_in(&last_result(&asked.request), "work_");
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
    let picked = last_result(&asked.request);
    assert!(
        picked.starts_with(&format!("work item {id} has the focus")),
        "{picked}"
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
    let id = id_in(&last_result(&asked.request), "work_");
    let made = items(&after).await;
    assert_eq!(
        made.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(),
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
async fn lists_and_prompts_show_the_plan_of_any_item_as_it_is_now() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    house.model.next().await.answer(creation("# Plan\n"));
    let asked = house.model.next().await;
    let id = id_in(&last_result(&asked.request), "work_");
    let id = WorkItemId::from_stored(id);
    house.plans.edit(HOME, &id, b"# Better plan\n");
    asked.answer(calls(&[("ListWorkItems", json!({}))]));
    let asked = house.model.next().await;
    let listed = last_result(&asked.request);
    assert!(listed.contains("# Better plan"), "{listed}");
    asked.answer(says("made"));
    let asked = house.model.next().await;
    assert!(
        shown(&asked.request).is_some_and(|text| text.contains("plan: # Better plan")),
        "{:?}",
        shown(&asked.request)
    );
}

#[tokio::test]
async fn reads_and_changes_of_an_operator_show_the_plan_as_its_file_is_now() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let asked = house.model.next().await;
    house.plans.edit(HOME, &id, b"# Better plan\n");
    let main = agent("main");
    let page = host
        .reads()
        .work_items(&main, WorkItemFilter::Open, None, 10)
        .await;
    let listed = page.expect("a page").items.remove(0);
    let read = host.reads().work_item(&main, &id).await.expect("an item");
    let change = WorkItemChange {
        objective: Some("split them all".to_owned()),
        ..WorkItemChange::default()
    };
    let control = host.control();
    let changed = control.update_work_item(&main, id.clone(), change).await;
    let changed = changed.expect("it is changed");
    assert_eq!(changed.objective, "split them all");
    let completed = control.complete_work_item(&main, id).await;
    let completed = completed.expect("it is completed");
    for (view, way) in [
        (listed, "list"),
        (read, "read"),
        (changed, "update"),
        (completed, "complete"),
    ] {
        assert_eq!(view.plan_artifact.preview, "# Better plan\n", "{way}");
    }
    asked.answer(says("done"));
    at_rest(&host, "main").await;
}

/// Lists the one completed item.
async fn listed(host: &Host) -> WorkItemView {
    let reads = host.reads();
    let page = reads
        .work_items(&agent("main"), WorkItemFilter::Completed, None, 10)
        .await;
    let mut items = page.expect("a page").items;
    assert_eq!(items.len(), 1);
    items.remove(0)
}

#[tokio::test]
async fn a_long_report_is_shown_whole_from_its_delivery_summary() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let report = format!("{}end of the report", "a line of it\n".repeat(3_000));
    let complete = json!({ "work_item_id": id });
    let asked = house.model.next().await;
    asked.answer(says_and_calls(&report, &[("CompleteWorkItem", complete)]));
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
    let item = items(&house).await.pop().expect("an item");
    assert!(
        item.result_summary
            .is_some_and(|text| text.len() < report.len())
    );
    let shown = host.reads().work_item(&agent("main"), &id).await;
    let shown = shown.expect("an item");
    let delivery = shown.delivery_summary.expect("a delivery");
    assert_eq!(delivery.text, report);
    assert_eq!(shown.completion_report.expect("a report").text, report);
    let told = briefs(&host, "main", 2).await;
    let brief = told
        .iter()
        .find(|brief| brief.id == delivery.delivery.brief_id);
    assert_eq!(
        brief.and_then(|brief| brief.work_item_id.clone()),
        Some(id.clone())
    );
    assert_eq!(brief.map(|brief| brief.text.as_str()), Some(&*report));
    let page = listed(&host).await;
    let summary = page.delivery_summary.expect("a delivery");
    assert_eq!(
        (&summary.id, &summary.delivery),
        (&delivery.id, &delivery.delivery)
    );
    assert!(
        report.starts_with(summary.text.trim_end_matches('…')),
        "{}",
        summary.text
    );
    assert!(summary.text.len() < report.len());

    // Without a readable row the item still has the beginning of its report.
    house.damage("UPDATE delivery_summaries SET row = 'x'");
    let item = host.reads().work_item(&agent("main"), &id).await;
    let item = item.expect("an item");
    assert_eq!(item.delivery_summary, None);
    assert_eq!(item.completion_report.expect("a report").text, summary.text);
    assert_eq!(listed(&host).await.delivery_summary, None);
}

#[tokio::test]
async fn the_report_of_an_item_that_an_earlier_build_completed_is_read_from_its_brief() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let report = format!("{}end of the report", "a line of it\n".repeat(3_000));
    let complete = json!({ "work_item_id": id });
    let asked = house.model.next().await;
    asked.answer(says_and_calls(&report, &[("CompleteWorkItem", complete)]));
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
    // The earlier build kept the origin of the report in the item, and its brief names the round.
    house.damage(
        "UPDATE work_items SET record = json_set(json_remove(record, '$.delivery_summary_id'), '$.delivery', \
         json((SELECT row FROM (SELECT json_object('source', 'assistant_round', 'brief_id', 'brief_1', 'brief_seq', 1, \
         'message_id', 'msg_1', 'turn_index', 1, 'created_at', '2026-11-14T21:46:40.123Z') AS row))))",
    );
    let [round] = house
        .query("SELECT CAST(entry AS TEXT) FROM delivery_summaries")
        .try_into()
        .expect("one summary");
    house.damage("DELETE FROM delivery_summaries");
    let row = format!(
        "{{\"id\":\"brief_1\",\"kind\":\"result\",\"created_at\":\"2026-11-14T21:46:40.123Z\",\
         \"text\":{{\"round\":{round}}},\"workspace_id\":\"agent_home\",\"turn_index\":1}}"
    );
    house.damage(&format!("UPDATE briefs SET row = '{row}' WHERE seq = 1"));
    let shown = host.reads().work_item(&agent("main"), &id).await;
    let shown = shown.expect("an item");
    let delivery = shown.delivery_summary.expect("a delivery");
    assert_eq!((delivery.id, delivery.text), (None, report.clone()));
    assert_eq!(shown.completion_report.expect("a report").text, report);
}

#[tokio::test]
async fn the_status_has_the_head_of_the_working_memory_as_its_context_summary() {
    let house = House::new();
    let host = house.with_main().await;
    assert_eq!(status(&host, "main").await.agent.context_summary, None);
    prompt(&host, "main", "split the fixtures").await;
    make_and_pick(&house, "# Plan\n").await;
    house.model.next().await.answer(says("I looked at them."));
    let asked = house.model.next().await;
    let shown = status(&host, "main").await.agent.context_summary;
    let shown = shown.expect("a summary");
    assert!(shown.starts_with("objective: "), "{shown}");
    assert!(
        shown.contains("last decision: I looked at them."),
        "{shown}"
    );
    asked.answer(says("later"));
}

#[tokio::test]
async fn the_home_of_a_new_agent_is_there_before_its_first_turn() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "who are you?").await;
    let asked = house.model.next().await;
    let seeded = || {
        let seeded = house.homes.seeded.lock().expect("no holder panics");
        seeded.clone()
    };
    assert_eq!(seeded(), [agent("main")]);
    asked.answer(says("main"));
    at_rest(&host, "main").await;
    create(&host, "helper").await;
    prompt(&host, "helper", "who are you?").await;
    let asked = house.model.next().await;
    assert_eq!(seeded(), [agent("main"), agent("helper")]);
    let reads = house.guidance.reads();
    let read = reads.last().expect("its files are read for the request");
    assert_eq!(read.agent_home, "/agents/helper");
    asked.answer(says("helper"));
    at_rest(&host, "helper").await;
}

#[tokio::test]
async fn a_plan_that_cannot_be_written_makes_no_item_and_is_told() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    *house.plans.failure.lock().expect("a lock") = Some("a link is in the way".to_owned());
    house.model.next().await.answer(creation("# Plan\n"));
    let asked = house.model.next().await;
    let told: Value = serde_json::from_str(&last_result(&asked.request)).expect("JSON");
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
async fn an_item_that_only_waits_is_queued_in_its_view_and_in_lists() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let waiting = make_and_pick(&house, "# Plan\n").await;
    let wait = json!({ "work_item_id": waiting, "reason": "the build", "wake_on": ["external"] });
    house.model.next().await.answer(calls(&[("WaitFor", wait)]));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "and another thing").await;
    let other = make_and_pick(&house, "# Other\n").await;
    let asked = house.model.next().await;
    asked.answer(calls(&[
        ("GetWorkItem", json!({ "work_item_id": waiting })),
        ("ListWorkItems", json!({ "filter": "queued" })),
        ("ListWorkItems", json!({ "filter": "blocked" })),
        (
            "UpdateWorkItem",
            json!({ "work_item_id": other, "blocked_by": "no key" }),
        ),
        ("PickWorkItem", json!({ "work_item_id": waiting })),
        ("ListWorkItems", json!({ "filter": "queued" })),
        ("ListWorkItems", json!({ "filter": "blocked" })),
    ]));
    let asked = house.model.next().await;
    let told = results(&asked.request);
    let [.., item, queued, blocked, _, _, none_queued, then_blocked] = told.as_slice() else {
        panic!("{told:?}");
    };
    let waits = format!("{waiting} (waiting_external, plan ready");
    assert!(item.starts_with(&waits), "{item}");
    let lists = |list: &str, id: &WorkItemId| {
        list.starts_with("1 of 1 work items\n- ") && list.contains(id.as_str())
    };
    assert!(lists(queued, &waiting), "{queued}");
    assert_eq!(blocked, "0 of 0 work items");
    assert_eq!(none_queued, "0 of 0 work items", "the focus is not queued");
    assert!(lists(then_blocked, &other), "{then_blocked}");
    asked.answer(says("done"));
    at_rest(&host, "main").await;
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
    let told = results(&asked.request);
    let [_, _, timer, unknown, one, current, queued, timers, _] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(unknown.contains("\"unknown_work_item\""), "{unknown}");
    assert!(one.starts_with(&format!("{id} (current, ")), "{one}");
    assert!(one.contains("[ ] split"), "{one}");
    assert!(current.starts_with("1 of 1 work items"), "{current}");
    assert_eq!(queued, "0 of 0 work items");
    assert!(timers.contains(&id_in(timer, "timer_")), "{timers}");
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

#[tokio::test]
async fn an_unrelated_prompt_leaves_the_agents_own_question_under_what_it_needs() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "do step 1").await;
    let question = "Shall I go on with step 2?";
    let wait = json!({
        "reason": "your word", "wake_on": ["operator:any"], "question": { "text": question },
    });
    house.model.next().await.answer(calls(&[("WaitFor", wait)]));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "what is the weather?").await;
    let asked = house.model.next().await;
    let input = current(&asked.request);
    assert!(input.contains("This interrupts your wait"), "{input}");
    assert!(input.contains("CancelWait"), "{input}");
    asked.answer(says("sunny"));
    let told = briefs(&host, "main", 2).await;
    let note = told.last().and_then(|brief| brief.note.clone());
    let note = note.expect("the operator is told");
    assert!(note.contains(question), "{note}");
    let status = at_rest(&host, "main").await;
    let open = status
        .work
        .waiting_intents
        .iter()
        .map(|wait| wait.asks_for());
    assert_eq!(open.collect::<Vec<_>>(), [question]);
    assert_eq!(
        status.scheduling_posture.posture,
        Posture::WaitingForOperator
    );
    assert!(house.model.is_quiet().await, "the runtime does not go on");
    house.is_sound("main").await;
}
