//! `UseWorkspace`: its arguments, and the results that a model reads.

use crate::work::{meant, refused_field};
use holon_domain::WorkspaceId;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::tool::{ToolErrorKind, ToolOutcome};
use holon_domain::workspace::{
    DetectedKind, ProjectionKind, RootOwnership, SelectedWorkspace, UseMode, UseWorkspace,
    WorkspaceEntry, WorkspaceErrorKind, WorkspaceFailure, WorkspaceSelector, WorktreeSession,
};
use holon_tools::use_workspace;
use serde_json::json;

fn request(input: &serde_json::Value) -> UseWorkspace {
    match meant("UseWorkspace", input) {
        Intent::Host(HostAction::UseWorkspace(request)) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_names_exactly_one_of_a_path_and_an_id() {
    let by_path =
        request(&json!({"path": "/p", "mode": "isolated", "isolation_label": "fix", "cwd": "src"}));
    assert_eq!(by_path.selector, WorkspaceSelector::Path("/p".to_owned()));
    assert_eq!(by_path.mode, UseMode::Isolated);
    assert_eq!(by_path.isolation_label.as_deref(), Some("fix"));
    assert_eq!(by_path.cwd.as_deref(), Some("src"));
    let by_id = request(&json!({"workspace_id": "ws-1"}));
    let id = WorkspaceId::from_stored("ws-1");
    assert_eq!(by_id.selector, WorkspaceSelector::WorkspaceId(id));
    assert_eq!(by_id.mode, UseMode::Direct);
    for (input, field) in [
        (json!({}), None),
        (json!({"path": "/p", "workspace_id": "ws-1"}), None),
        (json!({"path": " "}), Some("path")),
        (json!({"path": "/p\u{0}"}), Some("path")),
        (
            json!({"path": format!("/{}", "x".repeat(5_000))}),
            Some("path"),
        ),
        (json!({"workspace_id": ""}), Some("workspace_id")),
    ] {
        let (found, says_more) = refused_field("UseWorkspace", &input);
        assert_eq!(found.as_deref(), field, "{input}");
        assert!(says_more, "{input}");
    }
}

#[test]
fn a_label_is_cut_and_never_refused() {
    for label in ["", "--force", "x\ny", &"x".repeat(70_000)] {
        let made = request(&json!({"path": "/p", "isolation_label": label}));
        assert!(made.isolation_label.is_some_and(|label| label.len() <= 200));
    }
}

#[test]
fn a_result_says_where_the_agent_is_and_nothing_about_occupancy() {
    let selected = SelectedWorkspace {
        entry: WorkspaceEntry {
            workspace_id: WorkspaceId::from_stored("ws-1"),
            execution_root: "/w/fix-1".to_owned(),
            cwd: "/w/fix-1/src".to_owned(),
            projection_kind: ProjectionKind::GitWorktreeRoot,
            ownership: RootOwnership::SessionOwned,
            ..WorkspaceEntry::agent_home("/p")
        },
        detected_kind: DetectedKind::RepoSubdir,
        mode: UseMode::Isolated,
        by_path: true,
        worktree: Some(WorktreeSession {
            original_working_directory: "/h".to_owned(),
            original_branch: "main".to_owned(),
            worktree_path: "/w/fix-1".to_owned(),
            worktree_branch: "holon/fix-1".to_owned(),
            base_commit: "f00d".to_owned(),
        }),
        notes: vec!["it stays".to_owned()],
    };
    let ToolOutcome::Success { result } = use_workspace::entered(&selected).outcome else {
        panic!("an error");
    };
    let expected = json!({
        "workspace_id": "ws-1", "workspace_anchor": "/p", "execution_root": "/w/fix-1",
        "execution_root_id": "git_worktree_root:ws-1/fix-1", "cwd": "/w/fix-1/src", "mode": "isolated",
        "projection_kind": "git_worktree_root", "detected_kind": "repo_subdir", "ownership": "session_owned",
        "worktree_path": "/w/fix-1", "worktree_branch": "holon/fix-1", "base_commit": "f00d",
        "notes": ["it stays"],
    });
    assert_eq!(result, expected);
}

#[test]
fn each_reason_has_its_kind_of_error() {
    for (reason, kind) in [
        (
            WorkspaceErrorKind::AttachForbidden,
            ToolErrorKind::UnsupportedAgentProfileCapability,
        ),
        (
            WorkspaceErrorKind::TooManyAttached,
            ToolErrorKind::LimitReached,
        ),
        (
            WorkspaceErrorKind::NotAttached,
            ToolErrorKind::InvalidToolInput,
        ),
        (
            WorkspaceErrorKind::MissingRoot,
            ToolErrorKind::ExecutionRootViolation,
        ),
        (WorkspaceErrorKind::Git, ToolErrorKind::ToolExecutionFailed),
    ] {
        let refused = use_workspace::refused(&WorkspaceFailure::new(reason, "no"));
        assert_eq!(
            refused.error().map(|error| error.kind),
            Some(kind),
            "{reason:?}"
        );
    }
}
