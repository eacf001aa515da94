//! Turns that outgrow the window of their model.

use crate::house::{House, agent, briefs, create, interject, prompt};
use holon_domain::limits::CALLS_PER_ROUND;
use holon_domain::model::{ConversationItem, ModelFailureKind, ModelRequest};
use holon_domain::text::estimate_tokens;
use holon_domain::turn::TerminalReason;
use holon_testkit::ports::{failure, says, says_and_calls};
use serde_json::{Value, json};

const ASKED: &str = "Migrate every module, one after the other.";
/// Tokens that the provider of these tests accepts, less than its model is assumed to have.
const WINDOW: u64 = 18_000;

/// Returns true if the words stand in a message to the model: in the frame, or in the conversation as the runtime's or
/// the operator's.
fn is_shown(request: &ModelRequest, words: &str) -> bool {
    let mut blocks = request.frame.context_blocks.iter();
    let said = |item: &ConversationItem| match item {
        ConversationItem::User { text } => text.contains(words),
        ConversationItem::Assistant { .. }
        | ConversationItem::ToolResult { .. }
        | ConversationItem::Image(_) => false,
    };
    blocks.any(|block| block.text.contains(words)) || request.conversation.iter().any(said)
}

/// Returns true if the words stand there, in a result or in a call.
fn is_known(request: &ModelRequest, words: &str) -> bool {
    let holds = |item: &ConversationItem| match item {
        ConversationItem::ToolResult { content, .. } => content.contains(words),
        ConversationItem::Assistant { blocks, .. } => format!("{blocks:?}").contains(words),
        ConversationItem::User { .. } | ConversationItem::Image(_) => false,
    };
    is_shown(request, words) || request.conversation.iter().any(holds)
}

/// Returns the id of the item that the last result names.
fn made_item(request: &ModelRequest) -> String {
    let results = crate::talk::results(request);
    crate::talk::id_in(results.last().expect("a result"), "work_")
}

async fn last_end(house: &House) -> TerminalReason {
    let agent = house.record(&agent("main")).await.expect("an agent");
    agent.last_turn.expect("a turn that ended").reason
}

/// Words of the plan and of the checklist before and after its change.
const PLANNED: &str = "Carry the ledger over first.";
const STEPS: [&str; 2] = ["move the parsers", "move the printers"];

/// The calls that plan the work in the first rounds, and change it later.
fn work_call(answered: u32, change_at: u32, item: &str) -> Option<(&'static str, Value)> {
    let todo = |text: &str| json!([{ "text": text, "state": "pending" }]);
    match answered {
        1 => Some((
            "CreateWorkItem",
            json!({
                "objective": "Migrate the modules", "plan": PLANNED, "plan_status": "ready",
                "todo_list": todo(STEPS[0]),
            }),
        )),
        2 => Some(("PickWorkItem", json!({ "work_item_id": item }))),
        round if round == change_at => Some((
            "UpdateWorkItem",
            json!({ "work_item_id": item, "todo_list": todo(STEPS[1]) }),
        )),
        _ => None,
    }
}

/// What a provider saw of a turn.
#[derive(Debug, Default)]
struct Seen {
    refused: u32,
    /// Answered requests, and those that begin with the whole one before.
    requests: u32,
    extended: u32,
    /// Estimated tokens of the answered requests, and of the beginnings that they share with the one before.
    tokens: u64,
    shared: u64,
    last: Option<ModelRequest>,
}

impl Seen {
    fn answer(&mut self, request: &ModelRequest) {
        let tokens = request.estimated_tokens();
        if let Some(last) = &self.last {
            let shared = shared_tokens(last, request);
            self.shared += shared;
            self.extended += u32::from(shared == last.estimated_tokens());
        }
        (self.requests, self.tokens) = (self.requests + 1, self.tokens + tokens);
        self.last = Some(request.clone());
    }

    /// Returns the part of all tokens that a cache may serve, in percent.
    fn cacheable_percent(&self) -> u64 {
        self.shared * 100 / self.tokens
    }
}

/// Estimates the tokens with which both requests begin: tools, blocks of the frame and items of the conversation.
fn shared_tokens(last: &ModelRequest, next: &ModelRequest) -> u64 {
    if last.tools.digest() != next.tools.digest() {
        return 0;
    }
    let blocks = |request: &ModelRequest| {
        let frame = &request.frame;
        let blocks = frame.system_blocks.iter().chain(&frame.context_blocks);
        blocks.map(|block| block.text.clone()).collect::<Vec<_>>()
    };
    let (before, after) = (blocks(last), blocks(next));
    let same = before.iter().zip(&after);
    let same = same.take_while(|(before, after)| before == after);
    let frame: Vec<usize> = same.map(|(text, _)| estimate_tokens(text)).collect();
    let shown = frame.iter().sum::<usize>() + last.tools.estimated_tokens();
    let is_same_frame = frame.len() == before.len() && before.len() == after.len();
    let items = last.conversation.iter().zip(&next.conversation);
    let items = items.take_while(|(before, after)| is_same_frame && before == after);
    let said: usize = items.map(|(item, _)| item.estimated_tokens()).sum();
    u64::try_from(shown + said).expect("tokens")
}

/// Six kilobytes, of few bytes for each token.
fn short_lines() -> String {
    "done some of it\n".repeat(400)
}

