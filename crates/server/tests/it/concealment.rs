//! A token of a capability URL that a caller pastes into a text is neither answered nor stored, whatever the route.

use crate::callbacks::{capability, post};
use crate::world::{Reply, World};
use holon_server::routes;
use serde_json::{Value, json};

/// Routes that change something and take names, numbers and references alone, or words for a port and not for a row.
const WITHOUT_WORDS: [&str; 50] = [
    "/control/images",
    "/control/agents/{id}/create",
    "/control/agents/{id}/export",
    "/control/agents/{id}/import",
    "/control/agents/{id}/clone",
    "/control/agents/{id}/control",
    "/control/agents/{id}/current-run/abort",
    "/control/agents/{id}/archive",
    "/control/agents/{id}/delete",
    "/control/agents/{id}/model",
    "/control/agents/{id}/model/clear",
    "/control/agents/{id}/context/fold",
    "/control/agents/{id}/context/clear",
    "/control/agents/{id}/context/pin",
    "/control/agents/{id}/context/unpin",
    "/control/agents/{id}/context/limit",
    "/control/agents/{id}/work-items/{item}/complete",
    "/control/agents/{id}/work-items/{item}/resume",
    "/control/agents/{id}/waits/{wait}/cancel",
    "/control/agents/{id}/tasks/{task}/input",
    "/control/agents/{id}/tasks/{task}/stop",
    "/control/agents/{id}/timers/{timer}/cancel",
    "/control/agents/{id}/memory/rebuild",
    "/control/agents/{id}/external-triggers",
    "/control/agents/{id}/external-triggers/{trigger}/rotate",
    "/control/agents/{id}/external-triggers/{trigger}/revoke",
    "/control/agents/{id}/external-triggers/{trigger}/reveal",
    "/control/agents/{id}/webhook",
    "/control/agents/{id}/webhook/remove",
    "/control/agents/{id}/workspace/attach",
    "/control/agents/{id}/workspace/use",
    "/control/agents/{id}/workspace/exit",
    "/control/agents/{id}/workspace/detach",
    "/control/worktrees",
    "/control/agents/{id}/skills/install",
    "/control/agents/{id}/skills/uninstall",
    "/control/tokens",
    "/control/tokens/{name}/revoke",
    "/control/budgets",
    "/control/budgets/clear",
    "/control/storage/prune",
    "/control/delivery/targets",
    "/control/delivery/targets/{name}/test",
    "/control/delivery/targets/{name}/remove",
    "/control/delivery/targets/{name}/retry",
    "/control/agents/{id}/operator-bindings",
    "/control/agents/{id}/operator-bindings/{binding}/revoke",
    "/control/agents/{id}/operator-bindings/{binding}/retry",
    "/control/runtime/reload",
    "/control/runtime/shutdown",
];

/// Lists the other routes with bodies that hold these words wherever words may be.
fn bodies(words: &str) -> Vec<(&'static str, Value)> {
    let todo = json!([{"text": words, "state": "pending"}]);
    vec![
        ("/enqueue", json!({"text": words})),
        (
            "/agents/{id}/enqueue",
            json!({
                "json": {"note": words}, "metadata": {"note": words}, "correlation_id": words, "causation_id": words,
                "origin": {"kind": "webhook", "source": words, "event_type": words},
            }),
        ),
        ("/control/agents/{id}/prompt", json!({"text": words})),
        ("/control/agents/{id}/debug-prompt", json!({"text": words})),
        (
            "/control/agents/{id}/wake",
            json!({"reason": words, "source": words, "correlation_id": words, "causation_id": words}),
        ),
        (
            "/control/agents/{id}/work-items",
            json!({"objective": words, "plan_status": "needs_input", "todo_list": todo}),
        ),
        (
            "/control/agents/{id}/work-items/{item}",
            json!({"objective": words, "todo_list": todo}),
        ),
        (
            "/control/agents/{id}/tasks",
            json!({"cmd": words, "summary": words}),
        ),
        (
            "/control/agents/{id}/timers",
            json!({"duration_ms": 60_000, "summary": words}),
        ),
        (
            "/control/agents/{id}/operator-ingress",
            json!({
                "text": words, "actor_id": "jo", "binding_id": "{binding}", "metadata": {"note": words},
                "provider_message_ref": words, "correlation_id": words, "causation_id": words,
            }),
        ),
        ("/control/run", json!({"text": words})),
        ("/callbacks/enqueue/{token}", json!({"note": words})),
        ("/callbacks/wake/{token}", json!({"note": words})),
        ("/webhooks/generic/{id}", json!({"note": words})),
    ]
}

