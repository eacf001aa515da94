//! Requests to use a workspace: entries, rules about attachments, and refusals.

use super::fixture::{World, git, make_repository};
use holon_domain::workspace::{
    AGENT_HOME, DetectedKind, ProjectionKind, RootOwnership, UseMode, WorkspaceErrorKind,
    WorkspaceOrder, WorkspaceSelector,
};
use std::fs;
use std::path::Path;

fn refusal(world: &World, order: &WorkspaceOrder) -> WorkspaceErrorKind {
    let refused = world.selection().select(order);
    refused.expect_err("a refusal").kind
}

#[test]
fn a_sub_directory_keeps_the_repository_as_its_root() {
    let world = World::new();
    let order = world.by_path(&world.repo().join("sub"), UseMode::Direct);
    let selected = world.selection().select(&order).unwrap();
    let repo = world.repo().display().to_string();
    assert_eq!(selected.detected_kind, DetectedKind::RepoSubdir);
    assert_eq!(selected.entry.workspace_anchor, repo);
    assert_eq!(selected.entry.execution_root, repo);
    assert_eq!(selected.entry.cwd, format!("{repo}/sub"));
    assert_eq!(
        selected.entry.projection_kind,
        ProjectionKind::CanonicalRoot
    );
    assert_eq!((selected.worktree, selected.notes), (None, Vec::new()));
}

#[test]
fn an_existing_worktree_of_an_attached_repository_is_adopted_and_never_owned() {
    let world = World::new();
    git(&world.repo(), &["worktree", "add", "--quiet", "../linked"]);
    let selection = world.selection();
    let parent = selection
        .select(&world.by_path(&world.repo(), UseMode::Direct))
        .unwrap();
    let mut order = world.by_path(&world.base().join("linked"), UseMode::Direct);
    order.attached.attach(parent.attached());
    order.may_attach = false;
    let adopted = selection.select(&order).unwrap();
    assert_eq!(adopted.entry.workspace_id, parent.entry.workspace_id);
    assert_eq!(
        adopted.entry.workspace_anchor,
        parent.entry.workspace_anchor
    );
    assert_eq!(adopted.entry.ownership, RootOwnership::External);
    assert_eq!(
        adopted.entry.projection_kind,
        ProjectionKind::GitWorktreeRoot
    );
    assert_eq!(adopted.worktree, None);
    assert!(
        adopted.notes[0].contains("mode isolated"),
        "{:?}",
        adopted.notes
    );
}

#[test]
fn an_agent_that_may_not_attach_uses_what_is_attached_and_nothing_else() {
    let world = World::new();
    let selection = world.selection();
    let mut order = world.by_path(&world.repo(), UseMode::Isolated);
    order.may_attach = false;
    assert_eq!(refusal(&world, &order), WorkspaceErrorKind::AttachForbidden);
    assert_eq!(
        world.worktrees().records().unwrap().records,
        [],
        "nothing was made"
    );
    let open = world.by_path(&world.repo(), UseMode::Direct);
    order.attached.attach(selection.attach(&open).unwrap());
    selection.select(&order).unwrap();
}

#[test]
fn only_attached_ids_are_known_and_a_missing_root_is_an_error() {
    let world = World::new();
    assert_eq!(
        refusal(&world, &world.by_id("ws-unknown")),
        WorkspaceErrorKind::NotAttached
    );
    let plain = world.base().join("plain");
    fs::create_dir(&plain).unwrap();
    let attached = world
        .selection()
        .attach(&world.by_path(&plain, UseMode::Direct))
        .unwrap();
    let mut order = world.by_id(attached.workspace_id.as_str());
    order.attached.attach(attached);
    let selected = world.selection().select(&order).unwrap();
    assert_eq!(selected.detected_kind, DetectedKind::PlainDirectory);
    order.request.mode = UseMode::Isolated;
    assert_eq!(
        refusal(&world, &order),
        WorkspaceErrorKind::IsolationUnsupported
    );
    order.request.mode = UseMode::Direct;
    fs::remove_dir(&plain).unwrap();
    assert_eq!(refusal(&world, &order), WorkspaceErrorKind::MissingRoot);
    std::os::unix::fs::symlink(world.repo(), &plain).unwrap();
    assert_eq!(refusal(&world, &order), WorkspaceErrorKind::MissingRoot);
}

