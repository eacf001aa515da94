//! Patches: applied by the shell, proven after a crash where possible, and finished when their turn was cancelled.

use crate::house::{House, agent, briefs, create, prompt};
use holon_domain::model::ConversationItem;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_engine::Host;
use holon_testkit::ports::{added_file, calls, says};
use serde_json::json;
use std::sync::atomic::Ordering::Relaxed;

const PATCH: &str = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";

/// A host whose agent has begun to apply a patch.
async fn patching(house: &House) -> Host {
    let host = house.with_main().await;
    prompt(&host, "main", "add a file").await;
    let round = calls(&[("ApplyPatch", json!({ "patch": PATCH }))]);
    house.model.next().await.answer(round);
    host
}

/// The one tool result that the model read, and true if it is an error.
async fn told(house: &House) -> (String, bool) {
    let asked = house.model.next().await;
    let results = asked
        .request
        .conversation
        .iter()
        .filter_map(|item| match item {
            ConversationItem::ToolResult {
                content, is_error, ..
            } => Some((content.clone(), *is_error)),
            ConversationItem::Assistant { .. }
            | ConversationItem::User { .. }
            | ConversationItem::Image(_) => None,
        });
    let told: Vec<(String, bool)> = results.collect();
    asked.answer(says("done"));
    let [one] = told.try_into().expect("one result");
    one
}

#[tokio::test]
async fn a_patch_is_applied_once_and_its_proof_is_kept_until_the_outcome_is_on_record() {
    let house = House::new();
    let host = patching(&house).await;
    let asked = house.files.patches.next().await;
    assert_eq!(asked.request, PATCH);
    assert_eq!(*house.files.forgotten.borrow(), 0);
    asked.answer(Ok(added_file("new.txt")));
    assert_eq!(told(&house).await, ("A new.txt".to_owned(), false));
    briefs(&host, "main", 1).await;
    let mut forgotten = house.files.forgotten.subscribe();
    forgotten
        .wait_for(|count| *count == 1)
        .await
        .expect("it is forgotten");
}

#[tokio::test]
async fn a_patch_that_is_not_well_formed_never_begins() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "add a file").await;
    let round = calls(&[("ApplyPatch", json!({ "patch": "*** Begin Patch" }))]);
    house.model.next().await.answer(round);
    let (told, failed) = told(&house).await;
    assert!(failed && told.contains("unsupported_dialect"), "{told}");
    assert!(house.files.patches.is_quiet().await);
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn after_a_crash_the_model_is_told_what_can_be_proven_of_a_patch() {
    let gone = ToolError::new(ToolErrorKind::NotStarted, "nothing was changed");
    for (proof, expected) in [
        (Some(Ok(added_file("new.txt"))), "A new.txt"),
        (Some(Err(gone)), "not_started"),
        (None, "outcome_unknown"),
    ] {
        let house = House::new();
        let _host = patching(&house).await;
        let _asked = house.files.patches.next().await;
        let again = house.after_crash();
        *again.files.proof.lock().await = proof;
        let host = again.start().await;
        let (told, _) = told(&again).await;
        assert!(told.contains(expected), "{told}");
        assert!(
            again.files.patches.is_quiet().await,
            "it is not applied again"
        );
        briefs(&host, "main", 1).await;
    }
}

#[tokio::test]
async fn a_run_names_the_files_its_patches_changed() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting =
        tokio::spawn(async move { control.run_once(crate::runs::request("add it")).await });
    let patch = || ("ApplyPatch", json!({ "patch": PATCH }));
    let round = calls(&[patch(), patch()]);
    house.model.next().await.answer(round);
    for _ in 0..2 {
        let asked = house.files.patches.next().await;
        asked.answer(Ok(added_file("new.txt")));
    }
    house.model.next().await.answer(says("added"));
    let response = waiting.await.expect("runs").expect("a response");
    assert_eq!(response.changed_files, ["new.txt"]);
    host.shut_down().await.expect("goes down");
}

