//! Tests of suspension: an unattended turn outlives the outage of its providers.

mod credentials;
mod empty_answers;
mod forms;

use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_core::assess::{AssessmentInput, assess};
use holon_core::input::FailedAttempt;
use holon_domain::agent::AgentStatus;
use holon_domain::brief::{ActionCode, BriefKind, BriefRow};
use holon_domain::closure::WaitingReason;
use holon_domain::event::{Event, SuspensionEnd};
use holon_domain::limits;
use holon_domain::message::{DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelFailure, ModelFailureKind};
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::turn::{OpenTurn, Phase, SuspensionReason, TerminalReason};

const HOUR_MS: u64 = 3_600_000;

/// Builds an agent with two models that was prompted over this surface.
fn asked_over(surface: DeliverySurface) -> World {
    let mut world = states::idle();
    world.host.models = ModelChain {
        fallbacks: vec![make::model("b/1")],
        ..ModelChain::only(make::model("a/1"))
    };
    let mut ingress = make::prompt(Priority::Normal);
    ingress.delivery_surface = surface;
    world.send(make::admit(ingress));
    world
}

fn asked() -> World {
    asked_over(DeliverySurface::HttpControlPrompt)
}

fn turn(world: &World) -> &OpenTurn {
    world.agent.open_turn.as_ref().expect("a turn is open")
}

fn is_suspended(world: &World) -> bool {
    let turn = world.agent.open_turn.as_ref();
    turn.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. }))
}

/// Returns the messages that the next request contains.
fn joining(world: &World) -> Vec<QueueEntry> {
    let may_join = |entry: &QueueEntry| !turn(world).keeps_apart(entry.seq);
    world.interjections().into_iter().filter(may_join).collect()
}

fn fail(world: &mut World, kind: ModelFailureKind) {
    let stamp = world.stamp().expect("a model is asked");
    let timing = make::timing(world.now);
    let interjected = joining(world);
    world.send(Input::AttemptFailed {
        stamp,
        attempt: Box::new(FailedAttempt {
            shown: Default::default(),
            implausible_usage: None,
            answer_tokens: 0,
            failure: ModelFailure::new(kind, "it failed."),
            timing,
            server: Default::default(),
            interjected,
            request_tokens: 0,
        }),
    });
}

/// Fails every model of the chain until the turn is suspended or over. Returns the number of requests.
fn fail_chain(world: &mut World, kind: ModelFailureKind) -> u64 {
    let mut requests = 0;
    while world.agent.open_turn.is_some() && !is_suspended(world) {
        if world.stamp().is_some() {
            fail(world, kind);
            requests += 1;
        } else {
            world.let_due_come();
        }
    }
    requests
}

fn of_kind(world: &World, kind: BriefKind) -> Vec<&BriefRow> {
    let briefs = world.briefs.iter();
    briefs.filter(|brief| brief.kind == kind).collect()
}

fn ends(world: &World) -> Vec<SuspensionEnd> {
    let end = |event: &Event| match event {
        Event::TurnSuspensionEnded(ended) => Some(ended.by),
        _ => None,
    };
    world.events.iter().filter_map(end).collect()
}

#[test]
fn when_every_model_has_failed_the_turn_is_suspended_and_nothing_is_settled() {
    let mut world = asked();
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    fail_chain(&mut world, ModelFailureKind::ServerError);
    let Phase::Suspended {
        reason,
        pause: Some(pause),
        ..
    } = turn(&world).phase
    else {
        panic!("suspended with a pause, not {:?}", turn(&world).phase);
    };
    assert_eq!(reason, SuspensionReason::ProviderTrouble);
    assert_eq!(world.ended_as(), None);
    assert_eq!(world.in_status(QueueStatus::Queued).len(), 1);
    let shown = assess(AssessmentInput::new(&world.agent, &world.queue()));
    assert_eq!(shown.status, AgentStatus::Asleep);
    assert_eq!(shown.posture.wakes_at, Some(pause.until));
    let closure = shown.closure.expect("it stands somewhere");
    assert_eq!(
        closure.waiting_reason,
        Some(WaitingReason::AwaitingExternalChange)
    );
    world.let_due_come();
    assert_eq!(turn(&world).model_ref(), "a/1", "the first model again");
}

