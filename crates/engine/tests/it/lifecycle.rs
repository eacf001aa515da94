//! Creation and removal of agents: private agents, failing removals, reused names, and runs between two hosts.

use crate::house::{House, agent, briefs, create, events, prompt, status, try_prompt, until};
use crate::runs::request;
use holon_domain::agent::{AgentStatus, Lifecycle};
use holon_domain::event::Event;
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::ModelChoice;
use holon_domain::summary::Posture;
use holon_engine::request::{CreateAgent, Ingress, RunRequest};
use holon_engine::{Conduct, Error, Host, Scope};
use holon_testkit::ports::says;
use std::sync::atomic::Ordering::Relaxed;

#[tokio::test]
async fn an_agent_that_was_never_used_rests_until_a_message_arrives() {
    let house = House::new();
    let host = house.with_main().await;
    let shown = status(&host, "main").await;
    assert_eq!(shown.agent.status, AgentStatus::Asleep);
    assert_eq!(shown.scheduling_posture.posture, Posture::Idle);
    assert_eq!(
        shown.scheduling_posture.reason,
        "rests until any message arrives"
    );
}

#[tokio::test]
async fn a_removal_that_fails_is_tried_again_by_itself_and_may_be_asked_for_again() {
    let house = House::new();
    let host = house.with_main().await;
    let control = host.control();
    house.homes.stuck.store(true, Relaxed);
    control.remove_agent(&agent("main")).await.expect("goes");
    let shown = until(&host, "main", |shown| {
        shown.scheduling_posture.wakes_at.is_some()
    })
    .await;
    let reason = shown.scheduling_posture.reason;
    assert!(reason.contains("belongs to somebody else"), "{reason}");
    let refused = try_prompt(&host, "main", "hello?", Priority::Normal).await;
    let code = refused.expect_err("it is going").code();
    assert_eq!(code, "agent_deleting");
    // A repeated request retries at once. It fails again, and the next backoff is longer.
    control.remove_agent(&agent("main")).await.expect("goes");
    has_failed_twice(&house).await;
    house.homes.stuck.store(false, Relaxed);
    house.clock.advance(2_000);
    house.is_gone(&agent("main")).await;
}

/// Waits until the agent waits for the third attempt to remove its home.
async fn has_failed_twice(house: &House) {
    loop {
        let home = house.record(&agent("main")).await.expect("an agent").home;
        if home.failed_removals() == 2 && home.removal_retry().is_some() {
            return;
        }
    }
}

#[tokio::test]
async fn a_name_that_is_used_again_accepts_no_outcome_of_its_predecessor() {
    let house = House::new();
    let host = house.with_main().await;
    let first = house.record(&agent("main")).await.expect("an agent");
    host.control()
        .remove_agent(&agent("main"))
        .await
        .expect("goes");
    house.is_gone(&agent("main")).await;
    create(&host, "main").await;
    let second = house.record(&agent("main")).await.expect("an agent");
    assert!(
        second.generation > first.generation + 1,
        "beyond the removal of the first: {} after {}",
        second.generation,
        first.generation
    );
}

#[tokio::test]
async fn a_private_agent_is_as_invisible_to_acts_as_to_reads() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let running = tokio::spawn(async move { control.run_once(request("hello")).await });
    let asked = house.model.next().await;
    let [private] = house.to_recover().await.try_into().expect("one agent");
    for aside in [false, true] {
        if aside {
            house.damage(&format!(
                "UPDATE agents SET aside = 'log 1: cut off' WHERE agent_id = '{private}'"
            ));
        }
        let control = host.control();
        let unknown = Error::AgentNotFound {
            agent_id: private.clone(),
        };
        let prompted = control.admit(&private, hello()).await;
        assert_eq!(prompted.map(drop), Err(unknown.clone()));
        assert_eq!(control.start_agent(&private).await, Err(unknown.clone()));
        assert_eq!(control.stop_agent(&private).await, Err(unknown.clone()));
        assert_eq!(control.remove_agent(&private).await, Err(unknown.clone()));
        let inherit = control.set_model(&private, ModelChoice::Inherit).await;
        assert_eq!(inherit, Err(unknown.clone()));
        let named = RunRequest {
            agent_id: Some(private.clone()),
            ..request("hello?")
        };
        assert_eq!(
            control.run_once(named).await.map(drop),
            Err(unknown.clone())
        );
        let read = host.reads().status(&private).await.map(drop);
        assert_eq!(read, Err(unknown));
    }
    house.damage(&format!(
        "UPDATE agents SET aside = NULL WHERE agent_id = '{private}'"
    ));
    asked.answer(says("hi"));
    running.await.expect("no panic").expect("an answer");
}