/// Stops the agent and checks that only its patch is outstanding then.
async fn stop(house: &House, host: &Host) {
    let stopped = host.control().stop_agent(&agent("main")).await;
    stopped.expect("stopped");
    assert_eq!(house.open_effects("main").await, ["finish_patch"]);
    house.is_sound("main").await;
}

/// Waits until the hosts have asked this many times to finish a patch. Returns true if one of them was still applying
/// it.
async fn finished(house: &House, count: usize) -> bool {
    let mut finished = house.files.finished.subscribe();
    let requests = finished.wait_for(|requests| requests.len() >= count).await;
    let requests = requests.expect("the files keep a sender of their own");
    requests.iter().any(|request| request.was_at_work)
}

#[tokio::test]
async fn a_patch_whose_agent_is_stopped_is_finished_once_it_is_no_longer_at_work() {
    let house = House::new();
    let host = patching(&house).await;
    let asked = house.files.patches.next().await;
    stop(&house, &host).await;
    // Gives a host that does not wait the time to ask.
    create(&host, "other").await;
    assert_eq!(*house.files.finished.borrow(), []);
    asked.answer(Ok(added_file("new.txt")));
    let was_at_work = finished(&house, 1).await;
    assert!(!was_at_work);
    house.has_no_effects("main").await;
    assert_eq!(*house.files.forgotten.borrow(), 0, "its result came late");
    assert_eq!(briefs(&host, "main", 1).await.len(), 1);
}

#[tokio::test]
async fn a_patch_that_was_cut_off_after_its_agent_was_stopped_is_finished_at_the_next_boot() {
    let house = House::new();
    let host = patching(&house).await;
    let _asked = house.files.patches.next().await;
    stop(&house, &host).await;
    let again = house.after_crash();
    let _host = again.start().await;
    finished(&again, 1).await;
    again.has_no_effects("main").await;
    assert!(again.files.patches.is_quiet().await, "nor applied again");
}

#[tokio::test]
async fn a_patch_whose_turn_goes_on_after_a_crash_is_finished_too() {
    let house = House::new();
    let _host = patching(&house).await;
    let _asked = house.files.patches.next().await;
    let again = house.after_crash();
    *again.files.proof.lock().await = Some(Ok(added_file("new.txt")));
    let host = again.start().await;
    assert_eq!(told(&again).await, ("A new.txt".to_owned(), false));
    briefs(&host, "main", 1).await;
    finished(&again, 1).await;
    again.has_no_effects("main").await;
}

#[tokio::test]
async fn the_home_of_an_agent_that_goes_stays_until_its_patch_is_through() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let run = tokio::spawn(async move { control.run_once(crate::runs::request("add it")).await });
    let round = calls(&[("ApplyPatch", json!({ "patch": PATCH }))]);
    house.model.next().await.answer(round);
    let asked = house.files.patches.next().await;
    // The caller hangs up, and the temporary agent is removed.
    run.abort();
    house.is_left_with("finish_patch").await;
    assert_eq!(house.homes.removed.load(Relaxed), 0);
    asked.answer(Ok(added_file("new.txt")));
    assert!(!finished(&house, 1).await);
    host.shut_down().await.expect("goes down");
    assert_eq!(house.homes.removed.load(Relaxed), 1);
}

#[tokio::test]
async fn a_patch_that_cannot_be_finished_is_tried_again_and_left_alone_in_the_end() {
    for (failures, requests) in [(2, 3), (u32::MAX, 12)] {
        let house = House::new();
        house.files.finish_failures.store(failures, Relaxed);
        let host = patching(&house).await;
        let asked = house.files.patches.next().await;
        stop(&house, &host).await;
        asked.answer(Ok(added_file("new.txt")));
        for (tries, pause) in (1..requests).zip(pauses()) {
            finished(&house, tries).await;
            house.clock.slept_towards(pause).await;
            house.clock.advance(pause);
        }
        finished(&house, requests).await;
        house.has_no_effects("main").await;
        assert_eq!(house.files.finished.borrow().len(), requests);
    }
}

/// Pauses between tries, in milliseconds.
fn pauses() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(100), |pause| Some((pause * 2).min(10_000)))
}
