//! Tools offered as free text, over a real connection: offered, called and answered in that form.

use crate::wire::{asking, patient, router, spec};
use holon_domain::CallId;
use holon_domain::block::{Block, OpaqueData, ToolCall};
use holon_domain::model::{ConversationItem, ModelReply, ModelRequest, ReplyBlock};
use holon_domain::tool::{FreeformGrammar, GrammarSyntax};
use holon_testkit::provider::{Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const NOTE: &str = "one\n\"two\"\n";

/// A request whose only tool is offered as free text.
fn offering() -> ModelRequest {
    let mut request = asking();
    let mut tools = request.tools.to_vec();
    for tool in &mut tools {
        tool.freeform = Some(FreeformGrammar {
            syntax: GrammarSyntax::Lark,
            definition: "start: /(.+\\n)+/".to_owned(),
            argument: "cmd".to_owned(),
        });
    }
    request.tools = tools.into();
    request
}

/// Builds the next request of the same turn: the answer and the results of its calls.
fn going_on(mut request: ModelRequest, reply: &ModelReply) -> ModelRequest {
    let calls = reply.blocks.iter().map(|block| match block {
        ReplyBlock::Call(call) => call.clone(),
        other => panic!("no call: {other:?}"),
    });
    let stored = |(n, call): (usize, holon_domain::model::RequestedCall)| ToolCall {
        id: CallId::from_stored(format!("call_{n}")),
        name: call.name,
        input: call.input,
        provider_id: call.provider_id.map(|data| OpaqueData {
            lineage: request.model.to_string(),
            data,
        }),
    };
    let calls: Vec<ToolCall> = calls.enumerate().map(stored).collect();
    let results = calls.iter().map(|call| ConversationItem::ToolResult {
        call_id: call.id.clone(),
        content: "written".to_owned(),
        is_error: false,
        image: None,
    });
    let results: Vec<ConversationItem> = results.collect();
    request.conversation.push(ConversationItem::Assistant {
        model_ref: request.model.to_string(),
        blocks: calls.into_iter().map(Block::ToolCall).collect(),
    });
    request.conversation.extend(results);
    request
}

/// Lists the types of a request's items, except messages.
fn kinds(request: &RecordedRequest) -> Vec<&str> {
    let items = request.body["input"].as_array().into_iter().flatten();
    let kinds = items.filter_map(|item| item["type"].as_str());
    kinds.filter(|kind| *kind != "message").collect()
}

#[tokio::test]
async fn a_freeform_call_is_decoded_answered_and_encoded_in_its_own_form() {
    for protocol in [Protocol::Responses, Protocol::Codex] {
        let provider = Provider::start(Script::of([
            Round::empty().freeform_call("ExecCommand", NOTE),
            Round::text("done"),
        ]));
        let router = router(spec(protocol, &provider.base_url()), patient());
        let request = offering();
        let cancel = CancellationToken::new();
        let reply = router.call(&request, &|_| {}, &cancel).await.unwrap();
        let [ReplyBlock::Call(call)] = &reply.blocks[..] else {
            panic!("{protocol:?}: {reply:?}");
        };
        assert_eq!(call.input, json!({ "cmd": NOTE }), "{protocol:?}");
        router
            .call(&going_on(request, &reply), &|_| {}, &cancel)
            .await
            .unwrap();
        let asked = provider.finish();
        assert_eq!(asked[0].body["tools"][0]["type"], "custom", "{protocol:?}");
        assert_eq!(
            kinds(&asked[1]),
            ["custom_tool_call", "custom_tool_call_output"],
            "{protocol:?}"
        );
        assert_eq!(asked[1].tool_outputs(), ["written"], "{protocol:?}");
        assert!(asked[1].contains(NOTE), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_continued_request_holds_only_the_result_of_a_freeform_call() {
    let provider = Provider::start(Script::of([
        Round::empty().freeform_call("ExecCommand", NOTE),
        Round::text("done"),
    ]));
    let mut spec = spec(Protocol::Responses, &provider.base_url());
    spec.store_responses = true;
    let (router, request) = (router(spec, patient()), offering());
    let cancel = CancellationToken::new();
    let reply = router.call(&request, &|_| {}, &cancel).await.unwrap();
    router
        .call(&going_on(request, &reply), &|_| {}, &cancel)
        .await
        .unwrap();
    let asked = provider.finish();
    assert!(asked[1].body["previous_response_id"].is_string());
    assert_eq!(kinds(&asked[1]), ["custom_tool_call_output"]);
}
