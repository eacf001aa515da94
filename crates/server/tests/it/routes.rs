//! Effects of each route in the engine behind it.

use crate::host::Mood;
use crate::world::{SECRET, World};
use holon_api::RunRequest;
use holon_domain::event::{Event, MessageAdmitted};
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_engine::request::Ingress;
use holon_testkit::engine::agent;
use serde_json::{Value, json};

fn count(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

/// Lets `main` answer this many prompts, each in a turn of its own.
async fn answer_prompts(world: &World, prompts: usize) {
    for _ in 0..prompts {
        let prompt = Ingress::operator_prompt(
            "go".into(),
            Priority::Normal,
            DeliverySurface::HttpControlPrompt,
            AdmissionContext::ControlAuthenticated,
        );
        world
            .engine
            .control()
            .admit(&agent("main"), prompt)
            .await
            .unwrap();
    }
    let reads = world.engine.reads();
    while reads.briefs(&agent("main"), 500).await.unwrap().len() < prompts {}
}

/// Returns the newest message that an agent admitted.
async fn last_admitted(world: &World, name: &str) -> MessageAdmitted {
    let query = EventQuery {
        before_seq: None,
        after_seq: None,
        limit: 100,
        order: EventOrder::Descending,
    };
    let page = world.engine.reads().events(&agent(name), query).await;
    let admitted = page.unwrap().events.into_iter().find_map(|record| {
        let Event::MessageAdmitted(admitted) = record.event else {
            return None;
        };
        Some(admitted)
    });
    admitted.unwrap()
}

#[tokio::test]
async fn reads_have_their_defaults_and_keep_their_bounds() {
    let world = World::start().await;
    answer_prompts(&world, 30).await;
    let get = async |target: &str| world.ask("GET", target, "").await.json();
    assert_eq!(count(&get("/agents/list").await), 2);
    assert_eq!(get("/status").await["identity"]["agent_id"], "main");
    assert_eq!(
        get("/agents/dev/status").await["identity"]["agent_id"],
        "dev"
    );
    assert_eq!(count(&get("/briefs").await), 20);
    assert_eq!(count(&get("/briefs?limit=3").await), 3);
    assert_eq!(count(&get("/agents/main/briefs?limit=500").await), 30);
    assert_eq!(count(&get("/agents/dev/briefs").await), 0);
    assert_eq!(count(&get("/transcript").await), 50);
    assert_eq!(count(&get("/agents/main/transcript?limit=500").await), 60);
    for target in [
        "/briefs?limit=0",
        "/transcript?limit=501",
        "/agents/main/events?limit=513",
    ] {
        let reply = world.ask("GET", target, "").await;
        assert_eq!(reply.refusal(), (400, "invalid_limit".into()), "{target}");
    }
    assert_eq!(
        world.ask("GET", "/briefs?limit=-1", "").await.refusal(),
        (400, "invalid_query".into())
    );
}

#[tokio::test]
async fn a_page_of_events_repeats_what_it_was_asked_for() {
    let world = World::start().await;
    world.engine.record_events("main", 5).await;
    let newest = world.engine.newest("main").await;
    let page = world
        .ask("GET", "/agents/main/events?limit=2", "")
        .await
        .json();
    assert_eq!(
        (&page["order"], &page["limit"], &page["epoch"]),
        (
            &json!("desc"),
            &json!(2),
            &json!(world.engine.reads().epoch())
        )
    );
    assert_eq!(
        (&page["oldest_seq"], &page["newest_seq"]),
        (&json!(1), &json!(newest))
    );
    assert_eq!(page["events"][0]["id"], format!("evt_main_{newest}"));
    let after = newest - 2;
    let target = format!("/agents/main/events?after_seq={after}&order=asc&projection=local_debug");
    let page = world.ask("GET", &target, "").await.json();
    assert_eq!(page["events"][0]["event_seq"], newest - 1);
    assert_eq!(page["events"][0]["projection"]["name"], "local_debug");
}

#[tokio::test]
async fn messages_carry_the_labels_of_their_route() {
    let world = World::start().await;
    let reply = world
        .ask("POST", "/control/agents/dev/prompt", r#"{"text":"go"}"#)
        .await
        .json();
    let prompt = last_admitted(&world, "dev").await;
    assert_eq!(
        reply,
        json!({"ok": true, "agent_id": "dev", "message_id": prompt.message_id})
    );
    assert_eq!(
        (prompt.delivery_surface, prompt.admission_context),
        (
            DeliverySurface::HttpControlPrompt,
            AdmissionContext::ControlAuthenticated
        )
    );
    for target in ["/agents/main/enqueue", "/enqueue"] {
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {SECRET}\r\n\
             Content-Type: application/json\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{{\"text\":\"x\"}}"
        );
        let reply = world.over_tcp(request).await;
        assert_eq!(reply.status, 200, "{target}");
        let event = last_admitted(&world, "main").await;
        assert_eq!(reply.json()["message_id"], json!(event.message_id));
        assert_eq!(
            (event.delivery_surface, event.admission_context),
            (
                DeliverySurface::HttpPublicEnqueue,
                AdmissionContext::PublicUnauthenticated
            )
        );
    }
}

#[tokio::test]
async fn an_agent_is_made_with_an_empty_body_and_again_without_harm() {
    let world = World::start().await;
    for _ in 0..2 {
        let reply = world.ask("POST", "/control/agents/new/create", "").await;
        assert_eq!(
            (reply.status, &reply.json()["agent_id"]),
            (200, &json!("new"))
        );
    }
}

#[tokio::test]
async fn old_names_of_start_and_stop_work_and_say_so() {
    let world = World::start().await;
    for (action, lifecycle, notice) in [
        ("stop", json!("stopped"), false),
        ("start", json!("booting"), false),
        ("pause", json!("stopped"), true),
        ("resume", json!("booting"), true),
    ] {
        let body = json!({"action": action}).to_string();
        let reply = world
            .ask("POST", "/control/agents/main/control", &body)
            .await;
        assert_eq!(reply.json().get("notice").is_some(), notice, "{action}");
        let status = world.ask("GET", "/status", "").await.json();
        let now = &status["agent"]["lifecycle"];
        // The home is created at once, so a start may already have ended.
        assert!(
            *now == lifecycle || (lifecycle == "booting" && *now == "runnable"),
            "{action}: {now}"
        );
    }
}

#[tokio::test]
async fn a_handshake_tells_a_stranger_less_than_a_known_caller() {
    let world = World::start().await;
    let stranger = world
        .over_tcp("GET /handshake HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .json();
    assert_eq!(
        stranger,
        json!({"ok": true, "protocol": {"name": "holon-control", "version": 1}, "auth": {"mode": "bearer", "required": true}})
    );
    let known = world.ask("GET", "/handshake", "").await.json();
    assert_eq!(known["auth"], json!({"mode": "local", "required": false}));
    assert_eq!(
        known["runtime"],
        json!({
            "default_agent": "main", "home_dir": "/srv/holon",
            "workspace_dir": "/srv/holon/agents", "advertise_url": null, "listen": world.address.to_string(),
            "epoch": world.engine.reads().epoch(),
        })
    );
    assert!(
        known["capabilities"]
            .as_array()
            .is_some_and(|list| list.contains(&json!("agents.events")))
    );
}

#[tokio::test]
async fn an_agent_gets_a_model_of_its_own_and_gives_it_up_again() {
    let world = World::start().await;
    let body = r#"{"model":"b/2","reasoning_effort":"high","trust":"trusted_operator"}"#;
    let set = world
        .ask("POST", "/control/agents/dev/model", body)
        .await
        .json();
    assert_eq!(
        (&set["ok"], &set["agent_id"]),
        (&json!(true), &json!("dev"))
    );
    assert_eq!(
        (&set["model"]["override_model"], &set["model"]["source"]),
        (&json!("b/2"), &json!("agent_override"))
    );
    let status = world.ask("GET", "/agents/dev/status", "").await.json();
    assert_eq!(
        set["model"], status["model"],
        "the state it has from now on"
    );
    for body in ["", r#"{"trust":"x"}"#] {
        let cleared = world
            .ask("POST", "/control/agents/dev/model/clear", body)
            .await
            .json();
        assert_eq!(cleared["model"]["effective_model"], "test/model");
        assert_eq!(cleared["model"].get("override_model"), None);
    }
}

/// A model with this many fallbacks.
fn many_fallbacks(count: usize) -> String {
    json!({ "model": "a/b", "fallback_models": vec!["a/c"; count] }).to_string()
}

#[tokio::test]
async fn thinking_and_fallbacks_are_set_with_the_model_and_cleared_with_it() {
    let world = World::start().await;
    for (tokens, fallbacks) in [(0, many_fallbacks(16)), (1_024, many_fallbacks(0))] {
        let mut body: Value = serde_json::from_str(&fallbacks).expect("JSON");
        body["thinking_tokens"] = json!(tokens);
        let text = body.to_string();
        let set = world.ask("POST", "/control/agents/dev/model", &text).await;
        let set = set.json();
        let model = &set["model"];
        assert_eq!(model["override_thinking_tokens"], tokens);
        assert_eq!(model["override_fallback_models"], body["fallback_models"]);
    }
    let plain = r#"{"model":"a/b"}"#;
    let set = world.ask("POST", "/control/agents/dev/model", plain).await;
    assert_eq!(set.json()["model"].get("override_thinking_tokens"), None);
    assert_eq!(set.json()["model"].get("override_fallback_models"), None);
    let unknown = r#"{"model":"a/b","fallback_models":["elsewhere/m"]}"#;
    let refused = world
        .ask("POST", "/control/agents/dev/model", unknown)
        .await;
    assert_eq!(refused.refusal().1, "model_unavailable");
}

#[tokio::test]
async fn a_model_that_is_none_is_refused_before_the_engine_is_asked() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for (body, code) in [
        (r#"{"model":"nonsense"}"#, "invalid_model"),
        (
            r#"{"model":"a/b","reasoning_effort":"extreme"}"#,
            "invalid_request",
        ),
        (r#"{"model":"a/b","nonsense":1}"#, "invalid_request"),
        (r#"{}"#, "invalid_request"),
        (
            r#"{"model":"a/b","thinking_tokens":1023}"#,
            "invalid_model_option",
        ),
        (r#"{"model":"a/b","thinking_tokens":-1}"#, "invalid_request"),
        (
            r#"{"model":"a/b","fallback_models":["a/c","nonsense"]}"#,
            "invalid_model",
        ),
        (&many_fallbacks(17), "invalid_model_option"),
    ] {
        let reply = world.ask("POST", "/control/agents/dev/model", body).await;
        assert_eq!(reply.refusal(), (400, code.into()), "{body}");
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_reload_says_what_changed_or_why_nothing_did() {
    let world = World::start().await;
    let reply = world.ask("POST", "/control/runtime/reload", "").await;
    assert_eq!(
        reply.json(),
        json!({"ok": true, "changed": ["model.default"], "restart_needed": [], "default_model": "a/1", "fallback_models": []})
    );
    world.host.set(Mood::Refuses);
    let reply = world.ask("POST", "/control/runtime/reload", "{}").await;
    assert_eq!(reply.refusal(), (409, "invalid_settings".into()));
    assert_eq!(
        (&reply.json()["error"], &reply.json()["hint"]),
        (
            &json!("config.toml:2: model.defualt is not a setting"),
            &json!("the host goes on with the settings it has; correct this and reload again")
        )
    );
}

/// Lists the member names of an object.
fn names(value: &Value) -> Vec<&str> {
    let members = value.as_object().expect("an object");
    members.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_status_has_the_names_of_the_contract() {
    let world = World::start().await;
    let status = world.ask("GET", "/agents/main/status", "").await.json();
    for (at, wanted) in [
        (
            "",
            "identity agent scheduling_posture active_task_count lifecycle model token_usage closure execution \
             loaded_agents_md skills active_children active_waiting_intents active_wait_conditions \
             active_external_triggers recent_operator_notifications recent_brief_count recent_event_count",
        ),
        (
            "/identity",
            "agent_id agent_home kind visibility ownership profile_preset status is_default_agent",
        ),
        (
            "/agent",
            "id status pending active_task_ids compacted_message_count total_message_count total_input_tokens \
             total_output_tokens total_model_rounds execution_profile attached_workspaces active_workspace_id \
             active_workspace_entry cwd turn_index",
        ),
        (
            "/agent/active_workspace_entry",
            "workspace_id workspace_anchor execution_root cwd projection_kind execution_root_id access_mode",
        ),
        (
            "/lifecycle",
            "resume_required accepts_external_messages wake_requires_resume",
        ),
        (
            "/skills",
            "agent_templates_catalog discovered_roots discoverable_skills attached_skills active_skills",
        ),
        (
            "/execution",
            "profile policy attached_workspaces workspace_id workspace_anchor execution_root cwd projection_kind \
             execution_root_id access_mode",
        ),
        (
            "/execution/profile",
            "backend process_execution_exposed allow_background_tasks supports_managed_worktrees",
        ),
        (
            "/execution/policy",
            "backend process_execution_exposed managed_worktree_supported resource_authority process_execution",
        ),
        (
            "/execution/policy/resource_authority",
            "message_ingress agent_state control_plane workspace_projection process_execution",
        ),
        (
            "/execution/policy/process_execution",
            "cwd_rooting projection_rooting path_confinement write_confinement network_confinement secret_isolation \
             child_process_containment",
        ),
    ] {
        let found = names(status.pointer(at).expect(at));
        for name in wanted.split_whitespace() {
            assert!(found.contains(&name), "{at}/{name}: {found:?}");
        }
    }
    assert_eq!(status["identity"]["is_default_agent"], true);
    assert_eq!(status["identity"]["status"], "active");
    assert_eq!(
        status["execution"]["policy"]["resource_authority"]["process_execution"],
        "runtime_shaped"
    );
    let workspace = &status["execution"];
    assert_eq!(
        workspace["attached_workspaces"],
        json!([["agent_home", workspace["workspace_anchor"]]])
    );
    let listed = world.ask("GET", "/agents/list", "").await.json();
    assert_eq!(
        listed[0]["identity"],
        world.ask("GET", "/agents/dev/status", "").await.json()["identity"]
    );
    assert_eq!(listed[0]["identity"]["is_default_agent"], false);
}

#[tokio::test]
async fn a_snapshot_is_one_read_with_the_position_of_its_newest_event() {
    let world = World::start().await;
    world.engine.record_events("main", 3).await;
    let newest = world.engine.newest("main").await;
    for target in ["/agents/main/state", "/state"] {
        let state = world.ask("GET", target, "").await.json();
        assert_eq!(state["newest_seq"], newest, "{target}");
        assert_eq!(state["epoch"], world.engine.reads().epoch());
        assert_eq!(state["agent"]["identity"]["agent_id"], "main");
        assert_eq!(state["session"]["pending_count"], 0);
        let found = names(&state);
        for name in [
            "agent",
            "session",
            "tasks",
            "timers",
            "work_items",
            "waiting_intents",
            "external_triggers",
            "operator_notifications",
            "workspace",
            "execution",
        ] {
            assert!(found.contains(&name), "{name}: {found:?}");
        }
    }
}

#[tokio::test]
async fn monitors_read_readiness_metrics_and_the_document() {
    let world = World::start().await;
    let ready = world.ask("GET", "/readyz", "").await;
    assert_eq!(
        (ready.status, ready.json()),
        (200, json!({"ok": true, "ready": true}))
    );
    let run = RunRequest {
        text: "hello".into(),
        ..RunRequest::default()
    };
    world.local().run(&run).await.expect("a run");
    let metrics = world.ask("GET", "/metrics", "").await;
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let value = |name: &str| -> f64 {
        let found = metrics
            .body
            .lines()
            .find_map(|line| line.strip_prefix(name));
        found
            .unwrap_or_else(|| panic!("{name} in {}", metrics.body))
            .trim()
            .parse()
            .unwrap()
    };
    assert_eq!(value("holon_agents{posture=\"idle\"}"), 2.0);
    assert!(value("holon_commits_total") > 0.0);
    assert!(value("holon_db_bytes") > 4096.0);
    assert_eq!(value("holon_turns_total{reason=\"finished\"}"), 1.0);
    assert_eq!(value("holon_turns_total{reason=\"provider_failed\"}"), 0.0);
    assert!(value("holon_commit_seconds_count") > 0.0);
    let document = world.ask("GET", "/openapi.json", "").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/agents/{id}/status"]["get"].is_object());
}
