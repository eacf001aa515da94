//! Requests, transcripts and golden files that the tests of several codecs share.

use super::Body;
use holon_domain::CallId;
use holon_domain::block::{Block, OpaqueData, ToolCall};
use holon_domain::model::{
    CacheLife, ConversationItem, ModelRef, ModelRequest, PromptBlock, PromptCache, PromptFrame,
    Stability,
};
use holon_domain::provider::{ProviderSpec, ReasoningPolicy, Transport};
use holon_domain::tool::{FreeformGrammar, GrammarSyntax, OfferedTool};
use holon_domain::tool_set::ToolSet;
use holon_tools::{SchemaMode, all, emit};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) fn provider(transport: Transport, base_url: &str) -> ProviderSpec {
    ProviderSpec {
        id: "sample".to_owned(),
        transport,
        base_url: base_url.to_owned(),
        store_responses: false,
        context_management: None,
        reasoning_effort: None,
        omit: std::collections::BTreeSet::new(),
    }
}

/// A prompt block without a cache breakpoint.
pub(super) fn block(text: &str, stability: Stability) -> PromptBlock {
    PromptBlock {
        text: text.to_owned(),
        stability,
        cache_breakpoint: false,
    }
}

/// A prompt block with a cache breakpoint.
pub(super) fn marked(text: &str, stability: Stability) -> PromptBlock {
    PromptBlock {
        cache_breakpoint: true,
        ..block(text, stability)
    }
}

pub(super) fn frame(system: Vec<PromptBlock>, context: Vec<PromptBlock>) -> PromptFrame {
    let words: Vec<&str> = system.iter().map(|block| block.text.as_str()).collect();
    PromptFrame {
        system_prompt: words.join("\n\n"),
        system_blocks: system,
        context_blocks: context,
        cache: PromptCache {
            agent_id: "agent".to_owned(),
            prompt_cache_key: "key".to_owned(),
            context_fingerprint: "print".to_owned(),
            working_memory_revision: 0,
            compression_epoch: 0,
            life: CacheLife::Usual,
        },
    }
}

/// A request to `model` with a small prompt and one tool.
pub(crate) fn request(model: &str, conversation: Vec<ConversationItem>) -> ModelRequest {
    ModelRequest {
        model: ModelRef::parse(model).expect("a model reference"),
        round: 1,
        frame: frame(
            vec![
                marked("You keep a garden.", Stability::Stable),
                marked("The garden has six beds.", Stability::AgentScoped),
            ],
            vec![
                block("It is spring.", Stability::TurnScoped),
                block("Which bed needs water?", Stability::TurnScoped),
            ],
        ),
        thread: Vec::new(),
        conversation,
        tools: ToolSet::new(vec![tool()]),
        max_output_tokens: 4_096,
        reasoning_effort: None,
        reasoning: ReasoningPolicy::NONE,
        prior_rounds: 0,
    }
}

/// Reads a body as a server would.
pub(super) fn sent(body: &Body) -> Value {
    serde_json::from_slice(&body.to_json()).expect("a body is JSON")
}

pub(super) fn tool() -> OfferedTool {
    OfferedTool {
        name: "ReadSensor".to_owned(),
        description: "Reads the moisture of one bed.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"bed": {"type": "integer"}},
            "required": ["bed"],
            "additionalProperties": false,
        }),
        strict: false,
        freeform: None,
    }
}

/// A tool that is offered as free text.
pub(super) fn freeform_tool() -> OfferedTool {
    OfferedTool {
        name: "WriteNote".to_owned(),
        description: "Writes into the book of the garden.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"note": {"type": "string", "description": "One line, ended."}},
            "required": ["note"],
            "additionalProperties": false,
        }),
        strict: false,
        freeform: Some(FreeformGrammar {
            syntax: GrammarSyntax::Lark,
            definition: "start: /[^\\n]+\\n/".to_owned(),
            argument: "note".to_owned(),
        }),
    }
}

/// The same tool for a model that takes none as free text.
pub(super) fn plain(tool: OfferedTool) -> OfferedTool {
    OfferedTool {
        freeform: None,
        ..tool
    }
}

/// Every tool, emitted in this mode.
pub(super) fn every_tool(mode: SchemaMode) -> Vec<OfferedTool> {
    all().iter().map(|spec| emit(spec, mode)).collect()
}

pub(super) fn assistant_turn(model: &str, blocks: Vec<Block>) -> ConversationItem {
    ConversationItem::Assistant {
        model_ref: model.to_owned(),
        blocks,
    }
}

pub(super) fn text(words: &str) -> Block {
    Block::Text {
        text: words.to_owned(),
    }
}

/// Reasoning that `lineage` sealed.
pub(super) fn sealed(words: &str, lineage: &str, data: &str) -> Block {
    Block::Reasoning {
        text: words.to_owned(),
        opaque: Some(OpaqueData {
            lineage: lineage.to_owned(),
            data: data.to_owned(),
        }),
    }
}

/// A call that has only the runtime's id.
pub(super) fn call(id: &str, input: Value) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId::from_stored(id),
        name: "ReadSensor".to_owned(),
        input,
        provider_id: None,
    })
}

/// A call to which `lineage` assigned an id of its own.
pub(super) fn own_call(id: &str, lineage: &str, own: &str, input: Value) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId::from_stored(id),
        name: "ReadSensor".to_owned(),
        input,
        provider_id: Some(OpaqueData {
            lineage: lineage.to_owned(),
            data: own.to_owned(),
        }),
    })
}

pub(super) fn result(id: &str, content: &str) -> ConversationItem {
    ConversationItem::ToolResult {
        call_id: CallId::from_stored(id),
        content: content.to_owned(),
        is_error: false,
        image: None,
    }
}

/// The result of a tool that failed.
pub(super) fn failure(id: &str, content: &str) -> ConversationItem {
    ConversationItem::ToolResult {
        call_id: CallId::from_stored(id),
        content: content.to_owned(),
        is_error: true,
        image: None,
    }
}

/// Text from outside, inserted into the conversation.
pub(super) fn user(words: &str) -> ConversationItem {
    ConversationItem::User {
        text: words.to_owned(),
    }
}

fn golden_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

pub(super) fn golden(name: &str) -> Vec<u8> {
    let path = golden_path(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares a value with a golden file. The file is edited by hand after reading the difference.
pub(super) fn assert_golden(name: &str, found: &Value) {
    let kept: Value = serde_json::from_slice(&golden(name)).expect("a kept file is JSON");
    assert!(
        kept == *found,
        "{name} should be\n{}",
        serde_json::to_string_pretty(found).expect("JSON")
    );
}

/// Compiles one definition of a golden schema file.
pub(super) fn schema(name: &str, definition: &str) -> jsonschema::Validator {
    let mut schema: Value = serde_json::from_slice(&golden(name)).expect("a schema is JSON");
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    jsonschema::validator_for(&schema).expect("a schema")
}

/// Fails with every violation of the schema.
pub(super) fn assert_valid(schema: &jsonschema::Validator, request: &Value) {
    let complaints: Vec<String> = schema
        .iter_errors(request)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}\n{request:#}");
}
