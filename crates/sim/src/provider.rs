//! The simulated provider: draws every kind of answer and failure that a model can produce.

use crate::calls::{self, call};
use crate::letter;
use crate::plan::Fault;
use crate::request::{ModelQuery, Mood};
use crate::rng::Rng;
use crate::work_calls;
use holon_domain::attempt::TokenUsage;
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelReply, ReplyBlock, StopReason};
use holon_domain::provider::LearnedLimits;
use serde_json::{Value, json};

/// Answers one attempt at one round.
///
/// # Errors
/// Drawn by the dice, and always during an outage.
pub(crate) fn answer(asked: ModelQuery<'_>, dice: &mut Rng) -> Result<ModelReply, ModelFailure> {
    let ModelQuery {
        plan,
        mood,
        cut_off,
        ..
    } = asked;
    if mood == Mood::Calm {
        return Ok(reply(vec![words(dice)], StopReason::EndTurn));
    }
    if let Some(kind) = asked.outage {
        return Err(failure_of(kind, dice));
    }
    if plan.has(Fault::Provider) && dice.percent(20) {
        return Err(failure(dice));
    }
    if plan.has(Fault::CutOff) && cut_off > 0 && dice.percent(60) {
        return Ok(reply(vec![words(dice)], StopReason::MaxOutputTokens));
    }
    if plan.has(Fault::CutOff) && dice.percent(15) {
        return Ok(unusual_answer(asked, dice));
    }
    if plan.has(Fault::Messages) && dice.percent(letters_percent(asked)) {
        return Ok(letters(asked, dice));
    }
    if plan.has(Fault::Spawn) && dice.percent(30) {
        let calls = calls::about_children(asked, dice);
        return Ok(reply(calls, StopReason::ToolUse));
    }
    // Work and timers would leave few rounds to running tasks.
    if asked.active > 0 && dice.percent(50) {
        let calls = calls::round(asked, dice);
        return Ok(reply(calls, StopReason::ToolUse));
    }
    if plan.has(Fault::Spin) && !asked.work.items.is_empty() && dice.percent(60) {
        return Ok(spinning_answer(dice));
    }
    if plan.has(Fault::Work) && dice.percent(work_calls::percent(asked)) {
        let mut blocks = work_calls::round(asked, dice);
        if dice.percent(50) {
            blocks.insert(0, words(dice));
        }
        return Ok(reply(blocks, StopReason::ToolUse));
    }
    if plan.has(Fault::Timers) && dice.percent(20) {
        let calls = vec![work_calls::timer_call(asked, dice)];
        return Ok(reply(calls, StopReason::ToolUse));
    }
    if plan.has(Fault::Delivery) && dice.percent(10) {
        let number = dice.below(1_000);
        let mut notice = json!({ "message": format!("look at {number}") });
        if number.is_multiple_of(2) {
            notice["attachments"] = json!(["work/report.md"]);
        }
        return Ok(reply(
            vec![call("NotifyOperator", notice)],
            StopReason::ToolUse,
        ));
    }
    if plan.has(Fault::Restless) && dice.percent(75) {
        return Ok(restless_answer(dice));
    }
    if plan.has(Fault::Long) && dice.percent(50) {
        let calls = calls::round(asked, dice);
        return Ok(reply(calls, StopReason::ToolUse));
    }
    Ok(match dice.below(10) {
        0..=3 => reply(vec![words(dice)], StopReason::EndTurn),
        4 => reply(vec![call("Sleep", sleep(dice))], StopReason::ToolUse),
        5 => reply(
            vec![words(dice), call("Sleep", sleep(dice))],
            StopReason::ToolUse,
        ),
        _ => {
            let mut blocks = vec![words(dice)];
            blocks.extend((0..=dice.below(4)).map(|_| any_call(asked, dice)));
            reply(blocks, StopReason::ToolUse)
        }
    })
}

/// Returns how often an agent messages others. An agent with tasks does so less often.
fn letters_percent(asked: ModelQuery<'_>) -> u64 {
    if asked.plan.has(Fault::Long) { 8 } else { 25 }
}

/// Generates messages to other agents, now and then more calls than a round may make.
fn letters(asked: ModelQuery<'_>, dice: &mut Rng) -> ModelReply {
    let count = if dice.percent(2) {
        70
    } else {
        1 + dice.below(4)
    };
    let some = (0..count).map(|_| letter::any(asked.agents, dice));
    let mut blocks: Vec<ReplyBlock> = some.collect();
    // Calls behind a message run after its verdict.
    if dice.percent(40) {
        blocks.push(any_call(asked, dice));
    }
    reply(blocks, StopReason::ToolUse)
}