#[test]
fn an_outage_of_two_hours_ends_with_one_answer_and_one_notice() {
    let mut world = asked();
    let began = world.now;
    let mut requests = 0;
    while world.now.millis_since(began) < 2 * HOUR_MS {
        requests += fail_chain(&mut world, ModelFailureKind::ServerError);
        world.let_due_come();
    }
    world.send(ModelAnswer::words("here at last").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    assert_eq!(of_kind(&world, BriefKind::Result).len(), 1);
    assert_eq!(of_kind(&world, BriefKind::Failure).len(), 0);
    let notices = of_kind(&world, BriefKind::Ack);
    assert_eq!(notices.len(), 1, "the operator is told once that it waits");
    assert!(notices.iter().all(|notice| notice.settles.is_empty()));
    assert_eq!(
        notices.first().map(|notice| notice.acknowledges.len()),
        Some(1)
    );
    assert!(requests < 300, "pauses grow: {requests}");
    assert!(world.attempts.is_empty());
}

#[test]
fn a_prompt_that_joins_a_suspended_turn_is_told_of_its_own_wait_once() {
    let mut world = asked();
    let began = world.now;
    while world.now.millis_since(began) < HOUR_MS {
        fail_chain(&mut world, ModelFailureKind::Timeout);
        world.let_due_come();
    }
    fail_chain(&mut world, ModelFailureKind::Timeout);
    world.send(make::admit(make::prompt(Priority::Interject)));
    for _ in 0..3 {
        fail_chain(&mut world, ModelFailureKind::Timeout);
        world.let_due_come();
    }
    let notices = of_kind(&world, BriefKind::Ack);
    let told: Vec<_> = notices.iter().flat_map(|row| &row.acknowledges).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_ne!(told.first(), told.last());
}

#[test]
fn a_short_pause_is_not_told_of() {
    let mut world = asked();
    fail(&mut world, ModelFailureKind::ServerError);
    world.let_due_come();
    world.send(ModelAnswer::words("here").to(&world));
    assert!(of_kind(&world, BriefKind::Ack).is_empty());
}

#[test]
fn when_its_patience_is_over_the_turn_stays_and_one_brief_asks_for_action() {
    let mut world = asked();
    world.host.provider_patience_ms = HOUR_MS;
    loop {
        fail_chain(&mut world, ModelFailureKind::ServerError);
        if world.due.is_empty() {
            break;
        }
        world.let_due_come();
    }
    assert!(is_suspended(&world), "nothing is aborted");
    let asked_for = |world: &World| -> Vec<ActionCode> {
        let actions = world
            .briefs
            .iter()
            .filter_map(|row| row.action_required.as_ref());
        actions.map(|action| action.code).collect()
    };
    assert_eq!(asked_for(&world), [ActionCode::ProviderUnavailable]);
    let shown = assess(AssessmentInput::new(&world.agent, &world.queue()));
    let closure = shown.closure.expect("it stands somewhere");
    assert_eq!(
        closure.waiting_reason,
        Some(WaitingReason::AwaitingOperatorInput)
    );
    world.now = world.now.plus_millis(1_000);
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert!(world.stamp().is_some(), "an operator's word asks again");
    fail_chain(&mut world, ModelFailureKind::ServerError);
    assert_eq!(world.due.len(), 1, "its patience begins anew");
}

#[test]
fn only_pauses_that_ran_to_their_end_use_up_patience() {
    let mut world = asked();
    fail_chain(&mut world, ModelFailureKind::ServerError);
    for _ in 0..5 {
        world.now = world.now.plus_millis(1_000);
        world.send(make::admit(make::prompt(Priority::Normal)));
        fail_chain(&mut world, ModelFailureKind::ServerError);
    }
    assert_eq!(turn(&world).patience.waited_ms, 0);
    world.let_due_come();
    assert!(turn(&world).patience.waited_ms > 0);
}

#[test]
fn what_will_not_pass_suspends_at_once_and_any_act_of_an_operator_asks_again() {
    let acts: [(Input, SuspensionEnd); 3] = [
        (
            make::admit(make::prompt(Priority::Normal)),
            SuspensionEnd::OperatorMessage,
        ),
        (Input::Start, SuspensionEnd::Start),
        (
            Input::Configure {
                workspace: None,
                model: Some(make::choice("d/1")),
            },
            SuspensionEnd::ModelChange,
        ),
    ];
    for (act, by) in acts {
        let mut world = asked();
        fail(&mut world, ModelFailureKind::Auth);
        fail(&mut world, ModelFailureKind::Auth);
        assert!(is_suspended(&world) && world.due.is_empty());
        let brief = world.briefs.last().expect("the operator is told");
        assert!(brief.settles.is_empty(), "the outcome is still to come");
        let action = brief.action_required.as_ref().expect("they have to act");
        assert_eq!(action.code, ActionCode::ProviderAuth);
        world.send(make::admit(make::channel_event("news", Priority::Normal)));
        assert!(is_suspended(&world), "an outsider does not end it");
        world.now = world.now.plus_millis(1_000);
        world.send(act);
        assert!(world.stamp().is_some());
        assert_eq!(ends(&world), [by]);
        let waiting = world.interjections();
        world.send(ModelAnswer::words("here").after(waiting).to(&world));
        assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    }
}

#[test]
fn a_credential_that_is_refused_after_a_server_error_needs_the_operator_at_once() {
    let mut world = asked();
    for _model in 0..2 {
        fail(&mut world, ModelFailureKind::ServerError);
        world.let_due_come();
        fail(&mut world, ModelFailureKind::Auth);
    }
    assert!(is_suspended(&world) && world.due.is_empty());
    let brief = world.briefs.last().expect("the operator is told");
    let action = brief.action_required.as_ref().expect("they have to act");
    assert_eq!(action.code, ActionCode::ProviderAuth);
}

#[test]
fn an_operators_word_ends_a_pause_between_two_tries_and_uses_that_try_up() {
    let mut world = asked();
    fail(&mut world, ModelFailureKind::ServerError);
    for _ in 0..2 {
        assert!(world.stamp().is_none(), "it pauses");
        world.now = world.now.plus_millis(1_000);
        world.send(make::admit(make::prompt(Priority::Interject)));
        fail(&mut world, ModelFailureKind::ServerError);
    }
    assert_eq!(
        turn(&world).model_ref(),
        "b/1",
        "three tries, then the next model"
    );
    assert_eq!(ends(&world), [], "it was not suspended");
}

#[test]
fn a_suspended_turn_survives_a_crash_and_counts_no_resumption() {
    let mut world = asked();
    fail_chain(&mut world, ModelFailureKind::ServerError);
    for _ in 0..5 {
        world.recover(false);
        assert!(is_suspended(&world));
    }
    world.let_due_come();
    world.send(ModelAnswer::words("here").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
}

#[test]
fn a_run_fails_instead_unless_a_prompt_that_nobody_waits_for_has_joined_it() {
    let mut alone = asked_over(DeliverySurface::RunOnce);
    fail_chain(&mut alone, ModelFailureKind::ServerError);
    assert_eq!(alone.ended_as(), Some(TerminalReason::ProviderFailed));

    let mut joined = asked_over(DeliverySurface::RunOnce);
    joined.send(make::admit(make::prompt(Priority::Interject)));
    let waiting = joined.interjections();
    let calls = ModelAnswer::calls(vec![make::agent_get()]);
    joined.send(calls.after(waiting).to(&joined));
    fail_chain(&mut joined, ModelFailureKind::ServerError);
    assert!(is_suspended(&joined));
}

#[test]
fn a_refused_request_is_asked_once_more_without_what_had_joined_it() {
    let mut world = asked();
    world.send(make::admit(make::prompt(Priority::Interject)));
    let interjected = world.interjections();
    fail(&mut world, ModelFailureKind::InvalidRequest);
    fail(&mut world, ModelFailureKind::InvalidRequest);
    assert_eq!(turn(&world).apart.len(), 1);
    assert_eq!(turn(&world).model_ref(), "a/1");
    world.send(ModelAnswer::words("the first answer").to(&world));
    let first = world.briefs.last().expect("an outcome");
    assert_eq!(
        first.settles.len(),
        1,
        "the prompt that joined is not part of it"
    );
    assert_eq!(
        Some(&turn(&world).message_id),
        interjected.first().map(|entry| &entry.envelope.id),
        "it gets a turn of its own"
    );
    fail(&mut world, ModelFailureKind::InvalidRequest);
    fail(&mut world, ModelFailureKind::InvalidRequest);
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    let last = world.briefs.last().expect("an outcome");
    assert_eq!((last.kind, last.settles.len()), (BriefKind::Failure, 1));
}

#[test]
fn a_prompt_that_is_queued_behind_the_trouble_is_told_of_its_wait_once() {
    let mut world = asked();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    let began = world.now;
    while world.now.millis_since(began) < HOUR_MS {
        fail_chain(&mut world, ModelFailureKind::Timeout);
        world.let_due_come();
    }
    let told: Vec<_> = of_kind(&world, BriefKind::Ack)
        .iter()
        .flat_map(|row| row.acknowledges.clone())
        .collect();
    let prompts: Vec<_> = [1, 2]
        .iter()
        .map(|seq| world.messages[seq].entry.envelope.id.clone())
        .collect();
    assert_eq!(told, prompts, "both prompts, once each, and not the event");
    world.send(ModelAnswer::words("the first").to(&world));
    world.send(ModelAnswer::words("the second").to(&world));
    assert!(world.agent.acknowledged.is_empty(), "both are settled");
}

#[test]
fn an_answer_that_cannot_be_read_is_not_asked_for_again_from_the_same_model() {
    let mut world = asked_over(DeliverySurface::RunOnce);
    world.host.models = ModelChain::only(make::model("a/1"));
    fail(&mut world, ModelFailureKind::InvalidResponse);
    assert_eq!(turn(&world).model_ref(), "b/1", "another model goes first");
    fail(&mut world, ModelFailureKind::InvalidResponse);
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));

    let mut unattended = asked();
    fail_chain(&mut unattended, ModelFailureKind::InvalidResponse);
    assert_eq!(
        unattended.ended_as(),
        Some(TerminalReason::ProviderFailed),
        "it is not waited for either"
    );

    let mut unattended = asked();
    fail_chain(&mut unattended, ModelFailureKind::NotJson);
    assert_eq!(
        unattended.ended_as(),
        None,
        "a page of somebody else is waited for until it is gone"
    );
    unattended.let_due_come();
    unattended.send(ModelAnswer::words("here").to(&unattended));
    assert_eq!(unattended.ended_as(), Some(TerminalReason::Finished));
}

