//! Prompts over the shell: the operator's words after many wakes, the steps of a work item, and the view of the last
//! prompt.

use crate::guidance::instructions;
use crate::house::{House, agent, at_rest, briefs, interject, prompt};
use crate::talk::texts;
use crate::windows::model;
use holon_domain::guidance::Guidance;
use holon_domain::model::{
    ModelChain, ModelFailure, ModelFailureKind, ModelRequest, ReplyBlock, StopReason,
};
use holon_domain::prompt_plan::BlockSource;
use holon_domain::prompt_view::TurnPartKind;
use holon_domain::provider::LearnedLimits;
use holon_domain::turn::TerminalReason;
use holon_engine::Host;
use holon_engine::request::Wake;
use holon_testkit::ports::{calls, failure, reply, says};
use serde_json::json;

async fn wake(host: &Host, reason: &str) {
    let wake = Wake {
        reason: reason.to_owned(),
        source: None,
        correlation_id: None,
        causation_id: None,
    };
    host.control()
        .wake(&agent("main"), wake)
        .await
        .expect("a wake");
}

fn context(request: &ModelRequest) -> String {
    let blocks = request.frame.context_blocks.iter();
    let texts: Vec<&str> = blocks.map(|block| block.text.as_str()).collect();
    texts.join("\n\n")
}

#[tokio::test]
async fn the_operators_latest_words_stay_in_view_after_many_wakes() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "Watch the harbour and tell me of ships.").await;
    house.model.next().await.answer(says("watching"));
    briefs(&host, "main", 1).await;
    for number in 0..30 {
        wake(&host, &format!("the tide turned {number}")).await;
        let asked = house.model.next().await;
        let shown = texts(&asked.request);
        let all = shown.join("\n");
        assert_eq!(
            all.matches("\\nWatch the harbour").count(),
            1,
            "whole, and once in {number}: {all}"
        );
        let first_request = asked.request.clone();
        asked.answer(calls(&[("AgentGet", json!({}))]));
        let again = house.model.next().await;
        assert_eq!(
            context(&again.request),
            context(&first_request),
            "a turn shows one frame"
        );
        again.answer(calls(&[("Sleep", json!({"reason": "nothing"}))]));
        at_rest(&host, "main").await;
    }
}

#[tokio::test]
async fn the_next_turn_on_an_item_shows_the_steps_before_it_once() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    house
        .model
        .next()
        .await
        .answer(says("A word about nothing."));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "split the fixtures").await;
    let id = take_up_item(&house).await;
    let asked = house.model.next().await;
    let shown = texts(&asked.request).join("\n");
    for step in ["\"name\":\"PickWorkItem\"", "The plan is ready."] {
        assert_eq!(shown.matches(step).count(), 1, "{step}: {shown}");
    }
    assert!(
        !shown.contains("Latest steps on the current item"),
        "{shown}"
    );
    asked.answer(calls(&[(
        "CompleteWorkItem",
        json!({ "work_item_id": id }),
    )]));
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn steps_of_a_long_turn_are_shown_although_its_frame_is_far_back() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let id = take_up_item(&house).await;
    for _ in 0..40 {
        let look = calls(&[("AgentGet", json!({}))]);
        house.model.next().await.answer(look);
    }
    let stop = calls(&[("Sleep", json!({"reason": "until tomorrow"}))]);
    house.model.next().await.answer(stop);
    at_rest(&host, "main").await;
    let view = host
        .reads()
        .prompt(&agent("main"), None)
        .await
        .expect("a view");
    let shown = view.prompt.expect("the frame of the long turn");
    assert_eq!(shown.turn_index, 2);

    prompt(&host, "main", "go on").await;
    let asked = house.model.next().await;
    let shown = context(&asked.request);
    let (_, steps) = shown
        .split_once("Latest steps on the current item")
        .expect("steps");
    assert!(steps.contains("AgentGet done"), "{steps}");
    asked.answer(calls(&[(
        "CompleteWorkItem",
        json!({ "work_item_id": id }),
    )]));
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn the_report_of_a_turn_that_an_event_began_stays_in_the_history() {
    let house = House::new();
    let host = house.with_main().await;
    wake(&host, "the tests have ended").await;
    house
        .model
        .next()
        .await
        .answer(says("Three fail: a, b, c."));
    at_rest(&host, "main").await;
    prompt(&host, "main", "fix the second one").await;
    let asked = house.model.next().await;
    let shown = texts(&asked.request).join("\n");
    assert!(shown.contains("Three fail: a, b, c."), "{shown}");
    asked.answer(says("done"));
    briefs(&host, "main", 2).await;
}

