//! Work items, waits, timers, wakes and explanations over the wire.

use crate::world::{Reply, World};
use holon_api::{
    CreateTimerRequest, CreateWorkItemRequest, ListFilter, UpdateWorkItemRequest, WakeRequest,
};
use holon_domain::intent::WorkItemFilter;
use holon_domain::work_item::PlanStatus;
use holon_domain::{TimerId, WaitId, WorkItemId};
use holon_testkit::engine::{ENDLESS, agent};
use serde_json::{Value, json};

async fn post(world: &World, target: &str, body: &Value) -> Reply {
    let target = format!("/control/agents/{target}");
    world.ask("POST", &target, &body.to_string()).await
}

async fn get(world: &World, target: &str) -> Value {
    let reply = world.ask("GET", &format!("/agents/{target}"), "").await;
    assert_eq!(reply.status, 200, "{target}: {reply:?}");
    reply.json()
}

/// Creates an item that begins no turn, because its plan needs an answer first.
async fn make_item(world: &World, name: &str, objective: &str) -> String {
    let body = json!({"objective": objective, "plan_status": "needs_input"});
    let reply = post(world, &format!("{name}/work-items"), &body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["id"].as_str().unwrap().to_owned()
}

/// Makes an agent begin a turn that never ends.
async fn keep_busy(world: &World, name: &str) {
    let asked = post(world, &format!("{name}/prompt"), &json!({"text": ENDLESS})).await;
    assert_eq!(asked.status, 200, "{asked:?}");
    while get(world, &format!("{name}/status")).await["agent"]["current_run_id"].is_null() {}
}

#[tokio::test]
async fn a_work_item_is_made_changed_completed_and_listed_by_its_state() {
    let world = World::start().await;
    let id = make_item(&world, "main", "tidy the attic").await;
    let shown = get(&world, &format!("main/work-items/{id}")).await;
    assert_eq!(
        (
            &shown["objective"],
            &shown["focus"],
            &shown["scheduling_state"]
        ),
        (
            &json!("tidy the attic"),
            &json!("queued"),
            &json!("waiting_operator")
        )
    );
    assert_eq!(shown["provenance"]["authority"], "operator_instruction");
    let change = json!({
        "objective": "tidy the cellar", "blocked_by": null,
        "todo_list": [{"text": "find the key", "state": "in_progress"}],
    });
    let changed = post(&world, &format!("main/work-items/{id}"), &change).await;
    let changed = changed.json();
    assert_eq!(
        (
            &changed["objective"],
            changed.get("blocked_by"),
            &changed["revision"]
        ),
        (&json!("tidy the cellar"), None, &json!(2))
    );
    let list = get(&world, "main/work-items?filter=waiting_for_operator").await;
    assert_eq!(
        (&list["returned"], &list["total_matching"], &list["limit"]),
        (&json!(1), &json!(1), &json!(20))
    );
    assert_eq!(
        list["work_items"][0]["todo_list"][0]["text"],
        "find the key"
    );
    let done = post(
        &world,
        &format!("main/work-items/{id}/complete"),
        &json!({}),
    )
    .await;
    let done = done.json();
    assert_eq!(
        (&done["state"], &done["focus"]),
        (&json!("completed"), &json!("completed"))
    );
    for (filter, count) in [("open", 0), ("completed", 1), ("all", 1), ("current", 0)] {
        let list = get(&world, &format!("main/work-items?filter={filter}")).await;
        assert_eq!(list["total_matching"], count, "{filter}");
    }
}

#[tokio::test]
async fn a_status_shows_items_waits_timers_and_a_wake_that_is_pending() {
    let world = World::start().await;
    let id = make_item(&world, "main", "tidy").await;
    keep_busy(&world, "main").await;
    let timer = post(&world, "main/timers", &json!({"duration_ms": 60_000})).await;
    assert_eq!(timer.status, 200, "{timer:?}");
    let woken = post(&world, "main/wake", &json!({"reason": "the mail is here"})).await;
    assert_eq!(
        woken.json(),
        json!({"ok": true, "agent_id": "main", "disposition": "triggered"})
    );
    let status = get(&world, "main/status").await;
    assert_eq!(status["work_item_counts"], json!({"waiting_operator": 1}));
    assert_eq!(status["work_items"][0]["id"], id);
    assert_eq!(status["active_timer_count"], 1);
    assert_eq!(status["timers"][0]["id"], timer.json()["id"]);
    assert_eq!(
        status["agent"]["pending_wake_hint"]["reason"],
        "the mail is here"
    );
    assert_eq!(status.get("waiting_intents"), None);
}

#[tokio::test]
async fn wakes_of_one_source_coalesce_until_the_agent_is_told() {
    let world = World::start().await;
    keep_busy(&world, "main").await;
    let wake = |source: Option<&'static str>| {
        let body = match source {
            Some(source) => json!({"reason": "look", "source": source, "correlation_id": "c-1"}),
            None => json!({"reason": "look"}),
        };
        let world = &world;
        async move { post(world, "main/wake", &body).await.json()["disposition"].clone() }
    };
    assert_eq!(wake(None).await, "triggered");
    assert_eq!(wake(None).await, "coalesced");
    assert_eq!(wake(Some("ci")).await, "triggered");
    assert_eq!(wake(Some("ci")).await, "coalesced");
    let told = get(&world, "main/explain").await;
    let hints = told["pending_wake_hints"].as_array().unwrap();
    let counts: Vec<&Value> = hints.iter().map(|hint| &hint["count"]).collect();
    assert_eq!(counts, [&json!(2), &json!(2)]);
}

