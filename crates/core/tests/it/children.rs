//! Tests of a private child: what ends it, and what does not.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::delegation::observe;
use holon_core::{Input, Rejection, Reply, Stamp};
use holon_domain::agent::{AgentIdentity, AgentKind, Lifecycle, Visibility};
use holon_domain::authority::AuthorityClass;
use holon_domain::brief::BriefText;
use holon_domain::delegation::{ChildFacts, ChildPhase, ParentMessage, Supervision, WorktreeEnd};
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::event::Event;
use holon_domain::intent::{Intent, NewWait, WakeCondition};
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;
use holon_domain::send::AgentSend;
use holon_domain::wait::{WaitQuestion, WaitStatus};
use holon_domain::workspace::WorktreeSession;
use holon_domain::{AgentId, DelegationId, MessageId, TaskId, WorkItemId};

fn parent() -> AgentId {
    AgentId::parse("boss").expect("a good name")
}

fn task_id() -> TaskId {
    TaskId::from_stored("task_of_boss")
}

/// Builds a private child whose model is asked for its task.
fn working() -> World {
    let mut world = states::idle();
    let settings = &mut world.agent.settings;
    settings.identity = AgentIdentity {
        kind: AgentKind::Child,
        visibility: Visibility::Private,
        lineage_parent_agent_id: Some(parent()),
        root_agent_id: Some(parent()),
        ..settings.identity.clone()
    };
    settings.supervision = Some(Supervision {
        parent_agent_id: parent(),
        task_id: task_id(),
        delegation_id: DelegationId::from_stored("dlg_1"),
        worktree: None,
        work_item_id: Some(WorkItemId::from_stored("work_of_parent")),
    });
    world.send(followup(&parent()));
    world.sends.clear();
    world
}

fn followup(from: &AgentId) -> Input {
    Input::Received(AgentSend::Followup {
        send: 1,
        message: ParentMessage {
            from: from.clone(),
            text: "count".to_owned(),
            authority: AuthorityClass::OperatorInstruction,
            caused_by: MessageId::from_stored("msg_1"),
            task_id: Some(task_id()),
        },
    })
}

/// Returns the reports that the child sent, each with true for a completed one.
fn ends(world: &World) -> Vec<(bool, String)> {
    let end = |(to, sent): &(AgentId, AgentSend)| match sent {
        AgentSend::ChildEnded { task_id: of, end } => {
            assert_eq!((to, of), (&parent(), &task_id()));
            Some((end.completed, end.summary.clone()))
        }
        _ => None,
    };
    world.sends.iter().filter_map(end).collect()
}

#[test]
fn a_child_ends_once_with_its_last_words_in_the_commit_that_ends_its_turn() {
    let mut world = working();
    world.send(ModelAnswer::words("seven files").to(&world));
    assert_eq!(ends(&world), [(true, "seven files".to_owned())]);
    assert_eq!(world.agent.lifecycle, Lifecycle::Stopped);
    assert!(world.agent.archived_at.is_some());
    assert_eq!(world.violations(), []);
    assert!(
        world.send(followup(&parent())).reply.is_err(),
        "it has ended"
    );
    assert_eq!(ends(&world).len(), 1);
}

#[test]
fn a_child_with_a_command_a_rest_or_another_message_has_not_ended() {
    let mut world = working();
    world.send(followup(&parent()));
    world.send(ModelAnswer::words("first").to(&world));
    assert_eq!(ends(&world), [], "another message waits");
    world.send(ModelAnswer::calls(vec![make::sleep(Some(60_000))]).to(&world));
    assert_eq!(ends(&world), [], "it wakes by itself");
    world.let_due_come();
    world.send(ModelAnswer::words("second").to(&world));
    assert_eq!(ends(&world), [(true, "second".to_owned())]);
}

#[test]
fn only_its_supervisor_writes_to_a_child() {
    let mut world = working();
    let stranger = AgentId::parse("bob").expect("a good name");
    let refused = world.send(followup(&stranger)).reply;
    assert_eq!(refused, Err(Rejection::NoSuchTask));
    let admitted = world.send(followup(&parent())).reply;
    assert!(
        matches!(admitted, Ok(Reply::Admitted { .. })),
        "{admitted:?}"
    );
    let told = &world.messages[&2].entry.envelope;
    assert_eq!(told.authority_class, AuthorityClass::RuntimeInstruction);
    assert_eq!(told.priority, Priority::Next);
}

