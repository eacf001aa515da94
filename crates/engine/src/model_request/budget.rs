//! The token budget of a request: what prompt, conversation and answer may take of a model's window, and what an answer
//! teaches about that window.

use holon_domain::agent::ProfilePreset;
use holon_domain::attempt::TokenUsage;
use holon_domain::limits;
use holon_domain::prompt_plan::{BlockCut, CutReason};
use holon_domain::provider::{
    ContextReduction, LearnedLimits, LimitSource, ModelPolicy, PolicySource,
};
use holon_domain::token_ratio::TokenRatio;
use holon_domain::tool_set::ToolSet;
use holon_domain::turn::PromptCeiling;
use holon_domain::web::WebTools;
use holon_prompt::BuiltFrame;
use holon_store::TurnRows;

/// Largest error of a token estimate, as a divisor of the true size.
const ESTIMATE_ERROR: u64 = 6;

/// Tokens that a prompt may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptBudget {
    pub(super) tokens: u32,
    /// Most tokens of an answer, as the model is told.
    pub(super) answer_tokens: u32,
    /// True if the model's window is not known and no request of the turn was refused for its length.
    pub(super) is_assumed: bool,
    /// Refusals of this turn. Absent if no request was refused for its length.
    pub(super) ceiling: Option<PromptCeiling>,
    /// True if the request of this very round was refused.
    pub(super) is_refused: bool,
}

/// Budget of this turn's prompts: that of the model, below the length that a provider refused in this turn.
pub(super) fn turn_budget(rows: &TurnRows, policy: ModelPolicy) -> PromptBudget {
    let ceiling = rows.turn.prompt_ceiling.map(|ceiling| ceiling.tokens);
    let ceiling = ceiling.map_or(u32::MAX, |tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
    PromptBudget {
        tokens: prompt_budget(policy).min(ceiling),
        answer_tokens: policy.max_output_tokens,
        is_assumed: policy.source == PolicySource::UnknownFallback
            && rows.turn.prompt_ceiling.is_none(),
        ceiling: rows.turn.prompt_ceiling,
        is_refused: rows
            .turn
            .prompt_ceiling
            .is_some_and(|ceiling| ceiling.round == rows.turn.rounds + 1),
    }
}

/// Returns true if a frame beside whole tools exceeds its budget, or lost words of a pin to it. An assumed budget asks for
/// nothing: a refusal teaches the real one.
pub(crate) fn needs_brief_tools(frame: &BuiltFrame, is_assumed: bool) -> bool {
    let is_over = |cut: &BlockCut| cut.reason == CutReason::OverWindow;
    !is_assumed && (frame.over_tokens > 0 || frame.cuts.iter().any(is_over))
}

/// Returns the tools of a request: whole, or without the descriptions of their arguments.
pub(crate) fn offered_tools(
    preset: ProfilePreset,
    policy: ModelPolicy,
    web: WebTools,
    is_brief: bool,
) -> ToolSet {
    if is_brief {
        holon_tools::offered_briefly(preset, policy.freeform_tools, web)
    } else {
        holon_tools::offered(preset, policy.freeform_tools, web)
    }
}

/// Window of the model; `None` if it is assumed or learned. A request may prove such a window too small.
pub(super) const fn known_window(policy: ModelPolicy) -> Option<u32> {
    match policy.source {
        PolicySource::UnknownFallback | PolicySource::Learned => None,
        PolicySource::BuiltInCatalog | PolicySource::ConfigOverride => {
            Some(policy.context_window_tokens)
        }
    }
}

/// Returns the tokens of a request as its provider counts them, if they exceed the model's window for certain.
pub(super) fn over_window(policy: ModelPolicy, estimated_tokens: u64) -> Option<u64> {
    let window = u64::from(known_window(policy)?);
    let tokens = policy.to_counted(estimated_tokens);
    (tokens > window + window / ESTIMATE_ERROR).then_some(tokens)
}

/// Budget of a prompt in estimated tokens: its share of the window, less the room for the answer. A provider that counts
/// fewer tokens than the runtime estimates may have left something out, so the estimate itself and the answer fit the
/// window too.
pub(crate) fn prompt_budget(policy: ModelPolicy) -> u32 {
    let window = policy.context_window_tokens;
    let answer = policy.max_output_tokens.min(window / 4);
    let counted = policy.prompt_budget_tokens().saturating_sub(answer);
    policy
        .to_estimated(counted)
        .min(window.saturating_sub(answer))
}

/// Smallest part of a window that is left to the answer, as a divisor. A prompt that leaves less exceeds the window with
/// its answer, and a strict server refuses it.
const LEAST_OUTPUT_SHARE: u32 = 8;

/// Output token limit of a request: the model's own limit, within what the window leaves. An assumed window does not
/// reduce it, because the provider's error teaches the real one. After the refusal of a request that filled the window
/// together with its answer, the window is smaller than it is known to be, and the answer gets half as much.
pub(super) fn output_room(
    request_tokens: u64,
    policy: ModelPolicy,
    ceiling: Option<PromptCeiling>,
) -> u32 {
    match policy.source {
        PolicySource::UnknownFallback => return policy.max_output_tokens,
        PolicySource::BuiltInCatalog | PolicySource::ConfigOverride | PolicySource::Learned => {}
    }
    let window = policy.context_window_tokens;
    let taken = policy.to_counted(request_tokens).max(request_tokens);
    let left = u64::from(window).saturating_sub(taken);
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    let least = limits::MIN_OUTPUT_TOKENS.min(window / LEAST_OUTPUT_SHARE);
    let filled = |refused: &PromptCeiling| {
        refused.refused > 0
            && policy.to_counted(refused.refused) + u64::from(refused.refused_answer)
                >= u64::from(window)
    };
    let half = ceiling
        .filter(filled)
        .map(|refused| refused.refused_answer / 2);
    let most = policy.max_output_tokens.min(half.unwrap_or(u32::MAX));
    most.min(left).max(least.min(policy.max_output_tokens))
}

/// Returns a wider window if an answer used more tokens than the learned window, or than the one that is assumed.
pub(super) fn wider_window(
    learned: LearnedLimits,
    policy: ModelPolicy,
    took_tokens: u64,
) -> Option<LearnedLimits> {
    let assumed = match policy.source {
        PolicySource::UnknownFallback => Some(policy.context_window_tokens),
        PolicySource::BuiltInCatalog | PolicySource::ConfigOverride | PolicySource::Learned => None,
    };
    let window = assumed.or(learned.context_window_tokens)?;
    let took = u32::try_from(took_tokens).unwrap_or(u32::MAX);
    (took > window).then_some(LearnedLimits::window(took, LimitSource::Answer))
}

/// An answered request, as the runtime estimated it and as its provider counted it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedRequest {
    pub(super) estimated_tokens: u64,
    pub(super) usage: TokenUsage,
    /// Present if the provider's servers were allowed to leave out old context. They count only what is left.
    pub(super) reduction: Option<ContextReduction>,
}

