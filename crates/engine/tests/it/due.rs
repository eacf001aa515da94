//! The due loop over the shell: entries that stay do not hide others, and due entries are handed over in bounded pages.

use crate::house::{House, agent, create, prompt, until};
use holon_domain::summary::AgentSummary;
use holon_domain::timer::MissedSlotPolicy;
use holon_engine::request::{FirstSlot, TimerOrder};
use holon_engine::{EntryFilter, Host};
use holon_testkit::ports::{says, says_and_calls};
use serde_json::json;

fn rests(status: &AgentSummary) -> bool {
    status.agent.sleeping_until.is_some()
}

/// Due entries that no state waits for, as a defect could leave them. They stay in the queue forever.
const STUCK: &str = "INSERT INTO due (at, agent_no, id, due) \
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) \
     SELECT 0, (SELECT agent_no FROM agents WHERE agent_id = 'main'), 1000000 + i, '{\"kind\":\"pace_over\"}' FROM n";

#[tokio::test]
async fn entries_that_stay_in_the_queue_hide_nobody_behind_them() {
    let house = House::new();
    let host = house.with_main().await;
    house.damage(STUCK);
    prompt(&host, "main", "rest").await;
    let rest = says_and_calls("later", &[("Sleep", json!({ "duration_ms": 60_000 }))]);
    house.model.next().await.answer(rest);
    until(&host, "main", rests).await;
    // Time passes in small steps until the rest is over and the model is called.
    let woken = house.model.next();
    let time = async {
        loop {
            house.clock.advance(500);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        asked = woken => asked.answer(says("awake")),
        () = time => {}
    }
}

/// Lets an agent rest for a minute.
async fn rest(house: &House, host: &Host, name: &str) {
    prompt(host, name, "rest").await;
    let rest = says_and_calls("later", &[("Sleep", json!({ "duration_ms": 60_000 }))]);
    house.model.next().await.answer(rest);
    until(host, name, rests).await;
}

async fn fires_after(host: &Host, name: &str, delay_ms: u64) {
    let order = TimerOrder {
        first: FirstSlot::After {
            delay_ms,
            interval_ms: None,
        },
        missed: MissedSlotPolicy::Once,
        summary: None,
    };
    let made = host.control().create_timer(&agent(name), order).await;
    made.expect("a timer");
}

/// Waits until this many timers of an agent are left.
async fn are_left(host: &Host, name: &str, count: usize) {
    loop {
        let reads = host.reads();
        let timers = reads.timers(&agent(name), EntryFilter::Active, 500).await;
        if timers.expect("timers").len() == count {
            return;
        }
    }
}

#[tokio::test]
async fn timers_of_a_noisy_agent_delay_no_timer_of_another() {
    let house = House::new();
    let host = house.with_main().await;
    create(&host, "quiet").await;
    let seconds = 1..=8;
    for second in seconds.clone() {
        for _ in 0..60 {
            fires_after(&host, "main", second * 1_000).await;
        }
        fires_after(&host, "quiet", second * 1_000).await;
    }
    // Every slot comes while the clock stands at its time. More than a burst of overdue entries comes in all.
    for left in seconds.map(|second| 8 - second) {
        house.clock.advance(1_000);
        are_left(&host, "quiet", usize::try_from(left).expect("a count")).await;
    }
}

#[tokio::test]
async fn overdue_entries_of_one_agent_do_not_use_up_the_tokens_of_another() {
    let house = House::new();
    let host = house.with_main().await;
    create(&host, "quiet").await;
    rest(&house, &host, "quiet").await;
    house.damage(STUCK);
    house.clock.step(3_600_000);
    house.clock.advance(60_000);
    // The clock stands still: the entry comes in the first burst, before the 600 earlier ones of the other agent.
    house.model.next().await.answer(says("awake"));
}
