//! Tests of workspaces: the attached set, the active entry, and who may change them.

use crate::make::{self, ModelAnswer};
use crate::world::World;
use crate::{commands, states};
use holon_core::input::WorkspaceCommand;
use holon_core::{Input, Rejection, Reply};
use holon_domain::WorkspaceId;
use holon_domain::agent::{AgentIdentity, Lifecycle, ProfilePreset};
use holon_domain::consequence::Consequence;
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::event::Event;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::limits::{AGENT_SETTINGS_BYTES, ATTACHED_WORKSPACES};
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::tool::{ToolEnvelope, ToolErrorKind};
use holon_domain::workspace::{
    AGENT_HOME, AttachedWorkspace, DetectedKind, ProjectionKind, RootOwnership, SelectedWorkspace,
    UseMode, UseWorkspace, WorkspaceEntry, WorkspaceSelector, WorktreeSession,
};
use serde_json::json;

fn workspace(name: &str) -> AttachedWorkspace {
    AttachedWorkspace::of(&make::workspace(name))
}

fn selected(name: &str) -> SelectedWorkspace {
    SelectedWorkspace {
        entry: make::workspace(name),
        detected_kind: DetectedKind::CanonicalRepo,
        mode: UseMode::Direct,
        by_path: true,
        worktree: None,
        notes: Vec::new(),
    }
}

fn isolated(name: &str) -> SelectedWorkspace {
    let path = format!("/worktrees/{name}");
    SelectedWorkspace {
        entry: WorkspaceEntry {
            execution_root: path.clone(),
            cwd: path.clone(),
            projection_kind: ProjectionKind::GitWorktreeRoot,
            ownership: RootOwnership::SessionOwned,
            ..make::workspace(name)
        },
        mode: UseMode::Isolated,
        worktree: Some(WorktreeSession {
            original_working_directory: "/srv/ada".to_owned(),
            original_branch: "main".to_owned(),
            worktree_path: path,
            worktree_branch: format!("holon/{name}"),
            base_commit: "f".repeat(40),
        }),
        ..selected(name)
    }
}

fn command(command: WorkspaceCommand) -> Input {
    Input::Workspace(Box::new(command))
}

fn attached(world: &World) -> Vec<AttachedWorkspace> {
    world.agent.attached_workspaces().as_slice().to_vec()
}

/// Returns the kinds of the events since a position.
fn kinds_since(world: &World, position: usize) -> Vec<&str> {
    world.events[position..].iter().map(Event::kind).collect()
}

/// Sends a model's call of `UseWorkspace` and the answer of the shell.
fn call(world: &mut World, selected: SelectedWorkspace) {
    let request = UseWorkspace {
        selector: WorkspaceSelector::Path(selected.entry.workspace_anchor.clone()),
        mode: selected.mode,
        cwd: None,
        isolation_label: None,
    };
    let intent = Intent::Host(HostAction::UseWorkspace(request));
    world.send(ModelAnswer::calls(vec![("UseWorkspace", Ok(intent)), make::exec()]).to(world));
    let finished = Input::ToolFinished {
        stamp: world.stamp().expect("the call runs"),
        consequence: Consequence::Workspace {
            result: ToolEnvelope::success("UseWorkspace", "entered", json!({})),
            selected: Box::new(selected),
        },
        duration_ms: 1,
    };
    assert_eq!(world.send(finished).reply, Ok(Reply::Done));
    assert_eq!(world.violations(), []);
}

/// Returns the result of the last call that ended.
fn last_result(world: &World) -> &ToolEnvelope {
    let results = world.log.iter().rev().filter_map(|(_, entry)| match entry {
        LogEntry::ToolResult { envelope, .. } => Some(envelope),
        _ => None,
    });
    results.into_iter().next().expect("a result")
}

fn private_child() -> World {
    let mut new = make::new_agent();
    new.identity = AgentIdentity {
        profile_preset: ProfilePreset::PrivateChild,
        ..new.identity
    };
    let mut world = World::with(new);
    let stamp = world.stamp().expect("the home is checked");
    world.send(make::home_prepared(stamp, Ok(())));
    world.send(make::admit(make::prompt(Priority::Normal)));
    world
}