/// Returns what an answer teaches about the model: a wider window, and the provider's count of tokens.
pub(super) fn lesson(
    learned: LearnedLimits,
    policy: ModelPolicy,
    request: CountedRequest,
) -> Option<LearnedLimits> {
    // A count that the request cannot explain proves nothing.
    let round = TokenRatio::of_round(request.estimated_tokens, request.usage)?;
    let window = wider_window(learned, policy, request.usage.total_tokens);
    let ratio = match request.reduction {
        Some(_) => None,
        None => TokenRatio::learn(learned.token_ratio, round).map(LearnedLimits::ratio),
    };
    match (window, ratio) {
        (Some(window), Some(ratio)) => Some(window.and_then(ratio)),
        (window, ratio) => window.or(ratio),
    }
}

/// Smallest part of a prompt's budget that is left to the conversation, as a divisor. A frame that takes more leaves
/// the excess to the room of the answer.
const LEAST_CONVERSATION_SHARE: u64 = 8;

/// Part of an assumed budget that the conversation gets, as a divisor. Nothing is cut for an assumed window, so a long
/// input must not cost the turn its rounds.
const ASSUMED_CONVERSATION_SHARE: u64 = 2;

/// Returns the room that the rest of the request leaves to the conversation, in estimated tokens.
pub(super) fn conversation_room(fixed_tokens: usize, budget: PromptBudget) -> usize {
    let tokens = u64::from(budget.tokens);
    let share = if budget.is_assumed {
        ASSUMED_CONVERSATION_SHARE
    } else {
        LEAST_CONVERSATION_SHARE
    };
    let fixed = u64::try_from(fixed_tokens).unwrap_or(u64::MAX);
    let room = tokens.saturating_sub(fixed);
    let least = tokens / share;
    let least = match budget.ceiling {
        None => least,
        // Nothing is left to chance: a second refusal ends the turn.
        Some(_) if budget.is_refused => 0,
        Some(ceiling) => least.min(below_refused(ceiling).saturating_sub(fixed)),
    };
    usize::try_from(room.max(least)).unwrap_or(usize::MAX)
}

/// Distance that later requests of a turn keep from the smallest one that was refused, as a divisor.
const REFUSED_MARGIN: u64 = 16;

fn below_refused(ceiling: PromptCeiling) -> u64 {
    match ceiling.refused {
        0 => u64::MAX,
        tokens => tokens - tokens / REFUSED_MARGIN,
    }
}
