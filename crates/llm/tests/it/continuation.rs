//! Requests that only add to a stored answer are sent in short form; all others, and all uncertain ones, in full.

use crate::support::text_of;
use crate::wire::{asking, patient, router, spec};
use holon_domain::block::Block;
use holon_domain::model::{ConversationItem, ModelRequest, ReplyBlock};
use holon_llm::Router;
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use tokio_util::sync::CancellationToken;

fn storing(provider: &Provider) -> Router {
    let mut spec = spec(Protocol::Responses, &provider.base_url());
    spec.store_responses = true;
    router(spec, patient())
}

async fn ask(router: &Router, request: &ModelRequest) -> String {
    let reply = router
        .call(request, &|_| {}, &CancellationToken::new())
        .await;
    text_of(&reply.unwrap())
}

/// Sends a request and extends it by the answer and a following user text.
async fn ask_and_go_on(router: &Router, request: &mut ModelRequest) -> String {
    let reply = router
        .call(request, &|_| {}, &CancellationToken::new())
        .await
        .unwrap();
    let blocks = reply.blocks.iter().map(|block| match block {
        ReplyBlock::Text { text } => Block::Text { text: text.clone() },
        ReplyBlock::Reasoning { .. } | ReplyBlock::Call(_) => unreachable!("the script only talks"),
    });
    request.conversation.push(ConversationItem::Assistant {
        model_ref: request.model.to_string(),
        blocks: blocks.collect(),
    });
    request.conversation.push(ConversationItem::User {
        text: "and then?".to_owned(),
    });
    text_of(&reply)
}

fn is_short(asked: &RecordedRequest) -> bool {
    asked.body.get("previous_response_id").is_some()
}

fn texts(rounds: &[&str]) -> Script {
    Script::of(rounds.iter().copied().map(Round::text).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_request_that_only_adds_items_is_sent_in_short_form() {
    let provider = Provider::start(texts(&["one", "two", "three"]));
    let (router, mut request) = (storing(&provider), asking());
    for words in ["one", "two", "three"] {
        assert_eq!(ask_and_go_on(&router, &mut request).await, words);
    }
    let asked = provider.finish();
    let short: Vec<bool> = asked.iter().map(is_short).collect();
    assert_eq!(short, [false, true, true]);
    assert_eq!(asked[2].body["input"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn another_agent_another_cache_key_or_a_changed_prompt_gets_a_full_request() {
    let provider = Provider::start(texts(&["one", "two", "three", "four", "five"]));
    let (router, mut request) = (storing(&provider), asking());
    ask_and_go_on(&router, &mut request).await;
    let mut other = request.clone();
    other.frame.cache.agent_id = "other".to_owned();
    ask(&router, &other).await;
    let mut other = request.clone();
    other.frame.cache.prompt_cache_key = "other".to_owned();
    ask(&router, &other).await;
    let mut other = request.clone();
    other.conversation.insert(
        0,
        ConversationItem::User {
            text: "before".to_owned(),
        },
    );
    ask(&router, &other).await;
    ask(&storing(&provider), &request).await;
    assert!(!provider.finish().iter().any(is_short));
}

#[tokio::test]
async fn without_leave_to_store_every_request_is_whole() {
    let provider = Provider::start(texts(&["one", "two"]));
    let router = router(spec(Protocol::Responses, &provider.base_url()), patient());
    let mut request = asking();
    ask_and_go_on(&router, &mut request).await;
    ask(&router, &request).await;
    let asked = provider.finish();
    assert!(!asked.iter().any(is_short));
    assert!(asked.iter().all(|asked| asked.body["store"] == false));
}

#[tokio::test]
async fn a_provider_that_lost_a_stored_response_gets_full_requests_from_then_on() {
    let provider = Provider::start(Script::of([
        Round::text("one"),
        Round::fault(Fault::UnknownPrevious),
        Round::text("two"),
        Round::text("three"),
        Round::text("four"),
        Round::text("five"),
    ]));
    let (router, mut request) = (storing(&provider), asking());
    for words in ["one", "two", "three"] {
        assert_eq!(ask_and_go_on(&router, &mut request).await, words);
    }
    let mut other = asking();
    other.frame.cache.agent_id = "other".to_owned();
    for words in ["four", "five"] {
        assert_eq!(ask_and_go_on(&router, &mut other).await, words);
    }
    let short: Vec<bool> = provider.finish().iter().map(is_short).collect();
    assert_eq!(
        short,
        [false, true, false, false, false, false],
        "an account that keeps nothing would pay a failed request every round"
    );
}

#[tokio::test]
async fn a_whole_request_is_not_sent_twice() {
    let provider = Provider::start(Script::of([Round::fault(Fault::UnknownPrevious)]));
    let failed = storing(&provider)
        .call(&asking(), &|_| {}, &CancellationToken::new())
        .await;
    assert!(failed.is_err());
    assert_eq!(provider.finish().len(), 1);
}

#[tokio::test]
async fn a_failed_attempt_does_not_make_the_next_one_longer() {
    let provider = Provider::start(Script::of([
        Round::text("one"),
        Round::fault(Fault::ServerError),
        Round::text("two"),
    ]));
    let (router, mut request) = (storing(&provider), asking());
    ask_and_go_on(&router, &mut request).await;
    let failed = router
        .call(&request, &|_| {}, &CancellationToken::new())
        .await;
    assert!(failed.is_err());
    assert_eq!(ask(&router, &request).await, "two");
    let short: Vec<bool> = provider.finish().iter().map(is_short).collect();
    assert_eq!(short, [false, true, true]);
}
