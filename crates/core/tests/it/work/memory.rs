//! Tests of memory at the end of turns: the working memory and its revisions, and the boundaries of episodes.

use super::*;
use holon_core::input::AfterAbort;
use holon_domain::limits::{EPISODE_TURNS, MEMORY_FILES};
use holon_domain::log::LogEntry;
use holon_domain::memory::{EpisodeBoundary, MemoryChangeReason, MemoryField, WorkingMemory};
use holon_domain::model::ModelFailureKind;
use holon_domain::thread::{FoldCause, ThreadFold};
use holon_domain::tool::ToolEnvelope;
use holon_domain::work_item::{TodoItem, TodoState};
use serde_json::{Value, json};

/// Opens a turn with an operator's message.
fn ask(world: &mut World) {
    assert_eq!(world.agent.open_turn, None);
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert!(world.agent.open_turn.is_some());
}

/// Takes a whole turn in which the agent only talks.
fn chat(world: &mut World) {
    ask(world);
    say(world);
}

/// Lets the open turn make a call that ends with this result.
fn run(world: &mut World, call: PlannedCall, result: Value) {
    let name = call.0;
    world.send(ModelAnswer::calls(vec![call]).to(world));
    let stamp = world.stamp().expect("the call runs");
    world.send(Input::ToolFinished {
        stamp,
        consequence: Consequence::Result(ToolEnvelope::success(name, "done", result)),
        duration_ms: 1,
    });
}

pub(crate) fn patch_files(world: &mut World, paths: &[&str]) {
    run(world, commands::patch(), json!({ "changed_paths": paths }));
}

fn exec(world: &mut World, cmd: &str, exit_status: i64) {
    let result = json!({ "disposition": "completed", "exit_status": exit_status });
    run(world, commands::exec(cmd), result);
}

fn todo(text: &str, state: TodoState) -> TodoItem {
    TodoItem {
        text: text.to_owned(),
        state,
    }
}

fn snapshot(world: &World) -> &WorkingMemory {
    &world.memory.current_working_memory
}

fn boundaries(world: &World) -> Vec<EpisodeBoundary> {
    let episodes = world.episodes.iter();
    episodes.map(|episode| episode.boundary_reason).collect()
}

#[test]
fn talk_alone_leaves_the_working_memory_as_it_is() {
    let mut world = states::idle();
    chat(&mut world);
    assert_eq!(world.memory.working_memory_revision, 0);
    assert_eq!(*snapshot(&world), WorkingMemory::default());
    assert!(!world.event_kinds(0).contains(&"working_memory_updated"));
    let open = world
        .memory
        .active_episode_builder
        .as_ref()
        .expect("one is open");
    assert_eq!(
        (open.turns, open.content.decisions.as_slice()),
        (1, &["done for now".to_owned()][..])
    );
}

#[test]
fn the_working_memory_follows_from_the_item_the_calls_and_the_waits() {
    let (mut world, id) = working();
    let change = WorkItemChange {
        plan_status: Some(PlanStatus::Ready),
        todo_list: Some(vec![
            todo("look", TodoState::Completed),
            todo("mend", TodoState::InProgress),
        ]),
        ..WorkItemChange::default()
    };
    call(&mut world, vec![update(&id, change)]);
    patch_files(&mut world, &["src/a.rs", "src/b.rs"]);
    exec(&mut world, "cargo test -p shop", 0);
    exec(&mut world, "ls -la", 0);
    assert_eq!(
        world.memory.working_memory_revision, 0,
        "not while the turn runs"
    );
    world.send(ModelAnswer::words("The build is mended.\n\nMore text.").to(&world));
    let memory = snapshot(&world);
    assert_eq!(memory.current_work_item_id.as_ref(), Some(&id));
    assert_eq!(memory.objective.as_deref(), Some("mend the build"));
    assert_eq!(
        memory.work_summary.as_deref(),
        Some("plan ready, 1 of 2 entries done")
    );
    assert_eq!(memory.plan.as_deref(), Some("look first"));
    assert_eq!(memory.pending_followups, ["mend"]);
    assert_eq!(memory.working_set_files, ["src/b.rs", "src/a.rs"]);
    assert_eq!(memory.recent_decisions, ["The build is mended."]);
    assert_eq!(memory.waiting_on, [""; 0]);
    assert_eq!(world.memory.working_memory_revision, 1);
    let content = &world
        .memory
        .active_episode_builder
        .as_ref()
        .unwrap()
        .content;
    assert_eq!(content.verification, ["cargo test -p shop: exit 0"]);
    assert_eq!(content.commands, ["ls -la: exit 0"]);
    assert_eq!(content.carry_forward, ["mend"]);
}

