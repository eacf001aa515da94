//! Tasks over the shell: their results are delivered once, and they can be stopped.

use crate::house::{House, at_rest, briefs, events, prompt, until, until_event};
use crate::talk::{current, interjected, results, with_task};
use holon_domain::event::Event;
use holon_domain::limits::TASK_STOP_GRACE_MS;
use holon_domain::task::TaskStatus;
use holon_engine::Host;
use holon_testkit::ports::{calls, says, says_and_calls};
use serde_json::json;

/// Number of task results that were queued.
async fn told(host: &Host) -> usize {
    let all = events(host, "main").await;
    let results = all
        .iter()
        .filter(|event| matches!(event, Event::TaskResultReceived(_)));
    results.count()
}

#[tokio::test]
async fn the_end_of_a_task_wakes_an_agent_at_rest_exactly_once() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    task.ends("all built");
    let asked = house.model.next().await;
    let input = current(&asked.request);
    assert!(input.contains("kind=task_result"), "{input}");
    let words = format!("Task {} completed: exit 0 after 1000 ms", task.name());
    assert!(input.contains(&words), "{input}");
    assert!(input.contains("all built"), "{input}");
    let row = house.task_is("main", TaskStatus::Completed).await;
    assert_eq!(row.effect, None);
    let end = row.end.expect("an end");
    assert_eq!((end.exit_status, end.failure_artifact), (Some(0), None));
    assert_eq!(end.output_summary, "all built");
    asked.answer(says("it is built"));
    let standing = at_rest(&host, "main").await;
    assert!(standing.active_tasks.is_empty());
    assert_eq!(told(&host).await, 1);
    let all = briefs(&host, "main", 2).await;
    assert_eq!((all.len(), all[1].text.as_str()), (2, "it is built"));
    assert!(all[1].settles.is_empty(), "nobody is owed an answer");
    assert!(house.model.is_quiet().await);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_task_that_fails_or_is_lost_is_told_with_evidence() {
    for (lose, status, words) in [
        (false, TaskStatus::Failed, "failed: exit 2 after 1000 ms"),
        (
            true,
            TaskStatus::Interrupted,
            "interrupted: its supervisor was killed; to run it again: make",
        ),
    ] {
        let house = House::new();
        let (_host, task) = with_task(&house, "make").await;
        task.prints("step 7\n");
        if lose {
            task.is_lost("its supervisor was killed");
        } else {
            task.exits(2);
        }
        let asked = house.model.next().await;
        let input = current(&asked.request);
        assert!(input.contains(words) && input.contains("step 7"), "{input}");
        let row = house.task_is("main", status).await;
        let evidence = row.end.and_then(|end| end.failure_artifact);
        assert_eq!(evidence.and_then(|found| found.task_id), Some(row.id));
    }
}

#[tokio::test]
async fn a_result_that_comes_before_another_round_joins_the_turn() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    prompt(&host, "main", "meanwhile").await;
    let asked = house.model.next().await;
    let listed = asked.request.frame.context_blocks.clone();
    assert!(
        listed.iter().any(|block| block.text.contains(task.name())),
        "the turn knows what runs: {listed:?}"
    );
    house.clock.advance(1);
    task.ends("built");
    until(&host, "main", |status| status.agent.pending == 1).await;
    asked.answer(calls(&[("AgentGet", json!({}))]));
    let again = house.model.next().await;
    assert_eq!(again.request.round, 2, "the same turn goes on");
    assert_eq!(
        again.request.frame.context_blocks, listed,
        "and its frame stays"
    );
    let [words] = interjected(&again.request).try_into().expect("one");
    assert!(
        words.starts_with("The result of a task that ended at "),
        "{words}"
    );
    again.answer(says("and it is built"));
    let all = briefs(&host, "main", 2).await;
    at_rest(&host, "main").await;
    assert_eq!((all.len(), all[1].text.as_str()), (2, "and it is built"));
    assert_eq!(all[1].settles.len(), 1, "the operator's message alone");
    assert_eq!(told(&host).await, 1);
    assert!(house.model.is_quiet().await, "it is not told again");
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_result_that_comes_beside_the_answer_leaves_it_alone_and_gets_a_turn_of_its_own() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    let asked_for = prompt(&host, "main", "meanwhile").await;
    let asked = house.model.next().await;
    task.ends("built");
    until(&host, "main", |status| status.agent.pending == 1).await;
    asked.answer(says("something else"));
    let own = house.model.next().await;
    assert_eq!(own.request.round, 1);
    assert!(current(&own.request).contains("kind=task_result"));
    own.answer(says("it is built"));
    let all = briefs(&host, "main", 3).await;
    assert_eq!(all[1].text, "something else", "what the operator is owed");
    assert_eq!(all[1].settles, [asked_for.message_id]);
    assert_eq!(
        (all[2].text.as_str(), all[2].settles.len()),
        ("it is built", 0)
    );
    at_rest(&host, "main").await;
    assert_eq!((told(&host).await, all.len()), (1, 3));
    house.is_sound("main").await;
}

