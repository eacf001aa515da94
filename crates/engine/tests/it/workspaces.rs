//! Workspaces: selected by the shell, entered by the commit of the call, and found again after a crash.

use crate::house::{House, agent, briefs, prompt};
use crate::keys::key;
use holon_domain::workspace::{UseMode, UseWorkspace, WorkspaceSelector};
use holon_engine::request::{CreateAgent, HomeChoice, WorkspaceChoice};
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

#[tokio::test]
async fn a_task_keeps_the_worktree_that_its_agent_left() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "work in /p").await;
    let round = calls(&[
        ("UseWorkspace", json!({ "path": "/p", "mode": "isolated" })),
        ("ExecCommand", json!({ "cmd": "make", "yield_time_ms": 0 })),
        ("UseWorkspace", json!({ "workspace_id": "agent_home" })),
    ]);
    house.model.next().await.answer(round);
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it is being built"));
    briefs(&host, "main", 1).await;
    task.watched().await;
    let cleaned = host.control().clean_worktrees(true).await;
    cleaned.expect("a report");
    let users = house.workspaces.users();
    let [user] = users.as_slice() else {
        panic!("{users:?}");
    };
    assert!(!user.in_turn);
    let [running] = user.tasks.as_slice() else {
        panic!("{users:?}");
    };
    assert_eq!(running.task_id.as_str(), task.name());
    assert!(running.workdir.starts_with("/worktrees/"), "{users:?}");
    assert!(
        user.execution_roots
            .iter()
            .all(|root| !root.starts_with("/worktrees/")),
        "{users:?}"
    );
    task.ends("built");
    house.model.next().await.answer(says("built"));
    briefs(&host, "main", 2).await;
    host.control()
        .clean_worktrees(true)
        .await
        .expect("a report");
    assert_eq!(house.workspaces.users()[0].tasks, []);
}

#[tokio::test]
async fn two_agents_in_one_directory_are_told_of_each_other_until_one_is_stopped() {
    let house = House::new();
    let host = house.with_main().await;
    let control = host.control();
    let request = CreateAgent {
        agent_id: agent("ada"),
        workspace: WorkspaceChoice::default(),
        home: HomeChoice::default(),
        model: None,
    };
    control.create_agent(request).await.expect("an agent");
    let direct = || UseWorkspace {
        selector: WorkspaceSelector::Path("/p".to_owned()),
        mode: UseMode::Direct,
        cwd: None,
        isolation_label: None,
    };
    let warning = async |name: &str| {
        let status = host.reads().status(&agent(name)).await.expect("a status");
        status.execution.workspace_warning
    };
    for name in ["main", "ada"] {
        let used = control.use_workspace(&agent(name), direct()).await;
        used.expect("a workspace");
    }
    let told = warning("main").await.expect("a warning");
    assert!(told.contains("/p is also the directory of ada"), "{told}");
    assert!(warning("ada").await.is_some());
    control.stop_agent(&agent("ada")).await.expect("stops");
    assert_eq!(warning("main").await, None);
    house.is_sound("ada").await;
    // The binding survives the stop and a restart of the host.
    host.shut_down().await.expect("goes down");
    let host = house.start().await;
    host.control()
        .start_agent(&agent("ada"))
        .await
        .expect("starts");
    let status = host.reads().status(&agent("main")).await.expect("a status");
    assert!(status.execution.workspace_warning.is_some());
    let read = house.readers().read(|reader| reader.workspaces(8));
    let known = read.await.expect("a registry");
    assert_eq!(known.len(), 1, "{known:?}");
    assert_eq!(known[0].workspace_anchor, "/p");
    assert_eq!(known[0].repository.as_deref(), Some("/p/.git"));
}

#[tokio::test]
async fn a_release_that_cannot_be_written_is_an_error_of_the_stop_and_nothing_is_released() {
    let house = House::new();
    let host = house.with_main().await;
    let control = host.control();
    let direct = UseWorkspace {
        selector: WorkspaceSelector::Path("/p".to_owned()),
        mode: UseMode::Direct,
        cwd: None,
        isolation_label: None,
    };
    let main = agent("main");
    control.use_workspace(&main, direct).await.expect("used");
    house.alter(
        "CREATE TRIGGER held BEFORE DELETE ON occupancies BEGIN SELECT RAISE(ABORT, 'held'); END",
    );
    control.stop_agent(&main).await.expect_err("it is held");
    house.alter("DROP TRIGGER held");
    let read = house.readers().read(|reader| reader.occupants("/p"));
    assert_eq!(read.await.expect("a read").len(), 1);
    control.start_agent(&main).await.expect("it goes on");
    control.stop_agent(&main).await.expect("stops");
    let read = house.readers().read(|reader| reader.occupants("/p"));
    assert_eq!(read.await.expect("a read"), []);
}

#[tokio::test]
async fn a_repeated_request_asks_for_the_worktree_of_the_first_also_after_a_crash() {
    let house = House::new();
    let host = house.with_main().await;
    let isolated = || UseWorkspace {
        selector: WorkspaceSelector::Path("/p".to_owned()),
        mode: UseMode::Isolated,
        cwd: None,
        isolation_label: None,
    };
    let keyed = |host: &holon_engine::Host, name: &str| host.control().for_request(key(name, "a"));
    let first = keyed(&host, "k")
        .use_workspace(&agent("main"), isolated())
        .await;
    let first = first.expect("a workspace");
    let after = house.after_crash();
    let host = after.start().await;
    let again = keyed(&host, "k")
        .use_workspace(&agent("main"), isolated())
        .await;
    assert_eq!(again.expect("a workspace").entry, first.entry);
    let other = keyed(&host, "other")
        .use_workspace(&agent("main"), isolated())
        .await;
    assert_ne!(other.expect("a workspace").entry, first.entry);
    let orders = house.workspaces.orders();
    let keys: std::collections::BTreeSet<_> = orders
        .iter()
        .chain(&after.workspaces.orders())
        .map(|order| order.request_key.clone())
        .collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
}