#[test]
fn every_route_that_takes_words_is_looked_at() {
    let posts = routes().into_iter().filter(|(by, _)| *by == "POST");
    let mut posts: Vec<&str> = posts.map(|(_, path)| path).collect();
    let with_words = bodies("").into_iter().map(|(path, _)| path);
    let mut known: Vec<&str> = with_words.chain(WITHOUT_WORDS).collect();
    posts.sort_unstable();
    known.sort_unstable();
    assert_eq!(posts, known);
}

/// Makes a work item and a binding, which bodies refer to, and lets webhooks in. Returns the ids of both.
async fn prepare(world: &World) -> (String, String) {
    let make = async |path: &str, body: Value| {
        let made = world.ask("POST", path, &body.to_string()).await;
        assert_eq!(made.status, 200, "{made:?}");
        made.json()
    };
    let webhook = json!({"secret": "a secret of tests", "allow_unsigned": true});
    make("/control/agents/main/webhook", webhook).await;
    let item = json!({"objective": "x", "plan_status": "needs_input"});
    let item = make("/control/agents/main/work-items", item).await;
    let binding = json!({
        "transport": "bridge", "operator_actor_id": "jo", "default_route_id": "room-1",
        "delivery_callback_url": "http://127.0.0.1:9/cb", "capabilities": {"text": true},
        "delivery_auth": {"kind": "hmac", "key_id": "k1", "secret": "a-secret-of-tests"},
    });
    let binding = make("/control/agents/main/operator-bindings", binding).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&item["id"]), text(&binding["binding"]["binding_id"]))
}

#[tokio::test]
async fn no_route_answers_or_stores_a_token_that_its_caller_pasted() {
    let world = World::start().await;
    let (_, wake) = capability(&world, "main", "wake_hint").await;
    let (_, enqueue) = capability(&world, "main", "enqueue_message").await;
    let last = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let (token, door) = (last(&wake), last(&enqueue));
    let (item, binding) = prepare(&world).await;
    let words = format!("canary {token}");
    let send = async |path: &str, body: &str| -> Reply {
        let target = path
            .replace("{id}", "main")
            .replace("{item}", &item)
            .replace("wake/{token}", &format!("wake/{token}"))
            .replace("{token}", &door);
        if path.starts_with("/control") || path.ends_with("/enqueue") {
            return world.ask("POST", &target, body).await;
        }
        let kind = "Content-Type: application/json\r\n";
        post(&world, &target, kind, body.as_bytes()).await
    };
    for (path, body) in bodies(&words) {
        let body = body.to_string().replace("{binding}", &binding);
        let reply = send(path, &body).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        assert!(!reply.body.contains(&token), "{path}: {reply:?}");
    }
    for target in [
        "status",
        "state",
        "events?limit=500",
        "transcript",
        "work-items",
        "timers?filter=all",
        "tasks?filter=all",
        "explain",
    ] {
        let shown = world
            .ask("GET", &format!("/agents/main/{target}"), "")
            .await;
        assert_eq!(shown.status, 200, "{target}: {shown:?}");
        assert!(!shown.body.contains(&token), "{target} shows the token");
    }
    let stored = world.engine.stored_bytes();
    let stored = String::from_utf8_lossy(&stored);
    assert!(stored.contains("canary [trig_"), "the words are stored");
    let at = stored.split_once(&token).map(|(before, _)| before);
    let before = at.map(|text| text.chars().rev().take(300).collect::<String>());
    let before = before.map(|text| text.chars().rev().collect::<String>());
    assert_eq!(before, None, "the token is stored behind this");
}

#[tokio::test]
async fn a_target_or_binding_with_the_url_of_a_trigger_is_refused() {
    let world = World::start().await;
    let (_, path) = capability(&world, "main", "wake_hint").await;
    let wake = format!("http://127.0.0.1:7878{path}");
    let binding = |url: &str, note: &str| {
        json!({
            "transport": "bridge", "operator_actor_id": "jo", "default_route_id": "room-1",
            "delivery_callback_url": url, "capabilities": {"text": true}, "metadata": {"note": note},
            "delivery_auth": {"kind": "none"},
        })
    };
    let (targets, bindings) = (
        "/control/delivery/targets",
        "/control/agents/main/operator-bindings",
    );
    for (path, body) in [
        (targets, json!({"name": "a", "kind": "http", "url": wake})),
        (
            targets,
            json!({"name": "a", "kind": "command", "command": ["curl", wake]}),
        ),
        (bindings, binding(&wake, "")),
        (bindings, binding("http://127.0.0.1:9/cb", &wake)),
    ] {
        let refused = world.ask("POST", path, &body.to_string()).await;
        assert_eq!(
            refused.refusal(),
            (400, "trigger_url_not_kept".into()),
            "{body}"
        );
    }
    let listed = world.ask("GET", "/delivery/targets", "").await.json();
    assert_eq!(listed["targets"], json!([]));
}
