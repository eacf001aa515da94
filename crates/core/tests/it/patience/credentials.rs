//! Tests of refused credentials: the step that the operator is told, and a turn that goes on with a renewed one.

use super::{asked, asked_over, ends, fail, is_suspended, turn};
use crate::make::{self, ModelAnswer};
use crate::world::World;
use holon_core::Input;
use holon_core::input::FailedAttempt;
use holon_domain::brief::{ActionCode, ActionRequired};
use holon_domain::event::SuspensionEnd;
use holon_domain::message::{DeliverySurface, Priority};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::provider::CredentialRenewal;
use holon_domain::turn::TerminalReason;

fn renewed(provider: &str) -> Input {
    Input::CredentialRenewed {
        provider: provider.to_owned(),
    }
}

/// Lists the actions that operators were asked for.
fn actions(world: &World) -> Vec<&ActionRequired> {
    let briefs = world.briefs.iter();
    briefs
        .filter_map(|row| row.action_required.as_ref())
        .collect()
}

/// Builds a turn that both providers refused, and tells the step that renews the credential of the first.
fn refused(is_noticed: bool) -> World {
    let mut world = asked();
    let step = "log in again: codex login".to_owned();
    let renewal = CredentialRenewal { step, is_noticed };
    world.host.models.renewals.insert("a".to_owned(), renewal);
    fail(&mut world, ModelFailureKind::Auth);
    fail(&mut world, ModelFailureKind::Auth);
    assert!(is_suspended(&world));
    world
}

#[test]
fn the_action_names_the_step_that_renews_the_credential_and_what_follows() {
    for (is_noticed, follows) in [
        (true, "the turn then goes on by itself where it stopped"),
        (
            false,
            "then send any message or start the agent: the turn goes on where it stopped",
        ),
    ] {
        let world = refused(is_noticed);
        let expected = ActionRequired {
            code: ActionCode::ProviderAuth,
            next_step: format!("log in again: codex login; {follows}"),
        };
        assert_eq!(actions(&world), [&expected]);
    }
}

#[test]
fn a_renewed_credential_of_any_refused_provider_ends_the_suspension() {
    for provider in ["a", "b"] {
        let mut world = refused(true);
        world.send(renewed(provider));
        assert_eq!(turn(&world).model_ref(), "a/1", "{provider}");
        assert_eq!(ends(&world), [SuspensionEnd::CredentialRenewed]);
        world.send(ModelAnswer::words("here").to(&world));
        assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
        assert_eq!(actions(&world).len(), 1);
    }
}

#[test]
fn a_credential_of_another_provider_changes_nothing() {
    let mut world = refused(true);
    world.send(renewed("c"));
    assert!(is_suspended(&world));
    assert_eq!(ends(&world), []);
    let mut world = asked();
    fail(&mut world, ModelFailureKind::ModelUnavailable);
    fail(&mut world, ModelFailureKind::ModelUnavailable);
    world.send(renewed("a"));
    assert!(is_suspended(&world), "its credential was not refused");
}

#[test]
fn an_operator_is_asked_once_however_often_a_renewed_credential_is_refused() {
    let mut world = refused(true);
    for _ in 0..3 {
        world.send(renewed("a"));
        fail(&mut world, ModelFailureKind::Auth);
        fail(&mut world, ModelFailureKind::Auth);
        assert!(is_suspended(&world));
        world.recover(false);
        fail(&mut world, ModelFailureKind::Auth);
        fail(&mut world, ModelFailureKind::Auth);
    }
    assert_eq!(actions(&world).len(), 1);
    world.send(renewed("a"));
    world.send(ModelAnswer::words("here").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
}

#[test]
fn a_renewed_credential_ends_a_long_pause_for_the_allowance_of_another_model() {
    let mut world = asked();
    fail(&mut world, ModelFailureKind::Auth);
    let (stamp, timing) = (
        world.stamp().expect("b/1 is asked"),
        make::timing(world.now),
    );
    world.send(Input::AttemptFailed {
        stamp,
        attempt: Box::new(FailedAttempt {
            shown: Default::default(),
            implausible_usage: None,
            answer_tokens: 0,
            failure: ModelFailure {
                retry_after_ms: Some(3 * 24 * 3_600_000),
                ..ModelFailure::new(ModelFailureKind::Quota, "used up")
            },
            timing,
            server: Default::default(),
            interjected: Vec::new(),
            request_tokens: 0,
        }),
    });
    assert!(is_suspended(&world) && world.due.len() == 1);
    world.send(renewed("a"));
    assert_eq!(turn(&world).model_ref(), "a/1");
    assert!(world.due.is_empty());
}

#[test]
fn a_stopped_agent_does_not_go_on() {
    let mut world = refused(true);
    world.send(Input::Stop);
    world.send(renewed("a"));
    assert!(world.agent.open_turn.is_none());
    assert_eq!(ends(&world), []);
}

#[test]
fn a_run_that_a_caller_waits_for_fails_and_asks_for_no_action() {
    let mut world = asked_over(DeliverySurface::RunOnce);
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    fail(&mut world, ModelFailureKind::Auth);
    fail(&mut world, ModelFailureKind::Auth);
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    assert!(actions(&world).is_empty());
}
