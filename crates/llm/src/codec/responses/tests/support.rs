//! Requests, golden files and the schema that the tests of both Responses codecs share.

use crate::codec::{self, DecodedReply, Fault, sample};
use holon_domain::CallId;
use holon_domain::block::{Block, OpaqueData, ToolCall};
use holon_domain::model::{
    CacheLife, ConversationItem, ModelRef, ModelReply, ModelRequest, PromptBlock, PromptCache,
    PromptFrame, ReplyBlock, Stability,
};
use holon_domain::provider::{ProviderSpec, ReasoningEffort, Transport};
use holon_domain::tool::OfferedTool;
use holon_tools::{SchemaMode, all, emit};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::sync::LazyLock;

pub(in crate::codec) fn decode(tools: &[OfferedTool], body: &[u8]) -> Result<DecodedReply, Fault> {
    codec::decode(Transport::OpenaiResponses, tools, body)
}

pub(in crate::codec) fn provider(transport: Transport) -> ProviderSpec {
    ProviderSpec {
        id: "openai".into(),
        transport,
        base_url: "https://provider.test/v1".into(),
        store_responses: true,
        context_management: None,
        reasoning_effort: None,
        omit: std::collections::BTreeSet::new(),
    }
}

pub(in crate::codec) fn model() -> ModelRef {
    ModelRef::parse("openai/gpt-test").expect("a reference")
}

/// A request with a full frame and this conversation.
pub(in crate::codec) fn request(conversation: Vec<ConversationItem>) -> ModelRequest {
    let block = |text: &str, stability| PromptBlock {
        text: text.into(),
        stability,
        cache_breakpoint: true,
    };
    ModelRequest {
        model: model(),
        round: 1,
        frame: PromptFrame {
            system_prompt: "You keep the house.\n\nBe brief.".into(),
            system_blocks: vec![
                block("You keep the house.", Stability::Stable),
                block("Be brief.", Stability::AgentScoped),
            ],
            context_blocks: vec![
                block("The house has two floors.", Stability::AgentScoped),
                block("Is the door shut?", Stability::TurnScoped),
            ],
            cache: PromptCache {
                agent_id: "main".into(),
                prompt_cache_key: "0123456789abcdef".into(),
                context_fingerprint: "fedcba9876543210".into(),
                working_memory_revision: 3,
                compression_epoch: 0,
                life: CacheLife::Usual,
            },
        },
        thread: Vec::new(),
        conversation,
        tools: Vec::new().into(),
        max_output_tokens: 4_096,
        reasoning_effort: None,
        reasoning: holon_domain::provider::ReasoningPolicy::NONE,
        prior_rounds: 0,
    }
}

/// Every tool, for a model that takes none as free text.
pub(in crate::codec) fn offered(mode: SchemaMode) -> Vec<OfferedTool> {
    let emitted = all().iter().map(|spec| emit(spec, mode));
    emitted.map(sample::plain).collect()
}

pub(in crate::codec) fn assistant_turn(blocks: Vec<Block>) -> ConversationItem {
    ConversationItem::Assistant {
        model_ref: model().to_string(),
        blocks,
    }
}

pub(in crate::codec) fn text(text: &str) -> Block {
    Block::Text { text: text.into() }
}

/// A call made by the requested model.
pub(in crate::codec) fn call(n: usize, name: &str, input: Value) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId::from_stored(format!("call_runtime_{n}")),
        name: name.into(),
        input,
        provider_id: Some(own(&format!("call_provider_{n}"))),
    })
}

/// The result of call `n`.
pub(in crate::codec) fn result(n: usize, content: &str, is_error: bool) -> ConversationItem {
    ConversationItem::ToolResult {
        call_id: CallId::from_stored(format!("call_runtime_{n}")),
        content: content.into(),
        is_error,
        image: None,
    }
}

pub(in crate::codec) fn user(text: &str) -> ConversationItem {
    ConversationItem::User { text: text.into() }
}

/// Opaque data of the requested model.
pub(in crate::codec) fn own(data: &str) -> OpaqueData {
    OpaqueData {
        lineage: model().to_string(),
        data: data.into(),
    }
}

