//! Deliveries to operators through a running host: in the commit of the brief, repeated after a restart, with backoff.

use crate::house::{House, agent, briefs, commits, create, prompt, status};
use crate::work::make_and_pick;
use holon_domain::Timestamp;
use holon_domain::delivery::{DeliveryTarget, SubmitResult, TargetAuth, TargetKind};
use holon_domain::limits;
use holon_engine::{Host, TargetMaking};
use holon_testkit::ports::{calls, says, says_and_calls};
use serde_json::json;

fn target(name: &str, turn_results: bool) -> DeliveryTarget {
    DeliveryTarget {
        name: name.to_owned(),
        kind: TargetKind::Http {
            url: "http://127.0.0.1:9/".to_owned(),
            auth: TargetAuth::Bearer,
        },
        turn_results,
        agents: Vec::new(),
        created_at: Timestamp::from_millis(0),
        id: None,
    }
}

async fn with_target(house: &House, turn_results: bool) -> Host {
    let host = house.with_main().await;
    let made = host
        .control()
        .add_delivery_target(target("phone", turn_results), Some("tok"))
        .await;
    assert!(matches!(made, Ok(TargetMaking::Made(_))), "{made:?}");
    host
}

fn retry() -> SubmitResult {
    SubmitResult::Retry {
        error: "the endpoint answered 500".to_owned(),
        retry_after_ms: None,
    }
}

#[tokio::test]
async fn an_answer_reaches_a_target_that_asks_for_results() {
    let house = House::new();
    let host = with_target(&house, true).await;
    prompt(&host, "main", "do it").await;
    house.model.next().await.answer(says("it is done"));
    let attempts = house.outbound.attempts(1).await;
    let (_, sent) = &attempts[0];
    assert_eq!(sent.text, "it is done");
    assert_eq!(sent.agent_id, agent("main"));
    let secrets: Vec<String> = house.outbound.secrets().into_values().collect();
    assert_eq!(secrets, ["tok"]);
    house.has_no_effects("main").await;
    briefs(&host, "main", 1).await;
    let targets = host.reads().delivery_targets().await.expect("targets");
    assert_eq!((targets.len(), targets[0].1.pending), (1, 0));
}

#[tokio::test]
async fn a_notification_reaches_every_target_while_the_turn_goes_on() {
    let house = House::new();
    let host = with_target(&house, false).await;
    prompt(&host, "main", "look after the disk").await;
    let call = ("NotifyOperator", json!({"message": "the disk fills"}));
    house.model.next().await.answer(calls(&[call]));
    let attempts = house.outbound.attempts(1).await;
    assert_eq!(attempts[0].1.text, "the disk fills");
    house.model.next().await.answer(says("I told you"));
    briefs(&host, "main", 1).await;
    assert_eq!(house.outbound.count(), 1, "a result of a turn stays here");
    let summary = status(&host, "main").await;
    let told: Vec<&str> = summary
        .work
        .notifications
        .iter()
        .map(|told| told.summary.as_str())
        .collect();
    assert_eq!(told, ["the disk fills"]);
    let tools = &summary.agent.tool_latency;
    let tools: Vec<(&str, u64, u64)> = tools
        .iter()
        .map(|tool| (tool.tool_name.as_str(), tool.total_calls, tool.failed))
        .collect();
    assert_eq!(tools, [("NotifyOperator", 1, 0)]);
}

#[tokio::test]
async fn completed_work_is_delivered_once_whatever_the_turn_says_after_its_report() {
    let house = House::new();
    let host = with_target(&house, false).await;
    prompt(&host, "main", "mend the build").await;
    let id = make_and_pick(&house, "# Plan\n").await;
    let complete = json!({ "work_item_id": id });
    let report = says_and_calls("It builds.", &[("CompleteWorkItem", complete)]);
    house.model.next().await.answer(report);
    house.model.next().await.answer(says("Goodbye."));
    briefs(&host, "main", 2).await;
    house.has_no_effects("main").await;
    let attempts = house.outbound.attempts(1).await;
    let texts: Vec<&str> = attempts
        .iter()
        .map(|(_, sent)| sent.text.as_str())
        .collect();
    assert_eq!(texts, ["It builds."]);
}