#[test]
fn a_message_of_its_supervisor_ends_a_childs_own_wait_unless_it_asked_something() {
    for asks in [false, true] {
        let mut world = working();
        let question = asks.then(|| WaitQuestion {
            text: "Which branch?".to_owned(),
            choices: Vec::new(),
            any_message: true,
        });
        let wait = NewWait {
            reason: "a word of my parent".to_owned(),
            wake_on: vec![WakeCondition::Operator],
            work_item_id: None,
            external_ref: None,
            question,
            recheck_after_ms: None,
        };
        let call = ModelAnswer::calls(vec![("WaitFor", Ok(Intent::WaitFor(wait)))]);
        world.send(call.to(&world));
        assert_eq!(ends(&world), [], "{asks}: it waits");
        world.send(followup(&parent()));
        world.send(ModelAnswer::words("done").to(&world));
        let (status, told) = match asks {
            true => (WaitStatus::Active, vec![]),
            false => (WaitStatus::Resolved, vec![(true, "done".to_owned())]),
        };
        assert_eq!(world.waits[0].status, status, "{asks}");
        assert_eq!(ends(&world), told, "{asks}");
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_stop_by_its_supervisor_archives_a_child_without_a_report() {
    let mut world = working();
    let late = ModelAnswer::words("too late").to(&world);
    let stopped = world.send(Input::Received(AgentSend::Stop)).reply;
    assert_eq!(stopped, Ok(Reply::Done));
    assert!(world.agent.archived_at.is_some());
    assert_eq!(world.violations(), []);
    world.send(late);
    let again = world.send(Input::Received(AgentSend::Stop)).reply;
    assert_eq!(again, Ok(Reply::Unchanged));
    assert_eq!(ends(&world), []);
}

/// Gives the child a worktree that was made for it and that it has left since.
fn in_worktree(mut world: World) -> World {
    let supervision = world.agent.settings.supervision.as_mut();
    supervision.expect("a child").worktree = Some(WorktreeSession {
        original_working_directory: "/w/project".to_owned(),
        original_branch: "main".to_owned(),
        worktree_path: "/w/child-1".to_owned(),
        worktree_branch: "holon/child-1".to_owned(),
        base_commit: "f".repeat(40),
    });
    world
}

/// Returns the stamps of the effects that remove a worktree.
fn cleanups(world: &World) -> Vec<Stamp> {
    let is_one = |open: &&EffectRecord| matches!(open.effect, Effect::CleanWorktree { .. });
    let open = world.effects.values().filter(is_one);
    open.map(Stamp::of).collect()
}

fn cleaned(stamp: Stamp, end: WorktreeEnd) -> Input {
    Input::WorktreeCleaned { stamp, end }
}

#[test]
fn the_worktree_of_an_ended_child_is_looked_at_once_and_kept_if_it_holds_work() {
    for end in [
        WorktreeEnd::Removed,
        WorktreeEnd::Kept {
            reasons: vec!["tracked files have changes (2)".to_owned()],
            changed_files: vec!["src/lib.rs".to_owned()],
            changed_files_total: 2,
        },
    ] {
        let mut world = in_worktree(working());
        assert_eq!(cleanups(&world), []);
        world.send(ModelAnswer::words("done").to(&world));
        let open = cleanups(&world);
        assert_eq!(open.len(), 1);
        // A restart repeats it, and the outcome of before is stale.
        world.recover(false);
        let again = cleanups(&world);
        assert_eq!(again.len(), 1);
        world.send(cleaned(open[0], WorktreeEnd::Removed));
        assert_eq!(cleanups(&world), again);
        world.send(cleaned(again[0], end.clone()));
        assert_eq!(cleanups(&world), []);
        assert_eq!(world.agent.worktree_end.as_ref(), Some(&end));
        let kinds: Vec<&str> = world.events.iter().map(Event::kind).collect();
        let expected = match end {
            WorktreeEnd::Removed => "worktree_auto_cleaned_up",
            WorktreeEnd::Kept { .. } => "worktree_retained_for_review",
        };
        assert!(kinds.contains(&expected), "{kinds:?}");
        world.recover(false);
        assert_eq!(cleanups(&world), [], "it is not looked at again");
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn the_worktree_of_a_removed_child_goes_before_its_home() {
    let mut world = in_worktree(working());
    drop(world.send(Input::Received(AgentSend::Remove)));
    let open = cleanups(&world);
    assert_eq!(open.len(), 1);
    let removes = |world: &World| {
        let mut open = world.effects.values();
        open.any(|open| open.effect == Effect::RemoveHome)
    };
    assert!(!removes(&world));
    world.send(cleaned(open[0], WorktreeEnd::Removed));
    assert!(removes(&world));
}

#[test]
fn the_end_of_a_child_names_the_files_its_patches_changed() {
    let mut world = working();
    crate::work::memory::patch_files(&mut world, &["src/a.rs", "src/b.rs"]);
    world.send(ModelAnswer::words("done").to(&world));
    let ended = world.sends.iter().find_map(|(_, sent)| match sent {
        AgentSend::ChildEnded { end, .. } => Some(end.changed_files.clone()),
        _ => None,
    });
    assert_eq!(ended.expect("an end"), ["src/b.rs", "src/a.rs"]);
}

#[test]
fn the_calls_of_a_child_count_against_the_work_item_it_was_made_for() {
    let mut world = working();
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    let charged: Vec<_> = world
        .charges
        .iter()
        .map(|charge| charge.work_item_id.as_ref().map(WorkItemId::as_str))
        .collect();
    assert_eq!(charged, [Some("work_of_parent")]);
}

#[test]
fn the_end_of_a_child_names_the_item_that_it_worked_on_even_when_that_is_completed() {
    let mut world = working();
    let id = crate::work::agent_makes(&mut world);
    crate::work::call(&mut world, vec![crate::work::pick(&id)]);
    crate::work::call(&mut world, vec![crate::work::complete(&id)]);
    world.send(ModelAnswer::words("mended").to(&world));
    let ended = world.sends.iter().find_map(|(_, sent)| match sent {
        AgentSend::ChildEnded { end, .. } => Some(end.clone()),
        _ => None,
    });
    let ended = ended.expect("an end");
    assert!(ended.completed, "{ended:?}");
    assert_eq!(ended.work_item_id, Some(id));
}

#[test]
fn a_failed_child_names_its_model_and_what_its_parent_can_do() {
    let mut world = working();
    // A request that no model accepts ends the turn.
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(
        ModelFailureKind::InvalidRequest,
        stamp,
        world.now,
    ));
    let [(completed, told)] = ends(&world).try_into().expect("one end");
    assert!(!completed);
    for part in [
        "the provider said no",
        "scripted/default",
        "Next step: spawn another child",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let brief = world.briefs.last().expect("a failure brief");
    assert_eq!(brief.text, BriefText::Words(told));
}

#[test]
fn what_a_child_says_while_it_works_is_its_progress() {
    let mut world = working();
    let facts = |world: &World, result: Option<&str>| ChildFacts {
        agent: world.agent.clone(),
        aside: None,
        pending: 0,
        task: None,
        objective: None,
        last_progress_brief: None,
        last_result_brief: result.map(str::to_owned),
    };
    assert_eq!(observe(&facts(&world, None)).last_progress_brief, None);
    let mut round = ModelAnswer::calls(vec![make::exec()]);
    round.words = "half of the files are counted";
    world.send(round.to(&world));
    let seen = observe(&facts(&world, Some("an earlier answer")));
    assert_eq!(
        seen.last_progress_brief.as_deref(),
        Some("half of the files are counted")
    );
    let mut world = working();
    world.send(ModelAnswer::words("seven files").to(&world));
    let seen = observe(&facts(&world, Some("seven files")));
    assert_eq!(seen.last_progress_brief, None, "it has ended");
    assert_eq!(seen.last_result_brief.as_deref(), Some("seven files"));
}

#[test]
fn a_child_that_was_put_aside_is_no_child_at_work() {
    let world = working();
    let mut facts = ChildFacts {
        agent: world.agent.clone(),
        aside: None,
        pending: 0,
        task: None,
        objective: None,
        last_progress_brief: None,
        last_result_brief: None,
    };
    assert_eq!(observe(&facts).phase, ChildPhase::Running);
    facts.aside = Some("log 1: cut off".to_owned());
    let seen = observe(&facts);
    assert_eq!(seen.phase, ChildPhase::Blocked);
    assert_eq!(
        seen.blocked_reason.as_deref(),
        Some("put_aside: log 1: cut off")
    );
    facts.agent.archived_at = Some(world.now);
    let ended = observe(&facts);
    assert_eq!(
        (ended.phase, ended.blocked_reason),
        (ChildPhase::Terminal, None)
    );
}