#[test]
fn the_home_is_used_by_its_id_and_by_its_path_before_it_is_made() {
    let world = World::new();
    fs::remove_dir(world.agent_home()).unwrap();
    for selector in [
        world.by_id(AGENT_HOME).request.selector,
        WorkspaceSelector::Path(world.agent_home().display().to_string()),
    ] {
        let selected = world
            .selection()
            .select(&world.order(selector, UseMode::Direct))
            .unwrap();
        assert!(selected.entry.is_agent_home());
        assert_eq!(selected.detected_kind, DetectedKind::AgentHome);
    }
    let mut order = world.by_id(AGENT_HOME);
    order.request.mode = UseMode::Isolated;
    assert_eq!(
        refusal(&world, &order),
        WorkspaceErrorKind::IsolationUnsupported
    );
}

#[test]
fn directories_of_the_host_and_of_other_agents_are_refused() {
    let world = World::new();
    fs::create_dir(world.home().join("agents/other")).unwrap();
    let stray = "execution-roots/git-worktree/ws-1/stray";
    fs::create_dir_all(world.home().join(stray)).unwrap();
    for path in [
        "",
        "holon",
        "holon/state",
        "holon/run",
        "holon/agents",
        "holon/agents/other",
        "holon/execution-roots",
        "holon/execution-roots/git-worktree",
        "holon/execution-roots/git-worktree/ws-1",
        "holon/execution-roots/git-worktree/ws-1/stray",
    ] {
        let order = world.by_path(&world.base().join(path), UseMode::Direct);
        assert_eq!(
            refusal(&world, &order),
            WorkspaceErrorKind::Reserved,
            "{path}"
        );
    }
    for path in ["nowhere", "evil.sh"] {
        let order = world.by_path(&world.base().join(path), UseMode::Direct);
        assert_eq!(
            refusal(&world, &order),
            WorkspaceErrorKind::InvalidPath,
            "{path}"
        );
    }
    let relative = WorkspaceSelector::Path("repo".to_owned());
    let order = world.order(relative, UseMode::Direct);
    assert_eq!(refusal(&world, &order), WorkspaceErrorKind::InvalidPath);
}

#[test]
fn a_worktree_whose_repository_is_in_the_home_of_another_agent_is_refused() {
    let world = World::new();
    let other = world.home().join("agents/other/repo");
    make_repository(&other);
    let worktree = world.base().join("outside");
    let path = worktree.display().to_string();
    git(&other, &["worktree", "add", "--quiet", &path]);
    for mode in [UseMode::Direct, UseMode::Isolated] {
        let order = world.by_path(&worktree, mode);
        assert_eq!(refusal(&world, &order), WorkspaceErrorKind::Reserved);
    }
    let own = world.agent_home().join("repo");
    make_repository(&own);
    let selected = world
        .selection()
        .select(&world.by_path(&own, UseMode::Direct));
    assert_eq!(selected.unwrap().detected_kind, DetectedKind::CanonicalRepo);
}

#[test]
fn a_managed_worktree_is_used_by_its_path_and_below_it() {
    let world = World::new();
    let made = world.by_path(&world.repo(), UseMode::Isolated);
    let made = world.selection().select(&made).unwrap().entry;
    let below = Path::new(&made.execution_root).join("sub");
    let used = world
        .selection()
        .select(&world.by_path(&below, UseMode::Direct));
    let used = used.unwrap();
    assert_eq!(used.entry.execution_root, made.execution_root);
    assert_eq!(used.entry.cwd, below.display().to_string());
    assert_eq!(used.entry.ownership, RootOwnership::SessionOwned);
}

#[test]
fn a_current_directory_stays_inside_the_root() {
    let world = World::new();
    for (mode, cwd, is_taken) in [
        (UseMode::Direct, "sub", true),
        (UseMode::Isolated, "sub", true),
        (UseMode::Direct, "..", false),
        (UseMode::Isolated, "../..", false),
        (UseMode::Direct, "a.txt", false),
    ] {
        let mut order = world.by_path(&world.repo(), mode);
        order.request.cwd = Some(cwd.to_owned());
        let selected = world.selection().select(&order);
        assert_eq!(selected.is_ok(), is_taken, "{mode:?} {cwd}: {selected:?}");
        if let Ok(selected) = selected {
            assert_eq!(
                selected.entry.cwd,
                format!("{}/sub", selected.entry.execution_root)
            );
        }
    }
}
