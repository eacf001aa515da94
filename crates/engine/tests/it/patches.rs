//! Patches: applied by the shell, proven after a crash where that can be done.

use crate::house::{House, briefs, prompt};
use holon_domain::model::ConversationItem;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_engine::Host;
use holon_testkit::ports::{added_file, calls, says};
use serde_json::json;

const PATCH: &str = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";

/// A host whose agent has begun to apply a patch.
async fn patching(house: &House) -> Host {
    let host = house.with_main().await;
    prompt(&host, "main", "add a file").await;
    let round = calls(&[("ApplyPatch", json!({ "patch": PATCH }))]);
    house.model.next().await.answer(round);
    host
}

/// What the model was told of its one call.
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
            ConversationItem::Assistant { .. } | ConversationItem::User { .. } => None,
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
    let acts = host.acts();
    let waiting = tokio::spawn(async move { acts.run_once(crate::runs::request("add it")).await });
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
