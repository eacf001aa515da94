//! Tests of the limits of a turn: rounds, and answers cut off by the output limit.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_domain::brief::BriefKind;
use holon_domain::limits;
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::queue::QueueStatus;
use holon_domain::turn::TerminalReason;

fn bounded(max_rounds: u32) -> World {
    states::calling_model_for(make::bounded_prompt(max_rounds))
}

#[test]
fn calls_in_the_last_round_are_refused_and_the_turn_is_cut_off() {
    let mut world = bounded(2);
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    assert_eq!(world.ended_as(), None);
    world.send(ModelAnswer::calls(vec![make::exec(), make::sleep(None)]).to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::MaxRounds));
    assert_eq!(world.results(), ["ok", "run_aborted", "run_aborted"]);
    assert_eq!(
        world.agent.last_turn.as_ref().map(|end| end.rounds),
        Some(2)
    );
    assert_eq!(world.briefs[0].kind, BriefKind::Failure);
}

#[test]
fn an_answer_or_a_rest_in_the_last_round_is_in_time() {
    let mut world = bounded(1);
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));

    let mut world = bounded(1);
    world.send(ModelAnswer::calls(vec![make::sleep(None)]).to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Slept));
    assert_eq!(world.results(), ["ok"]);
}

#[test]
fn a_cut_off_answer_does_not_outrun_the_bound() {
    for said in [
        ModelAnswer::words("once upon a").cut_off(),
        ModelAnswer::calls(vec![make::exec()]).cut_off(),
        ModelAnswer::calls(vec![make::sleep(None)]).cut_off(),
    ] {
        let mut world = bounded(1);
        world.send(said.to(&world));
        assert_eq!(world.ended_as(), Some(TerminalReason::MaxRounds));
        assert_eq!(
            world.agent.last_turn.as_ref().map(|end| end.rounds),
            Some(1)
        );
    }
}

#[test]
fn an_interjection_at_the_bound_gets_a_turn_of_its_own() {
    let mut world = bounded(1);
    world.send(make::admit(make::prompt(Priority::Interject)));
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

#[test]
fn who_joins_a_bounded_turn_gets_its_own_share_of_rounds() {
    let bound_after_joining = |ingress| {
        let mut world = bounded(3);
        world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
        world.send(make::admit(ingress));
        let held = world.interjections();
        world.send(
            ModelAnswer::calls(vec![make::agent_get()])
                .after(held)
                .to(&world),
        );
        world.agent.open_turn.expect("a turn").max_rounds
    };
    let joining = |max_rounds| holon_core::Ingress {
        max_rounds,
        ..make::prompt(Priority::Interject)
    };
    assert_eq!(
        bound_after_joining(joining(None)),
        1 + limits::ROUNDS_PER_TURN,
        "as many as any turn may take"
    );
    assert_eq!(
        bound_after_joining(joining(Some(2))),
        3,
        "rounds two and three"
    );
    assert_eq!(
        bound_after_joining(joining(Some(5))),
        6,
        "rounds two to six"
    );
}

#[test]
fn answers_cut_off_in_a_row_are_continued_twice_and_then_end_the_turn() {
    let mut world = states::calling_model();
    for _ in 0..limits::OUTPUT_LIMIT_RECOVERIES {
        world.send(ModelAnswer::words("once upon a").cut_off().to(&world));
        assert_eq!(world.ended_as(), None);
    }
    world.send(ModelAnswer::words("once upon a").cut_off().to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::OutputLimit));
    assert_eq!(world.messages[&1].outcome, Some(1));
}

#[test]
fn an_answer_that_came_through_begins_the_count_anew() {
    let mut world = states::calling_model();
    for _ in 0..5 {
        world.send(ModelAnswer::words("once upon a").cut_off().to(&world));
        world.send(ModelAnswer::words("once upon a").cut_off().to(&world));
        world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    }
    assert_eq!(world.ended_as(), None);
}

#[test]
fn a_cut_off_call_is_answered_by_its_error_and_words_by_a_request_to_go_on() {
    let prompts = |world: &World| {
        let entries = world.log.iter();
        entries
            .filter(|(_, entry)| matches!(entry, LogEntry::ContinuationPrompt { .. }))
            .count()
    };
    let mut world = states::calling_model();
    world.send(ModelAnswer::calls(vec![make::exec()]).cut_off().to(&world));
    assert_eq!(
        (world.results(), prompts(&world)),
        (vec!["truncated_tool_call".to_owned()], 0)
    );
    world.send(ModelAnswer::words("once upon a").cut_off().to(&world));
    assert_eq!(prompts(&world), 1);
}

#[test]
fn the_same_invalid_call_again_and_again_ends_the_turn() {
    let mut world = states::calling_model();
    for _ in 1..limits::INVALID_ROUNDS {
        world.send(ModelAnswer::calls(vec![make::misunderstood()]).to(&world));
        assert_eq!(world.ended_as(), None);
    }
    world.send(ModelAnswer::calls(vec![make::misunderstood()]).to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    assert_eq!(world.messages[&1].outcome, Some(1));
    let results = world.results();
    assert_eq!(results.len(), limits::INVALID_ROUNDS as usize);
    assert!(
        results.iter().all(|result| result == "invalid_tool_input"),
        "{results:?}"
    );
    let failure = world.agent.last_failure.as_ref().expect("kept");
    let artifact = &failure.failure_artifact;
    assert_eq!(artifact.kind, "repeated_invalid_call");
    assert!(
        artifact.summary.contains("ExecCommand: cmd is missing"),
        "{}",
        artifact.summary
    );
}

#[test]
fn another_call_between_invalid_ones_begins_the_count_anew() {
    let mut world = states::calling_model();
    for _ in 0..3 {
        for _ in 1..limits::INVALID_ROUNDS {
            world.send(ModelAnswer::calls(vec![make::misunderstood()]).to(&world));
        }
        world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    }
    assert_eq!(world.ended_as(), None);
}