#[tokio::test]
async fn a_tick_with_the_hint_of_an_integration_has_the_rules_of_an_event() {
    let house = House::new();
    let host = house.with_main().await;
    for (source, rules) in [(None, false), (Some("ci".to_owned()), true)] {
        let hint = Wake {
            reason: "look".to_owned(),
            source,
            correlation_id: None,
            causation_id: None,
        };
        let sent = host.control().wake(&agent("main"), hint.clone()).await;
        sent.expect("a wake");
        let asked = house.model.next().await;
        let shown = context(&asked.request);
        let told = shown.contains("An event began this turn");
        assert_eq!(told, rules, "{hint:?}: {shown}");
        asked.answer(calls(&[("Sleep", json!({"reason": "nothing"}))]));
        at_rest(&host, "main").await;
    }
}

/// Answers the rounds of a turn that makes an item with a plan, picks it and ends. Returns the item's id.
async fn take_up_item(house: &House) -> String {
    let new = json!({"objective": "Split", "plan": "# Plan\n", "plan_status": "ready"});
    let made = calls(&[("CreateWorkItem", new)]);
    house.model.next().await.answer(made);
    let asked = house.model.next().await;
    let id = context_id(&asked.request);
    asked.answer(calls(&[("PickWorkItem", json!({ "work_item_id": id }))]));
    house.model.next().await.answer(says("The plan is ready."));
    id
}

/// Finds the id of the new item in the last tool result.
fn context_id(request: &ModelRequest) -> String {
    let results = crate::talk::results(request);
    crate::talk::id_in(results.last().expect("a result"), "work_")
}

#[tokio::test]
async fn the_last_prompt_is_shown_as_it_was_sent() {
    let house = House::new();
    let host = house.with_main().await;
    let none = host
        .reads()
        .prompt(&agent("main"), None)
        .await
        .expect("a view");
    assert_eq!((none.prompt, none.rounds.len()), (None, 0));
    assert_eq!(none.agent_home, "/agents/main");

    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(says("hi"));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "and now?").await;
    let asked = house.model.next().await;
    let frame = asked.request.frame.clone();
    asked.answer(says("nothing"));
    briefs(&host, "main", 2).await;

    let view = host
        .reads()
        .prompt(&agent("main"), None)
        .await
        .expect("a view");
    let shown = view.prompt.expect("a prompt");
    assert_eq!(shown.prompt_cache_key, frame.cache.prompt_cache_key);
    assert_eq!(shown.context_fingerprint, frame.cache.context_fingerprint);
    let sent = frame.system_blocks.iter().chain(&frame.context_blocks);
    let sent: Vec<&str> = sent.map(|block| block.text.as_str()).collect();
    let told: Vec<&str> = shown
        .blocks
        .iter()
        .filter_map(|block| block.text.as_deref())
        .collect();
    for text in &told {
        assert!(sent.contains(text), "{text}");
    }
    assert_eq!(told.len(), sent.len());
    let sources: Vec<BlockSource> = shown
        .blocks
        .iter()
        .map(|block| block.decision.source)
        .collect();
    assert_eq!(
        sources,
        [
            BlockSource::Policy,
            BlockSource::ToolGuidance,
            BlockSource::Surroundings,
            BlockSource::CurrentInput
        ]
    );
    assert_eq!(view.rounds.len(), 2);
    assert_eq!((view.rounds[0].turn_index, view.rounds[0].round), (2, 1));
}

