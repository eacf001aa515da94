//! Acts on agents that are put aside: prompts, starts and removals.

use crate::house::{House, agent, at_rest, briefs, create, prompt, status, try_prompt, until};
use crate::runs::request;
use holon_domain::agent::AgentStatus;
use holon_domain::budget::BudgetScope;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::message::Priority;
use holon_engine::{Error, Host};
use holon_testkit::ports::{added_file, calls, says};
use serde_json::json;
use std::sync::atomic::Ordering::Relaxed;

/// Two agents that have each answered a prompt and rest.
async fn two_at_rest(house: &House) -> Host {
    let host = house.start().await;
    for name in ["bad", "good"] {
        create(&host, name).await;
        prompt(&host, name, "hello").await;
        house.model.next().await.answer(says("hi"));
        at_rest(&host, name).await;
    }
    host
}

/// The numbers of an agent's events, oldest first.
async fn event_numbers(host: &Host, name: &str) -> Vec<u64> {
    let query = EventQuery {
        before_seq: None,
        after_seq: None,
        limit: 512,
        order: EventOrder::Ascending,
    };
    let page = host.reads().events(&agent(name), query).await;
    let events = page.expect("events").events;
    events.iter().map(|event| event.event_seq).collect()
}

#[tokio::test]
async fn a_prompt_that_meets_contradicting_rows_puts_its_agent_aside_with_the_reason() {
    let damages = [
        (
            "UPDATE agents SET newest_message = 0 WHERE agent_id = 'bad'",
            "UPDATE agents SET newest_message = 1 WHERE agent_id = 'bad'",
            "UNIQUE",
        ),
        // Setting the mark repairs the counter, because it is computed from the rows.
        (
            "UPDATE agents SET newest_event = newest_event - 1 WHERE agent_id = 'bad'",
            "UPDATE agents SET pending = 0 WHERE agent_id = 'bad'",
            "recorded already",
        ),
    ];
    for (breaks, mends, told) in damages {
        let house = House::new();
        let host = two_at_rest(&house).await;
        house.damage(breaks);
        let refused = try_prompt(&host, "bad", "and now?", Priority::Normal).await;
        let Err(Error::AgentAside { reason, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(reason.contains(told), "{reason}");
        let shown = status(&host, "bad").await;
        assert_eq!(shown.agent.status, AgentStatus::Stopped);
        assert!(shown.scheduling_posture.reason.contains(told), "{shown:?}");
        prompt(&host, "good", "and you?").await;
        house.model.next().await.answer(says("still here"));
        assert_eq!(briefs(&host, "good", 2).await[1].text, "still here");

        house.damage(mends);
        host.control()
            .start_agent(&agent("bad"))
            .await
            .expect("back");
        prompt(&host, "bad", "and now?").await;
        house.model.next().await.answer(says("back"));
        assert_eq!(briefs(&host, "bad", 2).await[1].text, "back");
        let numbers = event_numbers(&host, "bad").await;
        let dense: Vec<u64> = (1..=numbers.len() as u64).collect();
        assert_eq!(numbers, dense, "no number is given twice");
    }
}

#[tokio::test]
async fn a_start_of_an_agent_that_was_put_aside_proves_its_patch_as_a_boot_does() {
    let before = House::new();
    let host = before.with_main().await;
    prompt(&host, "main", "add a file").await;
    let patch = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";
    let round = calls(&[("ApplyPatch", json!({ "patch": patch }))]);
    before.model.next().await.answer(round);
    let _at_work = before.files.patches.next().await;
    let house = before.after_crash();
    house.damage("UPDATE agents SET record = 'x' || record WHERE agent_id = 'main'");
    let host = house.start().await;
    let refused = try_prompt(&host, "main", "hello?", Priority::Normal).await;
    assert!(
        matches!(refused, Err(Error::AgentAside { .. })),
        "{refused:?}"
    );
    house.damage("UPDATE agents SET record = substr(record, 2) WHERE agent_id = 'main'");
    *house.files.proof.lock().await = Some(Ok(added_file("new.txt")));
    host.control()
        .start_agent(&agent("main"))
        .await
        .expect("back");
    let asked = house.model.next().await;
    let conversation = format!("{:?}", asked.request.conversation);
    assert!(conversation.contains("A new.txt"), "{conversation}");
    asked.answer(says("done"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn a_temporary_agent_that_was_put_aside_is_removed_at_the_next_boot() {
    let before = House::new();
    let host = before.start().await;
    let control = host.control();
    let running = tokio::spawn(async move { control.run_once(request("hello")).await });
    let _asked = before.model.next().await;
    let [temporary] = before.to_recover().await.try_into().expect("one agent");
    let house = before.after_crash();
    running.abort();
    drop(host);
    house.damage(&format!(
        "UPDATE agents SET aside = 'log 1: cut off', record = 'x' || record WHERE agent_id = '{temporary}'"
    ));
    let _host = house.start().await;
    house.is_gone(&temporary).await;
    assert_eq!(house.homes.removed.load(Relaxed), 1);
}

#[tokio::test]
async fn a_temporary_agent_that_is_put_aside_during_its_run_goes_with_the_run() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let running = tokio::spawn(async move { control.run_once(request("hello")).await });
    let asked = house.model.next().await;
    let [temporary] = house.to_recover().await.try_into().expect("one agent");
    house.damage("UPDATE messages SET envelope = 'x'");
    asked.answer(calls(&[("AgentGet", json!({}))]));
    let outcome = running.await.expect("no panic");
    assert!(
        matches!(outcome, Err(Error::AgentAside { .. })),
        "{outcome:?}"
    );
    house.is_gone(&temporary).await;
    assert_eq!(house.homes.removed.load(Relaxed), 1);
}

#[tokio::test]
async fn a_removal_passes_the_mark_of_an_agent_that_was_put_aside() {
    let house = House::new();
    let host = two_at_rest(&house).await;
    house.damage("UPDATE agents SET record = 'x' WHERE agent_id = 'bad'");
    let removed = host.control().remove_agent(&agent("bad")).await;
    assert_eq!(removed, Ok(()));
    house.is_gone(&agent("bad")).await;
    until(&host, "good", |shown| {
        shown.agent.status == AgentStatus::Asleep
    })
    .await;
}

#[tokio::test]
async fn a_budget_may_name_an_agent_whose_record_cannot_be_read() {
    let house = House::new();
    let host = two_at_rest(&house).await;
    house.damage("UPDATE agents SET record = 'x' || record WHERE agent_id = 'bad'");
    for (name, is_known) in [("bad", true), ("nobody", false)] {
        for scope in [
            BudgetScope::Agent(agent(name)),
            BudgetScope::Tree(agent(name)),
        ] {
            let found = host.control().is_known(&scope).await;
            assert_eq!(found, Ok(is_known), "{scope:?}");
        }
    }
}
