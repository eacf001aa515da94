//! Tests of sends between agents: received messages, ends of children, and verdicts on own sends.

use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::delegation::with_child as shown_with;
use holon_core::{Input, Rejection, Reply};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::delegation::{ChildFacts, ChildTask, CleanupStatus, WorktreeEnd};
use holon_domain::intent::Intent;
use holon_domain::message::Priority;
use holon_domain::queue::QueueStatus;
use holon_domain::send::{AgentSend, ChildEnd, SendId, Verdict};
use holon_domain::task::{TaskKind, TaskRecoverySpec, TaskStatus, WorkspaceMode};
use holon_domain::turn::Phase;
use holon_domain::workspace::WorktreeSession;
use holon_domain::{AgentId, DelegationId, TaskId};

fn bob() -> AgentId {
    AgentId::parse("bob").expect("a good name")
}

/// Builds an agent whose first call sends a message; a command follows it in the round.
fn sending() -> (World, SendId) {
    let mut world = states::calling_model();
    let intent = Intent::Message {
        agent_id: bob(),
        text: "hello".to_owned(),
        priority: Priority::Next,
    };
    world.send(ModelAnswer::calls(vec![("Message", Ok(intent)), make::exec()]).to(&world));
    let [(to, AgentSend::Message { send, .. })] = world.sends.as_slice() else {
        panic!("one message: {:?}", world.sends);
    };
    assert_eq!(*to, bob());
    let send = *send;
    (world, send)
}

fn accepted(send: SendId) -> Input {
    let verdict = Verdict::Accepted { message_id: None };
    Input::Received(AgentSend::Verdict { send, verdict })
}

fn message(priority: Priority, authority: AuthorityClass) -> Input {
    Input::Received(AgentSend::Message {
        send: 7,
        from: bob(),
        text: "look at the build".to_owned(),
        priority,
        authority,
    })
}

#[test]
fn a_call_that_sends_stays_open_until_the_verdict_and_then_the_round_goes_on() {
    let (mut world, send) = sending();
    assert_eq!(world.results(), [""; 0]);
    assert_eq!(world.violations(), []);
    assert_eq!(world.send(accepted(send)).reply, Ok(Reply::Done));
    assert_eq!(world.results(), ["ok"]);
    assert!(commands::running(&world).is_some(), "the command behind it");
}

#[test]
fn a_refused_send_is_a_failed_call() {
    let (mut world, send) = sending();
    let verdict = Verdict::Refused {
        code: "agent_stopped".to_owned(),
        reason: "the agent is stopped".to_owned(),
    };
    world.send(Input::Received(AgentSend::Verdict { send, verdict }));
    assert_eq!(world.results(), ["tool_execution_failed"]);
}

#[test]
fn a_verdict_nobody_waits_for_changes_nothing() {
    let (mut world, send) = sending();
    assert_eq!(world.send(accepted(send + 1)).reply, Ok(Reply::Unchanged));
    world.send(Input::Stop);
    assert_eq!(world.results(), ["run_aborted", "not_started"]);
    assert_eq!(world.send(accepted(send)).reply, Ok(Reply::Unchanged));
    assert_eq!(world.violations(), []);
}

#[test]
fn a_restart_leaves_a_call_that_waits_for_its_verdict_as_it_is() {
    let (mut world, send) = sending();
    world.recover(false);
    let phase = world.agent.open_turn.as_ref().map(|turn| &turn.phase);
    assert!(matches!(phase, Some(Phase::Sending { .. })), "{phase:?}");
    world.send(accepted(send));
    assert_eq!(world.results(), ["ok"]);
}

#[test]
fn another_agents_message_has_no_more_authority_than_its_turn_and_never_jumps_the_queue() {
    let mut world = states::calling_model();
    let sent = message(Priority::Interject, AuthorityClass::OperatorInstruction);
    world.send(sent);
    world.send(message(Priority::Normal, AuthorityClass::ExternalEvidence));
    let queued = world.in_status(QueueStatus::Queued);
    let told: Vec<_> = queued
        .iter()
        .map(|entry| (entry.envelope.priority, entry.envelope.authority_class))
        .collect();
    assert_eq!(
        told,
        [
            (Priority::Next, AuthorityClass::RuntimeInstruction),
            (Priority::Normal, AuthorityClass::ExternalEvidence)
        ]
    );
}