#[tokio::test]
async fn a_failed_delivery_is_tried_again_by_its_due_entry_under_the_same_id() {
    let house = House::new();
    let host = with_target(&house, true).await;
    house.outbound.script([retry(), retry()]);
    prompt(&host, "main", "do it").await;
    house.model.next().await.answer(says("done"));
    house.outbound.attempts(1).await;
    for (count, pause) in [(2, 1), (3, 2)] {
        house.has_no_effects("main").await;
        house.clock.advance(limits::DELIVERY_PAUSE_MS * pause);
        house.outbound.attempts(count).await;
    }
    house.has_no_effects("main").await;
    let attempts = house.outbound.attempts(3).await;
    let ids: Vec<_> = attempts.iter().map(|(_, sent)| &sent.record.id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let numbers: Vec<u32> = attempts.iter().map(|(_, sent)| sent.attempt).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let agent = house.record(&agent("main")).await.expect("an agent");
    assert_eq!(agent.outbox.lanes[0].pending(), 0);
    drop(host);
}

/// Starts a host whose first delivery, with this text, failed and waits for its next attempt.
async fn with_waiting_delivery(house: &House, text: &str) -> Host {
    let host = with_target(house, true).await;
    house.outbound.script([retry()]);
    prompt(&host, "main", "do it").await;
    house.model.next().await.answer(says(text));
    house.outbound.attempts(1).await;
    house.has_no_effects("main").await;
    host
}

#[tokio::test]
async fn a_pause_and_its_target_outlive_the_host() {
    let house = House::new();
    let host = with_waiting_delivery(&house, "done").await;
    host.shut_down().await.expect("goes down");
    let host = house.start().await;
    assert_eq!(
        house.outbound.count(),
        1,
        "the pause lasts over the restart"
    );
    house.clock.advance(limits::DELIVERY_PAUSE_MS * 2);
    let attempts = house.outbound.attempts(2).await;
    assert_eq!(attempts[0].1.record.id, attempts[1].1.record.id);
    house.has_no_effects("main").await;
    drop(host);
}

#[tokio::test]
async fn a_removed_target_gives_its_deliveries_up_and_the_outcome_of_the_turn_stays() {
    let house = House::new();
    let host = with_waiting_delivery(&house, "done").await;
    let removed = host.control().remove_delivery_target("phone").await;
    assert_eq!(removed.expect("is removed"), Some(1));
    assert!(house.outbound.secrets().is_empty());
    let record = house.record(&agent("main")).await.expect("an agent");
    let lane = &record.outbox.lanes[0];
    assert_eq!((lane.given_up, lane.pending()), (1, 0), "before the answer");
    let error = lane.last_error.clone().unwrap_or_default();
    assert_eq!(error, "the target phone was removed");
    assert_eq!(house.outbound.count(), 1);
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].text, "done");
}

#[tokio::test]
async fn nothing_goes_to_a_removed_target_before_its_deliveries_have_ended() {
    let house = House::new();
    let host = with_waiting_delivery(&house, "done").await;
    let held = house.outbound.hold_forgetting();
    let control = host.control();
    let removal = tokio::spawn(async move { control.remove_delivery_target("phone").await });
    // The target is gone, and what waits for it was not given up yet.
    held.wait().await;
    let pending = || async {
        let record = house.record(&agent("main")).await.expect("an agent");
        record.outbox.lanes[0].pending()
    };
    assert_eq!(pending().await, 1);
    house.clock.advance(limits::DELIVERY_PAUSE_MS * 2);
    while pending().await > 0 {}
    assert_eq!(
        house.outbound.count(),
        1,
        "only the attempt before the removal"
    );
    held.wait().await;
    let removed = removal.await.expect("goes on").expect("is removed");
    assert_eq!(removed, Some(1));
}