#[tokio::test]
async fn results_that_come_while_a_call_runs_are_told_after_it_and_together() {
    let house = House::new();
    let (host, first) = with_task(&house, "make one").await;
    prompt(&host, "main", "meanwhile").await;
    let round = calls(&[
        (
            "ExecCommand",
            json!({ "cmd": "make two", "yield_time_ms": 0 }),
        ),
        ("ExecCommand", json!({ "cmd": "make three" })),
    ]);
    house.model.next().await.answer(round);
    let second = house.commands.next().await;
    let third = house.commands.next().await;
    second.watched().await;
    first.ends("1");
    second.ends("2");
    until(&host, "main", |status| status.agent.pending == 2).await;
    third.ends("3");
    let asked = house.model.next().await;
    assert!(results(&asked.request)[1].contains("exit 0"));
    let words = interjected(&asked.request);
    assert_eq!(words.len(), 2, "{words:?}");
    asked.answer(says("all done"));
    at_rest(&host, "main").await;
    assert!(house.model.is_quiet().await, "nothing is left to tell");
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_task_that_is_stopped_is_asked_first_and_its_end_wakes_nobody() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    task.outlives_its_grace();
    prompt(&host, "main", "stop it").await;
    let stop = calls(&[("TaskStop", json!({ "task_id": task.name() }))]);
    house.model.next().await.answer(stop);
    let asked = house.model.next().await;
    let answered = &results(&asked.request)[0];
    assert!(answered.contains("is asked to end"), "{answered}");
    let stops = house.commands.stops(1).await;
    assert_eq!(stops, [(task.name().to_owned(), TASK_STOP_GRACE_MS)]);
    assert_eq!(task.followers(), (0, 0), "whoever stops it watches it too");
    house.clock.slept_towards(TASK_STOP_GRACE_MS).await;
    house.clock.advance(5_000);
    let row = house.task_is("main", TaskStatus::Cancelled).await;
    assert_eq!(row.end.and_then(|end| end.signal), Some(9));
    asked.answer(says("it is stopped"));
    briefs(&host, "main", 2).await;
    at_rest(&host, "main").await;
    assert_eq!(told(&host).await, 0);
    assert!(house.model.is_quiet().await);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_second_request_to_stop_is_by_force_and_a_third_finds_it_over() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    task.outlives_its_grace();
    prompt(&host, "main", "stop it now").await;
    let stop = || calls(&[("TaskStop", json!({ "task_id": task.name() }))]);
    house.model.next().await.answer(stop());
    let again = house.model.next().await;
    house.commands.stops(1).await;
    again.answer(stop());
    let third = house.model.next().await;
    let told = &results(&third.request)[1];
    assert!(
        told.contains("is killed with everything it started"),
        "{told}"
    );
    let name = task.name().to_owned();
    let stops = house.commands.stops(2).await;
    assert_eq!(stops, [(name.clone(), TASK_STOP_GRACE_MS), (name, 0)]);
    house.task_is("main", TaskStatus::Cancelled).await;
    third.answer(stop());
    let last = house.model.next().await;
    let told = &results(&last.request)[2];
    assert!(told.contains("is over already"), "{told}");
    assert_eq!(house.commands.log().stops.len(), 2);
    last.answer(says("gone"));
    at_rest(&host, "main").await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn an_agent_that_rests_is_woken_by_its_task_before_its_time() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    prompt(&host, "main", "wait for it").await;
    let rest = says_and_calls("later", &[("Sleep", json!({ "duration_ms": 60_000 }))]);
    house.model.next().await.answer(rest);
    until(&host, "main", |status| {
        status.agent.sleeping_until.is_some()
    })
    .await;
    task.ends("built");
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("kind=task_result"));
    asked.answer(says("built"));
    at_rest(&host, "main").await;
    house.clock.advance(120_000);
    until_event(&host, "main", "task_result_received").await;
    assert!(house.model.is_quiet().await, "the rest is over for good");
    house.is_sound("main").await;
}