#[test]
fn a_change_is_pending_until_a_turn_whose_prompt_showed_it_has_ended() {
    let (mut world, id) = working();
    say(&mut world);
    let made = world
        .memory
        .pending_working_memory_delta
        .clone()
        .expect("a change");
    assert_eq!((made.from_revision, made.to_revision), (0, 1));
    assert_eq!(made.reason, MemoryChangeReason::ActiveWorkChanged);
    assert!(
        made.changed_fields
            .contains(&MemoryField::CurrentWorkItemId)
    );
    assert_eq!(
        made.summary_lines[0],
        format!("work item {id}: mend the build")
    );
    let told = world.events.iter().find_map(|event| match event {
        Event::WorkingMemoryUpdated(updated) => Some(updated),
        _ => None,
    });
    assert_eq!(told.expect("an event").delta, made);
    // The tick's turn is called off before a model has answered: no prompt has shown the change.
    let then = AfterAbort::GoOn;
    world.send(Input::Abort { run_id: None, then });
    assert_eq!(world.memory.last_prompted_working_memory_revision, 0);
    assert!(world.memory.pending_working_memory_delta.is_some());
    assert_eq!(world.memory.working_memory_revision, 1);
    if world.agent.open_turn.is_none() {
        ask(&mut world);
    }
    call(&mut world, vec![update(&id, objective("mend it for good"))]);
    say(&mut world);
    let next = world
        .memory
        .pending_working_memory_delta
        .clone()
        .expect("a change");
    assert_eq!((next.from_revision, next.to_revision), (1, 2));
    assert_eq!(next.changed_fields, [MemoryField::Objective]);
    assert_eq!(world.memory.last_prompted_working_memory_revision, 1);
}

#[test]
fn a_wait_is_remembered_with_its_item_and_forgotten_at_its_end() {
    let (mut world, id) = waiting(vec![WakeCondition::Operator]);
    assert_eq!(snapshot(&world).waiting_on, ["the answer"]);
    chat(&mut world);
    assert_eq!(snapshot(&world).waiting_on, ["the answer"]);
    world.send(prompt());
    call(&mut world, vec![pick(&id)]);
    say(&mut world);
    assert_eq!(snapshot(&world).waiting_on, [""; 0]);
}

