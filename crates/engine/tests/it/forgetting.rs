//! The records of a command are removed only after its outcome is committed, and commands without a row are swept.

use crate::house::{House, agent, briefs, prompt, until_event};
use crate::talk::{calling, with_task};
use holon_domain::brief::BriefKind;
use holon_domain::limits::TASK_STOP_GRACE_MS;
use holon_domain::task::TaskStatus;
use holon_domain::transcript::TranscriptKind;
use holon_engine::ports::OutputRetention;
use holon_testkit::ports::{calls, says};
use serde_json::json;

#[tokio::test]
async fn a_command_is_forgotten_after_its_result_is_on_record() {
    let house = House::new();
    let host = calling(&house, &[("ExecCommand", json!({ "cmd": "make" }))]).await;
    let command = house.commands.next().await;
    house.commands.hold_forgets(true);
    command.ends("built");
    house.commands.forgets(1).await;
    let said = host.reads().transcript(&agent("main"), 100).await;
    let results = said.expect("a transcript").into_iter();
    let results = results.filter(|entry| entry.kind == TranscriptKind::ToolResults);
    assert_eq!(results.count(), 1, "the result was there first");
    house.commands.hold_forgets(false);
    house.model.next().await.answer(says("built"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn a_task_is_forgotten_after_its_end_is_on_record_and_its_output_stays() {
    let house = House::new();
    let (_host, task) = with_task(&house, "make").await;
    house.commands.hold_forgets(true);
    task.ends("built");
    let forgets = house.commands.forgets(1).await;
    assert_eq!(forgets, [(task.name().to_owned(), OutputRetention::Kept)]);
    let [row] = house.tasks("main").await.try_into().expect("one task");
    assert_eq!(row.status, TaskStatus::Completed, "its end was there first");
}

#[tokio::test]
async fn a_result_that_comes_too_late_forgets_nothing() {
    let house = House::new();
    let host = calling(&house, &[("ExecCommand", json!({ "cmd": "make" }))]).await;
    let command = house.commands.next().await;
    command.ends_as_its_call_is_called_off();
    house.commands.hold_forgets(true);
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    until_event(&host, "main", "effect_outcome_dropped").await;
    house.task_is("main", TaskStatus::Completed).await;
    let forgets = house.commands.forgets(1).await;
    assert_eq!(
        forgets,
        [(command.name().to_owned(), OutputRetention::Dropped)],
        "by whoever took it over, and by nobody else"
    );
}

#[tokio::test]
async fn a_result_no_decision_could_be_made_on_forgets_nothing_and_its_turn_is_given_up() {
    let house = House::new();
    let host = calling(&house, &[("ExecCommand", json!({ "cmd": "make" }))]).await;
    let command = house.commands.next().await;
    house.commands.hold_forgets(true);
    house.entropy.spoil_the_next_decision();
    command.ends("built");
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].kind, BriefKind::Failure);
    let stops = house.commands.stops(1).await;
    assert_eq!(stops, [(command.name().to_owned(), TASK_STOP_GRACE_MS)]);
    let row = house.task_is("main", TaskStatus::Completed).await;
    assert_eq!(row.id, command.task_id(), "it was taken over as a task");
    let forgets = house.commands.forgets(1).await;
    assert_eq!(forgets.len(), 1, "after its end as a task");
    house.is_sound("main").await;
}

#[tokio::test]
async fn an_end_no_decision_could_be_made_on_is_brought_home_again() {
    let house = House::new();
    let (_host, task) = with_task(&house, "make").await;
    house.entropy.spoil_the_next_decision();
    task.ends("built");
    house.clock.slept_towards(1_000).await;
    house.clock.advance(1_000);
    let asked = house.model.next().await;
    assert!(crate::talk::current(&asked.request).contains("built"));
    house.task_is("main", TaskStatus::Completed).await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_boot_sweeps_each_home_against_its_tasks_and_the_call_in_hand() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    let house = house.after_crash();
    let _host = house.start().await;
    let told = house.commands.log();
    let [(home, known)] = told.sweeps.try_into().expect("one home");
    assert_eq!(home, "/agents/main");
    for name in [task.name(), command.name()] {
        assert!(known.iter().any(|known| known == name), "{known:?}");
        let item = format!("{name}-12");
        assert!(known.contains(&item), "{known:?}");
    }
    assert!(told.swept.is_empty());
    command.waited_for().await;
    task.watched().await;
}

#[tokio::test]
async fn a_command_whose_result_was_on_record_before_a_crash_is_swept() {
    let house = House::new();
    let _host = calling(&house, &[("ExecCommand", json!({ "cmd": "make" }))]).await;
    let command = house.commands.next().await;
    house.commands.hold_forgets(true);
    command.ends("built");
    house.commands.forgets(1).await;
    let house = house.after_crash();
    let _host = house.start().await;
    assert_eq!(house.commands.log().swept, [command.name()]);
    let asked = house.model.next().await;
    assert!(crate::talk::results(&asked.request)[0].contains("built"));
    assert!(house.commands.is_quiet());
}
