//! Tests of the calls of a round: order, limits, follow-ups and rests.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::Event;
use holon_domain::intent::Intent;
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::turn::TerminalReason;

#[test]
fn what_a_turn_queues_has_never_more_authority_than_what_caused_it() {
    let cases = [
        (
            make::prompt(Priority::Normal),
            AuthorityClass::RuntimeInstruction,
        ),
        (
            make::channel_event("news", Priority::Normal),
            AuthorityClass::ExternalEvidence,
        ),
    ];
    for (ingress, expected) in cases {
        let mut world = states::calling_model_for(ingress);
        world.send(ModelAnswer::calls(vec![make::enqueue(Priority::Normal)]).to(&world));
        let message = &world.messages[&2].entry.envelope;
        assert_eq!(message.authority_class, expected);
        let cause = world.messages[&1].entry.envelope.id.to_string();
        assert_eq!(message.causation_id, Some(cause));

        // A follow-up of the follow-up is capped by it as well.
        world.send(ModelAnswer::words("done").to(&world));
        world.send(ModelAnswer::calls(vec![make::enqueue(Priority::Normal)]).to(&world));
        assert_eq!(world.messages[&3].entry.envelope.authority_class, expected);
    }
}

#[test]
fn a_turn_queues_only_so_many_follow_ups() {
    let mut world = states::calling_model();
    let max = limits::FOLLOWUPS_PER_TURN as usize;
    let calls = vec![make::enqueue(Priority::Normal); max + 2];
    world.send(ModelAnswer::calls(calls).to(&world));
    let results = world.results();
    assert!(results[..max].iter().all(|result| result == "ok"));
    assert_eq!(results[max..], ["limit_reached", "limit_reached"]);
    assert_eq!(world.messages.len(), max + 1);
}

#[test]
fn sleep_ends_the_turn_only_if_no_result_has_to_be_read_first() {
    let mut world = states::resting(Some(5_000));
    assert_eq!(world.ended_as(), Some(TerminalReason::Slept));
    let rest = world.agent.rest.clone().expect("it rests");
    assert_eq!(
        rest.wake.map(|wake| wake.at),
        Some(world.now.plus_millis(5_000))
    );

    world.send(make::admit(make::prompt(Priority::Normal)));
    let said = ModelAnswer::calls(vec![make::agent_get(), make::sleep(None)]);
    world.send(said.to(&world));
    assert_eq!(world.results(), ["ok", "ok", "sleep_not_alone"]);
    assert!(
        world.agent.open_turn.is_some(),
        "the model reads the results first"
    );
}

#[test]
fn a_rest_that_is_over_wakes_the_agent_once_with_its_own_reason() {
    let mut world = states::resting(Some(5_000));
    world.let_due_come();
    let message = &world.messages[&2].entry.envelope;
    let words = message.body.render();
    assert!(words.contains("nothing to do"), "{words}");
    assert_eq!(message.authority_class, AuthorityClass::RuntimeInstruction);
    let Some(Event::ContinuationResolved(resolved)) = world
        .events
        .iter()
        .rev()
        .find(|event| matches!(event, Event::ContinuationResolved(_)))
    else {
        panic!("the wake was classified");
    };
    assert!(resolved.matched_waiting_reason);
    assert!(world.due.is_empty() && world.agent.rest.is_none());
}

#[test]
fn the_end_of_a_rest_is_worth_no_more_than_the_turn_that_asked_for_it() {
    let mut world = states::calling_model_for(make::channel_event("news", Priority::Normal));
    world.send(ModelAnswer::calls(vec![make::sleep(Some(5_000))]).to(&world));
    world.let_due_come();
    let tick = &world.messages[&2].entry.envelope;
    assert_eq!(tick.authority_class, AuthorityClass::ExternalEvidence);
}

#[test]
fn calls_beyond_the_limit_of_a_round_get_an_error_each() {
    let mut world = states::calling_model();
    let calls = vec![make::agent_get(); limits::CALLS_PER_ROUND + 2];
    world.send(ModelAnswer::calls(calls).to(&world));
    let results = world.results();
    let (run, refused) = results.split_at(limits::CALLS_PER_ROUND);
    assert!(run.iter().all(|result| result == "ok"));
    assert_eq!(refused, ["limit_reached", "limit_reached"]);
}

#[test]
fn calls_run_in_order_and_one_at_a_time() {
    let mut world = states::calling_model();
    let calls = vec![
        make::misunderstood(),
        make::exec(),
        make::agent_get(),
        make::exec(),
    ];
    world.send(ModelAnswer::calls(calls).to(&world));
    let running = |world: &World| {
        let phase = &world.agent.open_turn.as_ref()?.phase;
        phase.call().map(|place| place.call_index)
    };
    assert_eq!((running(&world), world.effects.len()), (Some(1), 1));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    assert_eq!((running(&world), world.effects.len()), (Some(3), 1));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    assert_eq!((running(&world), world.effects.len()), (None, 1));
    assert_eq!(world.results(), ["invalid_tool_input", "ok", "ok", "ok"]);
}

#[test]
fn a_call_nobody_interpreted_still_gets_a_result() {
    let mut world = states::calling_model();
    let stamp = world.stamp().expect("a model is asked");
    let said = ModelAnswer::calls(vec![make::agent_get(), make::agent_get()]);
    let mut answer = said.answer(stamp.effect, world.now);
    answer.intents = vec![Ok(Intent::AgentGet)].into();
    let answer = Box::new(answer);
    world.send(holon_core::Input::RoundAnswered { stamp, answer });
    assert_eq!(world.results(), ["ok", "tool_execution_failed"]);
}
