//! Tests of the comparison of a request with the one before.

use super::*;
use holon_domain::block::ToolCall;
use holon_domain::model::{CacheLife, ModelRef, PromptBlock, PromptCache, PromptFrame, Stability};
use holon_domain::provider::ReasoningPolicy;
use holon_domain::thread::ThreadTurn;
use holon_domain::tool_set::ToolSet;
use serde_json::json;
use std::sync::Arc;

fn block(text: &str, stability: Stability) -> PromptBlock {
    PromptBlock {
        text: text.to_owned(),
        stability,
        cache_breakpoint: false,
    }
}

fn user(text: &str) -> ConversationItem {
    ConversationItem::User {
        text: text.to_owned(),
    }
}

fn said(text: &str, cmd: &str) -> ConversationItem {
    ConversationItem::Assistant {
        model_ref: "a/b".to_owned(),
        blocks: vec![
            Block::Text {
                text: text.to_owned(),
            },
            Block::ToolCall(ToolCall {
                id: holon_domain::CallId::from_stored("call_1"),
                name: "Go".to_owned(),
                input: json!({ "cmd": cmd }),
                provider_id: None,
            }),
        ],
    }
}

fn request(
    thread: Vec<ConversationItem>,
    context: &[&str],
    conversation: Vec<ConversationItem>,
) -> ModelRequest {
    let context_blocks = context.iter();
    ModelRequest {
        model: ModelRef::parse("a/b").expect("a reference"),
        round: 1,
        frame: PromptFrame {
            system_prompt: "policy".to_owned(),
            system_blocks: vec![block("policy", Stability::Stable)],
            context_blocks: context_blocks
                .map(|text| block(text, Stability::TurnScoped))
                .collect(),
            cache: PromptCache {
                agent_id: "main".to_owned(),
                prompt_cache_key: String::new(),
                context_fingerprint: String::new(),
                working_memory_revision: 0,
                compression_epoch: 0,
                life: CacheLife::Usual,
            },
        },
        thread: vec![Arc::new(ThreadTurn::new(Some(1), thread))],
        conversation,
        tools: ToolSet::new(Vec::new()),
        max_output_tokens: 100,
        reasoning_effort: None,
        reasoning: ReasoningPolicy::NONE,
        prior_rounds: 0,
    }
}

fn same(before: &ModelRequest, now: &ModelRequest) -> (u64, u64) {
    let overlap = RequestTrail::of(now).overlap(Some(&RequestTrail::of(before)));
    (overlap.same_bytes.expect("compared"), overlap.bytes)
}

#[test]
fn a_request_repeats_the_one_before_up_to_the_first_part_that_differs() {
    let first = request(vec![], &["now", "question"], vec![]);
    // "policy", "now" and "question".
    assert_eq!(same(&first, &first), (17, 17));
    let call = json!({ "cmd": "ls" }).to_string().len() as u64;
    let second = request(vec![], &["now", "question"], vec![said("I look", "ls")]);
    assert_eq!(same(&first, &second), (17, 17 + 6 + 2 + call));
    assert_eq!(
        same(&second, &first),
        (17, 17),
        "a shorter one is a beginning"
    );
    for (other, wanted) in [
        (request(vec![], &["now", "Question"], vec![]), 9),
        (request(vec![], &["nowquestion"], vec![]), 6),
        (request(vec![user("x")], &["now", "question"], vec![]), 6),
    ] {
        assert_eq!(same(&first, &other).0, wanted, "{other:?}");
    }
    let mut asked_of_another = first.clone();
    asked_of_another.model = ModelRef::parse("a/c").expect("a reference");
    assert_eq!(same(&first, &asked_of_another).0, 0);
}

#[test]
fn a_past_turn_counts_as_it_was_when_it_was_the_current_one() {
    let last = request(
        vec![],
        &["now", "question"],
        vec![said("I look", "ls"), said("Done", "true")],
    );
    let past = vec![
        user("now"),
        user("question"),
        said("I look", "ls"),
        said("Done", "true"),
    ];
    let next = request(past, &["later", "more"], vec![]);
    let (same, bytes) = same(&last, &next);
    assert_eq!(bytes - same, "latermore".len() as u64);
}

#[test]
fn each_agent_is_compared_with_itself_and_the_oldest_is_forgotten() {
    let trails = RequestTrails::default();
    let agent = |number: usize| AgentId::parse(&format!("a{number}")).expect("a name");
    let note = |number| {
        let trail = RequestTrail::of(&request(vec![], &["question"], vec![]));
        trails.note(&agent(number), trail).same_bytes
    };
    assert_eq!(note(0), None);
    assert_eq!(note(1), None);
    assert_eq!(note(0), Some(14));
    for number in 2..=REQUEST_TRAILS {
        assert_eq!(note(number), None, "{number}");
    }
    assert_eq!(note(1), None, "it asked longest ago");
    assert_eq!(note(REQUEST_TRAILS), Some(14));
}