#[test]
fn an_attached_workspace_may_be_used_and_is_not_active() {
    let mut world = states::idle();
    let home = world.agent.workspace.clone();
    let from = world.events.len();
    for _ in 0..2 {
        let attach = command(WorkspaceCommand::Attach(workspace("one")));
        assert_eq!(world.send(attach).reply, Ok(Reply::Done));
    }
    let kinds = [
        "workspace_attach_requested",
        "workspace_attached",
        "workspace_attach_requested",
    ];
    assert_eq!(kinds_since(&world, from), kinds);
    assert_eq!(attached(&world), [workspace("one")]);
    assert_eq!(world.agent.workspace, home);
}

#[test]
fn an_operators_choice_counts_from_the_next_turn_and_an_open_turn_keeps_its_own() {
    let mut world = states::calling_model();
    let before = world.agent.workspace.clone();
    world.send(command(WorkspaceCommand::Use(isolated("one"))));
    assert_eq!(world.agent.workspace, isolated("one").entry);
    assert_eq!(world.agent.worktree_session, isolated("one").worktree);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.workspace, before);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_call_changes_the_workspace_of_the_calls_behind_it() {
    let mut world = states::calling_model();
    let from = world.events.len();
    call(&mut world, isolated("one"));
    assert_eq!(last_result(&world).error(), None);
    let turn = world.agent.open_turn.clone().expect("a turn");
    assert_eq!(turn.workspace, isolated("one").entry);
    assert_eq!(world.agent.workspace, isolated("one").entry);
    assert_eq!(attached(&world), [workspace("one")]);
    let kinds = kinds_since(&world, from);
    for kind in [
        "workspace_attached",
        "workspace_entered",
        "workspace_used",
        "worktree_entered",
        "tool_executed",
    ] {
        assert!(kinds.contains(&kind), "{kind} is not in {kinds:?}");
    }
}

#[test]
fn a_private_child_uses_what_is_attached_and_cannot_widen_its_reach() {
    let mut world = private_child();
    let before = world.agent.settings.clone();
    call(&mut world, selected("one"));
    let error = last_result(&world).error().expect("an error");
    assert_eq!(error.kind, ToolErrorKind::UnsupportedAgentProfileCapability);
    assert_eq!(world.agent.settings, before);

    let mut world = private_child();
    world.send(command(WorkspaceCommand::Attach(workspace("one"))));
    call(&mut world, selected("one"));
    assert_eq!(last_result(&world).error(), None);
    assert_eq!(world.agent.workspace, selected("one").entry);
}

#[test]
fn a_workspace_that_was_detached_meanwhile_is_not_entered_by_its_id() {
    let mut world = states::calling_model();
    let by_id = SelectedWorkspace {
        by_path: false,
        ..selected("one")
    };
    call(&mut world, by_id);
    assert!(last_result(&world).error().is_some());
    assert!(world.agent.workspace.is_agent_home());
}

#[test]
fn exit_leads_home_and_home_cannot_be_left() {
    let mut world = states::idle();
    let exit = || command(WorkspaceCommand::Exit);
    assert_eq!(world.send(exit()).reply, Err(Rejection::WorkspaceIsHome));
    world.send(command(WorkspaceCommand::Use(isolated("one"))));
    let from = world.events.len();
    assert_eq!(world.send(exit()).reply, Ok(Reply::Done));
    let kinds = [
        "workspace_exit_requested",
        "workspace_exited",
        "worktree_exited",
        "workspace_entered",
        "workspace_used",
        "workspace_occupancy_released",
    ];
    assert_eq!(kinds_since(&world, from), kinds);
    assert!(world.agent.workspace.is_agent_home());
    assert_eq!(world.agent.worktree_session, None);
    assert_eq!(attached(&world), [workspace("one")], "the binding stays");
}

#[test]
fn only_a_workspace_that_is_attached_and_not_active_is_detached() {
    let mut world = states::idle();
    world.send(command(WorkspaceCommand::Attach(workspace("one"))));
    world.send(command(WorkspaceCommand::Use(selected("two"))));
    let detach = |name: &str| {
        let id = WorkspaceId::from_stored(name);
        command(WorkspaceCommand::Detach(id))
    };
    for (name, refusal) in [
        (AGENT_HOME, Rejection::WorkspaceIsHome),
        ("ws-two", Rejection::WorkspaceActive),
        ("ws-three", Rejection::WorkspaceNotAttached),
    ] {
        assert_eq!(world.send(detach(name)).reply, Err(refusal), "{name}");
    }
    let from = world.events.len();
    assert_eq!(world.send(detach("ws-one")).reply, Ok(Reply::Done));
    let kinds = ["workspace_detach_requested", "workspace_detached"];
    assert_eq!(kinds_since(&world, from), kinds);
    assert_eq!(attached(&world), [workspace("two")]);
}

