//! A provider that sends its key back, in every protocol: the caller sees none of it.

use crate::support::{Key, ScriptedRouter, request};
use crate::wire::{KEY, ask, asking, patient, router, spec};
use holon_domain::model::ReplyBlock;
use holon_llm::{HttpLimits, Router, Secrets};
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The two halves of `wire::KEY`.
const HALVES: (&str, &str) = ("sk-canary", "-8d1f0c");

#[tokio::test]
async fn a_key_in_an_answer_is_replaced_in_every_protocol() {
    let (first, second) = HALVES;
    let escaped = KEY.replace('-', "\\u002d");
    for protocol in Protocol::ALL {
        let provider = Provider::start(Script::always(
            Round::text(format!("it is {first}"))
                .say(format!("{second}, or {KEY}"))
                .reasoning(format!("the key is {KEY}"))
                .call("ExecCommand", json!({ "cmd": ["echo", KEY] }))
                .raw_call("ExecCommand", &format!("no JSON, and {escaped}")),
        ));
        let answer = ask(&router(spec(protocol, &provider.base_url()), patient())).await;
        let blocks = answer.unwrap().blocks;
        let said = format!("{blocks:?}");
        for part in [first, second, "002d"] {
            assert!(!said.contains(part), "{protocol:?}: {said}");
        }
        let inputs = blocks.iter().filter_map(|block| match block {
            ReplyBlock::Call(call) => Some(call.input.clone()),
            ReplyBlock::Text { .. } | ReplyBlock::Reasoning { .. } => None,
        });
        let left = [
            json!({ "cmd": ["echo", "[secret]"] }),
            json!("no JSON, and [secret]"),
        ];
        assert_eq!(inputs.collect::<Vec<_>>(), left, "{protocol:?}");
        provider.finish();
    }
}

#[tokio::test]
async fn a_key_in_an_error_is_replaced_also_escaped_and_cut_off() {
    let escaped: String = KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let limits = HttpLimits {
        error_bytes: 150,
        ..patient()
    };
    let far = "x".repeat(135);
    let near = "x".repeat(90);
    for (body, left) in [
        (
            format!("{{\"error\":{{\"message\":\"bad {escaped}\"}}}}"),
            "bad [secret]",
        ),
        (format!("bad {escaped}"), "bad [secret]"),
        (format!("bad {far}{KEY}"), "bad xxx"),
        (format!("bad {near}{escaped}"), "bad xxx"),
    ] {
        let fault = Fault::Status {
            code: 400,
            headers: Vec::new(),
            body,
        };
        let provider = Provider::start(Script::always(Round::fault(fault)));
        let router = router(spec(Protocol::Chat, &provider.base_url()), limits);
        let said = format!("{:?}", ask(&router).await.unwrap_err());
        assert!(said.contains(left), "{said}");
        assert!(!said.contains("sk-") && !said.contains("u00"), "{said}");
        provider.finish();
    }
}

#[tokio::test]
async fn a_key_of_one_provider_is_redacted_in_answers_of_another() {
    let first = Provider::start(Script::always(Round::text("hello")));
    let second = Provider::start(Script::always(Round::text(format!(
        "{KEY} host-token-0001"
    ))));
    let specs = [&first, &second].map(|provider| spec(Protocol::Chat, &provider.base_url()));
    let secrets = Secrets::default();
    secrets.keep("host-token-0001".into());
    let [asked_first, asked_second] = specs.map(|spec| {
        let key = if spec.base_url == second.base_url() {
            "another-key-0002"
        } else {
            KEY
        };
        let router = Router::new("".into(), vec![spec], Arc::new(Key::of(key)), patient());
        router.unwrap().with_secrets(secrets.clone())
    });
    asked_first
        .call(&asking(), &|_| {}, &CancellationToken::new())
        .await
        .unwrap();
    let answer = asked_second
        .call(&asking(), &|_| {}, &CancellationToken::new())
        .await;
    let said = format!("{:?}", answer.unwrap().blocks);
    assert!(said.contains("[secret] [secret]"), "{said}");
    first.finish();
    second.finish();
}

#[tokio::test]
async fn a_secret_of_the_host_is_redacted_in_scripted_answers() {
    let mut stage =
        ScriptedRouter::with(&json!({ "rounds": [{ "text": "it is host-token-0001" }] }));
    let secrets = Secrets::default();
    secrets.keep("host-token-0001".into());
    let router = Router::new(
        stage.path().to_owned(),
        Vec::new(),
        Arc::new(Key::none()),
        patient(),
    );
    stage.router = router.unwrap().with_secrets(secrets);
    assert_eq!(stage.text(&request(0, 1)).await, "it is [secret]");
    let shown = std::sync::Mutex::new(String::new());
    let text = |piece: &str| shown.lock().unwrap().push_str(piece);
    let cancel = CancellationToken::new();
    let answer = stage.router.call(&request(0, 1), &text, &cancel).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(shown.into_inner().unwrap(), "it is [secret]");
}