#[tokio::test]
async fn a_target_of_many_agents_is_retried_and_removed_in_several_commits() {
    const AGENTS: usize = 40;
    let house = House::new();
    let host = with_target(&house, true).await;
    house
        .outbound
        .script(std::iter::repeat_n(retry(), 2 * AGENTS));
    let names: Vec<String> = (0..AGENTS).map(|n| format!("a{n}")).collect();
    for name in &names {
        create(&host, name).await;
        prompt(&host, name, "do it").await;
        house.model.next().await.answer(says("done"));
        briefs(&host, name, 1).await;
    }
    house.outbound.attempts(AGENTS).await;
    for name in &names {
        house.has_no_effects(name).await;
    }
    let before = commits(&host, "main").await;
    let retried = host.control().retry_delivery_target("phone").await;
    assert_eq!(retried.expect("is retried"), Some(AGENTS as u64));
    house.outbound.attempts(2 * AGENTS).await;
    for name in &names {
        house.has_no_effects(name).await;
    }
    let after = commits(&host, "main").await;
    assert!(
        after - before > 3,
        "{before} and {after}: no commit decides for all"
    );
    let removed = host.control().remove_delivery_target("phone").await;
    assert_eq!(removed.expect("is removed"), Some(AGENTS as u64));
    for name in &names {
        let record = house.record(&agent(name)).await.expect("an agent");
        let lane = &record.outbox.lanes[0];
        assert_eq!((lane.given_up, lane.pending()), (1, 0), "{name}");
    }
}

#[tokio::test]
async fn a_trial_shows_what_would_be_sent_and_writes_nothing() {
    let house = House::new();
    let host = with_target(&house, true).await;
    let tried = host.control().try_delivery_target("phone").await;
    let tried = tried.expect("is tried").expect("there is one");
    assert!(tried.sent.contains("trial"), "{}", tried.sent);
    let missing = host.control().try_delivery_target("nowhere").await;
    assert_eq!(missing.expect("is looked for"), None);
    let agent = house.record(&agent("main")).await.expect("an agent");
    assert!(agent.outbox.lanes.is_empty());
}

#[tokio::test]
async fn a_target_that_is_added_again_gets_nothing_that_waited_for_the_one_before() {
    let house = House::new();
    let host = with_waiting_delivery(&house, "old").await;
    let control = host.control();
    let removed = control.remove_delivery_target("phone").await;
    assert!(removed.is_ok_and(|removed| removed.is_some()));
    let added = control.add_delivery_target(target("phone", true), Some("tok"));
    let added = added.await;
    assert!(matches!(added, Ok(TargetMaking::Made(_))), "{added:?}");
    house.clock.advance(limits::DELIVERY_PAUSE_MS * 2);
    prompt(&host, "main", "again").await;
    house.model.next().await.answer(says("new"));
    let attempts = house.outbound.attempts(2).await;
    house.has_no_effects("main").await;
    assert_eq!(attempts[1].1.text, "new");
    assert_eq!(house.outbound.count(), 2, "the old brief is not sent");
    let targets = host.reads().delivery_targets().await.expect("targets");
    assert_eq!(targets[0].1.given_up, None, "the new target has no failure");
}

#[tokio::test]
async fn a_delivery_that_waits_is_tried_at_once_when_the_operator_asks() {
    let house = House::new();
    let host = with_waiting_delivery(&house, "done").await;
    let retried = host.control().retry_delivery_target("phone").await;
    assert_eq!(retried.expect("is retried"), Some(1));
    let attempts = house.outbound.attempts(2).await;
    assert_eq!(attempts[0].1.record.id, attempts[1].1.record.id);
    house.has_no_effects("main").await;
    let unknown = host.control().retry_delivery_target("nowhere").await;
    assert_eq!(unknown.expect("is looked for"), None);
}

#[tokio::test]
async fn of_two_targets_of_one_name_the_one_that_is_added_has_its_own_secret() {
    let house = House::new();
    let host = house.with_main().await;
    let control = host.control();
    // Both have found the name free when they store their secrets.
    house.outbound.let_callers_meet(2);
    let (one, two) = tokio::join!(
        control.add_delivery_target(target("phone", true), Some("one")),
        control.add_delivery_target(target("phone", true), Some("two")),
    );
    let winner = match (one.expect("is decided"), two.expect("is decided")) {
        (TargetMaking::Made(_), TargetMaking::NameTaken) => "one",
        (TargetMaking::NameTaken, TargetMaking::Made(_)) => "two",
        other => panic!("{other:?}"),
    };
    let added = host.reads().delivery_targets().await.expect("targets");
    let [(added, _)] = added.as_slice() else {
        panic!("{added:?}")
    };
    let profile = DeliveryTarget::secret_profile(&added.name, added.id.as_ref());
    let secrets = house.outbound.secrets();
    let expected = std::collections::BTreeMap::from([(profile, winner.to_owned())]);
    assert_eq!(secrets, expected);
}
