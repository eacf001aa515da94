//! Models of a running host: the fallback chain, an agent's override, changed settings, and learned limits.

use crate::house::{House, agent, briefs, events, prompt};
use holon_domain::agent::ProfilePreset;
use holon_domain::attempt::TokenUsage;
use holon_domain::event::Event;
use holon_domain::model::{
    ModelChain, ModelChoice, ModelFailure, ModelFailureKind, ModelOptions, ModelRef, ModelReply,
};
use holon_domain::provider::{ContextReduction, LearnedLimits, PolicySource};
use holon_domain::tool_set::ToolSet;
use holon_domain::web::WebTools;
use holon_testkit::ports::{calls, failure, says};
use serde_json::json;

fn model(text: &str) -> ModelRef {
    ModelRef::parse(text).expect("a model")
}

fn chain(default: &str, fallback: &str) -> ModelChain {
    ModelChain {
        fallbacks: vec![model(fallback)],
        ..ModelChain::only(model(default))
    }
}

#[tokio::test]
async fn the_next_model_is_asked_the_same_and_answers_the_rest_of_the_turn() {
    let house = House::asking(chain("a/1", "b/1"));
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    let first = house.model.next().await;
    assert_eq!(first.request.model, model("a/1"));
    let asked = first.request.frame.context_blocks.clone();
    first.answer(Err(failure(ModelFailureKind::Auth)));
    let second = house.model.next().await;
    assert_eq!(second.request.model, model("b/1"));
    assert_eq!(second.request.frame.context_blocks, asked);
    second.answer(calls(&[("AgentGet", json!({}))]));
    let third = house.model.next().await;
    assert_eq!(third.request.model, model("b/1"));
    third.answer(says("done"));
    assert_eq!(briefs(&host, "main", 1).await[0].text, "done");
}

#[tokio::test]
async fn an_own_choice_and_new_settings_hold_from_the_next_turn_on() {
    let house = House::asking(ModelChain::only(model("a/1")));
    let host = house.with_main().await;
    prompt(&host, "main", "first").await;
    let first = house.model.next().await;
    host.set_models(ModelChain::only(model("c/1")));
    first.answer(calls(&[("AgentGet", json!({}))]));
    let second = house.model.next().await;
    assert_eq!(
        second.request.model,
        model("a/1"),
        "the turn goes on as it began"
    );
    second.answer(says("one"));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "second").await;
    let next = house.model.next().await;
    assert_eq!(next.request.model, model("c/1"));
    next.answer(says("two"));
    briefs(&host, "main", 2).await;

    let own = ModelChoice::Use {
        model: model("d/1"),
        options: ModelOptions::default(),
    };
    let control = host.control();
    control
        .set_model(&agent("main"), own)
        .await
        .expect("is set");
    let status = host.reads().status(&agent("main")).await.expect("a status");
    assert_eq!(status.model.effective_model.as_deref(), Some("d/1"));
    assert!(status.model.effective_fallback_models.is_empty());
    control
        .set_model(&agent("main"), ModelChoice::Inherit)
        .await
        .expect("is cleared");
    let status = host.reads().status(&agent("main")).await.expect("a status");
    assert_eq!(status.model.effective_model.as_deref(), Some("c/1"));
}

#[tokio::test]
async fn a_model_nobody_knows_is_asked_within_what_its_errors_taught() {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    let first = house.model.next().await;
    assert_eq!(first.request.max_output_tokens, 4_096);
    assert!(
        !first.request.tools.is_empty(),
        "tools from the first round"
    );
    let tools = first.request.tools.clone();
    first.answer(Err(ModelFailure {
        learned: Some(LearnedLimits {
            context_window_tokens: Some(4_000),
            max_output_tokens: Some(1_000),
            ..LearnedLimits::default()
        }),
        ..failure(ModelFailureKind::InvalidRequest)
    }));
    let second = house.model.next().await;
    // The window is small, so the arguments are not described.
    let brief =
        holon_tools::offered_briefly(ProfilePreset::PublicNamed, false, WebTools::default());
    assert!(
        second.request.tools.is_shared_with(&brief),
        "the tools are emitted once"
    );
    let names = |tools: &ToolSet| -> Vec<String> {
        let names = tools.iter().map(|tool| tool.name.clone());
        names.collect()
    };
    let mut fitting = names(&tools);
    fitting.retain(|name| !name.starts_with("Memory"));
    assert_eq!(names(&brief), fitting, "a small window has no memory tools");
    assert!(brief.estimated_tokens() * 5 < tools.estimated_tokens() * 4);
    assert!(
        second.request.max_output_tokens <= 1_000,
        "{}",
        second.request.max_output_tokens
    );
    second.answer(says("now it fits"));
    briefs(&host, "main", 1).await;
    let status = host.reads().status(&agent("main")).await.expect("a status");
    let policy = status.model.resolved_policy.expect("a policy");
    assert_eq!(policy.context_window_tokens, 4_000);
    assert_eq!(policy.source, PolicySource::Learned);
}

