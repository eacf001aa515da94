//! Stopping an agent in the middle of things.

use crate::house::{House, agent, at_rest, briefs, prompt, try_prompt, until};
use crate::ports::{calls, says};
use holon_domain::agent::Lifecycle;
use holon_domain::brief::BriefKind;
use holon_domain::message::Priority;
use holon_engine::Error;
use serde_json::json;

#[tokio::test]
async fn stopping_lets_the_model_go_and_tells_the_operator() {
    let house = House::new();
    let host = house.with_main().await;
    let admitted = prompt(&host, "main", "hello").await;
    let asked = house.model.next().await;
    host.acts()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    asked.let_go().await;
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].kind, BriefKind::Failure);
    assert_eq!(told[0].settles, [admitted.message_id]);
    assert!(house.model.is_quiet().await, "a stopped agent asks nobody");
}

#[tokio::test]
async fn stopping_ends_the_command_and_its_result_changes_nothing() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    host.acts()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    command.let_go().await;
    let stopped = at_rest(&host, "main").await;
    assert_eq!(stopped.agent.lifecycle, Lifecycle::Stopped);
    assert_eq!(briefs(&host, "main", 1).await.len(), 1);
}

#[tokio::test]
async fn a_stopped_agent_refuses_and_keeps_its_queue_for_its_next_start() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "first").await;
    prompt(&host, "main", "second").await;
    let asked = house.model.next().await;
    host.acts()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    asked.let_go().await;
    let refused = try_prompt(&host, "main", "third", Priority::Normal).await;
    let agent_id = agent("main");
    assert_eq!(refused, Err(Error::AgentStopped { agent_id }));
    host.acts()
        .start_agent(&agent("main"))
        .await
        .expect("started");
    let asked = house.model.next().await;
    let current = asked.request.frame.context_blocks.last().expect("a block");
    assert!(current.text.contains("second"), "{}", current.text);
    asked.answer(says("second done"));
    until(&host, "main", |status| status.agent.pending == 0).await;
    let told = briefs(&host, "main", 2).await;
    assert_eq!(told[1].text, "second done");
}