#[test]
fn a_model_that_is_chosen_in_mid_turn_is_asked_from_the_next_turn_on() {
    let choose = || Input::Configure {
        workspace: None,
        model: Some(make::choice("d/1")),
    };
    let mut pausing = asked();
    fail(&mut pausing, ModelFailureKind::ServerError);
    pausing.send(choose());
    assert!(pausing.stamp().is_none(), "the pause goes on");
    pausing.let_due_come();
    assert_eq!(turn(&pausing).model_ref(), "a/1");

    let mut refused = asked();
    refused.send(make::admit(make::prompt(Priority::Interject)));
    refused.send(choose());
    fail(&mut refused, ModelFailureKind::InvalidRequest);
    assert_eq!(turn(&refused).model_ref(), "b/1");
    fail(&mut refused, ModelFailureKind::InvalidRequest);
    assert_eq!(
        turn(&refused).model_ref(),
        "a/1",
        "the turn's own chain again"
    );
    assert_eq!(turn(&refused).requested_model, None);
    refused.send(ModelAnswer::words("the first").to(&refused));
    assert_eq!(turn(&refused).model_ref(), "d/1", "the next turn");

    let mut suspended = asked();
    fail_chain(&mut suspended, ModelFailureKind::ServerError);
    suspended.send(choose());
    assert!(suspended.stamp().is_some(), "asked at once");
    assert_eq!(turn(&suspended).model_ref(), "d/1");
    assert_eq!(
        turn(&suspended).requested(),
        Some(&make::model("d/1")),
        "and that is the one that was asked for"
    );
}

