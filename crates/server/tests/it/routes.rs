//! What each route asks of the engine, and how the engine's answers come out.

use crate::world::{SECRET, World};
use holon_domain::model::ModelFailure;
use holon_engine::Error;
use serde_json::json;

#[tokio::test]
async fn reads_reach_the_engine_with_their_defaults_and_within_their_bounds() {
    let world = World::start().await;
    for (target, asked) in [
        ("/agents/list", "agents"),
        ("/agents/dev/status", "status dev"),
        ("/status", "status main"),
        ("/agents/dev/briefs", "briefs dev 20"),
        ("/briefs?limit=3", "briefs main 3"),
        ("/agents/dev/transcript?limit=500", "transcript dev 500"),
        ("/transcript", "transcript main 50"),
        ("/models", "models"),
    ] {
        world.ask("GET", target, "").await;
        assert_eq!(
            world.engine.asked().last().map(String::as_str),
            Some(asked),
            "{target}"
        );
    }
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
    world.engine.commit(5);
    let page = world
        .ask("GET", "/agents/main/events?limit=2", "")
        .await
        .json();
    assert_eq!(
        (&page["order"], &page["limit"], &page["epoch"]),
        (&json!("desc"), &json!(2), &json!("epoch-1"))
    );
    assert_eq!(
        (&page["oldest_seq"], &page["newest_seq"]),
        (&json!(1), &json!(5))
    );
    assert_eq!(page["events"][0]["id"], "evt_main_5");
    let page = world
        .ask(
            "GET",
            "/agents/main/events?after_seq=3&order=asc&projection=local_debug",
            "",
        )
        .await
        .json();
    assert_eq!(page["events"][0]["event_seq"], 4);
    assert_eq!(page["events"][0]["projection"]["name"], "local_debug");
    world.engine.forget(3);
    let old = world
        .ask("GET", "/agents/main/events?after_seq=1&order=asc", "")
        .await;
    assert_eq!(old.refusal(), (410, "cursor_too_old".into()));
    assert_eq!(
        (&old.json()["oldest_seq"], &old.json()["newest_seq"]),
        (&json!(4), &json!(5))
    );
}

#[tokio::test]
async fn messages_carry_the_labels_of_their_door() {
    let world = World::start().await;
    let reply = world
        .ask("POST", "/control/agents/dev/prompt", r#"{"text":"go"}"#)
        .await;
    assert_eq!(
        reply.json(),
        json!({"ok": true, "agent_id": "dev", "message_id": "msg_1"})
    );
    let prompt = world.engine.asked().pop().unwrap();
    assert!(
        prompt.starts_with("admit dev")
            && prompt.contains("HttpControlPrompt")
            && prompt.contains("ControlAuthenticated"),
        "{prompt}"
    );
    for target in ["/agents/main/enqueue", "/enqueue"] {
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {SECRET}\r\n\
             Content-Type: application/json\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{{\"text\":\"x\"}}"
        );
        assert_eq!(world.over_tcp(request).await.status, 200, "{target}");
        let event = world.engine.asked().pop().unwrap();
        assert!(
            event.starts_with("admit main")
                && event.contains("HttpPublicEnqueue")
                && event.contains("PublicUnauthenticated"),
            "{event}"
        );
    }
}

#[tokio::test]
async fn refusals_of_the_engine_keep_their_facts() {
    let world = World::start().await;
    world.engine.fail(Error::QueueFull {
        agent_id: crate::engine::agent("dev"),
    });
    let reply = world
        .ask("POST", "/control/agents/dev/prompt", r#"{"text":"go"}"#)
        .await;
    assert_eq!(reply.refusal(), (429, "queue_full".into()));
    assert_eq!(
        (reply.header("retry-after"), &reply.json()["agent_id"]),
        (Some("5"), &json!("dev"))
    );
}

#[tokio::test]
async fn an_agent_is_made_with_an_empty_body_and_without_a_template() {
    let world = World::start().await;
    let reply = world.ask("POST", "/control/agents/dev/create", "").await;
    assert_eq!(
        (reply.status, &reply.json()["agent_id"]),
        (200, &json!("dev"))
    );
    let template = world
        .ask("POST", "/control/agents/dev/create", r#"{"template":"x"}"#)
        .await;
    assert_eq!(template.refusal(), (400, "template_unavailable".into()));
    let reserved = world.ask("POST", "/control/agents/tmp_x/create", "").await;
    assert_eq!(reserved.refusal(), (400, "invalid_agent_id".into()));
}

#[tokio::test]
async fn old_names_of_start_and_stop_work_and_say_so() {
    let world = World::start().await;
    for (action, asked, notice) in [
        ("start", "start main", false),
        ("stop", "stop main", false),
        ("resume", "start main", true),
        ("pause", "stop main", true),
    ] {
        let body = json!({"action": action}).to_string();
        let reply = world
            .ask("POST", "/control/agents/main/control", &body)
            .await;
        assert_eq!(world.engine.asked().pop().as_deref(), Some(asked));
        assert_eq!(reply.json().get("notice").is_some(), notice, "{action}");
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
        json!({"default_agent": "main", "home_dir": "/srv/holon", "listen": world.address.to_string(), "epoch": "epoch-1"})
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
        set,
        json!({"ok": true, "agent_id": "dev", "model": crate::engine::model_state()})
    );
    for (target, body) in [
        ("/control/agents/dev/model/clear", ""),
        ("/control/agents/dev/model/clear", r#"{"trust":"x"}"#),
    ] {
        assert_eq!(world.ask("POST", target, body).await.status, 200);
    }
    let mut asked = world.engine.asked();
    asked.retain(|call| call.starts_with("model "));
    assert!(
        asked[0].starts_with("model dev Use") && asked[0].contains("High"),
        "{asked:?}"
    );
    assert_eq!(asked[1..], ["model dev Inherit", "model dev Inherit"]);
}

#[tokio::test]
async fn a_model_that_is_none_or_cannot_be_asked_is_refused_with_the_next_step() {
    let world = World::start().await;
    for (body, code) in [
        (r#"{"model":"nonsense"}"#, "invalid_model"),
        (
            r#"{"model":"a/b","reasoning_effort":"extreme"}"#,
            "invalid_request",
        ),
        (r#"{"model":"a/b","nonsense":1}"#, "invalid_request"),
        (r#"{}"#, "invalid_request"),
    ] {
        let reply = world.ask("POST", "/control/agents/dev/model", body).await;
        assert_eq!(reply.refusal(), (400, code.into()), "{body}");
    }
    assert_eq!(world.engine.asked(), Vec::<String>::new());
    world.engine.fail(Error::Model(ModelFailure::no_model()));
    let reply = world
        .ask("POST", "/control/agents/dev/model", r#"{"model":"a/b"}"#)
        .await;
    assert_eq!(reply.refusal(), (400, "model_unavailable".into()));
    assert!(reply.body.contains("holon init"), "{reply:?}");
}

#[tokio::test]
async fn a_reload_says_what_changed_or_why_nothing_did() {
    let world = World::start().await;
    let reply = world.ask("POST", "/control/runtime/reload", "").await;
    assert_eq!(
        reply.json(),
        json!({"ok": true, "changed": ["model.default"], "restart_needed": [], "default_model": "a/1", "fallback_models": []})
    );
    world.engine.fail(Error::Overloaded);
    let reply = world.ask("POST", "/control/runtime/reload", "{}").await;
    assert_eq!(reply.refusal(), (409, "invalid_settings".into()));
    assert_eq!(reply.json()["hint"], "correct the file");
}
