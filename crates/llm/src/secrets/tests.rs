//! Answers and failures after the removal of secrets.

use super::*;
use holon_domain::attempt::{TokenUsage, TransportDiagnostics};
use holon_domain::model::{ModelFailureKind, StopReason};
use serde_json::json;

const KEY: &str = "sk-canary-8d1f0c";

fn knowing(secrets: &[&str]) -> Secrets {
    let known = Secrets::default();
    for secret in secrets {
        known.learn(&SecretString::from(*secret));
    }
    known
}

fn text(words: &str) -> ReplyBlock {
    ReplyBlock::Text {
        text: words.to_owned(),
    }
}

fn reasoning(words: &str, seal: &str) -> ReplyBlock {
    ReplyBlock::Reasoning {
        text: words.to_owned(),
        opaque: (!seal.is_empty()).then(|| seal.to_owned()),
    }
}

fn call(id: Option<&str>, name: &str, input: Value) -> ReplyBlock {
    ReplyBlock::Call(RequestedCall {
        provider_id: id.map(str::to_owned),
        name: name.to_owned(),
        input,
    })
}

fn cleaned(known: &Secrets, blocks: Vec<ReplyBlock>) -> Vec<ReplyBlock> {
    let reply = ModelReply {
        blocks,
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage::default(),
        context_management: None,
    };
    known.clean(Ok(reply)).expect("an answer").blocks
}

#[test]
fn words_that_share_a_secret_are_cleaned_as_one_text() {
    let known = knowing(&[KEY]);
    let parts = vec![
        text("it is sk-can"),
        reasoning("between", ""),
        text("ary-8d"),
        text("1f0c, see"),
    ];
    assert_eq!(
        cleaned(&known, parts),
        [
            text("it is [secret]"),
            reasoning("between", ""),
            text(", see")
        ]
    );
    let whole = vec![text(&format!("{KEY} and {KEY}")), text("fine")];
    assert_eq!(
        cleaned(&known, whole),
        [text("[secret] and [secret]"), text("fine")]
    );
}

#[test]
fn a_secret_that_two_paragraphs_of_reasoning_share_is_found() {
    // A codec joins the summary parts of one reasoning item with a blank line.
    let known = knowing(&[KEY]);
    let blocks = vec![
        reasoning("see sk-can\n\nary-8d1f0c\n\nend", "a"),
        reasoning("last sk-canary\n\n-8d", "b"),
        reasoning("1f0c\n\nover", "c"),
        reasoning("two\n\nparagraphs", "d"),
    ];
    assert_eq!(
        cleaned(&known, blocks),
        [
            reasoning("see [secret]\n\nend", ""),
            reasoning("last [secret]", ""),
            reasoning("over", ""),
            reasoning("two\n\nparagraphs", "d"),
        ]
    );
}

#[test]
fn reasoning_that_was_changed_loses_its_seal_and_other_reasoning_keeps_it() {
    let known = knowing(&[KEY]);
    let blocks = vec![
        reasoning("sk-canary", "a"),
        reasoning("-8d1f0c", "b"),
        reasoning("fine", "c"),
        reasoning("fine", &format!("sealed {KEY}")),
    ];
    assert_eq!(
        cleaned(&known, blocks),
        [
            reasoning("[secret]", ""),
            reasoning("", ""),
            reasoning("fine", "c"),
            reasoning("fine", ""),
        ]
    );
}

#[test]
fn calls_are_cleaned_in_names_ids_arguments_and_names_of_arguments() {
    let known = knowing(&[KEY]);
    let input = json!({ "cmd": ["echo", { KEY: format!("key={KEY}") }], "n": 7 });
    let blocks = vec![
        call(Some("c1"), "ExecCommand", input),
        call(Some(KEY), KEY, json!(r#"{"cmd":"sk-canary\u002d8d1f0c"#)),
    ];
    let left = json!({ "cmd": ["echo", { "[secret]": "key=[secret]" }], "n": 7 });
    assert_eq!(
        cleaned(&known, blocks),
        [
            call(Some("c1"), "ExecCommand", left),
            call(None, "[secret]", json!(r#"{"cmd":"[secret]"#)),
        ]
    );
}

#[test]
fn failures_are_cleaned_in_message_and_diagnostics() {
    let known = Secrets::default();
    known.keep(SecretString::from("0123456789abcdef0123456789abcdef"));
    let said = "token 0123456789abcdef0123456789abcdef";
    let failure = ModelFailure {
        diagnostics: Some(Box::new(TransportDiagnostics {
            url: Some(said.to_owned()),
            source_chain: vec![said.to_owned()],
            ..TransportDiagnostics::default()
        })),
        ..ModelFailure::new(ModelFailureKind::Auth, said)
    };
    let left = known.clean(Err(failure)).expect_err("a failure");
    let facts = left.diagnostics.expect("diagnostics");
    assert_eq!(left.message, "token [secret]");
    assert_eq!(facts.url.as_deref(), Some("token [secret]"));
    assert_eq!(facts.source_chain, ["token [secret]"]);
}

#[test]
fn words_that_serve_as_a_key_are_left_in_answers() {
    let words = ["ollama", "lm-studio", "not-needed", "key1", "  "];
    let known = knowing(&words);
    let said = vec![text(&words.join(" "))];
    assert_eq!(cleaned(&known, said.clone()), said);
    let known = knowing(&["hunter42", "no-key-is-required"]);
    assert_eq!(
        known.hide("hunter42 no-key-is-required"),
        "[secret] [secret]"
    );
}

#[test]
fn only_so_many_credentials_are_remembered_and_the_hosts_own_stay() {
    let known = Secrets::default();
    known.keep(SecretString::from("control-token-00"));
    for number in 0..=KNOWN_SECRETS {
        known.learn(&SecretString::from(format!("credential-{number:05}")));
        known.learn(&SecretString::from("credential-00001"));
    }
    assert_eq!(known.hide("control-token-00"), "[secret]");
    assert_eq!(known.hide("credential-00001"), "[secret]");
    assert_eq!(known.hide("credential-00000"), "credential-00000");
    assert_eq!(
        known.needles().len(),
        KNOWN_SECRETS + 1,
        "what is learned twice is one"
    );
}

#[test]
fn a_text_that_was_cut_inside_a_secret_is_read_up_to_it() {
    let known = knowing(&[KEY, "canary-key-000000"]);
    assert_eq!(known.readable_len("your key sk-canary"), "your key ".len());
    assert_eq!(known.readable_len("your key"), "your key".len());
}

#[test]
fn debug_output_shows_no_known_secret() {
    assert_eq!(format!("{:?}", knowing(&[KEY])), "Secrets(..)");
}
