//! Suspended turns over the shell: the events that end a suspension, its state after a restart, and the response to a
//! run behind one.

use crate::house::{House, agent, briefs, create, interject, prompt, status, until, until_event};
use crate::runs::{request, run};
use holon_domain::agent::AgentStatus;
use holon_domain::brief::BriefKind;
use holon_domain::budget::{Budget, BudgetKey, BudgetPeriod, BudgetScope};
use holon_domain::closure::WaitingReason;
use holon_domain::limits;
use holon_domain::model::{ModelChain, ModelFailureKind, ModelRef};
use holon_domain::run::RunStatus;
use holon_domain::summary::AgentSummary;
use holon_engine::Host;
use holon_engine::ports::Clock as _;
use holon_engine::request::RunRequest;
use holon_testkit::ports::{failure, says};

/// A host whose agent has a suspended turn: its model is unreachable, so one failure suspends it.
async fn suspended(house: &House) -> Host {
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    offline(house).await;
    until_event(&host, "main", "turn_suspended").await;
    host
}

async fn offline(house: &House) {
    let offline = Err(failure(ModelFailureKind::Network));
    house.model.next().await.answer(offline);
}

fn sleeps(status: &AgentSummary) -> bool {
    status.agent.status == AgentStatus::Asleep && status.scheduling_posture.wakes_at.is_some()
}

#[tokio::test]
async fn a_suspended_turn_outlives_its_host_and_asks_again_by_itself() {
    let house = House::new();
    let host = suspended(&house).await;
    let before = status(&host, "main").await;
    assert!(sleeps(&before), "{before:?}");
    drop(host);
    let house = house.after_crash();
    let host = house.start().await;
    assert!(sleeps(&status(&host, "main").await));
    house.clock.advance(limits::SUSPENSION_PAUSE_MAX_MS);
    house.model.next().await.answer(says("here at last"));
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].kind, BriefKind::Result);
    assert_eq!(told[0].settles.len(), 1);
}

#[tokio::test]
async fn an_operators_word_ends_the_suspension_and_one_answer_settles_both() {
    let house = House::new();
    let host = suspended(&house).await;
    house.clock.advance(1_000);
    interject(&host, "main", "are you there").await;
    house.model.next().await.answer(says("yes"));
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].settles.len(), 2);
}

#[tokio::test]
async fn new_models_of_the_host_are_asked_at_once() {
    let house = House::new();
    let host = suspended(&house).await;
    let other = ModelRef::parse("other/model").expect("a model");
    host.set_models(ModelChain::only(other.clone()));
    let asked = house.model.next().await;
    assert_eq!(asked.request.model, other);
    asked.answer(says("here"));
    assert_eq!(briefs(&host, "main", 1).await[0].text, "here");
}

#[tokio::test]
async fn a_run_behind_a_suspended_turn_is_told_that_it_waits_and_is_answered_later() {
    let house = House::new();
    let host = suspended(&house).await;
    house.clock.advance(1_000);
    let named = RunRequest {
        agent_id: Some(agent("main")),
        ..request("and what is two and two")
    };
    let outcome = run(&host, named, async {
        offline(&house).await;
        until(&host, "main", sleeps).await;
        house
            .clock
            .slept_towards(limits::ATTENDED_PATIENCE_MS)
            .await;
        house.clock.advance(limits::ATTENDED_PATIENCE_MS);
        offline(&house).await;
    });
    let response = Box::pin(outcome).await.expect("an answer");
    assert_eq!(response.final_status, RunStatus::Waiting);
    assert_eq!(
        response.waiting_reason,
        Some(WaitingReason::AwaitingExternalChange)
    );
    assert!(
        response.final_text.contains("kept in the queue"),
        "{}",
        response.final_text
    );
    // The clock moves on only once the next pause is set.
    let now = house.clock.now();
    until(&host, "main", |status| {
        status.scheduling_posture.wakes_at > Some(now)
    })
    .await;
    house.clock.advance(limits::SUSPENSION_PAUSE_MAX_MS);
    house.model.next().await.answer(says("hello"));
    house.model.next().await.answer(says("four"));
    until(&host, "main", |status| status.agent.turn_index == 2).await;
    let told = briefs(&host, "main", 2).await;
    assert!(told.iter().any(|brief| brief.text == "four"), "{told:?}");
}