fn hello() -> Ingress {
    Ingress::operator_prompt(
        "hello?".to_owned(),
        Priority::Normal,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    )
}

#[tokio::test]
async fn an_agent_without_a_home_is_refused_alike_at_every_door() {
    let house = House::new();
    let host = house.start().await;
    house.homes.unmakeable.store(true, Relaxed);
    let new = CreateAgent {
        agent_id: agent("main"),
        workspace: Default::default(),
        home: Default::default(),
        model: None,
    };
    host.control().create_agent(new).await.expect("made");
    until(&host, "main", |shown| {
        shown.agent.lifecycle == Lifecycle::Stopped
    })
    .await;
    let prompted = try_prompt(&host, "main", "hello", Priority::Normal).await;
    let named = RunRequest {
        agent_id: Some(agent("main")),
        ..request("hello")
    };
    let run = host.control().run_once(named).await;
    let (prompted, run) = (prompted.expect_err("refused"), run.expect_err("refused"));
    assert_eq!(prompted, run);
    assert_eq!(prompted.code(), "agent_home_missing");
    let hint = prompted.hint().expect("a hint");
    assert!(hint.contains("holon agent start main"), "{hint}");
    assert!(prompted.to_string().contains("read-only"), "{prompted}");
}

/// The count of resumptions without progress, as each resumption of the agent's turn recorded it.
async fn resumptions(host: &Host, name: &str) -> Vec<u32> {
    let all = events(host, name).await;
    let resumed = all.iter().filter_map(|event| match event {
        Event::TurnResumed(resumed) => Some(resumed.resumes_without_progress),
        _ => None,
    });
    resumed.collect()
}

#[tokio::test]
async fn a_run_between_two_hosts_does_not_hide_a_crash_from_the_agents_it_left_alone() {
    let before = House::new();
    let host = before.with_main().await;
    create(&host, "other").await;
    prompt(&host, "other", "hello").await;
    let _asked = before.model.next().await;
    let house = before.after_crash();
    drop(host);
    run_main(&house).await;
    let host = house.start().await;
    house.model.next().await.answer(says("hi"));
    briefs(&host, "other", 1).await;
    assert_eq!(resumptions(&host, "other").await, [1]);
}

#[tokio::test]
async fn a_run_that_crashes_counts_for_its_own_agent_alone() {
    let before = House::new();
    let host = before.with_main().await;
    create(&host, "other").await;
    prompt(&host, "other", "hello").await;
    let _asked = before.model.next().await;
    host.shut_down().await.expect("goes down");
    let scoped = before.start_as(run_of("main")).await;
    prompt(&scoped, "main", "hello").await;
    let _asked = before.model.next().await;
    let house = before.after_crash();
    drop(scoped);
    let host = house.start().await;
    for _ in 0..2 {
        house.model.next().await.answer(says("hi"));
    }
    for (name, count) in [("main", 1), ("other", 0)] {
        briefs(&host, name, 1).await;
        assert_eq!(resumptions(&host, name).await, [count], "{name}");
    }
}

fn run_of(name: &str) -> Conduct {
    Conduct {
        scope: Scope::Run(Some(agent(name))),
        ..Conduct::default()
    }
}

/// Runs `main` once in a process of its own, which ends in order.
async fn run_main(house: &House) {
    let host = house.start_as(run_of("main")).await;
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(says("hi"));
    briefs(&host, "main", 1).await;
    host.shut_down().await.expect("goes down");
}
