//! An unreadable row stops its agent only. Checked for each table, while the host runs and at boot.

use crate::house::{
    House, agent, at_rest, briefs, create, events, prompt, status, try_prompt, until,
};
use holon_domain::agent::AgentStatus;
use holon_domain::message::{AdmissionContext, Priority};
use holon_domain::model::ModelFailureKind;
use holon_engine::request::RunRequest;
use holon_engine::{Error, Host};
use holon_testkit::ports::{calls, failure, says, says_and_calls};
use serde_json::json;

/// Two SQL statements that make a row unreadable, and readable again.
struct Damage {
    table: &'static str,
    breaks: &'static str,
    mends: &'static str,
}

const OF_BAD: &str = "(SELECT agent_no FROM agents WHERE agent_id = 'bad')";

/// The agent's own row: cut, or written by a build with one more variant.
const RECORDS: [Damage; 7] = [
    Damage {
        table: "agents",
        breaks: "UPDATE agents SET record = 'x' || record WHERE agent_id = 'bad'",
        mends: "UPDATE agents SET record = substr(record, 2) WHERE agent_id = 'bad'",
    },
    Damage {
        table: "agents",
        breaks: "UPDATE agents SET settings = 'x' || settings WHERE agent_id = 'bad'",
        mends: "UPDATE agents SET settings = substr(settings, 2) WHERE agent_id = 'bad'",
    },
    Damage {
        table: "agents",
        breaks: "UPDATE agents SET record = replace(record, '\"runnable\"', '\"dreaming\"') WHERE agent_id = 'bad'",
        mends: "UPDATE agents SET record = replace(record, '\"dreaming\"', '\"runnable\"') WHERE agent_id = 'bad'",
    },
    Damage {
        table: "agents",
        breaks: "UPDATE agents SET record = replace(record, '\"running_tool\"', '\"dreaming\"') WHERE agent_id = 'bad'",
        mends: "UPDATE agents SET record = replace(record, '\"dreaming\"', '\"running_tool\"') WHERE agent_id = 'bad'",
    },
    Damage {
        table: "agents",
        breaks: "UPDATE agents SET settings = replace(settings, '\"agent_id\":\"bad\"', '\"agent_id\":\"who\"') WHERE agent_id = 'bad'",
        mends: "UPDATE agents SET settings = replace(settings, '\"agent_id\":\"who\"', '\"agent_id\":\"bad\"') WHERE agent_id = 'bad'",
    },
    Damage {
        table: "row",
        breaks: "UPDATE agents SET newest_entry = NULL WHERE agent_id = 'bad'",
        mends: "UPDATE agents SET newest_entry = (SELECT max(seq) FROM log WHERE log.agent_no = agents.agent_no) \
                WHERE agent_id = 'bad'",
    },
    Damage {
        table: "row",
        breaks: "UPDATE agents SET pending = -1 WHERE agent_id = 'bad'",
        mends: "UPDATE agents SET pending = 0 WHERE agent_id = 'bad'",
    },
];

/// Two agents: the call of one runs beside one of its tasks, the other waits for its model.
async fn two_at_work(house: &House) -> Host {
    let host = house.start().await;
    create(&host, "bad").await;
    create(&host, "good").await;
    prompt(&host, "bad", "build").await;
    let round = calls(&[
        ("ExecCommand", json!({ "cmd": "watch", "yield_time_ms": 0 })),
        ("ExecCommand", json!({ "cmd": "make" })),
    ]);
    house.model.next().await.answer(round);
    until(&host, "bad", |status| {
        status.active_tasks.len() == 1 && status.scheduling_posture.reason.contains("call 2")
    })
    .await;
    prompt(&host, "good", "hello").await;
    host
}

/// Checks that the other agent is answered, and that a caller of the bad one gets the reason.
async fn only_bad_is_aside(host: &Host, house: &House, table: &str) {
    house.model.next().await.answer(says("still here"));
    assert_eq!(briefs(host, "good", 1).await[0].text, "still here");
    let refused = try_prompt(host, "bad", "and now?", Priority::Normal).await;
    let Err(Error::AgentAside { reason, .. }) = refused else {
        panic!("bad is aside: {refused:?}");
    };
    assert!(reason.starts_with(table), "{reason}");
    let list = host.reads().agents().await.expect("a list");
    let shown: Vec<_> = list
        .iter()
        .map(|entry| (entry.identity.agent_id.as_str(), entry.status))
        .collect();
    assert_eq!(
        shown,
        [("bad", AgentStatus::Stopped), ("good", AgentStatus::Asleep)]
    );
    let told = &list[0].scheduling_posture.reason;
    assert!(
        told.contains(table) && told.contains("holon agent start bad"),
        "{told}"
    );
}