#[test]
fn a_result_and_an_event_wait_for_their_model_and_are_answered_after_the_outage() {
    let mut world = states::with_task();
    let began = world.now;
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    let ended = commands::reported(&world, &world.tasks[0], commands::exited(0));
    world.send(ended);
    while world.now.millis_since(began) < 2 * HOUR_MS {
        fail_chain(&mut world, ModelFailureKind::ServerError);
        world.let_due_come();
    }
    while world.stamp().is_some() {
        let waiting = world.interjections();
        world.send(ModelAnswer::words("seen").after(waiting).to(&world));
    }
    for status in [QueueStatus::Queued, QueueStatus::Held, QueueStatus::Aborted] {
        assert!(world.in_status(status).is_empty(), "{status:?}");
    }
}

#[test]
fn a_run_whose_caller_is_gone_is_suspended_like_any_prompt() {
    let mut left = asked_over(DeliverySurface::RunOnce);
    left.send(Input::CallerLeft { message_seq: 1 });
    fail_chain(&mut left, ModelFailureKind::ServerError);
    assert!(is_suspended(&left));

    let mut killed = asked_over(DeliverySurface::RunOnce);
    killed.recover(false);
    fail_chain(&mut killed, ModelFailureKind::ServerError);
    assert!(is_suspended(&killed));

    let mut queued = asked();
    let mut second = make::prompt(Priority::Next);
    second.delivery_surface = DeliverySurface::RunOnce;
    queued.send(make::admit(second));
    queued.send(Input::CallerLeft { message_seq: 2 });
    queued.send(ModelAnswer::words("the first").to(&queued));
    assert!(queued.agent.left_by_caller.is_empty(), "it is taken up");
    fail_chain(&mut queued, ModelFailureKind::ServerError);
    assert!(is_suspended(&queued));
}

