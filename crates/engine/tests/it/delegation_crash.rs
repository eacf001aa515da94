//! Many children that end at the same time while the host dies.

use crate::house::{House, create, prompt};
use crate::talk::results;
use holon_domain::limits::LIVE_CHILDREN;
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_testkit::ports::{calls, says};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

const ROOTS: usize = 25;

fn root(n: usize) -> String {
    format!("root{n}")
}

#[tokio::test]
async fn children_that_end_while_the_host_dies_are_reported_once_and_none_is_left() {
    let house = House::new();
    let host = house.start().await;
    for n in 0..ROOTS {
        create(&host, &root(n)).await;
        prompt(&host, &root(n), "delegate").await;
    }
    let spawn = ("SpawnAgent", json!({ "initial_message": "work" }));
    let many = vec![spawn; LIVE_CHILDREN as usize];
    let all = ROOTS * many.len();
    let mut working = Vec::new();
    while working.len() < all {
        let asked = house.model.next().await;
        let of_child = asked.request.frame.cache.agent_id.starts_with("tmp_child");
        match (of_child, results(&asked.request).is_empty()) {
            (true, _) => working.push(asked),
            (false, true) => asked.answer(calls(&many)),
            (false, false) => asked.answer(says("they work")),
        }
    }
    for asked in working {
        asked.answer(says("done"));
    }
    // The host dies somewhere between the first end and the last.
    let house = house.after_crash();
    let host = house.start().await;
    let model = Arc::clone(&house.model);
    let answering = tokio::spawn(async move {
        loop {
            model.next().await.answer(says("done"));
        }
    });
    let mut children = BTreeSet::new();
    for n in 0..ROOTS {
        let tasks = loop {
            let tasks = house.tasks(&root(n)).await;
            if tasks
                .iter()
                .all(|task| task.status == TaskStatus::Completed)
            {
                break tasks;
            }
        };
        assert_eq!(tasks.len(), many.len(), "{}", root(n));
        let child = |task: &TaskRecord| task.child().map(|child| child.child_agent_id.clone());
        children.extend(tasks.iter().filter_map(child));
    }
    assert_eq!(children.len(), all);
    for child in &children {
        let row = house.record(child).await.expect("its history stays");
        assert!(row.archived_at.is_some(), "{child} has ended");
    }
    answering.abort();
    drop(host);
}
