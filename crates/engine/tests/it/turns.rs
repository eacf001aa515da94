//! Turns over the shell: interjections, pauses, rests, and what a request holds.

use crate::house::{
    House, agent, at_rest, briefs, events, interject, prompt, status, until, until_event,
};
use crate::talk::{current, id_in, interjected, results};
use holon_domain::agent::AgentStatus;
use holon_domain::brief::BriefKind;
use holon_domain::event::Event;
use holon_domain::model::{ConversationItem, ModelFailureKind, StopReason};
use holon_engine::request::CreateAgent;
use holon_testkit::ports::{calls, failure, reply, says, says_and_calls};
use serde_json::json;

#[tokio::test]
async fn an_interjection_enters_after_the_tool_results_and_one_brief_settles_both() {
    let house = House::new();
    let host = house.with_main().await;
    let first = prompt(&host, "main", "build it").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    let second = interject(&host, "main", "and test it").await;
    command.ends("built");
    let asked = house.model.next().await;
    let roles: Vec<&str> = asked.request.conversation.iter().map(role).collect();
    assert_eq!(roles, ["assistant", "tool_result", "user"]);
    let Some(ConversationItem::User { text }) = asked.request.conversation.last() else {
        panic!("the interjection comes last");
    };
    assert!(text.contains("and test it"), "{text}");
    asked.answer(says("built and tested"));
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].settles, [first.message_id, second.message_id]);
}

#[tokio::test]
async fn an_interjection_that_comes_while_the_model_answers_gets_a_round_of_its_own() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "think").await;
    let asked = house.model.next().await;
    interject(&host, "main", "think harder").await;
    asked.answer(says("thought"));
    let again = house.model.next().await;
    assert_eq!(again.request.round, 2, "the same turn goes on");
    again.answer(says("thought harder"));
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].settles.len(), 2);
    assert_eq!(told[0].text, "thought harder");
}

#[tokio::test]
async fn an_answer_without_content_is_not_sent_back_to_the_provider() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "speak").await;
    let asked = house.model.next().await;
    interject(&host, "main", "are you there").await;
    asked.answer(reply(Vec::new(), StopReason::EndTurn));
    let again = house.model.next().await;
    let roles: Vec<&str> = again.request.conversation.iter().map(role).collect();
    assert_eq!(roles, ["user"]);
    again.answer(says("yes"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn a_provider_failure_is_tried_again_when_the_clock_says_so_and_not_before() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    let overloaded = || Err(failure(ModelFailureKind::ServerError));
    house.model.next().await.answer(overloaded());
    until_event(&host, "main", "provider_retry_scheduled").await;
    house.clock.advance(999);
    assert!(
        house.model.is_quiet().await,
        "the first pause is a second at least"
    );
    house.clock.advance(251);
    house.model.next().await.answer(overloaded());
    until(&host, "main", |status| {
        status.scheduling_posture.wakes_at.is_some()
    })
    .await;
    house.clock.advance(37_500);
    house.model.next().await.answer(says("at last"));
    let told = briefs(&host, "main", 1).await;
    assert_eq!(
        (told[0].kind, told[0].text.as_str()),
        (BriefKind::Result, "at last")
    );
}

#[tokio::test]
async fn when_every_try_failed_the_turn_is_suspended_and_nothing_has_ended() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    for pause in [1_250, 37_500] {
        let gone = Err(failure(ModelFailureKind::Connection));
        house.model.next().await.answer(gone);
        until(&host, "main", |status| {
            status.scheduling_posture.wakes_at.is_some()
        })
        .await;
        house.clock.advance(pause);
    }
    let gone = Err(failure(ModelFailureKind::Connection));
    house.model.next().await.answer(gone);
    until_event(&host, "main", "turn_suspended").await;
    let resting = status(&host, "main").await;
    assert_eq!(resting.agent.status, AgentStatus::Asleep);
    assert!(resting.agent.current_run_id.is_some(), "nothing has ended");
}

#[tokio::test]
async fn a_rest_ends_once_at_its_time() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "rest").await;
    let rest = says_and_calls(
        "later",
        &[("Sleep", json!({ "reason": "tired", "duration_ms": 60_000 }))],
    );
    house.model.next().await.answer(rest);
    let resting = |status: &holon_domain::summary::AgentSummary| {
        status.agent.status == AgentStatus::Asleep && status.agent.sleeping_until.is_some()
    };
    until(&host, "main", resting).await;
    house.clock.advance(59_999);
    assert!(house.model.is_quiet().await, "not before its time");
    house.clock.advance(1);
    let asked = house.model.next().await;
    asked.answer(says("awake"));
    at_rest(&host, "main").await;
    house.clock.advance(3_600_000);
    let all = events(&host, "main").await;
    let ticks = all
        .iter()
        .filter(|event| matches!(event, Event::SystemTickEmitted(_)));
    assert_eq!(ticks.count(), 1);
    assert!(house.model.is_quiet().await);
}