#[tokio::test]
async fn timers_have_the_shape_of_the_contract_and_are_cancelled_once() {
    let world = World::start().await;
    let body = json!({"duration_ms": 60_000, "interval_ms": 5_000, "summary": "look at the oven", "trust": "x"});
    let made = post(&world, "main/timers", &body).await.json();
    let id = made["id"].as_str().unwrap();
    for (field, value) in [
        ("agent_id", json!("main")),
        ("duration_ms", json!(60_000)),
        ("interval_ms", json!(5_000)),
        ("repeat", json!(true)),
        ("status", json!("active")),
        ("summary", json!("look at the oven")),
        ("fire_count", json!(0)),
    ] {
        assert_eq!(made[field], value, "{field}");
    }
    assert!(made["next_fire_at"].is_string() && made["created_at"].is_string());
    assert_eq!((made.get("due"), made.get("cron")), (None, None));
    let berlin = json!({"cron": "30 9 * * 1-5", "time_zone": "Europe/Berlin", "missed": "skip"});
    let cron = post(&world, "main/timers", &berlin).await.json();
    assert_eq!(
        (
            &cron["cron"],
            &cron["time_zone"],
            &cron["missed"],
            cron.get("duration_ms")
        ),
        (
            &json!("30 9 * * 1-5"),
            &json!("Europe/Berlin"),
            &json!("skip"),
            None
        )
    );
    let target = format!("main/timers/{id}/cancel");
    let cancelled = post(&world, &target, &json!({})).await.json();
    assert_eq!(cancelled["status"], "cancelled");
    let again = post(&world, &target, &json!({})).await;
    assert_eq!(again.refusal(), (404, "timer_not_found".into()));
    let count = async |query: &str| get(&world, query).await.as_array().unwrap().len();
    assert_eq!(count("main/timers").await, 2);
    assert_eq!(count("main/timers?limit=1").await, 1);
    assert_eq!(count("main/timers?filter=active").await, 1);
    assert_eq!(count("dev/timers").await, 0);
    let one = get(&world, &format!("main/timers/{id}")).await;
    assert_eq!(
        (&one["id"], &one["status"]),
        (&json!(id), &json!("cancelled"))
    );
    let path = format!("/agents/dev/timers/{id}");
    let foreign = world.ask("GET", &path, "").await;
    assert_eq!(foreign.refusal(), (404, "timer_not_found".into()));
}