/// Checks that a start that meets the same row again changes nothing.
async fn a_start_is_refused(host: &Host) {
    let started = host.control().start_agent(&agent("bad")).await;
    assert!(
        matches!(started, Err(Error::AgentAside { .. })),
        "{started:?}"
    );
}

#[tokio::test]
async fn a_record_that_cannot_be_read_at_boot_costs_one_agent_and_a_start_tries_again() {
    for Damage {
        table,
        breaks,
        mends,
    } in RECORDS
    {
        let before = House::new();
        let host = two_at_work(&before).await;
        let house = before.after_crash();
        drop(host);
        house.damage(breaks);
        let host = house.start().await;
        only_bad_is_aside(&host, &house, table).await;
        a_start_is_refused(&host).await;
        house.damage(mends);
        goes_on_after_a_start(&host, &house).await;
    }
}

/// Checks that a start after the repair resumes the open work: the command is found, and the turn ends.
async fn goes_on_after_a_start(host: &Host, house: &House) {
    host.control()
        .start_agent(&agent("bad"))
        .await
        .expect("back");
    let told = events(host, "bad").await;
    let aside = told
        .iter()
        .filter(|event| event.kind() == "agent_put_aside");
    assert_eq!(aside.count(), 1, "one event tells of it");
    for _ in 0..2 {
        house.commands.next().await.ends("done");
    }
    let mut asked = house.model.next().await;
    while asked.request.round == 2 {
        asked.answer(says("built"));
        if briefs(host, "bad", 1).await[0].text == "built" {
            break;
        }
        asked = house.model.next().await;
    }
    house.is_sound("bad").await;
}

#[tokio::test]
async fn a_row_of_each_table_that_cannot_be_read_costs_one_agent() {
    // The name of an entry is stored as a code.
    let round = holon_domain::packed::pack("\"assistant_round\"").expect("a word");
    let newest_round = format!(
        "seq = (SELECT max(seq) FROM log WHERE agent_no = X AND entry LIKE '%:{}%')",
        round.trim_start_matches('~'),
    );
    let rows = [
        ("log", "log", "entry", newest_round.as_str()),
        ("tasks", "tasks", "record", "ended IS NULL"),
    ];
    for (name, table, column, which) in rows {
        let before = House::new();
        let host = two_at_work(&before).await;
        let house = before.after_crash();
        drop(host);
        let which = which.replace('X', OF_BAD);
        let at = format!("WHERE agent_no = {OF_BAD} AND {which}");
        house.damage(&format!(
            "UPDATE {table} SET {column} = 'x' || {column} {at}"
        ));
        let host = house.start().await;
        only_bad_is_aside(&host, &house, name).await;
        a_start_is_refused(&host).await;
        let summary = status(&host, "bad").await;
        assert_eq!(summary.agent.status, AgentStatus::Stopped);
        house.damage(&format!(
            "UPDATE {table} SET {column} = substr({column}, 2) {at}"
        ));
        goes_on_after_a_start(&host, &house).await;
    }
}

#[tokio::test]
async fn a_message_that_cannot_be_read_while_the_host_runs_costs_one_agent() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "bad").await;
    create(&host, "good").await;
    prompt(&host, "bad", "first").await;
    let asked = house.model.next().await;
    prompt(&host, "bad", "second").await;
    let at = format!("WHERE agent_no = {OF_BAD} AND seq = 2");
    house.damage(&format!(
        "UPDATE messages SET envelope = 'x' || envelope {at}"
    ));
    asked.answer(says("the first answer"));
    until(&host, "bad", |status| {
        status.agent.status == AgentStatus::Stopped
    })
    .await;
    prompt(&host, "good", "hello").await;
    only_bad_is_aside(&host, &house, "messages").await;
    assert_eq!(
        host.reads()
            .briefs(&agent("bad"), 9)
            .await
            .expect("briefs")
            .len(),
        0,
        "the outcome was not written: its decision needs the next message"
    );
    house.damage(&format!(
        "UPDATE messages SET envelope = substr(envelope, 2) {at}"
    ));
    host.control()
        .start_agent(&agent("bad"))
        .await
        .expect("back");
    house.model.next().await.answer(says("the first answer"));
    house.model.next().await.answer(says("the second answer"));
    let told = briefs(&host, "bad", 2).await;
    assert_eq!(told[1].text, "the second answer");
}

