//! The choice of a round, and the content of its answer.

use crate::support::{ScriptedRouter, request, result, text_of};
use holon_domain::model::{
    ConversationItem, ModelFailureKind, ModelRef, ModelRequest, ReplyBlock, RequestedCall,
    StopReason,
};
use holon_domain::text::estimate_tokens;
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_round_is_a_function_of_the_request_and_survives_a_restart() {
    let mut stage = ScriptedRouter::with(
        &json!({ "rounds": [{ "text": "a" }, { "text": "b" }, { "text": "c" }] }),
    );
    assert_eq!(stage.text(&request(0, 1)).await, "a");
    assert_eq!(stage.text(&request(1, 2)).await, "c");
    stage.restart();
    assert_eq!(stage.text(&request(1, 1)).await, "b");
    assert_eq!(
        stage.text(&request(0, 2)).await,
        "b",
        "asking again gives the same answer"
    );
}

#[tokio::test]
async fn an_answer_has_reasoning_text_and_calls_in_that_order() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{
        "text": "t", "reasoning": "r",
        "calls": [{ "tool": "ExecCommand", "input": { "cmd": "ls" } }, { "tool": "Sleep" }],
        "usage": { "input_tokens": 10, "output_tokens": 5 } }] }));
    let reply = stage.call(&request(0, 1)).await.unwrap();
    let call = |id: &str, name: &str, input| {
        ReplyBlock::Call(RequestedCall {
            provider_id: Some(id.to_owned()),
            name: name.to_owned(),
            input,
        })
    };
    assert_eq!(
        reply.blocks,
        [
            ReplyBlock::Reasoning {
                text: "r".to_owned(),
                opaque: None
            },
            ReplyBlock::Text {
                text: "t".to_owned()
            },
            call("round1_call1", "ExecCommand", json!({ "cmd": "ls" })),
            call("round1_call2", "Sleep", json!({})),
        ]
    );
    assert_eq!(reply.stop_reason, StopReason::ToolUse);
    assert_eq!(
        (
            reply.usage.input_tokens,
            reply.usage.output_tokens,
            reply.usage.total_tokens
        ),
        (10, 5, 15)
    );
}

#[tokio::test]
async fn the_stop_reason_fits_the_answer_unless_the_script_says_otherwise() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [
        { "text": "done" },
        { "text": "cut", "calls": [{ "tool": "Sleep" }], "stop": "max_output_tokens" },
        { "stop": "refusal" }] }));
    let mut stops = Vec::new();
    for prior in 0..3 {
        stops.push(stage.call(&request(prior, 1)).await.unwrap().stop_reason);
    }
    assert_eq!(
        stops,
        [
            StopReason::EndTurn,
            StopReason::MaxOutputTokens,
            StopReason::Refusal
        ]
    );
}

#[tokio::test]
async fn usage_is_estimated_from_both_sides_when_the_script_gives_none() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "text": "12345678" }] }));
    let bare = stage.call(&request(0, 1)).await.unwrap().usage;
    let mut toolless = request(0, 1);
    toolless.tools = Vec::new().into();
    let tools = bare.input_tokens - stage.call(&toolless).await.unwrap().usage.input_tokens;
    assert!(tools > 0);
    let tokens = |text: &str| u64::try_from(estimate_tokens(text)).unwrap();
    assert_eq!(bare.output_tokens, tokens("12345678"));
    let prompt = tokens("12345678") + tokens("earlier") + tokens("Current input: hello");
    assert_eq!(bare.input_tokens, prompt + tools);
    let mut longer = request(0, 1);
    longer.conversation = vec![
        result("12345678"),
        ConversationItem::User {
            text: "1234".to_owned(),
        },
    ];
    assert_eq!(
        stage.call(&longer).await.unwrap().usage.input_tokens,
        bare.input_tokens + tokens("12345678") + tokens("1234")
    );
}

#[tokio::test]
async fn placeholders_bring_in_the_request() {
    let stage = ScriptedRouter::with(
        &json!({ "rounds": [{ "text": "{{agent_id}}|{{input}}|{{tool_result}}" }] }),
    );
    assert_eq!(
        stage.text(&request(0, 1)).await,
        "main|Current input: hello|"
    );
    let mut later = request(0, 1);
    later.conversation = vec![
        result("first"),
        result("{{input}}"),
        ConversationItem::User {
            text: "u".to_owned(),
        },
    ];
    assert_eq!(
        stage.text(&later).await,
        "main|Current input: hello|{{input}}"
    );
}

#[tokio::test]
async fn a_placeholder_stands_for_the_task_of_the_last_result() {
    let call =
        json!({ "tool": "ExecCommand", "input": { "cmd": "{{task_id}} ", "of": ["{{task_id}}"] } });
    let stage =
        ScriptedRouter::with(&json!({ "rounds": [{ "text": "{{task_id}}", "calls": [call] }] }));
    let (old, new) = ("task_00000000000000000000", "task_0123456789abcdefghjk");
    let mut asked = request(0, 1);
    asked.conversation = vec![
        result(old),
        result(&format!("{old} and {new}; task_id, /o/task_output.log")),
        result("no task here"),
    ];
    let reply = stage.call(&asked).await.unwrap();
    let [ReplyBlock::Text { text }, ReplyBlock::Call(call)] = reply.blocks.as_slice() else {
        panic!("{reply:?}");
    };
    assert_eq!(text, new);
    assert_eq!(
        call.input,
        json!({ "cmd": "{{task_id}} ", "of": [new] }),
        "only an argument that is nothing else is filled in"
    );
    // In a turn that a task's end started, the input names the task.
    asked.conversation.clear();
    let input = asked.frame.context_blocks.last_mut().unwrap();
    input.text = format!("Task {old} completed: exit 0");
    assert_eq!(stage.text(&asked).await, old);
}

