//! The execution policy: one function, asked by commands, promotions, the control of tasks and workspaces.

use crate::make::{self, ModelAnswer};
use crate::world::World;
use crate::{commands, states};
use holon_core::input::WorkspaceCommand;
use holon_core::policy::{self, ExecutionAct, PolicyDenial};
use holon_core::{Input, Rejection, summary};
use holon_domain::agent::ProfilePreset;
use holon_domain::event::Event;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::log::LogEntry;
use holon_domain::summary::{Enforcement, ExecutionProfile};
use holon_domain::task::TaskStatus;
use holon_domain::tool::{ToolEnvelope, ToolErrorKind, ToolFamily};
use holon_domain::workspace::{
    DetectedKind, SelectedWorkspace, UseMode, UseWorkspace, WorkspaceSelector,
};

fn without_commands() -> ExecutionProfile {
    ExecutionProfile {
        process_execution_exposed: false,
        ..ExecutionProfile::default()
    }
}

fn without_tasks() -> ExecutionProfile {
    ExecutionProfile {
        allow_background_tasks: false,
        ..ExecutionProfile::default()
    }
}

fn without_worktrees() -> ExecutionProfile {
    ExecutionProfile {
        supports_managed_worktrees: false,
        ..ExecutionProfile::default()
    }
}

#[test]
fn each_act_needs_its_family_and_the_abilities_of_the_host() {
    let host = ExecutionProfile::default();
    let isolated = ExecutionAct::UseWorkspace(UseMode::Isolated);
    let direct = ExecutionAct::UseWorkspace(UseMode::Direct);
    let acts = [
        ExecutionAct::RunCommand,
        ExecutionAct::KeepAsTask,
        ExecutionAct::ControlTask,
        direct,
        isolated,
        ExecutionAct::AttachWorkspace,
    ];
    for act in acts {
        let public = policy::check(ProfilePreset::PublicNamed, &host, act);
        assert_eq!(public, Ok(()), "{act:?}");
        let family = ToolFamily::AuthorityExpansion;
        let expected = match act {
            ExecutionAct::AttachWorkspace => Err(PolicyDenial::Profile { family }),
            _ => Ok(()),
        };
        let private = policy::check(ProfilePreset::PrivateChild, &host, act);
        assert_eq!(private, expected, "{act:?}");
    }
    let denied = |host: &ExecutionProfile| -> Vec<ExecutionAct> {
        let is_denied =
            |act: &&ExecutionAct| policy::check(ProfilePreset::PublicNamed, host, **act).is_err();
        acts.iter().filter(is_denied).copied().collect()
    };
    assert_eq!(denied(&without_commands()), acts[..3]);
    assert_eq!(denied(&without_tasks()), [ExecutionAct::KeepAsTask]);
    assert_eq!(denied(&without_worktrees()), [isolated]);
}

/// Returns the results of the calls that ended, with their tool.
fn errors(world: &World) -> Vec<(String, Option<ToolErrorKind>)> {
    let results = world.log.iter().filter_map(|(_, entry)| match entry {
        LogEntry::ToolResult { envelope, .. } => Some(envelope),
        _ => None,
    });
    let error = |envelope: &ToolEnvelope| envelope.error().map(|error| error.kind);
    results
        .map(|envelope| (envelope.tool_name.clone(), error(envelope)))
        .collect()
}

#[test]
fn a_host_without_commands_starts_none_and_lets_no_task_be_controlled() {
    let mut world = states::beside_tasks(1);
    let before = errors(&world).len();
    let id = world.tasks[0].id.clone();
    world.host.execution = without_commands();
    let calls = vec![make::exec(), commands::task_stop(&id)];
    world.send(ModelAnswer::calls(calls).to(&world));
    let denied = Some(ToolErrorKind::ExecutionPolicyDenied);
    let expected = [
        ("ExecCommand".to_owned(), denied),
        ("TaskStop".to_owned(), denied),
    ];
    assert_eq!(errors(&world)[before..], expected);
    let requested = world
        .events
        .iter()
        .filter(|event| matches!(event, Event::ProcessExecutionRequested(_)));
    assert_eq!(requested.count(), 1, "only the command that ran before");
    assert_eq!(world.tasks[0].status, TaskStatus::Running);
}

#[test]
fn a_command_that_may_not_become_a_task_is_stopped_and_never_left_alone() {
    let mut world = states::calling_model();
    world.host.execution = without_tasks();
    world.send(ModelAnswer::calls(vec![commands::exec("make all")]).to(&world));
    world.send(commands::promotion(&world));
    assert_eq!(
        errors(&world),
        [(
            "ExecCommand".to_owned(),
            Some(ToolErrorKind::ExecutionPolicyDenied)
        )]
    );
    assert_eq!(world.tasks[0].status, TaskStatus::Cancelling);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_host_without_worktrees_isolates_no_workspace() {
    let mut world = states::calling_model();
    world.host.execution = without_worktrees();
    let request = UseWorkspace {
        selector: WorkspaceSelector::Path("/projects/one".to_owned()),
        mode: UseMode::Isolated,
        cwd: None,
        isolation_label: None,
    };
    let intent = Intent::Host(HostAction::UseWorkspace(request));
    world.send(ModelAnswer::calls(vec![("UseWorkspace", Ok(intent))]).to(&world));
    assert_eq!(
        errors(&world),
        [(
            "UseWorkspace".to_owned(),
            Some(ToolErrorKind::ExecutionPolicyDenied)
        )]
    );
    let selected = SelectedWorkspace {
        entry: make::workspace("one"),
        detected_kind: DetectedKind::CanonicalRepo,
        mode: UseMode::Isolated,
        by_path: true,
        worktree: None,
        notes: Vec::new(),
    };
    let used = Input::Workspace(Box::new(WorkspaceCommand::Use(selected)));
    let missing = "managed worktrees";
    assert_eq!(
        world.send(used).reply,
        Err(Rejection::PolicyDenied { missing })
    );
}

#[test]
fn the_snapshot_shows_the_answers_of_the_policy_and_promises_no_sandbox() {
    let mut world = states::idle();
    let shown = |world: &World| {
        summary::summarise(&world.agent, &world.queue(), Vec::new(), &world.host).execution
    };
    let open = shown(&world);
    assert_eq!(open.profile, ExecutionProfile::default());
    let process = &open.policy.process_execution;
    for not_enforced in [
        process.path_confinement,
        process.write_confinement,
        process.network_confinement,
        process.secret_isolation,
        process.child_process_containment,
        open.policy.resource_authority.own_commands,
    ] {
        assert_eq!(not_enforced, Enforcement::NotEnforced);
    }
    world.host.execution = without_commands();
    let closed = shown(&world);
    assert!(!closed.profile.process_execution_exposed);
    assert!(!closed.profile.allow_background_tasks);
    assert!(!closed.policy.process_execution_exposed);
    assert!(closed.policy.managed_worktree_supported);
}
