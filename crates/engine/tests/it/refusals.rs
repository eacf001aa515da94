//! Requests that a provider refuses as invalid: the forms in which they are sent again, and what becomes of the turn.

use crate::house::{House, at_rest, briefs, create, prompt};
use crate::talk::texts;
use crate::thread::folds;
use holon_domain::block::Block;
use holon_domain::model::{
    ConversationItem, ModelFailureKind, ModelReply, ModelRequest, ReplyBlock, RequestedCall,
    StopReason,
};
use holon_domain::thread::FoldCause;
use holon_engine::Host;
use holon_testkit::ports::{failure, reply, says};
use serde_json::json;

/// A reply with sealed reasoning, and with a call or an answer.
fn sealed(seal: &str, answer: Option<&str>) -> ModelReply {
    let reasoning = ReplyBlock::Reasoning {
        text: String::new(),
        opaque: Some(seal.to_owned()),
    };
    let (block, stop) = match answer {
        Some(text) => (ReplyBlock::Text { text: text.into() }, StopReason::EndTurn),
        None => {
            let call = RequestedCall {
                provider_id: None,
                name: "AgentGet".to_owned(),
                input: json!({}),
            };
            (ReplyBlock::Call(call), StopReason::ToolUse)
        }
    };
    reply(vec![reasoning, block], stop).expect("a reply")
}

fn seals(request: &ModelRequest) -> Vec<String> {
    let earlier = request.thread.iter().flat_map(|turn| &turn.items);
    let items = earlier.chain(&request.conversation);
    let blocks = items.flat_map(|item| match item {
        ConversationItem::Assistant { blocks, .. } => blocks.as_slice(),
        ConversationItem::ToolResult { .. }
        | ConversationItem::User { .. }
        | ConversationItem::Image(_) => &[],
    });
    let seal = |block: &Block| match block {
        Block::Reasoning { opaque, .. } => opaque.as_ref().map(|seal| seal.data.clone()),
        Block::Text { .. } | Block::ToolCall(_) => None,
    };
    blocks.filter_map(seal).collect()
}

/// A host whose agent `main` has ended a turn of one call, whose answers were sealed.
async fn after_a_sealed_turn(house: &House) -> Host {
    let host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", "Look at yourself.").await;
    house.model.next().await.answer(Ok(sealed("one", None)));
    let answer = sealed("two", Some("This is me."));
    house.model.next().await.answer(Ok(answer));
    at_rest(&host, "main").await;
    host
}

/// Refuses the next request as invalid, and returns it.
async fn refuse(house: &House) -> ModelRequest {
    let call = house.model.next().await;
    let request = call.request.clone();
    call.answer(Err(failure(ModelFailureKind::InvalidRequest)));
    request
}

async fn fold_causes(house: &House) -> Vec<FoldCause> {
    let folds = folds(house).await.into_iter();
    folds.map(|fold| fold.cause).collect()
}