#[test]
fn the_attached_set_has_a_bound() {
    let mut world = states::idle();
    for number in 0..ATTACHED_WORKSPACES {
        world.send(command(WorkspaceCommand::Attach(workspace(
            &number.to_string(),
        ))));
    }
    let one_more = command(WorkspaceCommand::Attach(workspace("more")));
    assert_eq!(
        world.send(one_more).reply,
        Err(Rejection::TooManyWorkspaces)
    );
    let known = command(WorkspaceCommand::Use(selected("7")));
    assert_eq!(world.send(known).reply, Ok(Reply::Done));
}

#[test]
fn a_stop_releases_the_directory_and_keeps_the_binding() {
    let mut world = states::idle();
    world.send(command(WorkspaceCommand::Use(isolated("one"))));
    let settings = world.agent.settings.clone();
    let from = world.events.len();
    world.send(Input::Stop);
    assert!(kinds_since(&world, from).contains(&"workspace_occupancy_released"));
    assert_eq!(world.agent.settings, settings);
    assert_eq!(world.agent.lifecycle, Lifecycle::Stopped);
    let moved = command(WorkspaceCommand::Exit);
    assert_eq!(
        world.send(moved).reply,
        Ok(Reply::Done),
        "a stopped agent can be moved"
    );

    let mut at_home = states::idle();
    let from = at_home.events.len();
    at_home.send(Input::Stop);
    assert!(!kinds_since(&at_home, from).contains(&"workspace_occupancy_released"));
}

#[test]
fn a_restart_repeats_the_call_and_the_worktree_is_entered_once() {
    let mut world = states::calling_model();
    let request = UseWorkspace {
        selector: WorkspaceSelector::Path("/projects/one".to_owned()),
        mode: UseMode::Isolated,
        cwd: None,
        isolation_label: None,
    };
    let intent = Intent::Host(HostAction::UseWorkspace(request));
    world.send(ModelAnswer::calls(vec![("UseWorkspace", Ok(intent))]).to(&world));
    let lost = world.stamp().expect("the call runs");
    world.send(Input::Recover {
        exit: PreviousExit::Unclean,
        proven: None,
        found: Vec::new(),
    });
    let repeated = world
        .effects
        .values()
        .any(|open| matches!(open.effect, Effect::RunTool { .. }));
    assert!(repeated, "the call runs again");
    let finished = |stamp| Input::ToolFinished {
        stamp,
        consequence: Consequence::Workspace {
            result: ToolEnvelope::success("UseWorkspace", "entered", json!({})),
            selected: Box::new(isolated("one")),
        },
        duration_ms: 1,
    };
    assert_eq!(world.send(finished(lost)).reply, Ok(Reply::Unchanged));
    let stamp = world.stamp().expect("the call runs again");
    assert_eq!(world.send(finished(stamp)).reply, Ok(Reply::Done));
    let entered = world
        .events
        .iter()
        .filter(|event| matches!(event, Event::WorktreeEntered(_)));
    assert_eq!(entered.count(), 1);
}

