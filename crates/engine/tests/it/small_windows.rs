//! Turns on a model whose window holds little more than the rules: what gives way, and what is asked after a refusal.

use crate::guidance::instructions;
use crate::house::{House, agent, briefs, prompt};
use crate::windows::{exactly, model, stating_house};
use holon_domain::agent::ProfilePreset;
use holon_domain::attempt::TokenUsage;
use holon_domain::model::{ModelChain, ModelFailure, ModelFailureKind, ModelReply, ModelRequest};
use holon_domain::prompt_plan::{BlockOutcome, CutReason};
use holon_domain::provider::LearnedLimits;
use holon_domain::turn::TerminalReason;
use holon_domain::web::WebTools;
use holon_engine::Host;
use holon_testkit::ports::{PendingCall, calls, failure, says};
use serde_json::json;

type Asked = PendingCall<ModelRequest, Result<ModelReply, ModelFailure>>;

/// Returns the next request, or `None` if this many briefs were told first.
async fn next_or_end(house: &House, host: &Host, told: usize) -> Option<Asked> {
    tokio::select! {
        call = house.model.next() => Some(call),
        _ = briefs(host, "main", told) => None,
    }
}

/// Tokens of the request, and the most that its answer may have.
fn sizes(request: &ModelRequest) -> (u64, u64) {
    (
        request.estimated_tokens(),
        u64::from(request.max_output_tokens),
    )
}

/// Tokens of the request as a provider counts them that finds a quarter more than the estimate.
fn counted(request: &ModelRequest) -> u64 {
    request.estimated_tokens() * 5 / 4
}

/// Reports this use of tokens with a reply.
fn used(tokens: u64, reply: Result<ModelReply, ModelFailure>) -> Result<ModelReply, ModelFailure> {
    let usage = TokenUsage::new(tokens, 20);
    reply.map(|reply| ModelReply { usage, ..reply })
}

async fn last_end(house: &House) -> TerminalReason {
    let agent = house.record(&agent("main")).await.expect("an agent");
    agent.last_turn.expect("a turn that ended").reason
}

/// The agent's own file, longer than the window has room for.
fn rules() -> String {
    "Keep every line short, and say at the end what you checked and how.\n".repeat(60)
}

#[tokio::test]
async fn twenty_turns_end_well_on_a_provider_that_takes_less_than_its_window() {
    // Counted as the provider does it, with a quarter more than the estimate.
    const LIMIT: u64 = 3_928;
    let (house, _stating, host) = stating_house(exactly(4_352)).await;
    house.guidance.set(instructions(&rules()));
    for turn in 1..=20 {
        let asked = format!("Look at part {turn} of the ledger and tell what is missing there.");
        prompt(&host, "main", &asked).await;
        let mut rounds = 0;
        while let Some(call) = next_or_end(&house, &host, turn).await {
            let tokens = counted(&call.request);
            if tokens > LIMIT {
                call.answer(Err(failure(ModelFailureKind::ContextLengthExceeded)));
                continue;
            }
            let shown = &call.request.frame.system_prompt;
            assert!(!shown.contains("Only the first 0 "), "{shown}");
            rounds += 1;
            if rounds == 1 {
                let look = json!({ "cmd": "cat ledger" });
                call.answer(used(tokens, calls(&[("ExecCommand", look)])));
                let printed = "an entry of the ledger\n".repeat(20);
                house.commands.next().await.ends(&printed);
            } else {
                let told = says("Nothing is missing; the sums of that part agree.");
                call.answer(used(tokens, told));
            }
        }
        let end = last_end(&house).await;
        assert_eq!(end, TerminalReason::Finished, "turn {turn}");
    }
}

#[tokio::test]
async fn the_prompt_view_counts_the_tools_of_the_next_request_after_a_refusal() {
    let (house, _stating, host) = stating_house(exactly(16_384)).await;
    prompt(&host, "main", "Look at the ledger.").await;
    let first = house.model.next().await;
    let whole = first.request.tools.estimated_tokens();
    first.answer(Err(failure(ModelFailureKind::ContextLengthExceeded)));
    let second = house.model.next().await;
    let brief = second.request.tools.estimated_tokens();
    assert!(brief < whole, "{brief} of {whole}");
    second.answer(calls(&[("AgentGet", json!({}))]));
    let third = house.model.next().await;
    let view = host.reads().prompt(&agent("main"), None).await;
    let shown = view.expect("a view").prompt.expect("a prompt");
    assert_eq!(
        shown.tools_tokens,
        u64::try_from(third.request.tools.estimated_tokens()).expect("tokens")
    );
    assert!(shown.tools_tokens < u64::try_from(whole).expect("tokens"));
    third.answer(says("looked"));
    briefs(&host, "main", 1).await;
}

/// A refusal that names this window, and whether the answer was counted.
fn too_long(window: Option<u32>, counts_answer: bool) -> Result<ModelReply, ModelFailure> {
    Err(ModelFailure {
        learned: window.map(|tokens| LearnedLimits {
            context_window_tokens: Some(tokens),
            ..LearnedLimits::default()
        }),
        counts_answer,
        ..failure(ModelFailureKind::ContextLengthExceeded)
    })
}