#[tokio::test]
async fn a_message_ends_a_rest_and_its_time_then_means_nothing() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "rest").await;
    let rest = says_and_calls("later", &[("Sleep", json!({ "duration_ms": 60_000 }))]);
    house.model.next().await.answer(rest);
    until(&host, "main", |status| {
        status.agent.sleeping_until.is_some()
    })
    .await;
    prompt(&host, "main", "get up").await;
    house.clock.advance(120_000);
    house.model.next().await.answer(says("up"));
    at_rest(&host, "main").await;
    let all = events(&host, "main").await;
    assert!(
        !all.iter()
            .any(|event| event.kind() == "system_tick_emitted")
    );
    assert!(!all.iter().any(|event| event.kind() == "runtime_error"));
}

#[tokio::test]
async fn a_follow_up_becomes_a_turn_of_its_own() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "plan").await;
    let later = calls(&[("Enqueue", json!({ "text": "do the second half" }))]);
    house.model.next().await.answer(later);
    house.model.next().await.answer(says("first half done"));
    let asked = house.model.next().await;
    let current = asked.request.frame.context_blocks.last().expect("a block");
    assert!(
        current.text.contains("do the second half"),
        "{}",
        current.text
    );
    asked.answer(says("all done"));
    at_rest(&host, "main").await;
    assert_eq!(briefs(&host, "main", 2).await.len(), 2);
}

fn role(item: &ConversationItem) -> &'static str {
    match item {
        ConversationItem::Assistant { .. } => "assistant",
        ConversationItem::ToolResult { .. } => "tool_result",
        ConversationItem::User { .. } => "user",
        ConversationItem::Image(_) => "image",
    }
}

#[tokio::test]
async fn an_agent_whose_home_no_decision_could_be_made_on_runs_all_the_same() {
    let house = House::new();
    let host = house.start().await;
    let request = CreateAgent {
        agent_id: agent("main"),
        workspace: Default::default(),
        home: Default::default(),
        model: None,
    };
    house.homes.hold(true);
    host.control()
        .create_agent(request)
        .await
        .expect("an agent");
    prompt(&host, "main", "hello").await;
    house.entropy.spoil_the_next_decision();
    house.homes.hold(false);
    house.clock.slept_towards(1_000).await;
    house.clock.advance(1_000);
    house.model.next().await.answer(says("hello"));
    briefs(&host, "main", 1).await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_prompt_that_joins_a_turn_says_which_wait_it_ended_in_every_request() {
    let house = House::new();
    let host = house.with_main().await;
    let ask = json!({
        "reason": "a decision", "wake_on": ["operator"],
        "question": { "text": "Go on?", "choices": ["yes", "no"] },
    });
    let mut items = Vec::new();
    for _ in 0..2 {
        prompt(&host, "main", "think of a step").await;
        let asked = house.model.next().await;
        asked.answer(calls(&[(
            "CreateWorkItem",
            json!({ "objective": "a step" }),
        )]));
        let asked = house.model.next().await;
        let made = results(&asked.request);
        let item = id_in(made.last().expect("a result"), "work_");
        asked.answer(calls(&[("PickWorkItem", json!({ "work_item_id": item }))]));
        house
            .model
            .next()
            .await
            .answer(calls(&[("WaitFor", ask.clone())]));
        at_rest(&host, "main").await;
        items.push(item);
    }
    prompt(&host, "main", "how far are you?").await;
    let asked = house.model.next().await;
    let open = current(&asked.request);
    let first_wait = id_in(&open, "wait_");
    assert_eq!(open.matches("stays open").count(), 2, "{open}");
    // Two questions offer the word when it comes, one is left when it joins.
    interject(&host, "main", "yes").await;
    asked.answer(calls(&[("CancelWait", json!({ "wait_id": first_wait }))]));
    let asked = house.model.next().await;
    let joined = interjected(&asked.request);
    let told = joined.last().expect("the prompt joins").clone();
    assert!(told.contains("This ended your wait"), "{told}");
    assert!(told.contains(&items[1]), "{told}");
    assert!(!told.contains("stays open"), "{told}");
    asked.answer(calls(&[("AgentGet", json!({}))]));
    let asked = house.model.next().await;
    assert!(
        interjected(&asked.request).contains(&told),
        "later requests of the turn repeat it as it was"
    );
    asked.answer(says("going on"));
}