#[tokio::test]
async fn a_due_entry_and_an_attempt_that_cannot_be_read_cost_one_agent() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "bad").await;
    create(&host, "good").await;
    prompt(&host, "bad", "hello").await;
    house
        .model
        .next()
        .await
        .answer(Err(failure(ModelFailureKind::ServerError)));
    until(&host, "bad", |status| {
        status.scheduling_posture.wakes_at.is_some()
    })
    .await;
    house.damage(&format!(
        "UPDATE due SET due = 'x' || due WHERE agent_no = {OF_BAD}"
    ));
    house.clock.advance(120_000);
    until(&host, "bad", |status| {
        status.agent.status == AgentStatus::Stopped
    })
    .await;
    house.damage(&format!(
        "UPDATE due SET due = substr(due, 2) WHERE agent_no = {OF_BAD}"
    ));
    house.damage(&format!(
        "UPDATE attempts SET record = 'x' || record WHERE agent_no = {OF_BAD}"
    ));
    host.control()
        .start_agent(&agent("bad"))
        .await
        .expect("back");
    house.clock.advance(120_000);
    house.model.next().await.answer(says("hi"));
    until(&host, "bad", |status| {
        status.agent.status == AgentStatus::Stopped
    })
    .await;
    prompt(&host, "good", "hello").await;
    only_bad_is_aside(&host, &house, "attempts").await;
    house.damage(&format!(
        "UPDATE attempts SET record = substr(record, 2) WHERE agent_no = {OF_BAD}"
    ));
    host.control()
        .start_agent(&agent("bad"))
        .await
        .expect("back");
    house.model.next().await.answer(says("hi"));
    assert_eq!(briefs(&host, "bad", 1).await[0].text, "hi");
    at_rest(&host, "bad").await;
    house.is_sound("bad").await;
}

#[tokio::test]
async fn a_host_starts_although_its_default_agent_cannot_be_read() {
    let before = House::new();
    let host = before.with_main().await;
    let house = before.after_crash();
    drop(host);
    house.damage("UPDATE agents SET record = 'x' WHERE agent_id = 'main'");
    let host = house.start().await;
    let ensured = host.ensure_default_agent(agent("main")).await;
    assert_eq!(ensured, Ok(()));
    create(&host, "other").await;
    prompt(&host, "other", "hello").await;
    house.model.next().await.answer(says("hi"));
    assert_eq!(briefs(&host, "other", 1).await[0].text, "hi");
}

#[tokio::test]
async fn an_agent_whose_rows_contradict_each_other_is_put_aside_and_holds_up_no_boot() {
    let lost =
        format!("DELETE FROM effects WHERE agent_no = {OF_BAD} AND effect LIKE '%watch_task%'");
    let beyond = "UPDATE agents SET record = replace(record, '\"generation\":1', '\"generation\":9223372036854775807') \
                  WHERE agent_id = 'bad'";
    let damages = [(lost.as_str(), "it is not open"), (beyond, "out of range")];
    for (damage, reason) in damages {
        Box::pin(boots_without_bad(damage, reason)).await;
    }
}

async fn boots_without_bad(damage: &str, reason: &str) {
    let before = House::new();
    let host = two_at_work(&before).await;
    let house = before.after_crash();
    drop(host);
    house.damage(damage);
    let starting = house.start();
    tokio::pin!(starting);
    // The pause after the fault passes by the test's clock.
    let host = loop {
        tokio::select! {
            host = &mut starting => break host,
            () = house.clock.slept_towards(1_000) => house.clock.advance(1_000),
        }
    };
    house.model.next().await.answer(says("still here"));
    assert_eq!(briefs(&host, "good", 1).await[0].text, "still here");
    until(&host, "bad", |status| {
        status.agent.status == AgentStatus::Stopped
    })
    .await;
    let list = host.reads().agents().await.expect("a list");
    let told = &list[0].scheduling_posture.reason;
    assert!(told.contains(reason), "{told}");
}