#[expect(clippy::too_many_lines, reason = "one table of refusals")]
#[tokio::test]
async fn what_cannot_be_done_with_work_is_refused_by_code_and_writes_nothing() {
    let world = World::start().await;
    let foreign = make_item(&world, "dev", "not of main").await;
    let completed = make_item(&world, "main", "done").await;
    let done = post(
        &world,
        &format!("main/work-items/{completed}/complete"),
        &json!({}),
    )
    .await;
    assert_eq!(done.status, 200);
    let open = make_item(&world, "main", "open").await;
    let before = world.engine.commits().await;
    let at = |rest: &str| format!("main/work-items/{rest}");
    let long = "x".repeat(2_001);
    let cases = [
        (
            "main/work-items".to_owned(),
            json!({"objective": " "}),
            400,
            "invalid_work",
        ),
        (
            "main/work-items".to_owned(),
            json!({"objective": long}),
            400,
            "invalid_work",
        ),
        (
            "main/work-items".to_owned(),
            json!({}),
            400,
            "invalid_request",
        ),
        (
            "main/work-items".to_owned(),
            json!({"objective": "x", "state": "open"}),
            400,
            "invalid_request",
        ),
        (
            "nobody/work-items".to_owned(),
            json!({"objective": "x"}),
            404,
            "agent_not_found",
        ),
        (
            at("work_unknown"),
            json!({"objective": "x"}),
            404,
            "work_item_not_found",
        ),
        (
            at(&foreign),
            json!({"objective": "x"}),
            404,
            "work_item_not_found",
        ),
        (
            at(&completed),
            json!({"objective": "x"}),
            409,
            "work_item_completed",
        ),
        (
            at(&format!("{completed}/complete")),
            json!({}),
            409,
            "work_item_completed",
        ),
        (
            at(&format!("{completed}/resume")),
            json!({}),
            409,
            "work_item_completed",
        ),
        (at(&open), json!({}), 400, "invalid_work"),
        (at(&open), json!({"objective": ""}), 400, "invalid_work"),
        (
            at(&open),
            json!({"blocked_by": "only the agent says so"}),
            400,
            "invalid_work",
        ),
        (
            at(&open),
            json!({"recheck_after_ms": 5}),
            400,
            "invalid_work",
        ),
        (
            at(&open),
            json!({"plan_status": "done"}),
            400,
            "invalid_request",
        ),
        (
            at(&open),
            json!({"todo_list": [{"text": "", "state": "pending"}]}),
            400,
            "invalid_work",
        ),
        (
            "main/waits/wait_unknown/cancel".to_owned(),
            json!({}),
            404,
            "wait_not_found",
        ),
        (
            "main/timers/timer_unknown/cancel".to_owned(),
            json!({}),
            404,
            "timer_not_found",
        ),
        ("main/timers".to_owned(), json!({}), 400, "invalid_request"),
        (
            "main/timers".to_owned(),
            json!({"duration_ms": 5, "interval_ms": 0}),
            400,
            "invalid_work",
        ),
        (
            "main/timers".to_owned(),
            json!({"duration_ms": u64::MAX}),
            400,
            "invalid_work",
        ),
        (
            "main/timers".to_owned(),
            json!({"at": "1969-07-20T20:17:00Z"}),
            400,
            "invalid_work",
        ),
        (
            "main/timers".to_owned(),
            json!({"cron": "61 * * * *"}),
            400,
            "invalid_work",
        ),
        (
            "main/timers".to_owned(),
            json!({"cron": "0 0 30 2 *"}),
            400,
            "invalid_work",
        ),
        (
            "main/timers".to_owned(),
            json!({"cron": "0 9 * * *", "time_zone": "Mars/Base"}),
            400,
            "invalid_work",
        ),
        (
            "main/timers".to_owned(),
            json!({"duration_ms": 5, "summary": " "}),
            400,
            "invalid_work",
        ),
        (
            "main/wake".to_owned(),
            json!({"reason": " "}),
            400,
            "invalid_work",
        ),
        ("main/wake".to_owned(), json!({}), 400, "invalid_request"),
        (
            "main/wake".to_owned(),
            json!({"reason": "x", "source": long}),
            400,
            "name_too_long",
        ),
        (
            "nobody/wake".to_owned(),
            json!({"reason": "x"}),
            404,
            "agent_not_found",
        ),
    ];
    for (target, body, status, code) in cases {
        let reply = post(&world, &target, &body).await;
        assert_eq!(reply.refusal(), (status, code.into()), "{target} {body}");
    }
    for (target, status, code) in [
        ("main/work-items/work_unknown", 404, "work_item_not_found"),
        ("main/work-items?filter=lost", 400, "invalid_query"),
        ("main/work-items?limit=0", 400, "invalid_limit"),
        ("main/timers?limit=501", 400, "invalid_limit"),
        ("nobody/waits", 404, "agent_not_found"),
        ("nobody/explain", 404, "agent_not_found"),
    ] {
        let reply = world.ask("GET", &format!("/agents/{target}"), "").await;
        assert_eq!(reply.refusal(), (status, code.into()), "{target}");
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_stopped_agent_takes_no_new_work_and_no_wake_and_can_be_looked_at() {
    let world = World::start().await;
    let id = make_item(&world, "main", "tidy").await;
    assert_eq!(
        post(&world, "main/control", &json!({"action": "stop"}))
            .await
            .status,
        200
    );
    for (target, body) in [
        ("main/work-items".to_owned(), json!({"objective": "x"})),
        ("main/timers".to_owned(), json!({"duration_ms": 5})),
        ("main/wake".to_owned(), json!({"reason": "x"})),
    ] {
        let reply = post(&world, &target, &body).await;
        assert_eq!(reply.refusal(), (409, "agent_stopped".into()), "{target}");
    }
    assert_eq!(get(&world, "main/work-items").await["total_matching"], 1);
    let ended = post(
        &world,
        &format!("main/work-items/{id}/complete"),
        &json!({}),
    )
    .await;
    assert_eq!(ended.status, 200, "what it has can be ended");
    let told = get(&world, "main/explain").await;
    assert_eq!(told["status"], "stopped");
    assert_eq!(
        told["woken_by"],
        json!(["only a start: holon agent start main"])
    );
}

#[tokio::test]
async fn an_idle_agent_takes_a_new_item_up_and_the_explanation_says_how_it_went() {
    let world = World::start().await;
    let made = post(
        &world,
        "main/work-items",
        &json!({"objective": "water the plants"}),
    )
    .await;
    let id = made.json()["id"].as_str().unwrap().to_owned();
    // The model only says "done", which does not change the item, so the next tick waits for a backoff.
    let told = loop {
        let told = get(&world, "main/explain").await;
        let decisions = told["decisions"].as_array().unwrap();
        let suppressed = |told: &Value| told["decision"] == "system_tick_suppressed";
        if told["status"] == "asleep" && decisions.iter().any(suppressed) {
            break told;
        }
    };
    let planned = told["planned"][0]["what"].as_str().unwrap();
    assert!(planned.contains("goes on with its work"), "{told}");
    let decisions = told["decisions"].as_array().unwrap();
    let tick = decisions
        .iter()
        .find(|told| told["decision"] == "EmitSystemTick")
        .unwrap();
    assert_eq!(tick["work_item_id"], json!(id));
    let turn = decisions
        .iter()
        .find(|told| told["decision"] == "StartModelTurn")
        .unwrap();
    assert_eq!(turn["message_id"], tick["message_id"]);
    assert!(
        turn["what"].as_str().unwrap().contains("(system_tick)"),
        "{turn}"
    );
    assert!(
        turn["evidence"][1]
            .as_str()
            .unwrap()
            .contains("system_tick"),
        "{turn}"
    );
}

#[tokio::test]
async fn an_explanation_names_the_input_that_has_waited_longest() {
    let world = World::start().await;
    keep_busy(&world, "main").await;
    for text in ["first", "second"] {
        let body = json!({"text": text, "priority": "background"}).to_string();
        let sent = world.ask("POST", "/agents/main/enqueue", &body).await;
        assert_eq!(sent.status, 200);
    }
    let body = json!({"text": "urgent", "priority": "next"}).to_string();
    assert_eq!(
        world
            .ask("POST", "/agents/main/enqueue", &body)
            .await
            .status,
        200
    );
    let told = get(&world, "main/explain").await;
    assert_eq!(told["pending"], 3);
    assert_eq!(
        (
            &told["oldest_unserved"]["preview"],
            &told["oldest_unserved"]["priority"]
        ),
        (&json!("first"), &json!("background"))
    );
}

#[tokio::test]
async fn reading_work_changes_nothing() {
    let world = World::start().await;
    let id = make_item(&world, "main", "tidy").await;
    let before = world.engine.commits().await;
    for target in [
        "explain",
        "work-items",
        "waits",
        "waits?filter=all",
        "timers",
        "status",
    ] {
        drop(get(&world, &format!("main/{target}")).await);
    }
    drop(get(&world, &format!("main/work-items/{id}")).await);
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn the_typed_client_makes_every_call_about_work() {
    let world = World::start().await;
    for client in [world.local(), world.remote()] {
        let main = agent("main");
        let request = CreateWorkItemRequest {
            objective: "tidy".into(),
            plan_status: Some(PlanStatus::NeedsInput),
            ..CreateWorkItemRequest::default()
        };
        let item = client.create_work_item(&main, &request).await.unwrap();
        assert_eq!(client.work_item(&main, &item.id).await.unwrap(), item);
        let change = UpdateWorkItemRequest {
            objective: Some("tidy up".into()),
            ..UpdateWorkItemRequest::default()
        };
        let changed = client
            .update_work_item(&main, &item.id, &change)
            .await
            .unwrap();
        assert_eq!(changed.objective, "tidy up");
        let resumed = client.resume_work_item(&main, &item.id).await.unwrap();
        assert_eq!(resumed.revision, changed.revision + 1);
        let filter = WorkItemFilter::WaitingForOperator;
        let list = client.work_items(&main, filter, None, 5).await.unwrap();
        assert_eq!((list.returned, list.total_matching), (1, 1));
        let done = client.complete_work_item(&main, &item.id).await.unwrap();
        assert_eq!(done.state, "completed");
        assert_eq!(client.waits(&main, ListFilter::All, 5).await.unwrap(), []);
        let request = CreateTimerRequest {
            duration_ms: Some(60_000),
            ..CreateTimerRequest::default()
        };
        let timer = client.create_timer(&main, &request).await.unwrap();
        assert_eq!(
            client.timers(&main, ListFilter::Active, 5).await.unwrap(),
            std::slice::from_ref(&timer)
        );
        let cancelled = client.cancel_timer(&main, &timer.id).await.unwrap();
        assert_eq!(cancelled.status, "cancelled");
        let request = WakeRequest {
            reason: "look".into(),
            ..WakeRequest::default()
        };
        let woken = client.wake(&agent("dev"), &request).await.unwrap();
        assert_eq!(woken.disposition, "triggered");
        assert_eq!(client.explain(&main).await.unwrap().agent_id, "main");
        let strange = WorkItemId::from_stored("../a b?c");
        let error = client.work_item(&main, &strange).await.unwrap_err();
        assert_eq!(error.code(), Some("work_item_not_found"));
        let error = client
            .cancel_wait(&main, &WaitId::from_stored("wait_x"))
            .await;
        assert_eq!(error.unwrap_err().code(), Some("wait_not_found"));
        let error = client
            .cancel_timer(&main, &TimerId::from_stored("timer_x"))
            .await;
        assert_eq!(error.unwrap_err().code(), Some("timer_not_found"));
    }
}

#[tokio::test]
async fn the_last_prompt_of_an_agent_can_be_read_and_an_unknown_agent_has_none() {
    let world = World::start().await;
    let view = get(&world, "main/debug/prompt").await;
    assert_eq!((view.get("prompt"), &view["rounds"]), (None, &json!([])));
    let said = json!({"text": "hello"});
    assert_eq!(post(&world, "main/prompt", &said).await.status, 200);
    let view = loop {
        let view = get(&world, "main/debug/prompt").await;
        if view.get("prompt").is_some() {
            break view;
        }
    };
    let blocks = view["prompt"]["blocks"].as_array().unwrap();
    let last = blocks.last().unwrap();
    assert_eq!(
        (&last["source"], &last["outcome"]),
        (&json!("current_input"), &json!("kept"))
    );
    assert!(last["text"].as_str().unwrap().ends_with("hello"), "{last}");
    assert!(view["prompt"]["budget_tokens"].as_u64() > view["prompt"]["prompt_tokens"].as_u64());
    let unknown = world.ask("GET", "/agents/nobody/debug/prompt", "").await;
    assert_eq!(unknown.status, 404, "{unknown:?}");

    let first = get(&world, "main/debug/prompt?turn=1").await;
    assert_eq!(first["prompt"]["turn_index"], 1);
    let later = world
        .ask("GET", "/agents/main/debug/prompt?turn=9", "")
        .await;
    assert_eq!(later.status, 404, "{later:?}");
    assert_eq!(later.json()["code"], "turn_not_found");
    let odd = world
        .ask("GET", "/agents/main/debug/prompt?turn=last", "")
        .await;
    assert_eq!(odd.status, 400, "{odd:?}");
}