#[test]
fn a_stopped_agent_takes_no_message_and_a_second_stop_is_no_news() {
    let mut world = states::stopped();
    let sent = message(Priority::Next, AuthorityClass::OperatorInstruction);
    let agent_id = make::agent_id();
    assert_eq!(world.send(sent).reply, Err(Rejection::Stopped { agent_id }));
    let stop = world.send(Input::Received(AgentSend::Stop));
    assert_eq!(stop.reply, Ok(Reply::Unchanged));
}

/// Builds a parent with a task that represents a child.
fn with_child() -> (World, TaskId) {
    let mut world = states::with_task();
    let task = &mut world.tasks[0];
    task.kind = TaskKind::ChildAgentTask;
    let id = task.id.clone();
    // No effect watches a child, because it sends its own end.
    let watch = task.effect.take().expect("a command is watched");
    world.effects.remove(&watch);
    (world, id)
}

fn child_ended(task_id: &TaskId, completed: bool) -> Input {
    Input::Received(AgentSend::ChildEnded {
        task_id: task_id.clone(),
        end: ChildEnd {
            completed,
            summary: "the docs are written".to_owned(),
            work_item_id: None,
            changed_files: vec!["src/docs.md".to_owned()],
        },
    })
}

#[test]
fn the_end_of_a_child_ends_its_task_and_wakes_the_parent() {
    for (completed, status) in [(true, TaskStatus::Completed), (false, TaskStatus::Failed)] {
        let (mut world, id) = with_child();
        let reply = world.send(child_ended(&id, completed)).reply;
        assert_eq!(reply, Ok(Reply::Done));
        assert_eq!(world.tasks[0].status, status);
        assert_eq!(world.agent.active_tasks, 0);
        let turn = world.agent.open_turn.as_ref().expect("a turn");
        let told = world.messages[&turn.message_seq]
            .entry
            .envelope
            .body
            .render();
        assert!(told.contains("the docs are written"), "{told}");
        assert_eq!(world.violations(), []);
        let again = world.send(child_ended(&id, completed)).reply;
        assert_eq!(again, Err(Rejection::NoSuchTask));
    }
}

#[test]
fn a_stopped_parent_hears_of_its_child_in_its_next_turn() {
    let (mut world, id) = with_child();
    world.agent.lifecycle = Lifecycle::Stopped;
    assert_eq!(world.send(child_ended(&id, true)).reply, Ok(Reply::Done));
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(world.in_status(QueueStatus::Held).len(), 1);
}

#[test]
fn a_parent_that_is_stopped_goes_on_waiting_for_its_child() {
    let (mut world, id) = with_child();
    world.send(Input::Stop);
    assert_eq!(world.violations(), []);
    assert_eq!(world.tasks[0].status, TaskStatus::Running);
    assert_eq!(world.send(child_ended(&id, true)).reply, Ok(Reply::Done));
    assert_eq!(world.in_status(QueueStatus::Held).len(), 1);
}

#[test]
fn a_parent_that_is_removed_does_not_wait_for_its_child() {
    let (mut world, id) = with_child();
    world.send(Input::Delete);
    assert_eq!(world.violations(), []);
    assert_eq!(world.tasks[0].status, TaskStatus::Cancelled);
    let stamp = world.stamp().expect("its home is being removed");
    let gone = world.send(make::home_removed(stamp, Ok(())));
    assert_eq!(gone.reply, Ok(Reply::RowsMayGo));
    let late = world.send(child_ended(&id, true)).reply;
    assert_eq!(late, Err(Rejection::NoSuchTask));
}

/// Builds a parent whose child was interrupted, as a restart leaves it: the row is closed and not counted.
fn with_interrupted_child() -> (World, TaskId) {
    let (mut world, id) = with_child();
    world.tasks[0].status = TaskStatus::Interrupted;
    world.agent.active_tasks = 0;
    (world, id)
}

