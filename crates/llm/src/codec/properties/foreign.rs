//! Sealed data of one protocol is never sent through another, even if provider and model keep their names. This holds
//! if a provider's transport is changed in the middle of a turn.

use crate::codec::encode;
use crate::codec::sample::{assistant_turn, call, provider, request, result, sealed, sent};
use holon_domain::model::ModelRequest;
use holon_domain::provider::Transport;
use serde_json::{Value, json};

const MODEL: &str = "sample/model";
const SECRET: &str = "sealed-words";

/// Sealed data of each protocol, and data that no protocol makes.
const SEALS: [(Option<Transport>, &str); 6] = [
    (
        Some(Transport::OpenaiResponses),
        r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed-words"}"#,
    ),
    (
        Some(Transport::AnthropicMessages),
        r#"{"type":"thinking","thinking":"sealed-words","signature":"c2ln"}"#,
    ),
    (
        Some(Transport::AnthropicMessages),
        r#"{"type":"redacted_thinking","data":"sealed-words"}"#,
    ),
    (
        Some(Transport::OpenaiChatCompletions),
        r#"{"reasoning_details":[{"data":"sealed-words"}]}"#,
    ),
    (None, r#"{"type":"message","content":"sealed-words"}"#),
    (None, r#"{"type":"reasoning","text":"sealed-words"}"#),
];

fn encoded(transport: Transport, request: &ModelRequest) -> Value {
    let provider = provider(transport, "https://api.deepseek.com/v1");
    sent(&encode(&provider, request))
}

#[test]
fn a_seal_goes_back_through_the_protocol_that_made_it_and_through_no_other() {
    for (by, seal) in SEALS {
        let conversation = vec![
            assistant_turn(
                MODEL,
                vec![sealed("", MODEL, seal), call("call_1", json!({}))],
            ),
            result("call_1", "done"),
        ];
        let request = request(MODEL, conversation);
        for &transport in Transport::ALL {
            // Both Responses protocols have the same items.
            let family = match transport {
                Transport::OpenaiCodexResponses => Transport::OpenaiResponses,
                other => other,
            };
            let body = encoded(transport, &request).to_string();
            assert_eq!(
                body.contains(SECRET),
                by == Some(family),
                "{seal} over {transport}: {body}"
            );
        }
    }
}