/// Generates an answer that does nothing for the work.
fn spinning_answer(dice: &mut Rng) -> ModelReply {
    match dice.below(4) {
        0 => reply(vec![call("ListWorkItems", json!({}))], StopReason::ToolUse),
        1 => reply(vec![call("Sleep", sleep(dice))], StopReason::ToolUse),
        _ => reply(vec![words(dice)], StopReason::EndTurn),
    }
}

/// Generates an answer that causes another turn.
fn restless_answer(dice: &mut Rng) -> ModelReply {
    match dice.below(3) {
        0 => reply(vec![words(dice)], StopReason::EndTurn),
        1 => {
            let rest = json!({ "duration_ms": 1 + dice.below(500) });
            reply(vec![call("Sleep", rest)], StopReason::ToolUse)
        }
        _ => {
            let more = (0..=dice.below(3)).map(|_| call("Enqueue", enqueue(dice)));
            reply(more.collect(), StopReason::ToolUse)
        }
    }
}

/// Generates unusual answers: cut off in text or in calls, empty, refused, reasoning only, too many calls.
fn unusual_answer(asked: ModelQuery<'_>, dice: &mut Rng) -> ModelReply {
    match dice.below(7) {
        0 => reply(vec![words(dice)], StopReason::MaxOutputTokens),
        1 => reply(
            vec![words(dice), any_call(asked, dice)],
            StopReason::MaxOutputTokens,
        ),
        2 => reply(Vec::new(), StopReason::MaxOutputTokens),
        3 => reply(Vec::new(), StopReason::EndTurn),
        4 => reply(
            vec![ReplyBlock::Text {
                text: String::new(),
            }],
            StopReason::EndTurn,
        ),
        5 => reply(
            vec![ReplyBlock::Reasoning {
                text: "hm".to_owned(),
                opaque: Some("sealed".to_owned()),
            }],
            StopReason::Refusal,
        ),
        _ => {
            let calls = (0..70).map(|_| call("AgentGet", json!({})));
            reply(calls.collect(), StopReason::ToolUse)
        }
    }
}

fn reply(blocks: Vec<ReplyBlock>, stop_reason: StopReason) -> ModelReply {
    let usage = TokenUsage::new(10, blocks.len() as u64);
    ModelReply {
        blocks,
        stop_reason,
        usage,
        context_management: None,
    }
}

fn words(dice: &mut Rng) -> ReplyBlock {
    ReplyBlock::Text {
        text: format!("words {}", dice.below(1_000_000)),
    }
}

fn sleep(dice: &mut Rng) -> Value {
    match dice.below(3) {
        0 => json!({ "reason": "nothing to do" }),
        1 => json!({ "duration_ms": 1 + dice.below(5_000) }),
        _ => json!({ "reason": "later", "duration_ms": 1 + dice.below(3_600_000) }),
    }
}

/// A well-formed patch that creates one file.
const PATCH: &str = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";

fn any_call(asked: ModelQuery<'_>, dice: &mut Rng) -> ReplyBlock {
    if asked.plan.has(Fault::Messages) && dice.percent(letters_percent(asked)) {
        return letter::any(asked.agents, dice);
    }
    if asked.plan.has(Fault::Long) && dice.percent(45) {
        return calls::task_call(asked, dice);
    }
    match dice.below(13) {
        0 => call("AgentGet", json!({})),
        1..=3 => call("Enqueue", enqueue(dice)),
        4 => call("Sleep", sleep(dice)),
        5 => call("Teleport", json!({ "to": "moon" })),
        6 => call("ExecCommand", json!({ "command": 5 })),
        7 => call("ApplyPatch", json!({ "patch": PATCH })),
        8 => calls::batch(dice),
        _ => call(
            "ExecCommand",
            json!({ "cmd": format!("run {}", dice.bits()) }),
        ),
    }
}

fn enqueue(dice: &mut Rng) -> Value {
    let band = dice.pick(&["interject", "next", "normal", "background"]);
    json!({ "text": format!("then {}", dice.below(1_000)), "priority": band })
}

fn failure(dice: &mut Rng) -> ModelFailure {
    let kind = dice
        .pick(&ModelFailureKind::ALL)
        .unwrap_or(ModelFailureKind::Timeout);
    failure_of(kind, dice)
}

fn failure_of(kind: ModelFailureKind, dice: &mut Rng) -> ModelFailure {
    let learned = LearnedLimits {
        context_window_tokens: dice.percent(50).then_some(16_000),
        max_output_tokens: dice.percent(50).then_some(2_000),
        ..LearnedLimits::default()
    };
    ModelFailure {
        retry_after_ms: dice.percent(30).then(|| dice.below(120_000)),
        usage: dice.percent(30).then(|| TokenUsage::new(5, 0)),
        learned: dice.percent(20).then_some(learned),
        ..ModelFailure::new(kind, format!("the provider said {}", kind.as_str()))
    }
}