#[test]
fn an_interrupted_child_can_still_come_to_its_end() {
    let (mut world, id) = with_interrupted_child();
    assert_eq!(world.send(child_ended(&id, true)).reply, Ok(Reply::Done));
    assert_eq!(world.tasks[0].status, TaskStatus::Completed);
    assert_eq!(world.agent.active_tasks, 0);
    assert!(world.agent.open_turn.is_some(), "the parent is told");
    assert_eq!(world.violations(), []);
    let again = world.send(child_ended(&id, true)).reply;
    assert_eq!(again, Err(Rejection::NoSuchTask));
}

/// Lets the first task name its child, as rows of this build do.
fn naming_child(mut world: World, child: &AgentId) -> World {
    world.tasks[0].recovery = Some(TaskRecoverySpec::ChildAgentTask {
        summary: "count".to_owned(),
        prompt: "count".to_owned(),
        trust: AuthorityClass::OperatorInstruction.into(),
        workspace_mode: WorkspaceMode::Inherit,
        child: Some(Box::new(ChildTask {
            child_agent_id: child.clone(),
            delegation_id: DelegationId::from_stored("dlg_1"),
            worktree: None,
            child_work_item_id: None,
            changed_files: Vec::new(),
            worktree_state: None,
        })),
    });
    world
}

