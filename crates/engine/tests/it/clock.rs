//! Steps of the wall clock under a running host and between two hosts: no pause becomes longer, and no burst follows.

use crate::house::{
    House, agent, at_rest, briefs, create, events, prompt, try_prompt, until, until_event,
};
use holon_domain::event::Event;
use holon_domain::limits::{OVERDUE_AT_ONCE, UNPACED_TURNS};
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;
use holon_domain::summary::AgentSummary;
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_engine::ports::Clock;
use holon_engine::request::{FirstSlot, TimerOrder};
use holon_engine::{Error, Host};
use holon_testkit::ports::{calls, failure, says, says_and_calls};
use serde_json::json;

const HOUR: u64 = 3_600_000;
const YEAR: i64 = 365 * 24 * 3_600_000;

fn waits(status: &AgentSummary) -> bool {
    status.agent.sleeping_until.is_some() || status.scheduling_posture.wakes_at.is_some()
}

/// Lets an agent rest for this long.
async fn rest(house: &House, host: &Host, name: &str, duration_ms: u64) {
    prompt(host, name, "rest").await;
    let rest = says_and_calls("later", &[("Sleep", json!({ "duration_ms": duration_ms }))]);
    house.model.next().await.answer(rest);
    until(host, name, waits).await;
}

/// Makes `main` pause before a retry. Returns the longest possible pause.
async fn back_off(house: &House, host: &Host) -> u64 {
    prompt(host, "main", "hello").await;
    let gone = Err(failure(ModelFailureKind::ServerError));
    house.model.next().await.answer(gone);
    until_event(host, "main", "provider_retry_scheduled").await;
    1_250
}

/// Makes `main` continue by itself until it is paced. Returns the length of that pause.
async fn pace(house: &House, host: &Host) -> u64 {
    prompt(host, "main", "go on and on").await;
    let on = || calls(&[("Enqueue", json!({ "text": "and on" }))]);
    for _ in 0..=UNPACED_TURNS {
        house.model.next().await.answer(on());
        house.model.next().await.answer(says("done"));
    }
    until(host, "main", waits).await;
    1_000
}

