//! Tests of empty answers: an operator who is owed an answer gets text or a failure.

use super::asked;
use crate::make::{self, ModelAnswer};
use crate::states;
use holon_domain::brief::BriefKind;
use holon_domain::message::Priority;
use holon_domain::model::StopReason;
use holon_domain::turn::TerminalReason;

#[test]
fn an_empty_answer_is_asked_for_again_once_where_an_operator_is_owed_words() {
    let mut world = asked();
    world.send(ModelAnswer::words("").to(&world));
    assert!(world.stamp().is_some(), "asked again");
    let mut answered = world.clone();
    answered.send(ModelAnswer::words("here").to(&answered));
    assert_eq!(answered.ended_as(), Some(TerminalReason::Finished));
    world.send(ModelAnswer::words(" ").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    let brief = world.briefs.last().expect("an outcome");
    assert_eq!(brief.kind, BriefKind::Failure);
    let failure = world.agent.last_failure.as_ref().expect("kept");
    assert!(
        failure.failure_artifact.summary.contains("without a word"),
        "{}",
        failure.failure_artifact.summary
    );
}

#[test]
fn an_empty_answer_finishes_a_turn_that_owes_no_answer() {
    let mut event = states::idle();
    event.send(make::admit(make::channel_event("news", Priority::Normal)));
    event.send(ModelAnswer::words("").to(&event));
    assert_eq!(event.ended_as(), Some(TerminalReason::Finished));

    let mut asleep = states::idle();
    asleep.send(make::admit(make::channel_event("news", Priority::Normal)));
    asleep.send(silent_sleep().to(&asleep));
    assert_eq!(asleep.ended_as(), Some(TerminalReason::Slept));
}

/// Builds a round whose only content is a call to rest.
fn silent_sleep() -> ModelAnswer {
    ModelAnswer {
        words: "",
        ..ModelAnswer::calls(vec![make::sleep(Some(5_000))])
    }
}

#[test]
fn a_prompt_is_settled_by_words_of_the_last_round_and_not_by_a_silent_one() {
    for silent in [ModelAnswer::words(""), silent_sleep()] {
        let mut world = asked();
        let calls = ModelAnswer::calls(vec![make::agent_get()]);
        world.send(calls.to(&world));
        world.send(silent.clone().to(&world));
        assert_eq!(world.ended_as(), None, "the model is asked again");
        let mut answered = world.clone();
        answered.send(ModelAnswer::words("here").to(&answered));
        assert_eq!(answered.ended_as(), Some(TerminalReason::Finished));
        world.send(silent.to(&world));
        let brief = world.briefs.last().expect("an outcome");
        assert_eq!((brief.kind, brief.settles.len()), (BriefKind::Failure, 1));
        assert_eq!(world.agent.rest, None, "a turn that failed does not rest");
    }
}

#[test]
fn a_refusal_without_words_is_a_failure_and_is_not_asked_for_again() {
    let mut world = asked();
    let refusal = ModelAnswer {
        stop: StopReason::Refusal,
        ..ModelAnswer::words("")
    };
    world.send(refusal.to(&world));
    let brief = world.briefs.last().expect("an outcome");
    assert_eq!((brief.kind, brief.settles.len()), (BriefKind::Failure, 1));
}

/// Builds an answer that a content filter of the provider ended.
fn filtered(words: &'static str) -> ModelAnswer {
    ModelAnswer {
        stop: StopReason::ContentFilter,
        ..ModelAnswer::words(words)
    }
}

#[test]
fn an_answer_that_a_filter_cut_off_is_an_outcome_with_a_note() {
    let mut world = asked();
    world.send(filtered("It begins with").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    let brief = world.briefs.last().expect("an outcome");
    assert_eq!((brief.kind, brief.settles.len()), (BriefKind::Result, 1));
    let note = brief.note.as_deref().expect("a note");
    assert!(note.contains("content filter of "), "{note}");
    assert!(note.ends_with("or choose another model"), "{note}");

    let mut whole = asked();
    whole.send(ModelAnswer::words("It begins with A.").to(&whole));
    assert_eq!(whole.briefs.last().expect("an outcome").note, None);
}

#[test]
fn an_answer_that_a_filter_withheld_is_a_failure_and_is_not_asked_for_again() {
    let mut world = asked();
    world.send(filtered(" ").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    let brief = world.briefs.last().expect("an outcome");
    assert_eq!((brief.kind, brief.settles.len()), (BriefKind::Failure, 1));
    let artifact = &world
        .agent
        .last_failure
        .as_ref()
        .expect("kept")
        .failure_artifact;
    assert_eq!(artifact.kind, "content_filter");
    assert!(
        artifact
            .summary
            .ends_with("ask in other words, or choose another model"),
        "{}",
        artifact.summary
    );
}
