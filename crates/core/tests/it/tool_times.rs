//! Tests of what is told about a turn: the times of its calls, its last words, and a message that was shortened.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_domain::intent::Intent;
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::prompt_plan::{BlockCut, BlockSource, CutReason};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::tool_times::UNKNOWN_TOOLS;

fn call(world: &mut World, calls: Vec<&'static str>) {
    let (_, intent) = make::agent_get();
    let calls = calls.into_iter().map(|name| (name, intent.clone()));
    call_as(world, calls.collect());
}

/// Runs a turn with these calls, each with what was made of it.
fn call_as(world: &mut World, calls: Vec<(&'static str, Result<Intent, ToolError>)>) {
    world.send(make::admit(make::prompt(Priority::Normal)));
    let answer = ModelAnswer::calls(calls).to(world);
    world.send(answer);
    let answer = ModelAnswer::words("That is all.").to(world);
    world.send(answer);
}

#[test]
fn the_times_of_a_tool_add_up_over_turns_and_the_last_words_stay() {
    let mut world = states::idle();
    call(&mut world, vec!["AgentGet", "AgentGet"]);
    call(&mut world, vec!["AgentGet"]);
    let calls = |name: &str| world.agent.tool_times.get(name).map(|times| times.calls);
    assert_eq!(calls("AgentGet"), Some(3));
    let last = world.agent.last_turn.as_ref().expect("a turn ended");
    assert_eq!(last.last_assistant_message.as_deref(), Some("That is all."));
}

#[test]
fn names_that_a_model_invents_share_one_entry_and_take_no_room_from_tools() {
    let mut world = states::idle();
    for number in 0..=limits::TIMED_TOOLS {
        let name: &'static str = Box::leak(format!("Tool{number}").into_boxed_str());
        let error = ToolError::new(ToolErrorKind::UnknownTool, "there is no such tool");
        call_as(&mut world, vec![(name, Err(error))]);
    }
    call(&mut world, vec!["AgentGet"]);
    let names: Vec<&str> = world.agent.tool_times.keys().map(String::as_str).collect();
    assert_eq!(names, [UNKNOWN_TOOLS, "AgentGet"]);
    let unknown = &world.agent.tool_times[UNKNOWN_TOOLS];
    assert_eq!(unknown.calls, limits::TIMED_TOOLS as u64 + 1);
}

#[test]
fn the_times_of_tools_are_bounded_in_number_and_in_the_length_of_their_names() {
    let mut world = states::idle();
    for number in 0..=limits::TIMED_TOOLS {
        let name: &'static str = Box::leak(format!("Tool{number}").into_boxed_str());
        call(&mut world, vec![name]);
    }
    assert_eq!(world.agent.tool_times.len(), limits::TIMED_TOOLS);
    let mut world = states::idle();
    let long = "x".repeat(limits::TIMED_TOOL_NAME_BYTES + 1);
    call(&mut world, vec![Box::leak(long.into_boxed_str())]);
    assert_eq!(world.agent.tool_times.len(), 0);
}

/// Returns an answer of the asked model whose request cut one part to fit the window.
fn answer_with_cut(world: &World, answer: ModelAnswer, source: BlockSource) -> Input {
    let stamp = world.stamp().expect("a model is asked");
    let mut answer = answer.answer(stamp.effect, world.now);
    answer.frame.cuts = vec![BlockCut {
        source,
        through: None,
        from: 9_000,
        to: 500,
        limit: 500,
        reason: CutReason::OverWindow,
    }];
    let answer = Box::new(answer);
    Input::RoundAnswered { stamp, answer }
}

#[test]
fn a_message_that_a_later_round_shortened_is_told_too() {
    let mut world = states::idle();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let answer = ModelAnswer::calls(vec![make::agent_get()]).to(&world);
    world.send(answer);
    let answer = answer_with_cut(
        &world,
        ModelAnswer::words("Done."),
        BlockSource::CurrentInput,
    );
    world.send(answer);
    let note = world.briefs.first().and_then(|brief| brief.note.as_deref());
    assert!(
        note.is_some_and(|note| note.contains("shortened")),
        "{note:?}"
    );
}

#[test]
fn an_outcome_says_that_the_operators_message_was_shortened() {
    for (source, is_told) in [
        (BlockSource::CurrentInput, true),
        (BlockSource::Instructions, false),
    ] {
        let mut world = states::idle();
        world.send(make::admit(make::prompt(Priority::Normal)));
        let answer = answer_with_cut(&world, ModelAnswer::words("Done."), source);
        world.send(answer);
        let brief = world.briefs.first().expect("an outcome");
        let is_noted = brief
            .note
            .as_ref()
            .is_some_and(|note| note.contains("shortened"));
        assert_eq!(is_noted, is_told, "{source:?}: {brief:?}");
    }
}
