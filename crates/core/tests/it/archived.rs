//! Tests of archiving an agent, and of messages that its own commands send.

use crate::commands;
use crate::make;
use crate::states;
use crate::world::World;
use holon_core::{Ingress, Input, Rejection, Reply, summary};
use holon_domain::TaskId;
use holon_domain::agent::{IdentityStatus, Lifecycle};
use holon_domain::authority::AuthorityClass;
use holon_domain::event::Event;
use holon_domain::message::{
    AdmissionContext, Cause, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::queue::QueueStatus;

fn is_archived(world: &World) -> bool {
    world.agent.archived_at.is_some()
        && world.agent.lifecycle == Lifecycle::Stopped
        && world.agent.identity_view().status == IdentityStatus::Archived
}

#[test]
fn an_agent_is_archived_from_every_state_in_which_it_may_be_and_stays_so() {
    for state in [
        states::booting,
        states::idle,
        states::with_queue,
        states::calling_model,
        states::running_tool,
        states::running_patch,
        states::with_task,
        states::suspended,
        states::stopped,
    ] {
        let mut world = state();
        let tasks = world.active_tasks().count();
        let queued = world.in_status(QueueStatus::Queued).len();
        let before = world.events.len();
        assert_eq!(world.send(Input::Archive).reply, Ok(Reply::Done));
        assert!(is_archived(&world), "{:?}", world.agent.lifecycle);
        assert_eq!(
            world.in_status(QueueStatus::Queued).len(),
            queued,
            "its queue is kept"
        );
        assert_eq!(world.agent.open_turn, None);
        // A command that a call waited for becomes a task whose end is awaited too.
        assert!(
            world.active_tasks().count() >= tasks,
            "their ends are awaited"
        );
        let applied = world.events[before..].iter().find_map(|event| match event {
            Event::ControlApplied(applied) => Some(applied.action.clone()),
            _ => None,
        });
        assert_eq!(applied.as_deref(), Some("archive"));
        assert_eq!(world.violations(), []);
        assert_eq!(world.send(Input::Archive).reply, Ok(Reply::Unchanged));
        for input in [
            Input::Start,
            Input::Stop,
            make::admit(make::prompt(Priority::Normal)),
            Input::Configure {
                workspace: None,
                model: Some(make::choice("bench/other")),
            },
        ] {
            let refused = world.send(input.clone()).reply;
            let is_refused = matches!(refused, Err(Rejection::Archived { .. }));
            assert!(is_refused, "{input:?}: {refused:?}");
        }
        world.recover(false);
        assert!(is_archived(&world), "it outlives a crash");
    }
}

#[test]
fn an_archived_agent_is_removed_like_any_other_and_one_that_goes_cannot_be_archived() {
    let mut world = states::stopped();
    world.send(Input::Archive);
    assert_eq!(world.send(Input::Delete).reply, Ok(Reply::Done));
    assert_eq!(world.agent.lifecycle, Lifecycle::Deleting);
    let refused = world.send(Input::Archive).reply;
    assert!(
        matches!(refused, Err(Rejection::Deleting { .. })),
        "{refused:?}"
    );
}

#[test]
fn the_end_of_a_task_is_recorded_after_its_agent_was_archived() {
    let mut world = states::with_task();
    world.send(Input::Archive);
    let task = world.active_tasks().next().cloned().unwrap();
    let report = commands::reported(&world, &task, commands::stopped());
    world.send(report);
    assert_eq!(world.active_tasks().count(), 0);
    assert!(is_archived(&world));
    assert_eq!(world.violations(), []);
}

/// A message as the server makes it of what a command sends.
fn from_command(task_id: &TaskId) -> Input {
    Input::FromCommand {
        task_id: task_id.clone(),
        ingress: Box::new(Ingress {
            kind: MessageKind::InternalFollowup,
            origin: Origin::System {
                subsystem: "agent_command".to_owned(),
            },
            delivery_surface: DeliverySurface::HttpPublicEnqueue,
            admission_context: AdmissionContext::RuntimeOwned,
            ..make::prompt(Priority::Normal)
        }),
    }
}

/// Sends the message of a command and returns its authority and cause.
fn authority_in(mut world: World, task_id: &TaskId) -> (AuthorityClass, Option<Cause>) {
    let sent = world.send(from_command(task_id)).reply;
    assert!(matches!(sent, Ok(Reply::Admitted { .. })), "{sent:?}");
    let newest = world.messages.values().next_back().unwrap();
    (
        newest.entry.envelope.authority_class,
        newest.entry.envelope.cause,
    )
}

#[test]
fn a_message_of_a_command_has_at_most_the_authority_of_its_turn() {
    let unknown = TaskId::from_stored("task_unknown");
    let by_operator = authority_in(states::running_tool(), &unknown);
    let own = Some(Cause::Itself);
    assert_eq!(by_operator, (AuthorityClass::RuntimeInstruction, own));
    let outside = make::channel_event("look", Priority::Normal);
    let by_outsider = authority_in(states::calling_model_for(outside), &unknown);
    assert_eq!(by_outsider, (AuthorityClass::ExternalEvidence, own));
    let no_turn = authority_in(states::idle(), &unknown);
    assert_eq!(no_turn, (AuthorityClass::ExternalEvidence, own));
    let world = states::with_task();
    let task = world
        .active_tasks()
        .next()
        .map(|task| task.id.clone())
        .unwrap();
    let of_task = authority_in(world, &task);
    assert_eq!(
        of_task,
        (AuthorityClass::RuntimeInstruction, own),
        "the operator's turn started it"
    );
}

#[test]
fn an_archived_agent_is_shown_as_archived_without_a_way_to_start_it() {
    let mut world = states::idle();
    world.send(Input::Archive);
    let entry = summary::list_entry(&world.agent, &world.queue(), &world.host);
    assert_eq!(entry.identity.status, IdentityStatus::Archived);
    assert!(!entry.lifecycle.accepts_external_messages);
    assert_eq!(entry.lifecycle.resume_cli_hint, None);
}
