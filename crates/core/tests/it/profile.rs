//! The statements of the profile model about decisions, one case each. The name of a case is the statement.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::input::WorkspaceCommand;
use holon_core::workspace::may_attach;
use holon_core::{Input, Reply};
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::consequence::Consequence;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::tool::{ToolEnvelope, ToolErrorKind, ToolOutcome};
use holon_domain::workspace::{
    AttachedWorkspace, DetectedKind, SelectedWorkspace, UseMode, UseWorkspace, WorkspaceSelector,
};
use serde_json::json;

fn agent(preset: ProfilePreset, visibility: Visibility, ownership: Ownership) -> World {
    let mut new = make::new_agent();
    new.identity = AgentIdentity {
        profile_preset: preset,
        visibility,
        ownership,
        kind: AgentKind::Child,
        ..new.identity
    };
    let mut world = World::with(new);
    let stamp = world.stamp().expect("the home is checked");
    world.send(make::home_prepared(stamp, Ok(())));
    world
}

fn private_child() -> World {
    agent(
        ProfilePreset::PrivateChild,
        Visibility::Private,
        Ownership::ParentSupervised,
    )
}

fn public_named() -> World {
    agent(
        ProfilePreset::PublicNamed,
        Visibility::Public,
        Ownership::SelfOwned,
    )
}

fn attach(world: &mut World, name: &str) {
    let workspace = AttachedWorkspace::of(&make::workspace(name));
    let command = WorkspaceCommand::Attach(workspace);
    let reply = world.send(Input::Workspace(Box::new(command))).reply;
    assert_eq!(reply, Ok(Reply::Done));
}

/// Lets the agent's model call `UseWorkspace` with a path, and returns the result that the model gets.
fn use_workspace(world: &mut World, name: &str) -> ToolEnvelope {
    let entry = make::workspace(name);
    let request = UseWorkspace {
        selector: WorkspaceSelector::Path(entry.workspace_anchor.clone()),
        mode: UseMode::Direct,
        cwd: None,
        isolation_label: None,
    };
    let intent = Intent::Host(HostAction::UseWorkspace(request));
    world.send(ModelAnswer::calls(vec![("UseWorkspace", Ok(intent)), make::exec()]).to(world));
    let finished = Input::ToolFinished {
        stamp: world.stamp().expect("the call runs"),
        consequence: Consequence::Workspace {
            result: ToolEnvelope::success("UseWorkspace", "entered", json!({})),
            selected: Box::new(SelectedWorkspace {
                entry,
                detected_kind: DetectedKind::CanonicalRepo,
                mode: UseMode::Direct,
                by_path: true,
                worktree: None,
                notes: Vec::new(),
            }),
        },
        duration_ms: 1,
    };
    assert_eq!(world.send(finished).reply, Ok(Reply::Done));
    let results = world.log.iter().rev().filter_map(|(_, entry)| match entry {
        LogEntry::ToolResult { envelope, .. } => Some(envelope.clone()),
        _ => None,
    });
    results.into_iter().next().expect("a result")
}

fn prompt(world: &mut World) {
    world.send(make::admit(make::prompt(Priority::Normal)));
}

fn outside_event(world: &mut World) {
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
}

fn error_kind(envelope: &ToolEnvelope) -> Option<ToolErrorKind> {
    match &envelope.outcome {
        ToolOutcome::Error { error } => Some(error.kind),
        ToolOutcome::Success { .. } => None,
    }
}

fn a_child_attaches_nothing() {
    let mut world = private_child();
    prompt(&mut world);
    let before = world.agent.settings.clone();
    let result = use_workspace(&mut world, "new");
    assert!(error_kind(&result).is_some(), "{result:?}");
    assert_eq!(world.agent.settings, before, "nothing changed");
}

fn a_child_works_in_what_it_has() {
    let mut world = private_child();
    attach(&mut world, "given");
    prompt(&mut world);
    let result = use_workspace(&mut world, "given");
    assert_eq!(error_kind(&result), None, "{result:?}");
    assert_eq!(world.agent.workspace, make::workspace("given"));
}

fn a_named_agent_attaches() {
    let mut world = public_named();
    prompt(&mut world);
    let result = use_workspace(&mut world, "new");
    assert_eq!(error_kind(&result), None, "{result:?}");
    assert_eq!(world.agent.workspace, make::workspace("new"));
}

fn an_operator_attaches_for_a_child() {
    let mut world = private_child();
    attach(&mut world, "given");
    let attached = world.agent.attached_workspaces();
    assert_eq!(attached.as_slice().len(), 1);
}

/// All four combinations: only the preset decides.
fn reach_follows_from_the_preset_alone() {
    for preset in [ProfilePreset::PublicNamed, ProfilePreset::PrivateChild] {
        for visibility in [Visibility::Public, Visibility::Private] {
            for ownership in [Ownership::SelfOwned, Ownership::ParentSupervised] {
                let world = agent(preset, visibility, ownership);
                let expected = preset == ProfilePreset::PublicNamed;
                assert_eq!(may_attach(&world.agent), expected, "{visibility:?}");
            }
        }
    }
}

/// An event from outside and an operator's prompt find the same reach, in both directions.
fn trust_changes_no_reach() {
    for begin in [prompt, outside_event] {
        let mut named = public_named();
        begin(&mut named);
        assert_eq!(error_kind(&use_workspace(&mut named, "new")), None);
        let mut child = private_child();
        begin(&mut child);
        assert!(error_kind(&use_workspace(&mut child, "new")).is_some());
    }
}

fn the_error_is_structured() {
    let mut world = private_child();
    prompt(&mut world);
    let result = use_workspace(&mut world, "new");
    let ToolOutcome::Error { error } = &result.outcome else {
        panic!("{result:?}");
    };
    assert_eq!(error.kind, ToolErrorKind::UnsupportedAgentProfileCapability);
    assert!(error.recovery_hint.is_some(), "{error:?}");
}

fn state_is_no_profile() {
    let mut world = states::idle();
    let preset = world.agent.identity.profile_preset;
    world.send(Input::Stop);
    assert_eq!(world.agent.identity.profile_preset, preset);
    assert!(may_attach(&world.agent), "a stop takes no capability away");
}

#[test]
fn statements_of_the_profile_model() {
    let statements: [(&str, fn()); 8] = [
        (
            "a private child may not expand authority boundaries such as attaching a new workspace",
            a_child_attaches_nothing,
        ),
        (
            "a private child may operate inside the existing local execution boundary",
            a_child_works_in_what_it_has,
        ),
        (
            "a public named agent has authority_expansion",
            a_named_agent_attaches,
        ),
        (
            "whether a path may be attached at all belongs to execution policy: an operator attaches for a child",
            an_operator_attaches_for_a_child,
        ),
        (
            "visibility and ownership do not by themselves define execution authority",
            reach_follows_from_the_preset_alone,
        ),
        (
            "capability is never decided by the trust of a message",
            trust_changes_no_reach,
        ),
        (
            "using an absent family is a structured error",
            the_error_is_structured,
        ),
        (
            "current state says what is temporarily available; the profile stays",
            state_is_no_profile,
        ),
    ];
    let mut broken = Vec::new();
    for (statement, check) in statements {
        if std::panic::catch_unwind(check).is_err() {
            broken.push(statement);
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
