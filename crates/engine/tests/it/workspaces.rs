//! Workspaces: selected by the shell, entered by the commit of the call, and found again after a crash.

use crate::house::{House, briefs, prompt};
use holon_domain::workspace::WorkspaceSelector;
use holon_testkit::ports::{calls, says};
use serde_json::json;

#[tokio::test]
async fn a_call_moves_the_calls_behind_it_and_later_turns() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "work in /p").await;
    let round = calls(&[
        ("UseWorkspace", json!({ "path": "/p", "mode": "isolated" })),
        ("UseWorkspace", json!({ "workspace_id": "ws--p" })),
    ]);
    house.model.next().await.answer(round);
    house.model.next().await.answer(says("done"));
    briefs(&host, "main", 1).await;
    let orders = house.workspaces.orders();
    let [first, second] = orders.as_slice() else {
        panic!("{orders:?}");
    };
    assert_eq!(
        first.request.selector,
        WorkspaceSelector::Path("/p".to_owned())
    );
    assert!(first.may_attach && first.attached.is_empty());
    assert!(
        second.current_cwd.starts_with("/worktrees/"),
        "{}",
        second.current_cwd
    );
    assert_eq!(second.attached.as_slice()[0].workspace_anchor, "/p");
    assert_ne!(first.request_key, second.request_key);
    prompt(&host, "main", "where are you").await;
    let round = calls(&[("UseWorkspace", json!({ "workspace_id": "agent_home" }))]);
    house.model.next().await.answer(round);
    house.model.next().await.answer(says("home"));
    briefs(&host, "main", 2).await;
    assert_eq!(house.workspaces.orders()[2].current_cwd, "/p");
}