#[test]
fn an_agent_that_could_not_be_told_of_the_end_of_its_child_finds_it_when_it_recovers() {
    let child = AgentId::parse("helper").expect("a good name");
    for archived in [false, true] {
        let (world, _) = with_child();
        let mut world = naming_child(world, &child);
        let mut agent = states::idle().agent;
        agent.archived_at = archived.then_some(world.now);
        let facts = ChildFacts {
            agent,
            aside: None,
            pending: 0,
            task: None,
            objective: None,
            last_progress_brief: None,
            last_result_brief: Some("there are seven".to_owned()),
        };
        world.children.insert(child.clone(), facts);
        world.recover(false);
        assert_eq!(world.tasks[0].is_over(), archived);
        assert_eq!(world.agent.open_turn.is_some(), archived);
        if let Some(turn) = &world.agent.open_turn {
            let message = &world.messages[&turn.message_seq].entry.envelope;
            let told = message.body.render();
            assert!(told.contains("there are seven"), "{told}");
            assert!(told.contains("files it changed is unknown"), "{told}");
        }
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn the_result_of_a_child_names_what_it_changed_and_its_worktree_is_pending_until_it_was_looked_at()
{
    let child = AgentId::parse("helper").expect("a good name");
    let (world, id) = with_child();
    let mut world = naming_child(world, &child);
    let worktree = WorktreeSession {
        original_working_directory: "/w/project".to_owned(),
        original_branch: "main".to_owned(),
        worktree_path: "/w/child-1".to_owned(),
        worktree_branch: "holon/child-1".to_owned(),
        base_commit: "f".repeat(40),
    };
    if let Some(TaskRecoverySpec::ChildAgentTask {
        child: Some(own), ..
    }) = &mut world.tasks[0].recovery
    {
        own.worktree = Some(worktree);
    }
    world.send(child_ended(&id, true));
    let turn = world.agent.open_turn.as_ref().expect("the parent is told");
    let told = world.messages[&turn.message_seq]
        .entry
        .envelope
        .body
        .render();
    for part in ["src/docs.md", "/w/child-1", "cleanup_status=pending"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let mut agent = states::idle().agent;
    agent.archived_at = Some(world.now);
    let mut facts = ChildFacts {
        agent,
        aside: None,
        pending: 0,
        task: None,
        objective: None,
        last_progress_brief: None,
        last_result_brief: None,
    };
    let seen = |facts: &ChildFacts| {
        let shown = shown_with(world.tasks[0].clone(), Some(facts));
        shown.child_supervision.expect("a child")
    };
    let pending = seen(&facts);
    assert_eq!(pending.cleanup_status, Some(CleanupStatus::Pending));
    assert_eq!(pending.changed_files, ["src/docs.md"]);
    assert_eq!(pending.changed_files_total, None);
    facts.agent.worktree_end = Some(WorktreeEnd::Kept {
        reasons: vec!["tracked files have changes (2)".to_owned()],
        changed_files: vec!["src/docs.md".to_owned(), "notes.md".to_owned()],
        changed_files_total: 2,
    });
    let kept = seen(&facts);
    assert_eq!(kept.cleanup_status, Some(CleanupStatus::Retained));
    assert_eq!(kept.changed_files_total, Some(2));
}

#[test]
fn a_child_without_a_worktree_shows_what_it_changed_in_its_task() {
    let child = AgentId::parse("helper").expect("a good name");
    let (world, id) = with_child();
    let mut world = naming_child(world, &child);
    world.send(child_ended(&id, true));
    let mut agent = states::idle().agent;
    agent.archived_at = Some(world.now);
    let facts = ChildFacts {
        agent,
        aside: None,
        pending: 0,
        task: None,
        objective: None,
        last_progress_brief: None,
        last_result_brief: None,
    };
    for facts in [Some(&facts), None] {
        let shown = shown_with(world.tasks[0].clone(), facts);
        let shown = shown.child_supervision.expect("a child");
        assert_eq!(shown.workspace_mode, WorkspaceMode::Inherit);
        assert_eq!(shown.changed_files, ["src/docs.md"]);
        assert_eq!(shown.changed_files_total, None);
    }
}

#[test]
fn an_interrupted_child_that_is_heard_of_or_written_to_runs_again() {
    let child = AgentId::parse("helper").expect("a good name");
    let attached = |id: &TaskId| {
        Input::Received(AgentSend::ChildAttached {
            child: child.clone(),
            task_id: id.clone(),
            after_restart: true,
        })
    };
    let prepared = || {
        let (world, id) = with_interrupted_child();
        (naming_child(world, &child), id)
    };
    let runs = |world: &World| {
        assert_eq!(world.tasks[0].status, TaskStatus::Running);
        assert_eq!(world.agent.active_tasks, 1);
        assert_eq!(world.violations(), []);
    };
    let (mut world, id) = prepared();
    for _ in 0..2 {
        drop(world.send(attached(&id)));
        runs(&world);
    }
    assert_eq!(world.sends, [], "no stop is sent");
    drop(world.send(child_ended(&id, true)));
    assert_eq!(world.tasks[0].status, TaskStatus::Completed);
    assert_eq!(world.agent.active_tasks, 0);

    let (mut world, id) = prepared();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let input = commands::task_input(&id);
    world.send(ModelAnswer::calls(vec![input]).to(&world));
    let sent = world.sends.iter().find_map(|(to, sent)| match sent {
        AgentSend::Followup { send, .. } => Some((to.clone(), *send)),
        _ => None,
    });
    let (to, send) = sent.expect("a follow-up");
    assert_eq!(to, child);
    let accepted = Verdict::Accepted { message_id: None };
    world.send(Input::Received(AgentSend::Verdict {
        send,
        verdict: accepted,
    }));
    runs(&world);
}

#[test]
fn an_interrupted_child_can_be_stopped_once() {
    let (mut world, id) = with_interrupted_child();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(ModelAnswer::calls(vec![commands::task_stop(&id)]).to(&world));
    assert_eq!(world.tasks[0].status, TaskStatus::Cancelled);
    assert_eq!(world.agent.active_tasks, 0);
    assert_eq!(world.violations(), []);
    let over = world.tasks[0].clone();
    world.send(ModelAnswer::calls(vec![commands::task_stop(&id)]).to(&world));
    assert_eq!(world.tasks[0], over);
    let late = world.send(child_ended(&id, true)).reply;
    assert_eq!(late, Err(Rejection::NoSuchTask));
}

#[test]
fn the_end_of_a_child_nobody_knows_is_refused() {
    let mut world = states::with_task();
    let command = world.tasks[0].id.clone();
    for id in [command, commands::unknown_task()] {
        let reply = world.send(child_ended(&id, true)).reply;
        assert_eq!(reply, Err(Rejection::NoSuchTask));
    }
    assert_eq!(world.agent.active_tasks, 1);
}