#[test]
fn a_completed_item_is_a_checkpoint() {
    let (mut world, id) = working();
    patch_files(&mut world, &["src/a.rs"]);
    call(&mut world, vec![complete(&id)]);
    say(&mut world);
    assert_eq!(boundaries(&world), [EpisodeBoundary::ResultCheckpoint]);
    let episode = &world.episodes[0];
    let content = &episode.content;
    assert_eq!(content.current_work_item_id.as_ref(), Some(&id));
    assert_eq!((content.start_turn_index, content.end_turn_index), (1, 1));
    assert_eq!(
        (content.start_message_count, content.end_message_count),
        (0, 1)
    );
    assert_eq!(content.working_set_files, ["src/a.rs"]);
    assert_eq!(world.memory.active_episode_builder, None);
    assert_eq!(snapshot(&world).current_work_item_id, None);
    insta::assert_snapshot!(episode.text(), @r"
    turn 1: mend the build (completed)
    files changed: src/a.rs
    outcome: let me see; done for now

    Files:
    - src/a.rs

    Outcomes:
    - let me see
    - done for now
    ");
    let told = world.events.iter().find_map(|event| match event {
        Event::EpisodeMemoryFinalized(told) => Some(told),
        _ => None,
    });
    let told = told.expect("an event");
    assert_eq!(
        (&told.episode_id, told.turn_range.start, told.turn_range.end),
        (&episode.id, 1, 1)
    );
    // The next turn begins another episode, and does not complete the item once more.
    chat(&mut world);
    assert_eq!(world.episodes.len(), 1);
}

#[test]
fn the_episode_of_a_completed_item_tells_its_report_and_nothing_left_to_do() {
    let (mut world, id) = working();
    let change = WorkItemChange {
        todo_list: Some(vec![todo("mend", TodoState::Pending)]),
        ..WorkItemChange::default()
    };
    call(&mut world, vec![update(&id, change)]);
    let done = ModelAnswer {
        words: "The cache key was wrong.",
        ..ModelAnswer::calls(vec![complete(&id)])
    };
    world.send(done.to(&world));
    say(&mut world);
    insta::assert_snapshot!(world.episodes[0].summary, @r"
    turn 1: mend the build (completed, 0 of 1 entries done)
    outcome: The cache key was wrong.; done for now
    ");
}

#[test]
fn a_completed_item_is_a_checkpoint_however_the_turn_went_on() {
    // Completed without ever being picked.
    let mut world = states::calling_model();
    let id = agent_makes(&mut world);
    call(&mut world, vec![complete(&id)]);
    say(&mut world);
    assert_eq!(boundaries(&world), [EpisodeBoundary::ResultCheckpoint]);
    assert_eq!(
        world.episodes[0].content.current_work_item_id.as_ref(),
        Some(&id)
    );
    // The turn picks another item behind it.
    let (mut world, first) = working();
    call(&mut world, vec![complete(&first)]);
    let second = agent_makes(&mut world);
    call(&mut world, vec![pick(&second)]);
    say(&mut world);
    assert_eq!(boundaries(&world), [EpisodeBoundary::ResultCheckpoint]);
    assert_eq!(
        world.episodes[0].content.current_work_item_id.as_ref(),
        Some(&first)
    );
    // An item beside the one at hand is cleaned up: the work goes on.
    let (mut world, _) = working();
    let beside = agent_makes(&mut world);
    call(&mut world, vec![complete(&beside)]);
    say(&mut world);
    assert_eq!(boundaries(&world), []);
}

#[test]
fn a_failure_is_an_outcome_of_the_episode_and_not_what_the_agent_said() {
    let (mut world, _) = working();
    patch_files(&mut world, &["src/a.rs"]);
    let stamp = world.stamp().expect("a model is asked");
    let refused = ModelFailureKind::InvalidRequest;
    world.send(make::failed(refused, stamp, world.now));
    assert_eq!(snapshot(&world).working_set_files, ["src/a.rs"]);
    assert_eq!(snapshot(&world).recent_decisions, [""; 0]);
    let open = world.memory.active_episode_builder.as_ref();
    let outcomes = &open.expect("one is open").content.decisions;
    assert!(outcomes[0].starts_with("the turn failed: "), "{outcomes:?}");
}

#[test]
fn a_wait_ends_an_episode_of_two_turns_and_not_a_shorter_one() {
    let (mut world, _) = waiting(vec![WakeCondition::Operator]);
    assert_eq!(boundaries(&world), []);
    ask(&mut world);
    exec(&mut world, "make", 2);
    call(&mut world, vec![wait_for(vec![WakeCondition::Operator])]);
    assert_eq!(boundaries(&world), [EpisodeBoundary::WaitBoundary]);
    let content = &world.episodes[0].content;
    assert_eq!(content.commands, ["make: exit 2"]);
    assert_eq!(content.waiting_on, ["the answer"]);
    // The next one begins anew.
    ask(&mut world);
    call(&mut world, vec![wait_for(vec![WakeCondition::Operator])]);
    assert_eq!(world.episodes.len(), 1);
}

#[test]
fn a_look_without_a_word_leaves_nothing_to_remember() {
    let (mut world, _) = ticked();
    let before = world.memory.clone();
    let silent = ModelAnswer {
        words: "",
        ..ModelAnswer::calls(vec![make::sleep(None)])
    };
    world.send(silent.to(&world));
    assert_eq!(
        world.memory.active_episode_builder,
        before.active_episode_builder
    );
    assert_eq!(world.memory.working_memory_revision, 1);
    assert_eq!(boundaries(&world), []);
}

#[test]
fn a_rest_without_an_item_is_no_boundary() {
    let mut world = states::idle();
    for _ in 1..EPISODE_TURNS {
        ask(&mut world);
        call(&mut world, vec![make::sleep(None)]);
    }
    assert_eq!(boundaries(&world), []);
}

#[test]
fn another_item_ends_the_episode_before_its_turn() {
    let (mut world, first) = working();
    patch_files(&mut world, &["src/a.rs"]);
    say(&mut world);
    // The tick's turn moves on to another item.
    let second = agent_makes(&mut world);
    call(&mut world, vec![pick(&second)]);
    say(&mut world);
    assert_eq!(boundaries(&world), [EpisodeBoundary::ActiveWorkSwitched]);
    let content = &world.episodes[0].content;
    assert_eq!(content.current_work_item_id.as_ref(), Some(&first));
    assert_eq!(content.end_turn_index, 1);
    let open = world
        .memory
        .active_episode_builder
        .as_ref()
        .expect("one is open");
    assert_eq!(open.content.current_work_item_id.as_ref(), Some(&second));
    assert_eq!(
        snapshot(&world).working_set_files,
        [""; 0],
        "files of other work"
    );
}

#[test]
fn talk_in_another_workspace_begins_another_episode() {
    let mut world = states::idle();
    chat(&mut world);
    chat(&mut world);
    let first = world.agent.workspace.workspace_id.clone();
    world.agent.settings.workspace = make::workspace("other");
    chat(&mut world);
    assert_eq!(boundaries(&world), [EpisodeBoundary::ActiveWorkSwitched]);
    let content = &world.episodes[0].content;
    assert_eq!((&content.workspace_id, content.end_turn_index), (&first, 2));
}

#[test]
fn an_episode_of_talk_ends_at_the_turn_cap() {
    let mut world = states::idle();
    for _ in 0..EPISODE_TURNS {
        assert_eq!(boundaries(&world), []);
        chat(&mut world);
    }
    assert_eq!(boundaries(&world), [EpisodeBoundary::HardTurnCap]);
    assert_eq!(world.memory.archived_episode_count, 1);
    let content = &world.episodes[0].content;
    assert_eq!(
        (content.start_turn_index, content.end_turn_index),
        (1, u64::from(EPISODE_TURNS))
    );
}

#[test]
fn the_result_of_a_task_ends_an_episode_of_its_item() {
    let (mut world, _) = working();
    exec(&mut world, "make", 0);
    world.send(ModelAnswer::calls(vec![commands::exec("make deploy")]).to(&world));
    world.send(commands::promotion(&world));
    let task = world.active_tasks().next().expect("a task").clone();
    let task_id = task.id.clone();
    call(
        &mut world,
        vec![wait_for(vec![WakeCondition::Task { task_id }])],
    );
    let input = commands::reported(&world, &task, commands::exited(0));
    world.send(input);
    world.send(ModelAnswer::words("It is deployed.").to(&world));
    assert_eq!(boundaries(&world), [EpisodeBoundary::TaskRejoined]);
    let made = world.memory.pending_working_memory_delta.as_ref();
    assert_eq!(
        made.map(|made| made.reason),
        Some(MemoryChangeReason::TaskRejoined)
    );
}

#[test]
fn a_temporary_agent_remembers_nothing() {
    let mut world = states::ready(World::with(make::temporary_agent()));
    world.send(make::admit(make::prompt(Priority::Normal)));
    exec(&mut world, "make", 0);
    let said = world.send(ModelAnswer::words("done").to(&world));
    assert!(
        said.facts
            .iter()
            .all(|fact| !matches!(fact, holon_domain::decision::Fact::WorkingMemoryWritten(_)))
    );
}

#[test]
fn messages_of_turns_that_a_fold_took_are_counted() {
    let mut world = states::idle();
    for _ in 0..6 {
        chat(&mut world);
    }
    assert_eq!(world.agent.totals.compacted_messages, 0);
    world.send(make::admit(make::prompt(Priority::Normal)));
    let fold = ThreadFold {
        cause: FoldCause::HighMark,
        from_entry: 13,
        last_turn: 4,
        turns: Vec::new(),
        omitted: 4,
        episodes: Vec::new(),
        kept_messages: 2,
        tokens_before: 9_000,
        tokens_after: 3_000,
    };
    let answer = ModelAnswer {
        fold: Some(fold.clone()),
        ..ModelAnswer::words("Done.")
    };
    world.send(answer.to(&world));
    assert_eq!(world.agent.totals.compacted_messages, 4, "of six and one");
    let thread = &world.agent.thread;
    assert_eq!((thread.from_entry, thread.sealed_from), (13, 7));
    let at = thread.fold.expect("a fold");
    // Positions begin at 1.
    let from_fold = &world.log[usize::try_from(at).unwrap() - 1..];
    let entries: Vec<&LogEntry> = from_fold.iter().map(|(_, entry)| entry).collect();
    assert_eq!(entries[0], &LogEntry::ThreadFold(fold));
    let begins_base = entries
        .iter()
        .any(|entry| matches!(entry, LogEntry::Frame(_)));
    assert!(begins_base, "the frame stands behind the fold");
}

#[test]
fn lists_stay_within_their_bounds_over_many_turns() {
    let (mut world, _) = working();
    for n in 0..40 {
        if world.agent.open_turn.is_none() {
            ask(&mut world);
        }
        let path = format!("src/{n}/{}.rs", "long".repeat(100));
        patch_files(&mut world, &[&path]);
        for m in 0..10 {
            exec(&mut world, &format!("echo {n} {m} {}", "x".repeat(500)), 0);
        }
        say(&mut world);
        let memory = serde_json::to_string(&world.memory).unwrap();
        assert!(memory.len() < 16_000, "{} bytes", memory.len());
        assert!(snapshot(&world).working_set_files.len() <= MEMORY_FILES);
    }
    for episode in &world.episodes {
        assert!(serde_json::to_string(episode).unwrap().len() < 8_000);
    }
}

#[test]
fn the_same_inputs_give_the_same_memory() {
    let play = || {
        let (mut world, _) = working();
        patch_files(&mut world, &["a", "b"]);
        say(&mut world);
        exec(&mut world, "cargo check", 1);
        say(&mut world);
        (world.memory, world.episodes)
    };
    assert_eq!(play(), play());
}
