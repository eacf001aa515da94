//! Workspaces over the wire.

use crate::world::{Reply, World};
use serde_json::{Value, json};

async fn post(world: &World, target: &str, body: &Value) -> Reply {
    let target = format!("/control/agents/{target}");
    world.ask("POST", &target, &body.to_string()).await
}

async fn workspaces(world: &World) -> Value {
    let status = world.ask("GET", "/agents/main/status", "").await.json();
    status["agent"]["attached_workspaces"].clone()
}

#[tokio::test]
async fn a_workspace_is_attached_used_left_and_detached() {
    let world = World::start().await;
    let attached = post(
        &world,
        "main/workspace/attach",
        &json!({"path": "/p", "trust": "x"}),
    )
    .await;
    let expected = json!({
        "ok": true, "agent_id": "main", "workspace_id": "ws--p", "workspace_anchor": "/p",
    });
    assert_eq!((attached.status, attached.json()), (200, expected));
    assert_eq!(workspaces(&world).await, json!(["agent_home", "ws--p"]));
    let body = json!({"workspace_id": "ws--p", "mode": "isolated"});
    let used = post(&world, "main/workspace/use", &body).await;
    assert_eq!(used.status, 200, "{used:?}");
    assert_eq!(used.json()["entry"]["projection_kind"], "git_worktree_root");
    let status = world.ask("GET", "/agents/main/status", "").await.json();
    let session = &status["agent"]["worktree_session"];
    assert_eq!(
        session["worktree_path"],
        used.json()["worktree"]["worktree_path"]
    );
    for target in ["/agents/main/worktree-summary", "/worktree-summary"] {
        let shown = world.ask("GET", target, "").await.json();
        assert_eq!(&shown["summary"]["worktree_session"], session, "{target}");
    }
    let detach = json!({"workspace_id": "ws--p"});
    let refused = post(&world, "main/workspace/detach", &detach).await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (409, &json!("workspace_active"))
    );
    let left = post(&world, "main/workspace/exit", &json!({})).await;
    assert_eq!(
        (left.status, left.json()),
        (200, json!({"ok": true, "agent_id": "main"}))
    );
    let gone = post(&world, "main/workspace/detach", &detach).await;
    let expected = json!({"ok": true, "agent_id": "main", "workspace_id": "ws--p"});
    assert_eq!((gone.status, gone.json()), (200, expected));
    assert_eq!(workspaces(&world).await, json!(["agent_home"]));
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_with_its_code() {
    let world = World::start().await;
    for (target, body, status, code) in [
        ("main/workspace/use", json!({}), 400, "invalid_request"),
        (
            "main/workspace/use",
            json!({"path": "/p", "workspace_id": "ws-1"}),
            400,
            "invalid_request",
        ),
        (
            "main/workspace/use",
            json!({"workspace_id": "ws-1"}),
            404,
            "workspace_not_attached",
        ),
        (
            "main/workspace/use",
            json!({"path": "p"}),
            400,
            "invalid_workspace",
        ),
        (
            "main/workspace/attach",
            json!({"path": "p"}),
            400,
            "invalid_workspace",
        ),
        (
            "main/workspace/detach",
            json!({"workspace_id": "ws-1"}),
            404,
            "workspace_not_attached",
        ),
        (
            "main/workspace/detach",
            json!({"workspace_id": "agent_home"}),
            409,
            "workspace_is_home",
        ),
        ("main/workspace/exit", json!({}), 409, "workspace_is_home"),
        ("nobody/workspace/exit", json!({}), 404, "agent_not_found"),
        (
            "nobody/workspace/use",
            json!({"path": "/p"}),
            404,
            "agent_not_found",
        ),
    ] {
        let reply = post(&world, target, &body).await;
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (status, &json!(code)),
            "{target} {body}"
        );
    }
    let listed = world.ask("POST", "/control/worktrees", "").await;
    assert_eq!(
        (listed.status, listed.json()),
        (200, json!({"worktrees": []}))
    );
}