#[tokio::test]
async fn a_rest_ends_in_its_time_when_the_clock_is_set_back_a_year_in_the_middle() {
    let house = House::new();
    let host = house.with_main().await;
    rest(&house, &host, "main", 2 * HOUR).await;
    house.clock.advance(HOUR);
    assert!(house.model.is_quiet().await);
    house.clock.step(-YEAR);
    house.clock.advance(HOUR - 1);
    assert!(house.model.is_quiet().await, "not before its time");
    house.clock.advance(1);
    house.model.next().await.answer(says("awake"));
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_pause_before_another_try_is_no_longer_when_the_clock_is_set_back() {
    for back in [-1_000, -7_200_000, -YEAR] {
        let house = House::new();
        let host = house.with_main().await;
        let longest = back_off(&house, &host).await;
        house.clock.advance(500);
        house.clock.step(back);
        house.clock.advance(longest - 500);
        house.model.next().await.answer(says("at last"));
        briefs(&host, "main", 1).await;
        house.is_sound("main").await;
    }
}

#[tokio::test]
async fn a_paced_turn_waits_no_longer_when_the_clock_is_set_back() {
    let house = House::new();
    let host = house.with_main().await;
    let longest = pace(&house, &host).await;
    house.clock.step(-YEAR);
    house.clock.advance(longest);
    house.model.next().await.answer(says("done"));
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_clock_set_forward_ends_every_kind_of_pause_once() {
    let house = House::new();
    let host = house.with_main().await;
    create(&host, "rests").await;
    rest(&house, &host, "rests", 2 * HOUR).await;
    back_off(&house, &host).await;
    house.clock.step(YEAR);
    house.clock.advance(60_000);
    for _ in 0..2 {
        house.model.next().await.answer(says("here"));
    }
    briefs(&host, "main", 1).await;
    house.clock.step(-YEAR);
    house.clock.advance(2 * HOUR);
    assert!(house.model.is_quiet().await, "each came once");
    house.is_sound("main").await;
    house.is_sound("rests").await;
}

#[tokio::test]
async fn after_a_restart_with_a_clock_set_back_a_rest_takes_at_most_its_length_once_more() {
    let house = House::new();
    let host = house.with_main().await;
    rest(&house, &host, "main", 2 * HOUR).await;
    house.clock.advance(HOUR);
    host.shut_down().await.expect("goes down");
    house.clock.step(-YEAR);
    let host = house.start().await;
    assert!(house.model.is_quiet().await);
    house.clock.advance(2 * HOUR);
    house.model.next().await.answer(says("awake"));
    briefs(&host, "main", 1).await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn overdue_entries_come_in_a_burst_and_then_spread_over_time() {
    let house = House::new();
    let host = house.with_main().await;
    let agents = OVERDUE_AT_ONCE + 20;
    for number in 0..agents {
        let name = format!("agent-{number}");
        create(&host, &name).await;
        rest(&house, &host, &name, HOUR).await;
    }
    house.clock.step(YEAR);
    house.clock.advance(60_000);
    // As many agents as the burst has room for wake; the others wait for tokens.
    for _ in 0..OVERDUE_AT_ONCE {
        house.model.next().await.answer(says("awake"));
    }
    assert!(house.model.is_quiet().await, "the others wait");
    house.clock.slept_towards(16).await;
    house.clock.advance(16);
    for _ in OVERDUE_AT_ONCE..agents {
        house.model.next().await.answer(says("awake"));
    }
}

#[tokio::test]
async fn an_agent_that_was_aside_while_the_clock_was_set_back_rests_no_longer_than_it_should() {
    let house = House::new();
    let host = house.start().await;
    for name in ["bad", "good"] {
        create(&host, name).await;
        rest(&house, &host, name, 2 * HOUR).await;
    }
    let record =
        |change: &str| format!("UPDATE agents SET record = {change} WHERE agent_id = 'bad'");
    house.damage(&record("'x' || record"));
    let met = try_prompt(&host, "bad", "and now?", Priority::Normal).await;
    assert!(matches!(met, Err(Error::AgentAside { .. })), "{met:?}");
    house.clock.step(-YEAR);
    house.clock.advance(60_000);
    // The host has noticed the step once the other agent is replanned.
    let ends_by = house.clock.now().plus_millis(2 * HOUR);
    until(&host, "good", |status| {
        status.agent.sleeping_until.is_some_and(|at| at <= ends_by)
    })
    .await;
    house.damage(&record("substr(record, 2)"));
    let started = host.control().start_agent(&agent("bad")).await;
    started.expect("back");
    let status = host.reads().status(&agent("bad")).await.expect("a status");
    let ends_at = status.agent.sleeping_until.expect("it rests");
    assert!(ends_at <= ends_by, "{ends_at} instead of {ends_by}");
    house.is_sound("bad").await;
}

#[tokio::test]
async fn a_cron_slot_between_a_step_back_and_its_notice_is_not_lost() {
    let house = House::new();
    let host = house.with_main().await;
    let order = TimerOrder {
        first: FirstSlot::By(TimerSchedule::Cron {
            expression: "* * * * *".to_owned(),
            time_zone: "UTC".to_owned(),
        }),
        missed: MissedSlotPolicy::Once,
        summary: None,
    };
    let made = host.control().create_timer(&agent("main"), order).await;
    let first = made.expect("a timer").next_fire_at.expect("a slot");
    let until_first = first.millis_since(house.clock.now());
    house.clock.slept_towards(until_first).await;
    house.clock.advance(until_first);
    house.model.next().await.answer(says("one"));
    at_rest(&host, "main").await;
    // The clock goes back 59 minutes and a half, and the host looks at it a minute later.
    house.clock.slept_towards(60_000).await;
    house.clock.step(-3_570_000);
    house.clock.advance(60_000);
    house.model.next().await.answer(says("two"));
    at_rest(&host, "main").await;
    let fired = events(&host, "main").await.into_iter();
    let fired = fired.filter_map(|event| match event {
        Event::TimerFired(fired) => Some(fired.planned_at),
        _ => None,
    });
    let after_step = first.minus_millis(59 * 60_000);
    assert_eq!(fired.collect::<Vec<_>>(), [first, after_step]);
    house.is_sound("main").await;
}
