//! An answer is sent back to its model unchanged, and its sealed data to no other model.

use super::super::{Snapshot, continuation, encode};
use super::support::{decode, kept, model, provider, request, violations};
use crate::codec::{codex, sample};
use holon_domain::model::{ConversationItem, ModelRef, ModelRequest};
use holon_domain::provider::Transport;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Generates arguments in the spelling that our own JSON has.
fn arguments() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|n| json!(n)),
        any::<bool>().prop_map(|b| json!(b)),
        "\\PC{0,12}".prop_map(|s| json!(s)),
    ];
    let object = proptest::collection::btree_map("[a-z_]{1,8}", leaf, 0..4)
        .prop_map(|map| json!(map).to_string());
    // Text that is not JSON is returned unchanged.
    prop_oneof![4 => object, 1 => "[{]\"[a-z ]{1,10}"]
}

fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z][a-zA-Z ]{0,20}".prop_map(|text| json!({
            "type": "message", "id": "msg_x", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        })),
        ("rs_[a-z0-9]{1,12}", "\\PC{1,40}", "\\PC{0,12}").prop_map(|(id, sealed, summary)| json!({
            "type": "reasoning", "id": id, "status": null, "encrypted_content": sealed,
            "summary": [{"type": "summary_text", "text": summary}],
        })),
        ("[A-Z][A-Za-z]{1,12}", arguments()).prop_map(|(name, arguments)| json!({
            "type": "function_call", "id": "fc_x", "name": name, "arguments": arguments,
        })),
        ("cmp_[a-z0-9]{1,12}", "\\PC{1,40}").prop_map(|(id, sealed)| json!({
            "type": "compaction", "id": id, "encrypted_content": sealed,
        })),
        "(\\PC|[\n\t]){0,40}".prop_map(|text| json!({
            "type": "custom_tool_call", "id": "ctc_x", "name": "WriteNote", "input": text,
        })),
    ]
}

/// Generates a complete answer whose calls have ids of their own and which ends in text or a call.
fn response() -> impl Strategy<Value = Value> {
    (proptest::collection::vec(item(), 0..6), "[a-z]{1,8}").prop_map(|(mut output, last)| {
        output.push(json!({"type": "message", "content": [{"type": "output_text", "text": last}]}));
        for (n, item) in output.iter_mut().enumerate() {
            if is_call(item) {
                item["call_id"] = json!(format!("call_provider_{n}"));
            }
        }
        json!({"id": "resp_1", "status": "completed", "store": true, "output": output})
    })
}

fn is_call(item: &Value) -> bool {
    matches!(
        item["type"].as_str(),
        Some("function_call" | "custom_tool_call")
    )
}

fn is_output(item: &Value) -> bool {
    let kind = item["type"].as_str();
    kind.is_some_and(|kind| kind.ends_with("_call_output"))
}

/// Reduces an item to the members that must survive.
fn essence(item: &Value) -> Value {
    let pick = |keys: &[&str]| keys.iter().map(|key| item[*key].clone()).collect();
    match item["type"].as_str() {
        Some("reasoning") => pick(&["id", "encrypted_content", "summary"]),
        Some("compaction") => pick(&["type", "id", "encrypted_content"]),
        Some("function_call") => pick(&["call_id", "name", "arguments"]),
        Some("custom_tool_call") => pick(&["type", "call_id", "name", "input"]),
        _ => match &item["content"] {
            words @ Value::String(_) => words.clone(),
            parts => parts[0]["text"].clone(),
        },
    }
}

/// Builds a request that offers one tool as free text.
fn offering(conversation: Vec<ConversationItem>) -> ModelRequest {
    ModelRequest {
        tools: vec![sample::freeform_tool()].into(),
        ..request(conversation)
    }
}

fn asked(model: ModelRef, response: &Value, by: &ModelRef) -> ModelRequest {
    let tools = [sample::freeform_tool()];
    let decoded = decode(&tools, response.to_string().as_bytes()).expect("an answer");
    let turn = ConversationItem::Assistant {
        model_ref: by.to_string(),
        blocks: kept(by, &decoded.reply),
    };
    ModelRequest {
        model,
        ..offering(vec![turn])
    }
}

/// Returns the items between the context and what follows the answer.
fn returned(body: &Value) -> Vec<&Value> {
    let items = body["input"].as_array().expect("items");
    let own = |item: &&Value| item["role"] != json!("user") && !is_output(item);
    items.iter().filter(own).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_answer_goes_back_to_its_model_as_it_came(response in response()) {
        let request = asked(model(), &response, &model());
        let expected: Vec<Value> = response["output"].as_array().expect("items").iter().map(essence).collect();
        let body = sample::sent(&encode(&provider(Transport::OpenaiResponses), &request));
        let streamed = sample::sent(&codex::encode(&provider(Transport::OpenaiCodexResponses), &request));
        prop_assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
        prop_assert_eq!(violations(Transport::OpenaiCodexResponses, &streamed), [""; 0]);
        for body in [body, streamed] {
            let found: Vec<Value> = returned(&body).into_iter().map(essence).collect();
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn another_model_gets_the_words_and_the_calls_and_nothing_sealed(response in response()) {
        let other = ModelRef::parse("openai/gpt-other").expect("a reference");
        let body = sample::sent(&encode(&provider(Transport::OpenaiResponses), &asked(other, &response, &model())));
        prop_assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
        let sealed = |item: &&Value| matches!(item["type"].as_str(), Some("reasoning" | "compaction"));
        let open = response["output"].as_array().expect("items").iter().filter(|item| !sealed(item)).count();
        prop_assert_eq!(returned(&body).len(), open);
        for item in returned(&body) {
            prop_assert!(!sealed(&item), "{}", item);
            let id = item["call_id"].as_str().unwrap_or_default();
            prop_assert!(!id.starts_with("call_provider"), "{}", id);
        }
    }

    #[test]
    fn a_model_without_free_text_gets_the_same_calls_as_functions_and_the_other_way_round(response in response()) {
        let mut without = asked(model(), &response, &model());
        without.tools = without.tools.iter().cloned().map(sample::plain).collect();
        let body = sample::sent(&encode(&provider(Transport::OpenaiResponses), &without));
        prop_assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
        let functions = returned(&body).into_iter().cloned().collect::<Vec<_>>();
        prop_assert!(functions.iter().all(|item| item["type"] != json!("custom_tool_call")));
        // Calls that were encoded as functions are encoded as the original text again.
        let again = json!({"status": "completed", "output": functions});
        let body = sample::sent(&encode(&provider(Transport::OpenaiResponses), &asked(model(), &again, &model())));
        prop_assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
        let expected: Vec<Value> = response["output"].as_array().expect("items").iter().map(essence).collect();
        let found: Vec<Value> = returned(&body).into_iter().map(essence).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_kept_answer_is_always_gone_on_from_by_its_id(response in response()) {
        let before = offering(Vec::new());
        let first = encode(&provider(Transport::OpenaiResponses), &before);
        let decoded = decode(&before.tools, response.to_string().as_bytes()).expect("an answer");
        let snapshot = Snapshot::of(&before, &first, &decoded).expect("kept");
        let next = encode(&provider(Transport::OpenaiResponses), &asked(model(), &response, &model()));
        let short = sample::sent(&continuation(&next, &snapshot).expect("a shorter form"));
        let items = short["input"].as_array().expect("items");
        prop_assert!(items.iter().all(|item| is_output(item) || item["role"] == json!("user")));
        prop_assert_eq!(violations(Transport::OpenaiResponses, &short), [""; 0]);
    }
}
