//! Going down and coming up: in order, and not.

use crate::house::{House, at_rest, briefs, create, prompt, until_event};
use crate::ports::{calls, printed, says};
use holon_domain::brief::BriefKind;
use holon_domain::model::ConversationItem;
use holon_engine::Error;
use serde_json::json;

#[tokio::test]
async fn a_drain_lets_the_model_go_and_the_next_start_asks_again() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    let asked = house.model.next().await;
    host.shut_down().await.expect("down");
    asked.let_go().await;
    let host = house.start().await;
    let again = house.model.next().await;
    assert_eq!(again.request.round, 1);
    again.answer(says("there you are"));
    assert_eq!(briefs(&host, "main", 1).await[0].text, "there you are");
}

#[tokio::test]
async fn a_drain_gives_a_running_command_its_time_and_keeps_its_result() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    let (down, ()) = tokio::join!(host.shut_down(), async { command.answer(printed("built")) });
    down.expect("down");
    let host = house.start().await;
    let again = house.model.next().await;
    let Some(ConversationItem::ToolResult {
        content, is_error, ..
    }) = again.request.conversation.last()
    else {
        panic!("the result is in the log");
    };
    assert!(content.contains("built") && !is_error, "{content}");
    assert!(house.commands.is_quiet().await, "it is not run again");
    again.answer(says("done"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn a_call_whose_turn_comes_while_the_host_goes_down_is_on_record_as_not_started() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "build").await;
    let round = calls(&[
        ("ExecCommand", json!({ "cmd": "make" })),
        ("ExecCommand", json!({ "cmd": "make install" })),
    ]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    let (down, ()) = tokio::join!(host.shut_down(), async { command.answer(printed("built")) });
    down.expect("down");
    let _host = house.start().await;
    let again = house.model.next().await;
    let results: Vec<&str> = again
        .request
        .conversation
        .iter()
        .filter_map(result_of)
        .collect();
    assert!(results[0].contains("built"), "{results:?}");
    assert!(
        results[1].contains("not_started"),
        "it is known that it never began: {results:?}"
    );
    assert!(
        house.commands.is_quiet().await,
        "and it is not begun behind the model's back"
    );
}

fn result_of(item: &ConversationItem) -> Option<&str> {
    match item {
        ConversationItem::ToolResult { content, .. } => Some(content),
        ConversationItem::Assistant { .. } | ConversationItem::User { .. } => None,
    }
}

#[tokio::test]
async fn a_host_that_went_down_admits_nothing() {
    let house = House::new();
    let host = house.with_main().await;
    host.shut_down().await.expect("down");
    let refused = crate::house::try_prompt(
        &host,
        "main",
        "hello",
        holon_domain::message::Priority::Next,
    );
    assert_eq!(refused.await, Err(Error::ShuttingDown));
}

#[tokio::test]
async fn after_a_crash_every_agent_goes_on_and_a_command_is_not_run_again() {
    let house = House::new();
    let host = house.with_main().await;
    for name in ["a", "b"] {
        create(&host, name).await;
    }
    prompt(&host, "main", "build").await;
    let round = calls(&[
        ("ExecCommand", json!({ "cmd": "make" })),
        ("ExecCommand", json!({ "cmd": "make test" })),
    ]);
    house.model.next().await.answer(round);
    let _running = house.commands.next().await;
    prompt(&host, "a", "think").await;
    let _asked = house.model.next().await;
    let after = house.after_crash();
    let host = after.start().await;
    let mut asked = [after.model.next().await, after.model.next().await];
    asked.sort_by_key(|asked| asked.request.conversation.len());
    let [thinking, building] = asked;
    assert!(
        thinking.request.conversation.is_empty(),
        "asked the same again"
    );
    let results: Vec<bool> = building
        .request
        .conversation
        .iter()
        .filter_map(|item| match item {
            ConversationItem::ToolResult { content, .. } => {
                Some(content.contains("outcome_unknown"))
            }
            ConversationItem::Assistant { .. } | ConversationItem::User { .. } => None,
        })
        .collect();
    assert_eq!(results, [true, false], "one unknown, one not started");
    assert!(after.commands.is_quiet().await);
    thinking.answer(says("thought"));
    building.answer(says("I will look first"));
    for name in ["main", "a"] {
        assert_eq!(briefs(&host, name, 1).await.len(), 1);
        at_rest(&host, name).await;
    }
    assert_eq!(at_rest(&host, "b").await.agent.total_message_count, 0);
}

#[tokio::test]
async fn a_message_that_kills_the_host_three_times_is_set_aside_and_the_queue_goes_on() {
    let mut house = House::new();
    let host = house.with_main().await;
    let poison = prompt(&host, "main", "poison").await;
    prompt(&host, "main", "and then").await;
    let _asked = house.model.next().await;
    let mut hosts = vec![host];
    for _ in 0..3 {
        house = house.after_crash();
        hosts.push(house.start().await);
        let _asked = house.model.next().await;
    }
    let host = hosts.last().expect("a host");
    let told = briefs(host, "main", 1).await;
    assert_eq!(told[0].kind, BriefKind::Failure);
    assert_eq!(told[0].settles, [poison.message_id]);
    until_event(host, "main", "turn_resumed").await;
}

#[tokio::test]
async fn a_rest_survives_the_process_it_was_asked_for_in() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "rest").await;
    let rest = calls(&[("Sleep", json!({ "duration_ms": 60_000 }))]);
    house.model.next().await.answer(rest);
    at_rest(&host, "main").await;
    host.shut_down().await.expect("down");
    house.clock.advance(600_000);
    let host = house.start().await;
    house.model.next().await.answer(says("late, but awake"));
    assert_eq!(briefs(&host, "main", 2).await[1].text, "late, but awake");
}