#[test]
fn an_agent_that_is_being_removed_is_not_moved() {
    let mut world = states::idle();
    world.send(Input::Delete);
    let refused = world.send(command(WorkspaceCommand::Exit)).reply;
    assert!(
        matches!(refused, Err(Rejection::Deleting { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_stop_releases_the_directory_once_the_last_task_in_it_is_over() {
    let mut world = states::with_task();
    world.send(command(WorkspaceCommand::Use(isolated("one"))));
    let held = world.occupancy.clone().expect("an occupancy");
    assert_eq!(held.execution_root, "/worktrees/one");
    assert!(!held.releasing);
    let released = "workspace_occupancy_released";
    let from = world.events.len();
    world.send(Input::Stop);
    assert!(!kinds_since(&world, from).contains(&released));
    let releasing = world.occupancy.clone().expect("an occupancy");
    assert!(releasing.releasing && releasing.since == held.since);
    assert_eq!(world.violations(), []);
    let ended = commands::reported(&world, &world.tasks[0], commands::exited(0));
    world.send(ended);
    assert!(kinds_since(&world, from).contains(&released));
    assert_eq!(world.occupancy, None);
    assert_eq!(
        world.agent.workspace,
        isolated("one").entry,
        "the binding stays"
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn a_start_before_the_last_task_is_over_takes_the_directory_back() {
    let mut world = states::with_task();
    world.send(command(WorkspaceCommand::Use(isolated("one"))));
    let held = world.occupancy.clone();
    let from = world.events.len();
    world.send(Input::Stop);
    world.send(Input::Start);
    assert_eq!(world.occupancy, held);
    let ended = commands::reported(&world, &world.tasks[0], commands::exited(0));
    world.send(ended);
    assert!(!kinds_since(&world, from).contains(&"workspace_occupancy_released"));
    assert_eq!(world.violations(), []);
}

#[test]
fn another_workspace_is_another_occupancy_and_the_home_is_none() {
    let mut world = states::idle();
    assert_eq!(world.occupancy, None);
    world.send(command(WorkspaceCommand::Use(selected("one"))));
    world.send(command(WorkspaceCommand::Use(isolated("two"))));
    let held = world.occupancy.clone().expect("an occupancy");
    assert_eq!(held.execution_root_id, "git_worktree_root:ws-two/two");
    let left: Vec<&str> = world
        .events
        .iter()
        .filter_map(|event| match event {
            Event::WorkspaceOccupancyReleased(left) => Some(left.execution_root.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(left, ["/projects/one"]);
    world.send(Input::Delete);
    assert_eq!(world.occupancy, None);
    assert_eq!(world.violations(), []);
}

#[test]
fn every_workspace_that_an_agent_is_given_is_registered_for_the_host() {
    let registered = |facts: &[Fact]| -> Vec<String> {
        let ids = facts.iter().filter_map(|fact| match fact {
            Fact::WorkspaceRegistered { workspace, .. } => Some(workspace.workspace_id.to_string()),
            _ => None,
        });
        ids.collect()
    };
    let mut world = states::idle();
    let attach = || command(WorkspaceCommand::Attach(workspace("one")));
    assert_eq!(registered(&world.send(attach()).facts), ["ws-one"]);
    assert_eq!(registered(&world.send(attach()).facts), [""; 0]);
    let used = world.send(command(WorkspaceCommand::Use(selected("two"))));
    assert_eq!(registered(&used.facts), ["ws-two"]);
    let exit = world.send(command(WorkspaceCommand::Exit));
    assert_eq!(registered(&exit.facts), [""; 0], "a home is not registered");
}

#[test]
fn a_stopped_agent_that_is_moved_holds_the_directory_in_which_its_task_works() {
    let mut world = states::with_task();
    world.send(command(WorkspaceCommand::Use(isolated("one"))));
    world.send(Input::Stop);
    for moved in [
        WorkspaceCommand::Use(selected("two")),
        WorkspaceCommand::Exit,
    ] {
        world.send(command(moved));
        let held = world.occupancy.clone().expect("an occupancy");
        assert_eq!(held.execution_root, "/worktrees/one");
        assert!(held.releasing);
    }
    let ended = commands::reported(&world, &world.tasks[0], commands::exited(0));
    world.send(ended);
    assert_eq!(world.occupancy, None);
    assert_eq!(world.violations(), []);
}

#[test]
fn an_entry_that_makes_the_settings_too_large_is_refused_and_changes_nothing() {
    let mut world = states::idle();
    let before = world.agent.settings.clone();
    let mut large = selected("one");
    large.entry.cwd = "x".repeat(AGENT_SETTINGS_BYTES);
    let refused = world.send(command(WorkspaceCommand::Use(large))).reply;
    assert!(
        matches!(refused, Err(Rejection::TooLarge { max, .. }) if max == AGENT_SETTINGS_BYTES),
        "{refused:?}"
    );
    assert_eq!(world.agent.settings, before);
    let fits = command(WorkspaceCommand::Use(selected("one")));
    assert_eq!(world.send(fits).reply, Ok(Reply::Done));
}