/// Stores an answer as the runtime does, with call ids of its own.
pub(in crate::codec) fn kept(model: &ModelRef, reply: &ModelReply) -> Vec<Block> {
    let sealed = |data: &String| OpaqueData {
        lineage: model.to_string(),
        data: data.clone(),
    };
    let block = |(n, block): (usize, &ReplyBlock)| match block {
        ReplyBlock::Text { text } => Block::Text { text: text.clone() },
        ReplyBlock::Reasoning { text, opaque } => Block::Reasoning {
            text: text.clone(),
            opaque: opaque.as_ref().map(sealed),
        },
        ReplyBlock::Call(call) => Block::ToolCall(ToolCall {
            id: CallId::from_stored(format!("call_runtime_{n}")),
            name: call.name.clone(),
            input: call.input.clone(),
            provider_id: call.provider_id.as_ref().map(sealed),
        }),
    };
    reply.blocks.iter().enumerate().map(block).collect()
}

/// The requests that have golden files, by name.
pub(in crate::codec) fn cases() -> Vec<(&'static str, ModelRequest)> {
    let sealed = json!({
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Look first."}],
        "encrypted_content": "gAAAAB-sealed",
    });
    let look = || {
        assistant_turn(vec![
            text("I look."),
            call(1, "ExecCommand", json!({"cmd": "ls"})),
        ])
    };
    vec![
        ("plain", request(Vec::new())),
        (
            "tools",
            ModelRequest {
                tools: vec![
                    sample::tool(),
                    OfferedTool {
                        strict: true,
                        name: "CloseDoor".into(),
                        ..sample::tool()
                    },
                ]
                .into(),
                ..request(Vec::new())
            },
        ),
        (
            "results",
            request(vec![
                assistant_turn(vec![
                    text("I look twice."),
                    call(1, "ExecCommand", json!({"cmd": "ls"})),
                    call(2, "ExecCommand", json!("{\"cmd\": \"ls")),
                ]),
                result(1, "exit 0 (3 ms)\nstdout:\ndoor", false),
                result(2, "invalid_tool_input: the arguments are not JSON", true),
            ]),
        ),
        (
            "reasoning",
            ModelRequest {
                reasoning_effort: Some(ReasoningEffort::Medium),
                ..request(vec![
                    assistant_turn(vec![
                        Block::Reasoning {
                            text: "Look first.".into(),
                            opaque: Some(own(&sealed.to_string())),
                        },
                        call(1, "ExecCommand", json!({"cmd": "ls"})),
                    ]),
                    result(1, "exit 0 (3 ms)", false),
                ])
            },
        ),
        (
            "freeform",
            ModelRequest {
                tools: vec![sample::tool(), sample::freeform_tool()].into(),
                ..request(vec![
                    assistant_turn(vec![
                        call(1, "WriteNote", json!({"note": "The door is \"shut\".\n"})),
                        call(2, "ReadSensor", json!({"bed": 1})),
                        call(3, "WriteNote", json!({"note": 7})),
                    ]),
                    result(1, "written", false),
                    result(2, "12 %", false),
                    result(3, "invalid_tool_input: note is no text", true),
                ])
            },
        ),
        (
            "interjection",
            request(vec![
                look(),
                result(1, "exit 0 (3 ms)", false),
                user("Look at the window too."),
            ]),
        ),
    ]
}

pub(in crate::codec) fn golden(name: &str) -> Value {
    serde_json::from_slice(&sample::golden(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Lists the golden files of a folder whose names begin and end like this.
pub(in crate::codec) fn goldens(protocol: &str, prefix: &str, suffix: &str) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let entries = std::fs::read_dir(format!("{folder}/{protocol}")).expect("the golden folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.into_string().expect("a plain name"))
        .filter(|name| name.starts_with(prefix) && name.ends_with(suffix))
        .map(|name| format!("{protocol}/{name}"))
        .collect();
    names.sort();
    assert!(
        !names.is_empty(),
        "no golden file {protocol}/{prefix}*{suffix}"
    );
    names
}

/// Lists the violations of the transport's request schema.
pub(in crate::codec) fn violations(transport: Transport, request: &Value) -> Vec<String> {
    static RESPONSES: LazyLock<Validator> =
        LazyLock::new(|| sample::schema("responses/schema.json", "responses_request"));
    static CODEX: LazyLock<Validator> =
        LazyLock::new(|| sample::schema("responses/schema.json", "codex_request"));
    let validator = match transport {
        Transport::OpenaiResponses => &*RESPONSES,
        Transport::OpenaiCodexResponses => &*CODEX,
        Transport::AnthropicMessages | Transport::OpenaiChatCompletions => {
            panic!("{transport} has a schema of its own")
        }
    };
    validator
        .iter_errors(request)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
