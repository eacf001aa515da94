//! Scripted failures, and scripts that cannot be played.

use crate::support::{ScriptedRouter, request, result};
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, SCRIPT_BYTES};
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef};
use serde_json::{Value, json};

async fn failure(script: &Value) -> ModelFailure {
    ScriptedRouter::with(script)
        .call(&request(0, 1))
        .await
        .unwrap_err()
}

#[tokio::test]
async fn a_failing_round_fails_as_often_as_it_says_and_then_answers() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "text": "ok",
        "error": { "kind": "rate_limited", "message": "slow down", "retry_after_ms": 100, "times": 2 } }] }));
    for _ in 0..2 {
        let failed = stage.call(&request(0, 1)).await.unwrap_err();
        assert_eq!(failed.kind, ModelFailureKind::RateLimited);
        assert_eq!(
            (failed.message.as_str(), failed.retry_after_ms),
            ("slow down", Some(100))
        );
        assert_eq!(failed.diagnostics.unwrap().stage, "script");
    }
    assert_eq!(stage.text(&request(0, 1)).await, "ok");
}

#[tokio::test]
async fn failures_are_counted_for_each_agent_and_round_apart() {
    let stage = ScriptedRouter::with(
        &json!({ "on_end": "loop", "rounds": [{ "text": "ok", "error": { "kind": "timeout" } }] }),
    );
    let mut other = request(0, 1);
    other.frame.cache.agent_id = "other".to_owned();
    assert!(stage.call(&request(0, 1)).await.is_err());
    assert!(stage.call(&other).await.is_err());
    assert!(stage.call(&request(1, 1)).await.is_err());
    assert_eq!(stage.text(&request(0, 1)).await, "ok");
    assert_eq!(stage.text(&other).await, "ok");
}

#[tokio::test]
async fn a_restart_forgets_how_often_a_round_failed() {
    let mut stage = ScriptedRouter::with(
        &json!({ "rounds": [{ "text": "ok", "error": { "kind": "server_error" } }] }),
    );
    assert!(stage.call(&request(0, 1)).await.is_err());
    stage.restart();
    assert!(stage.call(&request(0, 1)).await.is_err());
    assert_eq!(stage.text(&request(0, 1)).await, "ok");
}

#[tokio::test]
async fn a_round_that_is_only_an_error_fails_every_time() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "error": { "kind": "auth" } }] }));
    for _ in 0..5 {
        let failed = stage.call(&request(0, 1)).await.unwrap_err();
        assert_eq!(failed.kind, ModelFailureKind::Auth);
        assert!(failed.message.contains("auth"), "{}", failed.message);
    }
}

#[tokio::test]
async fn a_script_that_ran_out_says_how_many_rounds_it_has() {
    let stage = ScriptedRouter::with(
        &json!({ "rounds": [{ "text": "a" }, { "text": "b" }, { "text": "c" }] }),
    );
    let failed = stage.call(&request(2, 2)).await.unwrap_err();
    assert_eq!(failed.kind, ModelFailureKind::ModelUnavailable);
    assert!(
        failed
            .message
            .ends_with("s.json has 3 rounds and round 4 was asked for; add a round or set on_end"),
        "{}",
        failed.message
    );
}

#[tokio::test]
async fn a_tool_that_is_not_on_offer_is_named_with_those_that_are() {
    let failed = failure(&json!({ "rounds": [{ "calls": [{ "tool": "NoSuchTool" }] }] })).await;
    assert_eq!(failed.kind, ModelFailureKind::InvalidResponse);
    assert!(
        failed
            .message
            .contains("round 1 calls NoSuchTool; tools on offer: ExecCommand, Sleep"),
        "{}",
        failed.message
    );
}

#[tokio::test]
async fn a_failed_expectation_shows_both_sides_within_the_bound() {
    let expected = "é".repeat(1_000);
    let stage = ScriptedRouter::with(
        &json!({ "rounds": [{ "text": "a", "expect": { "tool_result_contains": expected } }] }),
    );
    let mut asked = request(0, 1);
    asked.conversation = vec![result("what came")];
    let failed = stage.call(&asked).await.unwrap_err();
    assert_eq!(failed.kind, ModelFailureKind::InvalidResponse);
    assert!(
        failed.message.contains("ééé") && failed.message.contains("what came"),
        "{}",
        failed.message
    );
    assert!(failed.message.len() <= FAILURE_SUMMARY_BYTES);
}

#[tokio::test]
async fn placeholders_cannot_blow_an_answer_up() {
    let stage =
        ScriptedRouter::with(&json!({ "rounds": [{ "text": "{{tool_result}}".repeat(100) }] }));
    let mut asked = request(0, 1);
    asked.conversation = vec![result(&"x".repeat(1 << 20))];
    let failed = stage.call(&asked).await.unwrap_err();
    assert_eq!(failed.kind, ModelFailureKind::InvalidResponse);
    assert!(failed.message.contains("use fewer"), "{}", failed.message);
}

#[tokio::test]
async fn unplayable_scripts_fail_the_check_and_the_call_with_the_same_words() {
    let stage = ScriptedRouter::empty();
    stage.write("empty.json", b"");
    stage.write("torn.json", b"{\"rounds\": [\n");
    stage.write("none.json", br#"{"rounds":[]}"#);
    stage.write("hole.json", br#"{"rounds":[{"text":"{{what}}"}]}"#);
    stage.write("latin.json", b"{\"rounds\":[{\"text\":\"\xe9\"}]}");
    stage.write(
        "huge.json",
        &vec![b' '; usize::try_from(SCRIPT_BYTES).unwrap() + 1],
    );
    std::fs::create_dir(stage.path().join("dir.json")).unwrap();
    for (script, words) in [
        ("absent.json", "does not exist; create it"),
        ("torn.json/below", "does not exist"),
        ("empty.json", "empty.json:1:0: EOF"),
        ("torn.json", "torn.json:2:0: EOF"),
        ("none.json", "no rounds"),
        ("hole.json", "unknown placeholder {{what}}"),
        ("latin.json", "not UTF-8 text (first bad byte at offset 20)"),
        ("huge.json", "larger than 4194304 bytes"),
        ("dir.json", "not a regular file"),
    ] {
        let mut asked = request(0, 1);
        asked.model = ModelRef::parse(&format!("scripted/{script}")).unwrap();
        let checked = stage.router.check(&asked.model).await.unwrap_err();
        assert_eq!(checked.kind, ModelFailureKind::ModelUnavailable);
        assert!(checked.message.contains(words), "{}", checked.message);
        assert_eq!(stage.call(&asked).await.unwrap_err(), checked);
    }
}

#[tokio::test]
async fn an_unknown_provider_names_the_next_step() {
    let stage = ScriptedRouter::empty();
    let mut asked = request(0, 1);
    asked.model = ModelRef::parse("openai/gpt").unwrap();
    let failed = stage.call(&asked).await.unwrap_err();
    assert_eq!(failed.kind, ModelFailureKind::UnsupportedTransport);
    let next = "holon config providers list --all";
    assert!(failed.message.contains(next), "{}", failed.message);
    assert!(stage.router.check(&asked.model).await.is_err());
    assert_eq!(stage.router.providers(), ["scripted"]);
}

#[tokio::test]
async fn a_playable_script_passes_the_check() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "text": "a" }] }));
    assert_eq!(
        stage
            .router
            .check(&ModelRef::parse("scripted/s.json").unwrap())
            .await,
        Ok(())
    );
}