#[test]
fn a_run_that_was_admitted_before_the_host_started_is_suspended_too() {
    let mut world = asked();
    let mut second = make::prompt(Priority::Next);
    second.delivery_surface = DeliverySurface::RunOnce;
    world.send(make::admit(second));
    world.host.started_at = world.now.plus_millis(1);
    world.send(ModelAnswer::words("the first").to(&world));
    fail_chain(&mut world, ModelFailureKind::ServerError);
    assert!(is_suspended(&world));
}

#[test]
fn hours_of_outage_between_two_kills_are_no_crash_loop() {
    let mut world = asked();
    for _ in 0..5 {
        fail_chain(&mut world, ModelFailureKind::ServerError);
        world.let_due_come();
        world.recover(false);
    }
    assert_eq!(world.ended_as(), None);
}

#[test]
fn a_message_that_one_model_refuses_does_not_hold_up_a_turn_whose_other_model_is_down() {
    let mut world = asked();
    world.send(make::admit(make::prompt(Priority::Interject)));
    fail(&mut world, ModelFailureKind::InvalidRequest);
    while turn(&world).model_ref() == "b/1" && turn(&world).apart.is_empty() {
        match world.stamp() {
            Some(_) => fail(&mut world, ModelFailureKind::ServerError),
            None => drop(world.let_due_come()),
        }
    }
    assert_eq!(turn(&world).apart.len(), 1);
    world.send(ModelAnswer::words("the first").to(&world));
    assert_eq!(
        world.briefs.last().map(|brief| brief.settles.len()),
        Some(1)
    );
}

