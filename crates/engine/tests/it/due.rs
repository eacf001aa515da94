//! The due loop over the shell: entries that stay do not hide others, and due entries are handed over in bounded pages.

use crate::house::{House, prompt, until};
use holon_domain::summary::AgentSummary;
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