#[tokio::test]
async fn a_budget_that_cannot_be_read_holds_its_agent_at_boot_and_while_the_host_runs_until_it_is_set()
 {
    let budget = |tokens| Budget {
        key: BudgetKey {
            scope: BudgetScope::Agent(agent("main")),
            period: BudgetPeriod::Total,
        },
        limit_tokens: Some(tokens),
        limit_micro_usd: None,
        set_at: holon_domain::Timestamp::from_millis(0),
    };
    for at_boot in [true, false] {
        let before = House::new();
        let host = before.with_main().await;
        host.control()
            .set_budget(budget(1 << 40))
            .await
            .expect("is set");
        let (house, host) = if at_boot {
            let house = before.after_crash();
            drop(host);
            house.damage("UPDATE budgets SET record = 'x'");
            let host = house.start().await;
            (house, host)
        } else {
            before.damage("UPDATE budgets SET spent_tokens = -1");
            (before, host)
        };
        create(&host, "free").await;
        prompt(&host, "main", "hello").await;
        until_event(&host, "main", "turn_suspended").await;
        let told = briefs(&host, "main", 1).await;
        assert!(
            told[0].text.contains("budgets agent main total"),
            "{}",
            told[0].text
        );
        let listed = host.reads().budgets().await.expect("a list");
        assert_eq!((listed.standings.len(), listed.unreadable.len()), (0, 1));
        prompt(&host, "free", "hello").await;
        house.model.next().await.answer(says("hi"));
        assert_eq!(briefs(&host, "free", 1).await[0].text, "hi");
        host.control()
            .set_budget(budget(1 << 41))
            .await
            .expect("is set");
        // The request is measured first, because no answer tells yet how long one may be.
        house.model.next().await.answer(says("there"));
        let told = briefs(&host, "main", 2).await;
        assert_eq!(told[1].text, "there");
    }
}

#[tokio::test]
async fn a_run_whose_own_turn_a_budget_holds_names_the_budget_and_no_queue() {
    let house = House::new();
    let host = house.with_main().await;
    let budget = Budget {
        key: BudgetKey {
            scope: BudgetScope::Agent(agent("main")),
            period: BudgetPeriod::Total,
        },
        limit_tokens: Some(1),
        limit_micro_usd: None,
        set_at: house.clock.now(),
    };
    host.control().set_budget(budget).await.expect("is set");
    let named = RunRequest {
        agent_id: Some(agent("main")),
        ..request("hello")
    };
    let outcome = run(&host, named, async {
        until_event(&host, "main", "turn_suspended").await;
        house
            .clock
            .slept_towards(limits::ATTENDED_PATIENCE_MS)
            .await;
        house.clock.advance(limits::ATTENDED_PATIENCE_MS);
    });
    let response = Box::pin(outcome).await.expect("an answer");
    assert_eq!(response.final_status, RunStatus::Waiting);
    let text = response.final_text;
    for part in ["its turn is kept", "holon budget set --agent main --tokens"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("queue"), "{text}");
}

#[tokio::test]
async fn a_run_whose_caller_left_is_suspended_like_any_prompt() {
    let house = House::new();
    let host = house.with_main().await;
    let named = RunRequest {
        agent_id: Some(agent("main")),
        ..request("take your time")
    };
    let control = host.control();
    let mut waits = Box::pin(control.run_once(named));
    let asked = tokio::select! {
        asked = house.model.next() => asked,
        ended = &mut waits => panic!("nothing was answered yet: {ended:?}"),
    };
    let before = host.commits();
    drop(waits);
    while host.commits() == before {
        tokio::task::yield_now().await;
    }
    asked.answer(Err(failure(ModelFailureKind::Network)));
    until_event(&host, "main", "turn_suspended").await;
}