#[tokio::test]
async fn after_a_refusal_the_input_is_smaller_or_the_refused_sum_or_nothing_is_sent() {
    for window in [2_600, 3_000, 3_546, 4_096] {
        for (stated, counts_answer) in [
            (None, false),
            (Some(window - window / 8), false),
            (Some(window - window / 8), true),
        ] {
            let (house, _stating, host) = stating_house(exactly(window)).await;
            house.guidance.set(instructions(&rules()));
            prompt(&host, "main", "Look at the ledger.").await;
            let call = house.model.next().await;
            let (refused, refused_answer) = sizes(&call.request);
            call.answer(too_long(stated, counts_answer));
            let Some(call) = next_or_end(&house, &host, 1).await else {
                let end = last_end(&house).await;
                assert_eq!(end, TerminalReason::ContextLengthExceeded, "{window}");
                continue;
            };
            let (now, answer) = sizes(&call.request);
            let is_smaller_sum = now + answer < refused + refused_answer;
            assert!(
                now < refused || (counts_answer && is_smaller_sum),
                "{window}, {stated:?}: {now} + {answer} after {refused} + {refused_answer}"
            );
            call.answer(says("looked"));
            briefs(&host, "main", 1).await;
        }
    }
}

/// Tells whether the tools of a request are those without descriptions of their arguments.
fn has_brief_tools(request: &ModelRequest) -> bool {
    let web = WebTools::default();
    let whole = holon_tools::offered(ProfilePreset::PublicNamed, false, web);
    let brief = holon_tools::offered_briefly(ProfilePreset::PublicNamed, false, web);
    let is_brief = request.tools.is_shared_with(&brief);
    assert!(is_brief || request.tools.is_shared_with(&whole));
    is_brief
}

#[tokio::test]
async fn no_pin_gives_way_while_the_arguments_of_the_tools_are_described() {
    for (window, is_brief) in [(4_096, true), (8_192, true), (18_432, false)] {
        let (house, _stating, host) = stating_house(exactly(window)).await;
        house.guidance.set(instructions(&rules().repeat(2)));
        prompt(&host, "main", "Look.").await;
        let call = house.model.next().await;
        assert_eq!(has_brief_tools(&call.request), is_brief, "{window}");
        let tokens = u64::try_from(call.request.tools.estimated_tokens()).expect("tokens");
        call.answer(says("looked"));
        briefs(&host, "main", 1).await;
        let view = host.reads().prompt(&agent("main"), None).await;
        let shown = view.expect("a view").prompt.expect("a prompt");
        assert_eq!(shown.tools_tokens, tokens, "{window}");
        let is_over = |outcome: BlockOutcome| {
            matches!(
                outcome,
                BlockOutcome::Shortened {
                    reason: CutReason::OverWindow
                }
            )
        };
        let lost = shown
            .blocks
            .iter()
            .any(|block| is_over(block.decision.outcome));
        assert!(is_brief || !lost, "{window}");
    }
}

#[tokio::test]
async fn the_next_prompt_is_drafted_with_the_tools_that_it_gets() {
    let (house, _stating, host) = stating_house(exactly(8_192)).await;
    house.guidance.set(instructions(&rules().repeat(2)));
    prompt(&host, "main", "Look.").await;
    house.model.next().await.answer(says("looked"));
    briefs(&host, "main", 1).await;
    let (reads, main) = (host.reads(), agent("main"));
    let draft = reads.draft_prompt(&main, "Look again.".to_owned(), None);
    let draft = draft.await.expect("a draft");
    prompt(&host, "main", "Look again.").await;
    let call = house.model.next().await;
    let tokens = u64::try_from(call.request.tools.estimated_tokens()).expect("tokens");
    assert!(has_brief_tools(&call.request));
    assert_eq!(draft.tools_tokens, tokens);
    call.answer(says("looked"));
    briefs(&host, "main", 2).await;
}

#[tokio::test]
async fn a_turn_keeps_its_tools_although_its_provider_counts_differently_than_estimated() {
    for (window, halves, files) in [(14_336, 4, 0), (8_192, 1, 2)] {
        let (house, _stating, host) = stating_house(exactly(window)).await;
        house.guidance.set(instructions(&rules().repeat(files)));
        prompt(&host, "main", "Look.").await;
        let first = house.model.next().await;
        let is_brief = has_brief_tools(&first.request);
        assert_eq!(is_brief, window == 8_192, "{window}");
        let tokens = first.request.estimated_tokens() * halves / 2;
        first.answer(used(tokens, calls(&[("AgentGet", json!({}))])));
        let second = house.model.next().await;
        assert_eq!(has_brief_tools(&second.request), is_brief, "{window}");
        second.answer(says("looked"));
        briefs(&host, "main", 1).await;
    }
}

#[tokio::test]
async fn a_model_nobody_knows_gets_brief_tools_from_a_refusal_to_the_end_of_the_turn() {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let host = house.with_main().await;
    prompt(&host, "main", "Look.").await;
    let first = house.model.next().await;
    assert!(!has_brief_tools(&first.request));
    first.answer(calls(&[("AgentGet", json!({}))]));
    let second = house.model.next().await;
    assert!(!has_brief_tools(&second.request));
    second.answer(too_long(None, false));
    let third = house.model.next().await;
    assert!(has_brief_tools(&third.request));
    third.answer(calls(&[("AgentGet", json!({}))]));
    let fourth = house.model.next().await;
    assert!(has_brief_tools(&fourth.request));
    fourth.answer(says("looked"));
    briefs(&host, "main", 1).await;
}
