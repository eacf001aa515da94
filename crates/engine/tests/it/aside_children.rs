//! An unreadable row of a child costs the child, and never the parent that supervises it. The parent's views name it with
//! what helps, and the operator brings it back.

use crate::house::{House, agent, at_rest, prompt, status};
use crate::talk::{calling, results};
use holon_domain::AgentId;
use holon_domain::agent::AgentStatus;
use holon_domain::delegation::ChildPhase;
use holon_domain::model::{ModelFailure, ModelReply, ModelRequest};
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_engine::{Error, Host};
use holon_testkit::ports::{PendingCall, calls, says};
use serde_json::json;

type Asked = PendingCall<ModelRequest, Result<ModelReply, ModelFailure>>;

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

/// A parent at rest whose child was asked once and has not answered. The request stays open as long as it is kept.
async fn with_child_at_work(house: &House) -> (Host, TaskRecord, Asked) {
    let spawn = ("SpawnAgent", json!({ "initial_message": "work" }));
    let host = calling(house, &[spawn]).await;
    let mut of_child = None;
    for _ in 0..2 {
        let asked = house.model.next().await;
        if asked.request.frame.cache.agent_id == "main" {
            asked.answer(says("it works"));
        } else {
            of_child = Some(asked);
        }
    }
    at_rest(&host, "main").await;
    let [task] = house.tasks("main").await.try_into().expect("one task");
    (host, task, of_child.expect("a request of the child"))
}

fn child_of(task: &TaskRecord) -> AgentId {
    task.child().expect("a child").child_agent_id.clone()
}

/// Waits until the child is put aside, and returns the fault.
async fn fault_of_child(house: &House) -> String {
    let marked = "SELECT aside FROM agents WHERE agent_id LIKE 'tmp_child%' AND aside IS NOT NULL";
    loop {
        if let Some(fault) = house.query(marked).pop() {
            return fault;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_child_that_is_put_aside_is_named_by_its_parent_and_brought_back_by_the_operator() {
    let of_child =
        "WHERE agent_no = (SELECT agent_no FROM agents WHERE agent_id LIKE 'tmp_child%')";
    let damages = [
        (
            "messages",
            "SET envelope = 'x' || envelope",
            "SET envelope = substr(envelope, 2)",
        ),
        (
            "agents",
            "SET record = 'x' || record",
            "SET record = substr(record, 2)",
        ),
    ];
    for (table, breaks, mends) in damages {
        let before = House::new();
        let (host, task, open) = with_child_at_work(&before).await;
        let child = child_of(&task);
        let house = before.after_crash();
        drop((host, open));
        house.damage(&format!("UPDATE {table} {breaks} {of_child}"));
        let host = house.start().await;
        let reason = fault_of_child(&house).await;
        if table == "agents" {
            let refused = host.control().start_agent(&child).await;
            assert!(
                matches!(refused, Err(Error::AgentAside { .. })),
                "{refused:?}"
            );
        }
        let shown = status(&host, "main").await;
        let [seen] = shown.active_children.try_into().expect("one child");
        assert_eq!(seen.identity.agent_id, child, "{table}");
        assert_eq!(seen.supervision_task_id, task.id, "{table}");
        assert_eq!(seen.fault(), Some(&*reason), "{table}");
        let explained = host.reads().explain(&agent("main")).await;
        let explained = explained.expect("an explanation");
        let start = format!("holon agent start {child}");
        for told in [
            shown.scheduling_posture.reason,
            explained.scheduling_posture.reason,
            explained.woken_by.join("\n"),
        ] {
            assert!(
                told.contains(&reason) && told.contains(&start) && told.contains(task.id.as_str()),
                "{table}: {told}"
            );
        }
        let causes = explained.woken_by.join("\n");
        assert!(!causes.contains("the end of 1 task"), "{causes}");
        host.shut_down().await.expect("goes down");

        house.damage(&format!("UPDATE {table} {mends} {of_child}"));
        let host = house.start().await;
        let unmarked = house.query("SELECT agent_id FROM agents WHERE aside IS NULL");
        assert_eq!(unmarked, ["main"], "{table}: only a start takes it back");
        let started = host.control().start_agent(&child).await;
        assert_eq!(started, Ok(()), "{table}");
        let asked = house.model.next().await;
        assert_eq!(asked.request.frame.cache.agent_id, child.as_str());
        asked.answer(says("the work is done"));
        let asked = house.model.next().await;
        assert_eq!(asked.request.frame.cache.agent_id, "main");
        asked.answer(says("I heard"));
        house.task_is("main", TaskStatus::Completed).await;
    }
}

#[tokio::test]
async fn a_private_child_that_is_not_aside_does_not_exist_for_a_start() {
    let house = House::new();
    let (host, task, _open) = with_child_at_work(&house).await;
    for id in [child_of(&task), agent("nobody")] {
        let refused = host.control().start_agent(&id).await;
        assert_eq!(refused, Err(Error::AgentNotFound { agent_id: id }));
    }
}