#[tokio::test]
async fn a_prompt_shows_what_its_turn_added_and_earlier_turns_can_be_asked_for() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "first words").await;
    house.model.next().await.answer(says("first answer"));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "look around").await;
    let look = calls(&[("AgentGet", json!({}))]);
    house.model.next().await.answer(look.clone());
    let asked = house.model.next().await;
    interject(&host, "main", "Mind the tests.").await;
    asked.answer(look);
    let asked = house.model.next().await;
    assert!(context(&asked.request).contains("look around"));
    asked.answer(says("done"));
    briefs(&host, "main", 2).await;

    let reads = host.reads();
    let view = reads.prompt(&agent("main"), None).await.expect("a view");
    let shown = view.prompt.expect("a prompt");
    assert_eq!(shown.turn_index, 2);
    let kinds: Vec<TurnPartKind> = shown.turn_parts.iter().map(|part| part.kind).collect();
    assert_eq!(kinds, [TurnPartKind::Message, TurnPartKind::Rounds]);
    let message = shown.turn_parts.first().expect("a message");
    assert_eq!(message.last_round, 2);
    let rounds = shown.turn_parts.last().expect("rounds");
    assert_eq!((rounds.first_round, rounds.last_round), (1, 2));
    assert!(
        message
            .text
            .as_deref()
            .is_some_and(|text| text.ends_with("Mind the tests."))
    );
    let sum: u64 = shown.turn_parts.iter().map(|part| part.tokens).sum();
    assert_eq!(shown.turn_tokens, sum);

    let first = reads.prompt(&agent("main"), Some(1)).await.expect("a view");
    let shown = first.prompt.expect("a prompt");
    assert_eq!((shown.turn_index, first.rounds.len()), (1, 1));
    assert_eq!((shown.turn_parts.len(), shown.turn_tokens), (0, 0));
    let input = shown.blocks.last().and_then(|block| block.text.as_deref());
    assert!(
        input.is_some_and(|text| text.ends_with("first words")),
        "{input:?}"
    );

    let unknown = reads.prompt(&agent("main"), Some(9)).await.unwrap_err();
    let agent_id = agent("main");
    assert_eq!(
        unknown,
        holon_core::Rejection::NoSuchTurn { agent_id }.into()
    );
}

