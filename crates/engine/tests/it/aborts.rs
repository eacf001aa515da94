//! Aborts of the current run by an operator.

use crate::house::{House, agent, at_rest, briefs, events, prompt, status};
use holon_core::Rejection;
use holon_domain::RunId;
use holon_domain::agent::Lifecycle;
use holon_domain::brief::BriefKind;
use holon_domain::event::Event;
use holon_engine::AfterAbort;
use holon_testkit::ports::{calls, says};
use serde_json::json;

#[tokio::test]
async fn an_abort_ends_the_run_and_the_agent_goes_on_with_its_queue() {
    let house = House::new();
    let host = house.with_main().await;
    let (control, main) = (host.control(), agent("main"));
    prompt(&host, "main", "one").await;
    let asked = house.model.next().await;
    prompt(&host, "main", "two").await;
    let current = status(&host, "main").await.agent.current_run_id.unwrap();
    let other = RunId::from_stored("run_other");
    let refused = control.abort_run(&main, Some(other.clone()), AfterAbort::GoOn);
    assert_eq!(
        refused.await.unwrap_err(),
        Rejection::StaleRun {
            agent_id: main.clone(),
            requested: other,
            current: current.clone()
        }
        .into()
    );
    let aborted = control.abort_run(&main, Some(current.clone()), AfterAbort::GoOn);
    assert_eq!(aborted.await.unwrap(), current);
    asked.let_go().await;
    let next = house.model.next().await;
    next.answer(says("two is done"));
    let all = briefs(&host, "main", 2).await;
    assert_eq!(all[0].kind, BriefKind::Failure);
    assert_eq!(all[1].text, "two is done");
    let standing = at_rest(&host, "main").await;
    assert_eq!(standing.agent.lifecycle, Lifecycle::Runnable);
    let refused = control.abort_run(&main, None, AfterAbort::GoOn).await;
    assert_eq!(
        refused.unwrap_err(),
        Rejection::NoCurrentRun { agent_id: main }.into()
    );
    let applied = events(&host, "main")
        .await
        .into_iter()
        .find_map(|event| match event {
            Event::ControlApplied(applied) if applied.action == "abort" => Some(applied),
            _ => None,
        });
    assert_eq!(applied.unwrap().aborted_run_id, Some(current));
    house.is_sound("main").await;
}

#[tokio::test]
async fn an_abort_stops_the_running_command_and_the_agent_if_it_is_asked_to() {
    let house = House::new();
    let host = house.with_main().await;
    let (control, main) = (host.control(), agent("main"));
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    control
        .abort_run(&main, None, AfterAbort::Stop)
        .await
        .unwrap();
    house.commands.stops(1).await;
    drop(command);
    let standing = status(&host, "main").await;
    assert_eq!(standing.agent.lifecycle, Lifecycle::Stopped);
    house.is_sound("main").await;
}