#[tokio::test]
async fn a_refused_request_is_sent_without_seals_and_they_stay_dropped() {
    let house = House::new();
    let host = after_a_sealed_turn(&house).await;
    prompt(&host, "main", "And now?").await;
    let refused = refuse(&house).await;
    assert_eq!(seals(&refused), ["one", "two"]);
    let call = house.model.next().await;
    assert!(seals(&call.request).is_empty());
    assert_eq!(texts(&call.request).len(), texts(&refused).len());
    call.answer(Ok(sealed("three", None)));
    let call = house.model.next().await;
    assert!(
        seals(&call.request).is_empty(),
        "the rest of the turn stays without"
    );
    let shown = texts(&call.request);
    call.answer(Ok(sealed("four", Some("Still me."))));
    at_rest(&host, "main").await;
    host.shut_down().await.expect("an end");

    let host = house.start().await;
    prompt(&host, "main", "Again.").await;
    let call = house.model.next().await;
    assert!(seals(&call.request).is_empty());
    assert!(texts(&call.request).starts_with(&shown));
    call.answer(Ok(sealed("five", Some("Me."))));
    at_rest(&host, "main").await;
    prompt(&host, "main", "Once more.").await;
    let call = house.model.next().await;
    assert_eq!(seals(&call.request), ["five"], "newer ones are shown");
    call.answer(says("Yes."));
    at_rest(&host, "main").await;
    assert!(fold_causes(&house).await.is_empty());
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_request_that_is_refused_without_seals_too_is_sent_with_the_thread_folded() {
    let house = House::new();
    let host = after_a_sealed_turn(&house).await;
    prompt(&host, "main", "And now?").await;
    let whole = refuse(&house).await;
    let unsealed = refuse(&house).await;
    let call = house.model.next().await;
    let folded = call.request.clone();
    let turns: Vec<Option<u64>> = folded.thread.iter().map(|turn| turn.turn_index).collect();
    assert_eq!(turns, [None], "a recap alone");
    assert!(texts(&folded).join("\n").contains("This is me."));
    let sent = [whole, unsealed, folded];
    for (place, request) in sent.iter().enumerate() {
        let others = sent.iter().enumerate().filter(|(other, _)| *other != place);
        let mut same = others.filter(|(_, other)| {
            (&other.thread, &other.conversation) == (&request.thread, &request.conversation)
        });
        assert!(same.next().is_none(), "no request is sent twice");
    }
    call.answer(says("Folded."));
    at_rest(&host, "main").await;
    assert_eq!(fold_causes(&house).await, [FoldCause::Invalid]);
    prompt(&host, "main", "Once more.").await;
    let call = house.model.next().await;
    let turns: Vec<Option<u64>> = call
        .request
        .thread
        .iter()
        .map(|turn| turn.turn_index)
        .collect();
    assert_eq!(turns, [None, Some(2)], "the refused turn is gone for good");
    call.answer(says("Yes."));
    at_rest(&host, "main").await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_turn_that_is_refused_in_every_form_fails_and_is_one_line_afterwards() {
    let house = House::new();
    let host = after_a_sealed_turn(&house).await;
    prompt(&host, "main", "Poisonous words.").await;
    for _ in 0..3 {
        refuse(&house).await;
    }
    at_rest(&host, "main").await;
    let told = briefs(&host, "main", 2).await;
    assert!(told[1].text.contains("no answer"), "{told:?}");
    prompt(&host, "main", "Are you well?").await;
    let call = house.model.next().await;
    let shown = texts(&call.request).join("\n");
    assert!(!shown.contains("Poisonous"), "{shown}");
    assert!(
        shown.contains("a model provider refused its content"),
        "{shown}"
    );
    assert_eq!(call.request.thread.last().expect("a turn").items.len(), 1);
    assert!(shown.contains("This is me."), "the turns before it stay");
    call.answer(says("Yes."));
    at_rest(&host, "main").await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_turn_that_is_refused_after_calls_names_them_and_shows_nothing_of_their_results() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", "Look at yourself.").await;
    let call = sealed("one", None);
    house.model.next().await.answer(Ok(call));
    refuse(&house).await;
    refuse(&house).await;
    at_rest(&host, "main").await;
    prompt(&host, "main", "Are you well?").await;
    let call = house.model.next().await;
    let shown = call.request.thread.last().expect("a turn").items.clone();
    let [ConversationItem::User { text }] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert!(text.contains("1 call of AgentGet"), "{text}");
    assert!(!text.contains("Look at yourself"), "{text}");
    call.answer(says("Yes."));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn a_turn_that_a_content_filter_stopped_is_one_line_afterwards() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", "Poisonous words.").await;
    let filtered = reply(Vec::new(), StopReason::ContentFilter);
    house.model.next().await.answer(filtered);
    at_rest(&host, "main").await;
    prompt(&host, "main", "Are you well?").await;
    let call = house.model.next().await;
    let shown = texts(&call.request).join("\n");
    assert!(
        shown.contains("a content filter of the model's provider stopped it"),
        "{shown}"
    );
    assert!(!shown.contains("Poisonous"), "{shown}");
    call.answer(says("Yes."));
    at_rest(&host, "main").await;
}
