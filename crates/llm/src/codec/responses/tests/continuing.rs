//! Conditions under which a request may be shortened.

use super::super::{Snapshot, continuation, encode};
use super::support::{
    assistant_turn, decode, kept, model, offered, provider, request, result, user, violations,
};
use crate::codec::sample::sent;
use crate::codec::{Body, DecodedReply};
use holon_domain::block::Block;
use holon_domain::model::{ConversationItem, ModelRequest, PromptBlock, Stability, StopReason};
use holon_domain::provider::{ReasoningEffort, Transport};
use holon_tools::SchemaMode;
use serde_json::{Value, json};

type Edit = fn(&mut ModelRequest);

fn full(request: &ModelRequest) -> Body {
    encode(&provider(Transport::OpenaiResponses), request)
}

/// A stored answer with sealed reasoning, text and a call.
fn answered() -> DecodedReply {
    let body = json!({
        "id": "resp_1",
        "status": "completed",
        "store": true,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "call_a", "name": "ExecCommand", "arguments": "{ \"cmd\" : \"ls\" }"},
        ],
    });
    decode(&[], body.to_string().as_bytes()).expect("an answer")
}

fn before() -> ModelRequest {
    request(vec![user("Look, please.")])
}

fn snapshot() -> Snapshot {
    Snapshot::of(&before(), &full(&before()), &answered()).expect("a snapshot")
}

/// The request after the answer and the result of its call.
fn after() -> ModelRequest {
    let blocks = kept(&model(), &answered().reply);
    request(vec![
        user("Look, please."),
        assistant_turn(blocks),
        result(2, "exit 0 (3 ms)", false),
    ])
}

#[test]
fn a_request_that_only_adds_items_is_sent_with_these_items() {
    let short = continuation(&full(&after()), &snapshot()).expect("a shorter form");
    let short = sent(&short);
    assert_eq!(short["previous_response_id"], json!("resp_1"));
    let output =
        json!([{"type": "function_call_output", "call_id": "call_a", "output": "exit 0 (3 ms)"}]);
    assert_eq!(short["input"], output);
    assert_eq!(violations(Transport::OpenaiResponses, &short), [""; 0]);
    let mut rest = short;
    let mut whole = sent(&full(&after()));
    for body in [&mut rest, &mut whole] {
        let members = body.as_object_mut().expect("an object");
        members.remove("input");
        members.remove("previous_response_id");
    }
    assert_eq!(rest, whole, "all but the input is said again");
}

#[test]
fn words_put_in_later_are_part_of_what_is_added() {
    let mut later = after();
    later.conversation.push(user("And the window."));
    let short = continuation(&full(&later), &snapshot()).expect("a shorter form");
    assert_eq!(short.conversation().len(), 2);
}

#[test]
fn any_change_of_earlier_items_needs_a_full_request() {
    let edits: [(&str, Edit); 10] = [
        ("nothing new", |r| r.conversation.clear()),
        ("only the answer", |r| r.conversation.truncate(1)),
        ("earlier words", |r| r.conversation[0] = user("Look!")),
        ("words before", |r| r.conversation.insert(0, user("Hello."))),
        ("words before the answer", |r| {
            r.conversation.insert(1, user("Hello."))
        }),
        ("system", |r| r.frame.system_blocks[0].text.push('!')),
        ("context", |r| {
            r.frame.context_blocks.push(PromptBlock {
                text: "It rains.".into(),
                stability: Stability::TurnScoped,
                cache_breakpoint: false,
            });
        }),
        ("tools", |r| r.tools = offered(SchemaMode::Relaxed).into()),
        ("effort", |r| {
            r.reasoning_effort = Some(ReasoningEffort::High)
        }),
        ("output limit", |r| r.max_output_tokens += 1),
    ];
    for (what, edit) in edits {
        let mut changed = after();
        edit(&mut changed);
        assert_eq!(continuation(&full(&changed), &snapshot()), None, "{what}");
    }
}

#[test]
fn an_answer_that_the_log_holds_differently_needs_a_full_request() {
    let edits: [fn(&mut Vec<Block>); 4] = [
        |blocks| blocks.truncate(1),
        |blocks| {
            blocks[1] = Block::Text {
                text: "I look!".into(),
            }
        },
        |blocks| {
            blocks.remove(0);
        },
        |blocks| {
            if let Block::ToolCall(call) = &mut blocks[2] {
                call.provider_id = None;
            }
        },
    ];
    for edit in edits {
        let mut changed = after();
        if let ConversationItem::Assistant { blocks, .. } = &mut changed.conversation[1] {
            edit(blocks);
        }
        assert_eq!(
            continuation(&full(&changed), &snapshot()),
            None,
            "{changed:?}"
        );
    }
}

#[test]
fn a_response_that_may_not_be_stored_is_never_continued() {
    let sent = full(&before());
    let mut unstored = sent.clone();
    unstored.members_mut().insert("store".into(), json!(false));
    assert_eq!(Snapshot::of(&before(), &unstored, &answered()), None);
    let mut nameless = answered();
    nameless.stored_id = None;
    assert_eq!(Snapshot::of(&before(), &sent, &nameless), None);
    for stop_reason in [StopReason::MaxOutputTokens, StopReason::Refusal] {
        let mut broken = answered();
        broken.reply.stop_reason = stop_reason;
        assert_eq!(Snapshot::of(&before(), &sent, &broken), None);
    }
}

#[test]
fn only_a_kept_answer_that_was_wholly_understood_has_an_id_to_go_on_from() {
    let stored_id = |edit: &dyn Fn(&mut Value)| {
        let mut body = json!({"id": "resp_1", "status": "completed", "store": true, "output": []});
        edit(&mut body);
        decode(&[], body.to_string().as_bytes())
            .expect("an answer")
            .stored_id
    };
    assert_eq!(stored_id(&|_| {}).as_deref(), Some("resp_1"));
    assert_eq!(stored_id(&|body| body["store"] = json!(false)), None);
    let silent = stored_id(&|body| body["store"] = Value::Null);
    assert_eq!(silent.as_deref(), Some("resp_1"));
    assert_eq!(stored_id(&|body| body["id"] = json!("")), None);
    assert_eq!(
        stored_id(&|body| body["output"] = json!([{"type": "web_search_call"}])),
        None
    );
    let cut = |body: &mut Value| {
        body["status"] = json!("incomplete");
        body["incomplete_details"] = json!({"reason": "max_output_tokens"});
    };
    assert_eq!(stored_id(&cut), None);
}