#[tokio::test]
async fn a_call_names_the_work_item_that_the_prompt_shows_first() {
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": "{{work_item_id}}" } });
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "calls": [call] }] }));
    let (current, other) = ("work_00000000000000000000", "work_0123456789abcdefghjk");
    let mut asked = request(0, 1);
    let mut work = asked.frame.context_blocks[0].clone();
    work.text = format!("Current work item {current}: work_items\n- {other}");
    asked.frame.context_blocks.insert(0, work);
    let named = async |asked: &ModelRequest| {
        let reply = stage.call(asked).await.unwrap();
        let [ReplyBlock::Call(call)] = reply.blocks.as_slice() else {
            panic!("{reply:?}");
        };
        call.input["cmd"].clone()
    };
    assert_eq!(named(&asked).await, current);
    asked.conversation = vec![result(other)];
    assert_eq!(
        named(&asked).await,
        other,
        "what the turn was told counts more"
    );
}

#[tokio::test]
async fn a_call_that_names_a_task_where_there_is_none_says_so() {
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": "{{task_id}}" } });
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "calls": [call] }] }));
    let failure = stage.call(&request(0, 1)).await.unwrap_err();
    assert_eq!(failure.kind, ModelFailureKind::InvalidResponse);
    assert!(
        failure.message.contains("round 1 names {{task_id}}"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn an_edited_script_holds_from_the_next_round_on() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "text": "a" }, { "text": "b" }] }));
    assert_eq!(stage.text(&request(0, 1)).await, "a");
    stage.write("s.json", br#"{"rounds":[{"text":"a"},{"text":"new"}]}"#);
    assert_eq!(stage.text(&request(1, 1)).await, "new");
}

#[tokio::test]
async fn a_script_may_be_named_by_its_whole_path() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "text": "a" }] }));
    let mut asked = request(0, 1);
    asked.model = ModelRef::parse(&format!(
        "scripted/{}",
        stage.path().join("s.json").display()
    ))
    .unwrap();
    assert_eq!(stage.text(&asked).await, "a");
}

#[tokio::test]
async fn met_expectations_let_the_round_answer() {
    let expect = json!({ "tool_result_contains": "42", "input_contains": "hello" });
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "text": "a", "expect": expect }] }));
    let mut asked = request(0, 1);
    asked.conversation = vec![result("it is 42")];
    assert_eq!(stage.text(&asked).await, "a");
}

#[tokio::test]
async fn words_put_in_during_the_turn_count_as_input() {
    let stage = ScriptedRouter::with(
        &json!({ "rounds": [{ "text": "a", "expect": { "input_contains": "stop that" } }] }),
    );
    let mut asked = request(0, 1);
    assert_eq!(
        stage.call(&asked).await.unwrap_err().kind,
        ModelFailureKind::InvalidResponse
    );
    asked.conversation = vec![ConversationItem::User {
        text: "please stop that".to_owned(),
    }];
    assert_eq!(stage.text(&asked).await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_delayed_round_answers_after_its_delay() {
    let stage =
        ScriptedRouter::with(&json!({ "rounds": [{ "text": "late", "delay_ms": 60_000 }] }));
    let within = async |ms| {
        tokio::time::timeout(Duration::from_millis(ms), stage.call(&request(0, 1))).await
    };
    assert!(within(59_999).await.is_err());
    assert_eq!(text_of(&within(60_001).await.unwrap().unwrap()), "late");
}

#[tokio::test]
async fn a_cancelled_delay_ends_at_once() {
    let stage =
        ScriptedRouter::with(&json!({ "rounds": [{ "text": "late", "delay_ms": 3_600_000 }] }));
    let cancel = CancellationToken::new();
    let asked = request(0, 1);
    let (answer, ()) = tokio::join!(stage.router.call(&asked, &|_| {}, &cancel), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(answer.unwrap_err().message.contains("cancelled"));
    let again = stage.router.call(&asked, &|_| {}, &cancel).await;
    assert!(again.is_err(), "a token that has fired lets nothing start");
}

#[tokio::test]
async fn many_agents_may_ask_one_script_at_once() {
    let stage = ScriptedRouter::with(&json!({ "rounds": [{ "text": "{{agent_id}}" }] }));
    let ask = |n: usize| {
        let mut asked = request(0, 1);
        asked.frame.cache.agent_id = format!("a{n}");
        asked
    };
    let (first, second) = (ask(1), ask(2));
    let (first, second) = tokio::join!(stage.call(&first), stage.call(&second));
    assert_eq!(
        (text_of(&first.unwrap()), text_of(&second.unwrap())),
        ("a1".to_owned(), "a2".to_owned())
    );
}
