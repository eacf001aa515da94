//! Tests of the forms in which a request is repeated after a refusal as invalid.

use super::{asked, fail, is_suspended, joining, turn};
use crate::make::{self, ModelAnswer};
use crate::world::World;
use holon_core::Input;
use holon_core::input::FailedAttempt;
use holon_domain::message::Priority;
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::turn::{RequestForm, ShownContent, TerminalReason};

const BOTH: ShownContent = ShownContent {
    seals: true,
    turns: true,
};
const TURNS: ShownContent = ShownContent {
    seals: false,
    turns: true,
};

/// Fails the open request, which showed this, and lets a pause run out.
fn fail_showing(world: &mut World, kind: ModelFailureKind, shown: ShownContent) {
    let stamp = world.stamp().expect("a model is asked");
    let timing = make::timing(world.now);
    let interjected = joining(world);
    world.send(Input::AttemptFailed {
        stamp,
        attempt: Box::new(FailedAttempt {
            shown,
            implausible_usage: None,
            answer_tokens: 0,
            failure: ModelFailure::new(kind, "it failed."),
            timing,
            server: Default::default(),
            interjected,
            request_tokens: 0,
        }),
    });
    if world.agent.open_turn.is_some() && world.stamp().is_none() && !is_suspended(world) {
        world.let_due_come();
    }
}

fn asks(world: &World) -> (String, RequestForm) {
    (turn(world).model_ref(), turn(world).request_form())
}

#[test]
fn every_model_gets_each_form_once_and_then_the_turn_fails() {
    let refused = ModelFailureKind::InvalidRequest;
    let mut world = asked();
    let mut sent = vec![asks(&world)];
    for shown in [BOTH, TURNS, TURNS, TURNS] {
        fail_showing(&mut world, refused, shown);
        sent.push(asks(&world));
    }
    let of = |model: &str, form| (model.to_owned(), form);
    assert_eq!(
        sent,
        [
            of("a/1", RequestForm::Whole),
            of("a/1", RequestForm::Unsealed),
            of("b/1", RequestForm::Unsealed),
            of("a/1", RequestForm::Folded),
            of("b/1", RequestForm::Folded),
        ]
    );
    fail_showing(&mut world, refused, ShownContent::default());
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
}

#[test]
fn messages_that_joined_are_set_apart_before_the_thread_is_folded() {
    let refused = ModelFailureKind::InvalidRequest;
    let mut world = asked();
    world.send(make::admit(make::prompt(Priority::Interject)));
    fail_showing(&mut world, refused, TURNS);
    fail_showing(&mut world, refused, TURNS);
    assert_eq!(turn(&world).apart.len(), 1);
    assert_eq!(turn(&world).request_form(), RequestForm::Whole);
    fail_showing(&mut world, refused, TURNS);
    fail_showing(&mut world, refused, TURNS);
    assert_eq!(turn(&world).request_form(), RequestForm::Folded);
}

#[test]
fn an_answer_without_seals_keeps_them_out_of_later_requests_and_the_form_is_whole_again() {
    let mut world = asked();
    fail_showing(&mut world, ModelFailureKind::InvalidRequest, BOTH);
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    assert_eq!(turn(&world).request_form(), RequestForm::Whole);
    assert_eq!(world.agent.thread.sealed_from, turn(&world).turn_index + 1);
}

#[test]
fn a_model_that_refused_a_request_is_not_asked_it_again_after_a_pause() {
    let mut world = asked();
    fail_showing(
        &mut world,
        ModelFailureKind::InvalidRequest,
        ShownContent::default(),
    );
    while !is_suspended(&world) {
        match world.stamp() {
            Some(_) => fail(&mut world, ModelFailureKind::ServerError),
            None => drop(world.let_due_come()),
        }
    }
    world.let_due_come();
    assert_eq!(turn(&world).model_ref(), "b/1", "the other one may answer");
}