#[tokio::test]
async fn numbers_and_names_that_are_none_hold_up_nobody_else() {
    let before = House::new();
    let host = before.start().await;
    for name in ["bad", "good", "worse"] {
        create(&host, name).await;
        prompt(&host, name, "rest").await;
        let rest = says_and_calls(
            "later",
            &[("Sleep", json!({ "reason": "later", "duration_ms": 1_000 }))],
        );
        before.model.next().await.answer(rest);
        at_rest_with_a_wake(&host, name).await;
    }
    let house = before.after_crash();
    drop(host);
    house.damage(&format!("UPDATE due SET id = -1 WHERE agent_no = {OF_BAD}"));
    house.damage("UPDATE agents SET agent_id = 'no name' WHERE agent_id = 'worse'");
    let host = house.start().await;
    house.clock.advance(5_000);
    house.model.next().await.answer(says("awake"));
    assert_eq!(briefs(&host, "good", 2).await[1].text, "awake");
    let list = host.reads().agents().await.expect("a list");
    let names: Vec<&str> = list
        .iter()
        .map(|entry| entry.identity.agent_id.as_str())
        .collect();
    assert_eq!(names, ["bad", "good"]);
}

async fn at_rest_with_a_wake(host: &Host, name: &str) {
    until(host, name, |status| status.agent.sleeping_until.is_some()).await;
}

#[tokio::test]
async fn a_run_whose_agent_is_put_aside_ends_with_the_reason() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "bad").await;
    let request = RunRequest {
        images: Vec::new(),
        text: "hello".to_owned(),
        agent_id: Some(agent("bad")),
        create_agent: false,
        home: Default::default(),
        model: None,
        max_rounds: None,
        wait_for_tasks: true,
        workspace: Default::default(),
        admission_context: AdmissionContext::LocalProcess,
        at_most: None,
    };
    let control = host.control();
    let running = tokio::spawn(async move { control.run_once(request).await });
    let asked = house.model.next().await;
    let round = format!("UPDATE messages SET envelope = 'x' WHERE agent_no = {OF_BAD}");
    house.damage(&round);
    asked.answer(calls(&[("AgentGet", json!({}))]));
    let outcome = running.await.expect("no panic");
    assert!(
        matches!(outcome, Err(Error::AgentAside { .. })),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_removal_that_was_put_aside_goes_on_after_a_start() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "bad").await;
    create(&host, "good").await;
    house.homes.hold(true);
    host.control()
        .stop_agent(&agent("bad"))
        .await
        .expect("stops");
    house.damage("UPDATE agents SET record = 'x' || record WHERE agent_id = 'bad'");
    let refused = try_prompt(&host, "bad", "hi", Priority::Normal).await;
    assert!(
        matches!(refused, Err(Error::AgentAside { .. })),
        "{refused:?}"
    );
    let mends = "UPDATE agents SET record = replace(substr(record, 2), '\"stopped\"', '\"deleting\"') \
                 WHERE agent_id = 'bad'";
    house.damage(mends);
    host.control()
        .start_agent(&agent("bad"))
        .await
        .expect("back");
    house.homes.hold(false);
    loop {
        let list = host.reads().agents().await.expect("a list");
        if list.len() == 1 {
            break;
        }
    }
}

#[tokio::test]
async fn an_open_turn_whose_message_is_gone_is_put_aside() {
    let before = House::new();
    let host = before.start().await;
    create(&host, "bad").await;
    create(&host, "good").await;
    prompt(&host, "bad", "hello").await;
    // Held, because a dropped call fails its round.
    let _asked = before.model.next().await;
    prompt(&host, "good", "hello").await;
    let house = before.after_crash();
    drop(host);
    house.damage(&format!("DELETE FROM messages WHERE agent_no = {OF_BAD}"));
    let host = house.start().await;
    until(&host, "bad", |status| {
        status.agent.status == AgentStatus::Stopped
    })
    .await;
    only_bad_is_aside(&host, &house, "messages").await;
}