/// Plays a turn of this many rounds on a provider that refuses long requests; returns what it saw. The turn makes a work
/// item, takes it and changes it once; each other round runs a command that prints `printed`. The host crashes after every
/// `crash_every` rounds.
async fn play(rounds: u32, crash_every: u32, printed: &str) -> Seen {
    let mut house = House::new();
    let mut host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", ASKED).await;
    let (mut answered, mut seen) = (0, Seen::default());
    let (mut interjected, mut item) = (false, String::new());
    let change_at = rounds / 3;
    let mut epoch = 0;
    while answered < rounds {
        let call = house.model.next().await;
        let now = call.request.frame.cache.compression_epoch;
        let has_recap = is_shown(&call.request, "Recap of rounds 1 to");
        assert!(
            now >= epoch && (now > 0) == has_recap,
            "{now} in round {answered}"
        );
        epoch = now;
        assert!(is_shown(&call.request, ASKED), "round {answered}");
        assert!(
            !interjected || is_shown(&call.request, "Skip the tests."),
            "round {answered}"
        );
        if answered > 2 {
            let step = STEPS[usize::from(answered >= change_at)];
            for words in ["Migrate the modules", PLANNED, step] {
                assert!(
                    is_known(&call.request, words),
                    "{words} in round {answered}"
                );
            }
        }
        if call.request.estimated_tokens() > WINDOW {
            seen.refused += 1;
            call.answer(Err(failure(ModelFailureKind::ContextLengthExceeded)));
            continue;
        }
        seen.answer(&call.request);
        if answered == 1 {
            item = made_item(&call.request);
        }
        answered += 1;
        if let Some(about_work) = work_call(answered, change_at, &item) {
            call.answer(says_and_calls("planning", &[about_work]));
            continue;
        }
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
        command.ends(printed);
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
    assert!(epoch > 0, "the turn was folded");
    seen
}

#[tokio::test]
async fn a_hundred_parallel_calls_on_a_small_provider_end_well() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", ASKED).await;
    let look = |n: u32| {
        (
            "ExecCommand",
            json!({ "cmd": format!("look at module {n}") }),
        )
    };
    let many: Vec<(&str, Value)> = (0..100).map(look).collect();
    house
        .model
        .next()
        .await
        .answer(says_and_calls("all at once", &many));
    // The calls beyond the bound are refused, each with a result.
    for _ in 0..CALLS_PER_ROUND {
        let command = house.commands.next().await;
        command.ends(&"a line of the module\n".repeat(300));
    }
    let mut refused = 0;
    loop {
        let call = house.model.next().await;
        assert!(is_shown(&call.request, ASKED));
        if call.request.estimated_tokens() > WINDOW {
            refused += 1;
            call.answer(Err(failure(ModelFailureKind::ContextLengthExceeded)));
            continue;
        }
        assert_eq!(crate::talk::results(&call.request).len(), 100);
        call.answer(says("all modules are read"));
        break;
    }
    assert!(refused <= 1, "{refused}");
    let briefs = briefs(&host, "main", 1).await;
    assert_eq!(briefs[0].text, "all modules are read");
    assert_eq!(last_end(&house).await, TerminalReason::Finished);
}

#[tokio::test]
async fn a_turn_of_two_hundred_rounds_ends_well_on_a_provider_with_a_small_window() {
    let refused = play(200, u32::MAX, &short_lines()).await.refused;
    assert!(
        (1..=3).contains(&refused),
        "{refused} requests were refused"
    );
}

#[tokio::test]
async fn most_of_a_long_turn_can_be_served_from_a_cache() {
    let printed =
        "The parser of this module reads the new format, and its tests pass.\n".repeat(90);
    let seen = play(200, u32::MAX, &printed).await;
    assert!(seen.refused <= 3, "{} requests were refused", seen.refused);
    // Several rounds extend the request before the next fold, so that a cache serves most of it.
    let (percent, extended) = (seen.cacheable_percent(), seen.extended);
    assert!(
        percent >= 83 && extended * 2 >= seen.requests,
        "{percent} %, {extended} of {} requests extend the one before, {} tokens on average",
        seen.requests,
        seen.tokens / u64::from(seen.requests),
    );
}

#[tokio::test]
async fn a_long_turn_goes_on_with_its_recaps_after_each_crash() {
    let refused = play(200, 9, &short_lines()).await.refused;
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

#[tokio::test]
async fn a_long_paste_gets_a_turn_of_its_own_and_a_short_order_still_joins() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", ASKED).await;
    let call = house.model.next().await;
    let paste = format!("PASTED {}", "a line of a log\n".repeat(2_600));
    interject(&host, "main", &paste).await;
    call.answer(says_and_calls("looking", &[("AgentGet", json!({}))]));
    let call = house.model.next().await;
    assert!(!is_shown(&call.request, "PASTED"), "it is too long to join");
    interject(&host, "main", "Stop, wrong repository.").await;
    call.answer(says_and_calls("looking", &[("AgentGet", json!({}))]));
    let call = house.model.next().await;
    assert!(is_shown(&call.request, "Stop, wrong repository."));
    assert!(!is_shown(&call.request, "PASTED"));
    call.answer(says("stopped"));
    let call = house.model.next().await;
    let input = &call
        .request
        .frame
        .context_blocks
        .last()
        .expect("an input")
        .text;
    assert!(input.contains("PASTED"), "it has a turn of its own");
    call.answer(says("read it"));
    assert_eq!(briefs(&host, "main", 2).await.len(), 2);
}