#[tokio::test]
async fn a_long_turn_of_a_model_nobody_knows_may_still_write_as_much_as_ever() {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let host = house.with_main().await;
    prompt(&host, "main", &"words ".repeat(60_000)).await;
    let asked = house.model.next().await;
    assert!(asked.request.estimated_tokens() > 50_000);
    assert_eq!(asked.request.max_output_tokens, 4_096);
    asked.answer(says("read it all"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn an_answer_that_took_more_than_was_learned_widens_the_window() {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(Err(ModelFailure {
        learned: Some(LearnedLimits {
            context_window_tokens: Some(4_000),
            max_output_tokens: Some(2_000),
            ..LearnedLimits::default()
        }),
        ..failure(ModelFailureKind::InvalidRequest)
    }));
    let long = TokenUsage::new(9_000, 500);
    let answer = says("it was wider").map(|reply| ModelReply {
        usage: long,
        ..reply
    });
    house.model.next().await.answer(answer);
    briefs(&host, "main", 1).await;
    let status = host.reads().status(&agent("main")).await.expect("a status");
    let policy = status.model.resolved_policy.expect("a policy");
    assert_eq!(policy.context_window_tokens, 9_500);
}

/// Answers the next request with a count of its input: `per_mille` of the estimate.
async fn answer_counting(house: &House, per_mille: u64) {
    let asked = house.model.next().await;
    let counted = asked.request.estimated_tokens() * per_mille / 1_000;
    let answer = says("counted").map(|reply| ModelReply {
        usage: TokenUsage::new(counted, 10),
        ..reply
    });
    asked.answer(answer);
}

#[tokio::test]
async fn the_tokens_that_a_provider_counts_correct_the_estimate_for_its_model() {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let host = house.with_main().await;
    let mut known = Vec::new();
    for (number, per_mille) in [(1, 1_500), (2, 1_500), (3, 1_100), (4, 0), (5, 50_000)] {
        prompt(&host, "main", "hello").await;
        answer_counting(&house, per_mille).await;
        briefs(&host, "main", number).await;
        let status = host.reads().status(&agent("main")).await.expect("a status");
        let policy = status.model.resolved_policy.expect("a policy");
        known.push(policy.token_ratio.per_mille());
    }
    // The first count sets the ratio, a later one moves it by a quarter, and nonsense does not.
    let [first, second, third, absent, absurd] = known.as_slice() else {
        panic!("{known:?}");
    };
    assert!(first.abs_diff(1_500) <= 1 && first == second, "{known:?}");
    assert!(third.abs_diff(1_400) <= 1, "{known:?}");
    assert!(third == absent && absent == absurd, "{known:?}");
}

#[tokio::test]
async fn a_request_that_the_provider_reduced_is_recorded_and_teaches_no_count() {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let host = house.with_main().await;
    prompt(&host, "main", "hello").await;
    let asked = house.model.next().await;
    let counted = asked.request.estimated_tokens() / 3;
    let cleared = ContextReduction {
        cleared_tool_uses: 4,
        cleared_input_tokens: 2 * counted,
        compactions: 0,
    };
    asked.answer(says("reduced").map(|reply| ModelReply {
        usage: TokenUsage::new(counted, 10),
        context_management: Some(cleared),
        ..reply
    }));
    briefs(&host, "main", 1).await;
    let status = host.reads().status(&agent("main")).await.expect("a status");
    let policy = status.model.resolved_policy.expect("a policy");
    assert_eq!(policy.token_ratio.per_mille(), 1_000);

    let view = host.reads().prompt(&agent("main"), None).await;
    let rounds = view.expect("a view").rounds;
    let shown: Vec<_> = rounds
        .iter()
        .map(|round| round.context_management)
        .collect();
    assert_eq!(shown, [Some(cleared)]);
    let events = events(&host, "main").await;
    let told = events.iter().find_map(|event| match event {
        Event::ProviderRoundCompleted(round) => Some(round.tries.context_management),
        _ => None,
    });
    assert_eq!(told, Some(Some(cleared)));
}

#[tokio::test]
async fn each_round_tells_the_revision_of_the_working_memory_that_its_turn_began_with() {
    let house = House::new();
    let host = house.with_main().await;
    let mut asked = Vec::new();
    prompt(&host, "main", "split the fixtures").await;
    let first = house.model.next().await;
    asked.push(first.request.frame.cache.working_memory_revision);
    let wait = json!({"reason": "which fixtures", "wake_on": ["operator"]});
    first.answer(calls(&[("WaitFor", wait)]));
    briefs(&host, "main", 1).await;
    prompt(&host, "main", "all of them").await;
    let second = house.model.next().await;
    asked.push(second.request.frame.cache.working_memory_revision);
    second.answer(says("split"));
    briefs(&host, "main", 2).await;
    assert_eq!(asked, [0, 1]);
    let events = events(&host, "main").await;
    let told = events.iter().filter_map(|event| match event {
        Event::ProviderRoundCompleted(round) => Some(round.working_memory_revision),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<u64>>(), asked);
}