#[tokio::test]
async fn a_tick_about_something_else_does_not_repair_a_turn_that_the_output_limit_ended() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "write a long poem").await;
    let mut cut_off = 0;
    let woken = loop {
        let asked = house.model.next().await;
        let shown = context(&asked.request);
        if shown.contains("the tide turned") {
            break asked;
        }
        if cut_off == 0 {
            wake(&host, "the tide turned").await;
        }
        cut_off += 1;
        assert!(cut_off < 20, "{shown}");
        let words = ReplyBlock::Text {
            text: "and so on".to_owned(),
        };
        asked.answer(reply(vec![words], StopReason::MaxOutputTokens));
    };
    let last = house.record(&agent("main")).await.expect("an agent");
    let last = last.last_turn.expect("a turn").reason;
    assert_eq!(last, TerminalReason::OutputLimit);
    let shown = context(&woken.request);
    assert!(!shown.contains("This turn is for nothing else"), "{shown}");
    woken.answer(says("I see"));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn a_tick_after_a_turn_that_the_output_limit_ended_has_the_rules_of_a_repair() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "split the fixtures").await;
    let new = json!({"objective": "Split", "plan": "# Plan\n", "plan_status": "ready"});
    house
        .model
        .next()
        .await
        .answer(calls(&[("CreateWorkItem", new)]));
    let asked = house.model.next().await;
    let id = context_id(&asked.request);
    asked.answer(calls(&[("PickWorkItem", json!({ "work_item_id": id }))]));
    let mut cut_off = 0;
    let repair = loop {
        let asked = house.model.next().await;
        let shown = context(&asked.request);
        if shown.contains("This turn is for nothing else") {
            break asked;
        }
        cut_off += 1;
        assert!(cut_off < 20, "{shown}");
        let words = ReplyBlock::Text {
            text: "and so on".to_owned(),
        };
        asked.answer(reply(vec![words], StopReason::MaxOutputTokens));
    };
    let shown = context(&repair.request);
    assert!(cut_off > 1, "the turn was cut off");
    assert!(
        shown.contains("the output limit cut off too many of its answers"),
        "{shown}"
    );
    let look = calls(&[("AgentGet", json!({}))]);
    repair.answer(look);
    let later = house.model.next().await;
    assert!(
        context(&later.request).contains("This turn is for nothing else"),
        "every round has them"
    );
    later.answer(calls(&[(
        "CompleteWorkItem",
        json!({ "work_item_id": id }),
    )]));
    house.model.next().await.answer(says("done"));
    at_rest(&host, "main").await;

    let view = host
        .reads()
        .prompt(&agent("main"), None)
        .await
        .expect("a view");
    let blocks = view.prompt.expect("a prompt").blocks;
    let sources = blocks.iter().map(|block| block.decision.source);
    assert!(
        sources
            .into_iter()
            .any(|source| source == BlockSource::ConstrainedRepair)
    );
    prompt(&host, "main", "thanks").await;
    let asked = house.model.next().await;
    assert!(!context(&asked.request).contains("This turn is for nothing else"));
    asked.answer(says("you are welcome"));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn a_prompt_of_then_is_shown_with_the_facts_of_then() {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let host = house.with_main().await;
    house.guidance.set(instructions("Mind the gap."));
    prompt(&host, "main", "look").await;
    let asked = house.model.next().await;
    let tools = u64::try_from(asked.request.tools.estimated_tokens()).expect("tokens");
    asked.answer(says("looked"));
    briefs(&host, "main", 1).await;
    let view = async || {
        let view = host.reads().prompt(&agent("main"), Some(1)).await;
        view.expect("a view")
    };
    let then = view().await;
    let shown = then.prompt.clone().expect("a prompt");
    assert_eq!(shown.tools_tokens, tools);

    house.guidance.set(Guidance::default());
    prompt(&host, "main", "look again").await;
    let asked = house.model.next().await;
    asked.answer(Err(ModelFailure {
        learned: Some(LearnedLimits {
            context_window_tokens: Some(10_000),
            max_output_tokens: Some(1_000),
            ..LearnedLimits::default()
        }),
        ..failure(ModelFailureKind::InvalidRequest)
    }));
    for _ in 0..30 {
        let look = calls(&[("AgentGet", json!({}))]);
        house.model.next().await.answer(look);
    }
    house.model.next().await.answer(says("looked"));
    briefs(&host, "main", 2).await;
    let now = view().await;
    let source = now.loaded_agents_md.agent_source.as_ref();
    assert_eq!(
        source.map(|source| source.path.as_str()),
        Some("/agents/main/AGENTS.md")
    );
    assert_eq!(now.loaded_agents_md, then.loaded_agents_md);
    let later = now.prompt.expect("a prompt");
    assert_eq!(later.budget_tokens, shown.budget_tokens);
    assert_eq!(later.tools_tokens, shown.tools_tokens);
    assert_eq!(later.blocks, shown.blocks);
    let last = host.reads().prompt(&agent("main"), None).await;
    let last = last.expect("a view").prompt.expect("a prompt");
    let told = last.blocks.iter().map(|block| block.decision.source);
    assert!(
        told.into_iter()
            .any(|source| source == BlockSource::Changes)
    );
    assert!(last.budget_tokens < shown.budget_tokens);
    assert!(last.compression_epoch > 0, "the second turn was folded");
    assert_eq!(later.compression_epoch, 0, "the first was not");
}
