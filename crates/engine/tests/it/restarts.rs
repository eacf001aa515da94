//! Orderly and unclean ends of a host, and the boots after them.

use crate::house::{House, at_rest, briefs, create, prompt, until_event};
use crate::talk::results;
use holon_domain::brief::BriefKind;
use holon_engine::Error;
use holon_testkit::ports::{added_file, calls, says, says_and_calls};
use serde_json::json;

#[tokio::test]
async fn a_drain_lets_the_model_go_and_the_next_start_asks_again() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    let asked = house.model.next().await;
    host.shut_down().await.expect("down");
    asked.let_go().await;
    let host = house.start().await;
    let again = house.model.next().await;
    assert_eq!(again.request.round, 1);
    again.answer(says("there you are"));
    assert_eq!(briefs(&host, "main", 1).await[0].text, "there you are");
}

#[tokio::test]
async fn a_drain_leaves_a_command_running_and_the_next_host_keeps_its_result() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    host.shut_down().await.expect("down");
    assert!(!command.is_over(), "it outlives the host");
    command.ends("built");
    let host = house.start().await;
    let again = house.model.next().await;
    let results = results(&again.request);
    assert!(results[0].contains("exit 0") && results[0].contains("built"));
    assert!(house.commands.is_quiet(), "it is not run again");
    again.answer(says("done"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn a_patch_whose_turn_comes_while_the_host_goes_down_is_on_record_as_not_started() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "add two files").await;
    let patch = |name: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+hello\n");
    let round = calls(&[
        ("ApplyPatch", json!({ "patch": patch("one") })),
        ("ApplyPatch", json!({ "patch": patch("two") })),
    ]);
    house.model.next().await.answer(round);
    let patching = house.files.patches.next().await;
    let (down, ()) = tokio::join!(host.shut_down(), async {
        patching.answer(Ok(added_file("one")));
    });
    down.expect("down");
    let _host = house.start().await;
    let again = house.model.next().await;
    let results = results(&again.request);
    assert!(results[0].contains("A one"), "{results:?}");
    assert!(
        results[1].contains("not_started"),
        "it is known that it never began: {results:?}"
    );
    assert!(
        house.files.patches.is_quiet().await,
        "and it is not begun behind the model's back"
    );
}

#[tokio::test]
async fn a_command_whose_turn_comes_while_the_host_goes_down_is_begun_by_the_next_one() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "add a file and build").await;
    let patch = "--- /dev/null\n+++ b/one\n@@ -0,0 +1 @@\n+hello\n";
    let round = calls(&[
        ("ApplyPatch", json!({ "patch": patch })),
        ("ExecCommand", json!({ "cmd": "make" })),
    ]);
    house.model.next().await.answer(round);
    let patching = house.files.patches.next().await;
    let (down, ()) = tokio::join!(host.shut_down(), async {
        patching.answer(Ok(added_file("one")));
    });
    down.expect("down");
    assert!(
        house.commands.is_quiet(),
        "a host that goes down begins nothing"
    );
    let _host = house.start().await;
    house.commands.next().await.ends("built");
    let again = house.model.next().await;
    let results = results(&again.request);
    assert!(results[0].contains("A one"), "{results:?}");
    assert!(results[1].contains("built"), "{results:?}");
}

#[tokio::test]
async fn a_host_that_went_down_admits_nothing() {
    let house = House::new();
    let host = house.with_main().await;
    host.shut_down().await.expect("down");
    let refused = crate::house::try_prompt(
        &host,
        "main",
        "hello",
        holon_domain::message::Priority::Next,
    );
    assert_eq!(refused.await, Err(Error::ShuttingDown));
}

#[tokio::test]
async fn after_a_crash_every_agent_goes_on_and_a_command_is_found_and_not_run_again() {
    let house = House::new();
    let host = house.with_main().await;
    for name in ["a", "b"] {
        create(&host, name).await;
    }
    prompt(&host, "main", "build").await;
    let round = calls(&[
        ("ExecCommand", json!({ "cmd": "make" })),
        ("ExecCommand", json!({ "cmd": "make test" })),
    ]);
    house.model.next().await.answer(round);
    let running = house.commands.next().await;
    prompt(&host, "a", "think").await;
    let _asked = house.model.next().await;
    let after = house.after_crash();
    let host = after.start().await;
    let thinking = after.model.next().await;
    assert!(
        thinking.request.conversation.is_empty(),
        "asked the same again"
    );
    running.waited_for().await;
    running.ends("built");
    let next = after.commands.next().await;
    assert_eq!(next.cmd(), "make test", "what had begun is not begun again");
    next.ends("tested");
    let building = after.model.next().await;
    let results = results(&building.request);
    assert!(results[0].contains("built") && results[1].contains("tested"));
    assert!(after.commands.is_quiet());
    thinking.answer(says("thought"));
    building.answer(says("all done"));
    for name in ["main", "a"] {
        assert_eq!(briefs(&host, name, 1).await.len(), 1);
        at_rest(&host, name).await;
    }
    assert_eq!(at_rest(&host, "b").await.agent.total_message_count, 0);
}

#[tokio::test]
async fn a_message_that_kills_the_host_three_times_is_set_aside_and_the_queue_goes_on() {
    let mut house = House::new();
    let host = house.with_main().await;
    let poison = prompt(&host, "main", "poison").await;
    prompt(&host, "main", "and then").await;
    let _asked = house.model.next().await;
    let mut hosts = vec![host];
    for _ in 0..3 {
        house = house.after_crash();
        hosts.push(house.start().await);
        let _asked = house.model.next().await;
    }
    let host = hosts.last().expect("a host");
    let told = briefs(host, "main", 1).await;
    assert_eq!(told[0].kind, BriefKind::Failure);
    assert_eq!(told[0].settles, [poison.message_id]);
    until_event(host, "main", "turn_resumed").await;
}

#[tokio::test]
async fn a_rest_survives_the_process_it_was_asked_for_in() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "rest").await;
    let rest = says_and_calls("later", &[("Sleep", json!({ "duration_ms": 60_000 }))]);
    house.model.next().await.answer(rest);
    at_rest(&host, "main").await;
    host.shut_down().await.expect("down");
    house.clock.advance(600_000);
    let host = house.start().await;
    house.model.next().await.answer(says("late, but awake"));
    assert_eq!(briefs(&host, "main", 2).await[1].text, "late, but awake");
}
