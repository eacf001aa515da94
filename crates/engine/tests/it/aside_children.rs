//! An unreadable row of a child costs the child, and never the parent that supervises it.

use crate::house::{House, agent, at_rest, prompt, status};
use crate::talk::{calling, results};
use holon_domain::agent::AgentStatus;
use holon_domain::delegation::ChildPhase;
use holon_domain::task::TaskStatus;
use holon_testkit::ports::{calls, says};
use serde_json::json;

/// A brief that no build can read, written as the child's newest.
const BAD_BRIEF: &str = "INSERT INTO briefs (agent_no, seq, row) \
     SELECT agent_no, 1, 'x' FROM agents WHERE agent_id LIKE 'tmp_child%'";

#[tokio::test]
async fn a_bad_row_of_a_child_costs_its_parent_neither_its_calls_nor_its_recovery() {
    let before = House::new();
    let spawn = ("SpawnAgent", json!({ "initial_message": "work" }));
    let host = calling(&before, &[spawn]).await;
    for _ in 0..2 {
        let asked = before.model.next().await;
        // The child's own request stays open.
        if asked.request.frame.cache.agent_id == "main" {
            asked.answer(says("it works"));
        }
    }
    at_rest(&host, "main").await;
    let [task] = before.tasks("main").await.try_into().expect("one task");
    before.damage(BAD_BRIEF);
    prompt(&host, "main", "how is it?").await;
    let look = ("TaskStatus", json!({ "task_id": task.id }));
    before.model.next().await.answer(calls(&[look]));
    let asked = before.model.next().await;
    let told = results(&asked.request).pop().expect("a result");
    assert!(told.contains("running"), "{told}");
    asked.answer(says("it runs"));
    at_rest(&host, "main").await;

    // A boot reads the child again, to hear of an end that was missed.
    let house = before.after_crash();
    drop(host);
    let host = house.start().await;
    let summary = status(&host, "main").await;
    assert_ne!(summary.agent.status, AgentStatus::Stopped);
    let row = house.record(&agent("main")).await;
    assert!(row.is_some(), "the parent is not aside");
}

#[tokio::test]
async fn a_child_that_is_put_aside_is_shown_as_blocked_and_can_be_stopped() {
    let faults = [
        ("SET aside = 'log 1: cut off'", "put_aside: log 1: cut off"),
        (
            "SET record = 'x' || record",
            "put_aside: its stored rows cannot be read",
        ),
    ];
    for (fault, reason) in faults {
        let house = House::new();
        let spawn = ("SpawnAgent", json!({ "initial_message": "work" }));
        let host = calling(&house, &[spawn]).await;
        for _ in 0..2 {
            let asked = house.model.next().await;
            // The child's own request stays open.
            if asked.request.frame.cache.agent_id == "main" {
                asked.answer(says("it works"));
            }
        }
        at_rest(&host, "main").await;
        let [task] = house.tasks("main").await.try_into().expect("one task");
        house.damage(&format!(
            "UPDATE agents {fault} WHERE agent_id LIKE 'tmp_child%'"
        ));
        let seen = host.reads().task(&agent("main"), &task.id).await;
        let seen = seen.expect("a task").child_observability;
        let seen = seen.expect("it is known that nothing is known");
        assert_eq!(seen.phase, ChildPhase::Blocked, "{fault}");
        assert_eq!(seen.blocked_reason.as_deref(), Some(reason));

        prompt(&host, "main", "how is it?").await;
        let look = ("TaskStatus", json!({ "task_id": task.id }));
        house.model.next().await.answer(calls(&[look]));
        let asked = house.model.next().await;
        let told = results(&asked.request).pop().expect("a result");
        assert!(told.contains(reason), "{told}");
        let stop = ("TaskStop", json!({ "task_id": task.id }));
        asked.answer(calls(&[stop]));
        house.model.next().await.answer(says("it is stopped"));
        at_rest(&host, "main").await;
        let [task] = house.tasks("main").await.try_into().expect("one task");
        assert_eq!(task.status, TaskStatus::Cancelled, "{fault}");
    }
}
