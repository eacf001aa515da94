//! Property tests: any stored transcript gives a request that each protocol accepts, and no answer makes a decoder
//! panic.

mod foreign;
mod grammar;
mod round_trip;
mod transcripts;

use super::{anthropic, chat, codex, decode, dialogue, responses, sample};
use grammar::Entry;
use holon_domain::block::Block;
use holon_domain::model::{
    ConversationItem, ModelRef, ModelReply, ModelRequest, ReplyBlock, StopReason,
};
use holon_domain::provider::Transport;
use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;
use transcripts::{LINEAGES, MARK, any_request};

static ANTHROPIC: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| sample::schema("anthropic/schema.json", "request"));
static CHAT: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| sample::schema("chat/schema.json", "request"));
static RESPONSES: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| sample::schema("responses/schema.json", "responses_request"));
static CODEX: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| sample::schema("responses/schema.json", "codex_request"));

/// Base URLs of one chat server per dialect.
const CHAT_SERVERS: [&str; 4] = [
    "http://127.0.0.1:8000/v1",
    "https://api.openai.com/v1",
    "https://api.deepseek.com/v1",
    "https://api.mistral.ai/v1",
];

/// Addresses a request to the model with this index in `LINEAGES`.
fn to(lineage: usize, request: &ModelRequest) -> ModelRequest {
    ModelRequest {
        model: ModelRef::parse(LINEAGES[lineage]).expect("a model reference"),
        ..request.clone()
    }
}

/// Asserts what holds for every protocol.
fn check(lineage: usize, request: &ModelRequest, body: &Value, entries: &[Entry]) {
    grammar::assert_calls_are_answered(entries);
    assert!(
        !matches!(entries.last(), Some(Entry::Assistant | Entry::Call(_))),
        "the assistant has the last word: {body:#}"
    );
    let text = body.to_string();
    for (other, _) in LINEAGES
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != lineage)
    {
        assert!(
            !text.contains(&format!("{MARK}{other}")),
            "data of {} went to {}: {body:#}",
            LINEAGES[other],
            LINEAGES[lineage]
        );
    }
    for words in plain_texts(request) {
        assert!(text.contains(words), "{words:?} is lost: {body:#}");
    }
}

/// Returns every text of a request whose characters JSON does not escape.
fn plain_texts(request: &ModelRequest) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for block in &request.frame.context_blocks {
        words.push(&block.text);
    }
    for item in &request.conversation {
        match item {
            ConversationItem::Assistant { blocks, .. } => {
                words.extend(blocks.iter().filter_map(|block| match block {
                    Block::Text { text } => Some(text.as_str()),
                    Block::Reasoning { .. } | Block::ToolCall(_) => None,
                }));
            }
            ConversationItem::ToolResult { content, .. } => words.push(content),
            ConversationItem::User { text } => words.push(text),
            ConversationItem::Image(_) => {}
        }
    }
    words.retain(|words| !dialogue::is_blank(words));
    words
}

/// Asserts that an answer has calls if and only if its stop reason says so; an answer that was cut off may have calls
/// too.
fn assert_is_consistent(reply: &ModelReply) {
    let calls = reply
        .blocks
        .iter()
        .any(|block| matches!(block, ReplyBlock::Call(_)));
    match reply.stop_reason {
        StopReason::ToolUse => assert!(calls, "{reply:?}"),
        StopReason::EndTurn | StopReason::Refusal | StopReason::ContentFilter => {
            assert!(!calls, "{reply:?}")
        }
        StopReason::MaxOutputTokens => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_transcript_makes_a_request_that_messages_accepts(request in any_request()) {
        let request = to(0, &request);
        let provider = sample::provider(Transport::AnthropicMessages, "https://api.anthropic.com");
        let body = sample::sent(&anthropic::encode(&provider, &request));
        sample::assert_valid(&ANTHROPIC, &body);
        grammar::assert_messages_rules(&body);
        check(0, &request, &body, &grammar::messages(&body));
    }

    #[test]
    fn any_transcript_makes_a_request_that_every_chat_server_accepts(request in any_request()) {
        let request = to(1, &request);
        for server in CHAT_SERVERS {
            let provider = sample::provider(Transport::OpenaiChatCompletions, server);
            let body = sample::sent(&chat::encode(&provider, &request));
            sample::assert_valid(&CHAT, &body);
            grammar::assert_chat_rules(&body);
            if server.contains("mistral") {
                grammar::assert_mistral_rules(&body);
            }
            check(1, &request, &body, &grammar::chat(&body));
        }
    }

    #[test]
    fn any_transcript_makes_a_request_that_responses_accepts(request in any_request()) {
        let request = to(2, &request);
        let provider = sample::provider(Transport::OpenaiResponses, "https://api.openai.com/v1");
        let body = sample::sent(&responses::encode(&provider, &request));
        sample::assert_valid(&RESPONSES, &body);
        grammar::assert_responses_rules(&body);
        check(2, &request, &body, &grammar::responses(&body));
    }

    #[test]
    fn any_transcript_makes_a_request_that_the_codex_backend_accepts(request in any_request()) {
        let request = to(3, &request);
        let provider = sample::provider(Transport::OpenaiCodexResponses, "https://codex.example");
        let body = sample::sent(&codex::encode(&provider, &request));
        sample::assert_valid(&CODEX, &body);
        grammar::assert_responses_rules(&body);
        check(3, &request, &body, &grammar::responses(&body));
    }

    #[test]
    fn protocols_without_free_text_are_told_nothing_of_it(request in any_request()) {
        let bare = ModelRequest {
            tools: request.tools.iter().cloned().map(sample::plain).collect(),
            ..request.clone()
        };
        let encoded = |request: &ModelRequest| {
            let messages = sample::provider(Transport::AnthropicMessages, "https://api.anthropic.com");
            let chats = CHAT_SERVERS.map(|server| {
                let provider = sample::provider(Transport::OpenaiChatCompletions, server);
                sample::sent(&chat::encode(&provider, &to(1, request)))
            });
            (sample::sent(&anthropic::encode(&messages, &to(0, request))), chats)
        };
        prop_assert_eq!(encoded(&request), encoded(&bare));
    }

    #[test]
    fn no_bytes_break_a_decoder(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let offer = [sample::freeform_tool()];
        prop_assert!(decode(Transport::AnthropicMessages, &[], &body).is_err());
        prop_assert!(decode(Transport::OpenaiChatCompletions, &[], &body).is_err());
        prop_assert!(decode(Transport::OpenaiResponses, &offer, &body).is_err());
    }

    #[test]
    fn no_json_breaks_a_decoder(body in transcripts::any_answer()) {
        let bytes = body.to_string().into_bytes();
        let offer = [sample::freeform_tool()];
        let decoded = [decode(Transport::AnthropicMessages, &[], &bytes), decode(Transport::OpenaiChatCompletions, &[], &bytes), decode(Transport::OpenaiResponses, &offer, &bytes)];
        for decoded in decoded.into_iter().flatten() {
            assert_is_consistent(&decoded.reply);
        }
    }
}