#[test]
fn a_message_joins_a_turn_from_which_an_earlier_one_was_set_apart() {
    let mut world = asked();
    world.send(make::admit(make::prompt(Priority::Interject)));
    let refused = joining(&world);
    fail(&mut world, ModelFailureKind::InvalidRequest);
    fail(&mut world, ModelFailureKind::InvalidRequest);
    assert!(joining(&world).is_empty());
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    world.send(make::admit(make::prompt(Priority::Interject)));
    let later = joining(&world);
    assert_eq!(later.len(), 1, "a message that came later");
    world.send(ModelAnswer::words("one moment").to(&world));
    assert_eq!(world.ended_as(), None, "the turn goes on for it");
    world.send(ModelAnswer::words("both").after(later).to(&world));
    let settled = world.briefs.last().map(|brief| brief.settles.len());
    assert_eq!(settled, Some(2), "the refused one is not among them");
    assert_eq!(
        Some(&turn(&world).message_id),
        refused.first().map(|entry| &entry.envelope.id),
        "it gets a turn of its own"
    );
}

#[test]
fn a_message_that_is_too_long_to_join_does_not_hold_up_the_end_of_the_turn() {
    let mut world = asked();
    world.send(make::admit(make::prompt(Priority::Interject)));
    let long = joining(&world);
    let answer = ModelAnswer {
        apart: long.clone(),
        ..ModelAnswer::words("here")
    };
    world.send(answer.to(&world));
    assert_eq!(
        world.briefs.last().map(|brief| brief.settles.len()),
        Some(1)
    );
    assert_eq!(
        Some(&turn(&world).message_id),
        long.first().map(|entry| &entry.envelope.id)
    );
}

#[test]
fn a_turn_from_which_very_many_messages_were_set_apart_takes_no_more() {
    let mut world = asked();
    for _ in 0..=limits::APART_MESSAGES {
        world.send(make::admit(make::prompt(Priority::Interject)));
    }
    let apart = world.interjections();
    let answer = ModelAnswer {
        apart,
        ..ModelAnswer::calls(vec![make::agent_get()])
    };
    world.send(answer.to(&world));
    assert_eq!(turn(&world).apart.len(), limits::APART_MESSAGES);
    assert!(turn(&world).closed_to_joining);
    world.send(ModelAnswer::words("here").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
}

#[test]
fn a_turn_that_waits_for_its_operator_asks_once_more_when_the_host_starts() {
    let mut world = states::suspended_for_operator();
    world.recover(true);
    assert!(world.stamp().is_some());
    assert_eq!(ends(&world), [SuspensionEnd::HostStart]);
    fail(&mut world, ModelFailureKind::Auth);
    assert_eq!(world.briefs.len(), 1, "they were told already");
}

#[test]
fn what_failed_is_told_by_the_model_that_decides() {
    let mut world = asked();
    fail(&mut world, ModelFailureKind::Auth);
    fail(&mut world, ModelFailureKind::ModelUnavailable);
    let action = world
        .briefs
        .last()
        .and_then(|row| row.action_required.as_ref());
    let step = &action.expect("they have to act").next_step;
    assert!(step.starts_with("give a/1 a credential"), "{step}");
}

#[test]
fn many_prompts_in_a_row_ask_once_a_second_and_not_once_each() {
    let mut world = states::suspended_for_operator();
    for _ in 0..100 {
        world.send(make::admit(make::prompt(Priority::Interject)));
        assert!(world.stamp().is_none(), "it was asked a moment ago");
    }
    assert_eq!(world.due.len(), 1);
    world.let_due_come();
    fail(&mut world, ModelFailureKind::Auth);
    assert!(is_suspended(&world));
    assert_eq!(world.briefs.len(), 1, "the next step is the same");
}

#[test]
fn a_message_that_no_model_takes_is_dropped_and_not_only_aborted() {
    let mut world = asked();
    fail(&mut world, ModelFailureKind::InvalidRequest);
    fail(&mut world, ModelFailureKind::ModelUnavailable);
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    assert_eq!(world.in_status(QueueStatus::Dropped).len(), 1);
}
