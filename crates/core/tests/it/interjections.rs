//! Tests of operator messages that join an open turn: when they are consumed and what they change.

use crate::make::{self, ModelAnswer};
use crate::states;
use holon_domain::authority::AuthorityClass;
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;
use holon_domain::queue::QueueStatus;

#[test]
fn an_interjection_is_consumed_by_the_answer_to_the_request_that_held_it_and_not_before() {
    let mut world = states::calling_model_with_interjection();
    world.send(ModelAnswer::words("first").to(&world));
    assert_eq!(
        world.interjections().len(),
        1,
        "the first request did not hold it"
    );
    assert_eq!(world.briefs.len(), 0, "so the turn goes on");

    let held = world.interjections();
    world.send(ModelAnswer::words("second").after(held).to(&world));
    assert_eq!(world.in_status(QueueStatus::Interjected)[0].seq, 2);
    assert_eq!(world.briefs.len(), 1);
    assert_eq!(world.briefs[0].settles.len(), 2, "one outcome names both");
    assert_eq!(
        (world.messages[&1].outcome, world.messages[&2].outcome),
        (Some(1), Some(1))
    );
}

#[test]
fn an_interjection_outlives_the_turn_it_came_too_late_for() {
    let mut world = states::calling_model_with_interjection();
    let stamp = world.stamp().expect("a model is asked");
    let refused = ModelFailureKind::InvalidRequest;
    world.send(make::failed(refused, stamp, world.now));
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.messages[&2].outcome, None);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

#[test]
fn an_interjection_waits_for_the_calls_in_hand() {
    let mut world = states::running_tool();
    world.send(make::admit(make::prompt(Priority::Interject)));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    let held = world.interjections();
    world.send(ModelAnswer::words("all done").after(held).to(&world));
    let order: Vec<&str> = world
        .log
        .iter()
        .map(|(_, entry)| match entry {
            LogEntry::IncomingMessage { .. } => "message",
            LogEntry::Frame(_) => "frame",
            LogEntry::Interjection { .. } => "interjection",
            LogEntry::AssistantRound { .. } => "round",
            LogEntry::ToolResult { .. } => "result",
            LogEntry::ContinuationPrompt { .. } => "go on",
            LogEntry::Recap(_) => "recap",
            LogEntry::ThreadFold(_) => "fold",
            LogEntry::Shortened(_) => "shortened",
            LogEntry::RuntimeFailure { .. } => "failure",
        })
        .collect();
    assert_eq!(
        order,
        [
            "message",
            "frame",
            "round",
            "result",
            "result",
            "result",
            "interjection",
            "round"
        ]
    );
}

#[test]
fn a_prompt_that_is_not_an_interjection_waits_for_the_turn_to_end() {
    let mut world = states::calling_model();
    world.send(make::admit(make::prompt(Priority::Next)));
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(world.briefs[0].settles.len(), 1);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

#[test]
fn an_operator_who_joins_an_outsiders_turn_lends_it_no_authority() {
    let mut world = states::calling_model_for(make::channel_event("news", Priority::Normal));
    world.send(make::admit(make::prompt(Priority::Interject)));
    let held = world.interjections();
    let said = ModelAnswer::calls(vec![make::enqueue(Priority::Normal)]).after(held);
    world.send(said.to(&world));
    assert_eq!(
        world.messages[&3].entry.envelope.authority_class,
        AuthorityClass::ExternalEvidence
    );
}

#[test]
fn an_agent_cannot_interject_into_itself() {
    let mut world = states::calling_model();
    world.send(ModelAnswer::calls(vec![make::enqueue(Priority::Interject)]).to(&world));
    let message = &world.messages[&2].entry.envelope;
    assert_eq!(
        (message.priority, message.may_interject()),
        (Priority::Next, false)
    );
}
