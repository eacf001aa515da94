//! Turns that outgrow the window of their model.

use crate::house::{House, agent, briefs, create, interject, prompt};
use holon_domain::model::{ConversationItem, ModelFailureKind, ModelRequest};
use holon_domain::turn::TerminalReason;
use holon_testkit::ports::{failure, says, says_and_calls};
use serde_json::json;

const ASKED: &str = "Migrate every module, one after the other.";
/// Tokens that the provider of these tests accepts, less than its model is assumed to have.
const WINDOW: u64 = 15_000;

fn is_shown(request: &ModelRequest, words: &str) -> bool {
    let mut blocks = request.frame.context_blocks.iter();
    let said = |item: &ConversationItem| match item {
        ConversationItem::User { text } => text.contains(words),
        ConversationItem::Assistant { .. } | ConversationItem::ToolResult { .. } => false,
    };
    blocks.any(|block| block.text.contains(words)) || request.conversation.iter().any(said)
}

async fn last_end(house: &House) -> TerminalReason {
    let agent = house.record(&agent("main")).await.expect("an agent");
    agent.last_turn.expect("a turn that ended").reason
}

/// Plays a turn of this many rounds on a provider that refuses long requests; returns the number of refusals. The host
/// crashes after every `crash_every` rounds.
async fn play(rounds: u32, crash_every: u32) -> u32 {
    let mut house = House::new();
    let mut host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", ASKED).await;
    let (mut answered, mut refused) = (0, 0);
    let mut interjected = false;
    while answered < rounds {
        let call = house.model.next().await;
        assert!(is_shown(&call.request, ASKED), "round {answered}");
        assert!(
            !interjected || is_shown(&call.request, "Skip the tests."),
            "round {answered}"
        );
        if call.request.estimated_tokens() > WINDOW {
            refused += 1;
            call.answer(Err(failure(ModelFailureKind::ContextLengthExceeded)));
            continue;
        }
        answered += 1;
        call.answer(says_and_calls(
            "next module",
            &[(
                "ExecCommand",
                json!({ "cmd": format!("migrate {answered}") }),
            )],
        ));
        let command = house.commands.next().await;
        if answered == rounds / 2 {
            interject(&host, "main", "Skip the tests.").await;
            interjected = true;
        }
        command.ends(&"done some of it\n".repeat(400));
        if answered % crash_every == 0 {
            house = house.after_crash();
            drop(host);
            host = house.start().await;
        }
    }
    house
        .model
        .next()
        .await
        .answer(says("all modules are migrated"));
    let briefs = briefs(&host, "main", 1).await;
    assert_eq!(briefs[0].text, "all modules are migrated");
    assert_eq!(last_end(&house).await, TerminalReason::Finished);
    refused
}

#[tokio::test]
async fn a_turn_of_two_hundred_rounds_ends_well_on_a_provider_with_a_small_window() {
    let refused = play(200, u32::MAX).await;
    assert!(
        (1..=3).contains(&refused),
        "{refused} requests were refused"
    );
}

#[tokio::test]
async fn a_long_turn_goes_on_with_its_recaps_after_each_crash() {
    let refused = play(60, 7).await;
    assert!(
        (1..=3).contains(&refused),
        "{refused} requests were refused"
    );
}

#[tokio::test]
async fn a_request_that_is_refused_twice_for_its_length_ends_the_turn() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", ASKED).await;
    for _ in 0..2 {
        let call = house.model.next().await;
        call.answer(Err(failure(ModelFailureKind::ContextLengthExceeded)));
    }
    briefs(&host, "main", 1).await;
    assert_eq!(
        last_end(&house).await,
        TerminalReason::ContextLengthExceeded
    );
}
