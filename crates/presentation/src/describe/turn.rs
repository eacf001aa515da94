//! Turns, model rounds, retries and the context of a turn.

use super::{Description, Merge, duration, words};
use crate::item::Role;
use crate::visibility::Visibility;
use holon_domain::event::{
    AssistantRoundRecorded, Event, MaxOutputTokensRecovery, ProviderFallbackSelected,
    ProviderRetryScheduled, ProviderRoundCompleted, RuntimeError, SuspensionEnd, ThreadChange,
    ThreadChangeRequested, ThreadFolded, TurnContextBuilt, TurnLocalCompactionApplied, TurnResumed,
    TurnSuspended, TurnSuspensionEnded, TurnTerminal,
};
use holon_domain::text::pluralize;
use holon_domain::thread::FoldCause;
use holon_domain::turn::{SuspensionReason, TerminalKind, TerminalReason};

pub(super) fn describe(event: &Event) -> Option<Description> {
    Some(match event {
        Event::TurnResumed(e) => resumed(e),
        Event::TurnSuspended(e) => suspended(e),
        Event::TurnSuspensionEnded(e) => suspension_ended(e),
        Event::TurnContextBuilt(e) => context_built(e),
        Event::ProviderRoundCompleted(e) => round_completed(e),
        Event::ProviderRetryScheduled(e) => retry(e),
        Event::ProviderFallbackSelected(e) => fallback(e),
        Event::AssistantRoundRecorded(e) => round_recorded(e),
        Event::MaxOutputTokensRecovery(e) => output_recovery(e),
        Event::TurnLocalCompactionApplied(e) => compaction(e),
        Event::ThreadFolded(e) => thread_folded(e),
        Event::ThreadChangeRequested(e) => thread_change_requested(e),
        Event::TurnTerminal(e) => terminal(e),
        Event::RuntimeError(e) => runtime_error(e),
        _ => return None,
    })
}

fn resumed(e: &TurnResumed) -> Description {
    let after = match e.unknown_calls.len() as u64 {
        0 => return Description::step("Turn resumed after a restart").with("turn", e.turn_index),
        calls => format!(
            "it is unknown whether {} took effect; no call is repeated",
            pluralize(calls, "call")
        ),
    };
    Description::failure("Turn resumed after a restart")
        .body(after)
        .with("turn", e.turn_index)
}

fn suspended(e: &TurnSuspended) -> Description {
    let why = match e.failure_kind {
        Some(kind) => format!("{} ({})", words(kind), e.error),
        None => e.error.clone(),
    };
    let by_budget = e.reason == SuspensionReason::BudgetReached;
    let suspended = match e.until {
        Some(until) if by_budget => Description::outcome("Waiting for a budget")
            .body(format!("a budget is reached; going on at {until}: {why}")),
        None if by_budget => Description::failure("Waiting for you").body(format!(
            "a budget is reached; going on once it is raised: {why}"
        )),
        Some(until) => Description::outcome("Waiting for a model")
            .body(format!("no model answers; asking again at {until}: {why}")),
        None => Description::failure("Waiting for you")
            .body(format!("no model can answer until you act: {why}")),
    };
    suspended
        .with("turn", e.turn_index)
        .with("round", e.round)
        .with("reason", words(e.reason))
        .with("waited", duration(e.waited_ms))
}

fn suspension_ended(e: &TurnSuspensionEnded) -> Description {
    let ended = match e.by {
        // Each pause ends so, and the next suspension or the answer tells more.
        SuspensionEnd::PauseOver => Description::detail("Asking the models again"),
        SuspensionEnd::OperatorMessage
        | SuspensionEnd::Start
        | SuspensionEnd::HostStart
        | SuspensionEnd::ModelChange
        | SuspensionEnd::BudgetChanged
        | SuspensionEnd::CredentialRenewed => Description::outcome("Asking the models again"),
    };
    ended.body(words(e.by)).with("turn", e.turn_index)
}

fn context_built(e: &TurnContextBuilt) -> Description {
    let size = format!(
        "{} sections, {} characters, and {} of system text",
        e.context_section_count, e.rendered_context_chars, e.rendered_system_chars
    );
    let built = if e.shortened_parts.is_empty() {
        Description::detail("Prompt built").body(size)
    } else {
        let parts: Vec<String> = e.shortened_parts.iter().map(words).collect();
        Description::failure("Prompt shortened").body(format!(
            "the model's window is too small for: {}",
            parts.join(", ")
        ))
    };
    built.with("took", duration(e.duration_ms))
}

fn round_completed(e: &ProviderRoundCompleted) -> Description {
    let usage = &e.token_usage;
    let body = format!(
        "{}, {}, {} tokens read, {} written, {}",
        e.tries.model_ref,
        words(e.stop_reason),
        usage.input_tokens,
        usage.output_tokens,
        duration(e.tries.duration_ms)
    );
    Description::detail("Model answered")
        .body(body)
        .with("turn", e.turn_index)
        .with("round", e.round)
        .with("cached tokens", usage.cache_read_tokens)
        .with("failed attempts", e.tries.failed.len())
}

fn retry(e: &ProviderRetryScheduled) -> Description {
    let model = e.model_ref.as_deref().unwrap_or("the model");
    Description::step("Asking again")
        .body(format!(
            "{model} in {}: {} ({})",
            duration(e.backoff_ms),
            e.failure_kind.replace('_', " "),
            e.error
        ))
        .with("round", e.round)
        .with("attempt", e.attempt)
        .merge(Merge::Retry)
}

fn fallback(e: &ProviderFallbackSelected) -> Description {
    Description::step("Asking another model")
        .body(format!(
            "{} instead of {}: {} ({})",
            e.to_model_ref,
            e.from_model_ref,
            e.failure_kind.replace('_', " "),
            e.error
        ))
        .with("round", e.round)
}

/// Tells text of the model from calls that it asks for.
fn round_recorded(e: &AssistantRoundRecorded) -> Description {
    let text = e.text_preview.as_deref().map(str::trim);
    let tools = e.tool_names.join(", ");
    let told = match text.filter(|text| !text.is_empty()) {
        Some(text) => {
            let told = Description::step("Assistant progress")
                .role(Role::AssistantProgress)
                .body(text)
                .with("characters", e.text_char_count);
            if e.tool_names.is_empty() {
                told.merge(Merge::Answer)
            } else {
                told.with("tools", tools)
            }
        }
        None if !e.tool_names.is_empty() => {
            Description::detail("Model requested tools").body(tools)
        }
        None => Description::detail("Model round recorded without text or tools"),
    };
    told.with("round", e.round)
}

fn output_recovery(e: &MaxOutputTokensRecovery) -> Description {
    Description::step("Answer cut off")
        .body("the answer reached the output limit; the model is asked to continue")
        .with("attempt", e.attempt)
}

fn compaction(e: &TurnLocalCompactionApplied) -> Description {
    Description::step("Context compacted")
        .body(format!(
            "{} gave way to a recap: {} tokens instead of {}",
            pluralize(u64::from(e.compacted_rounds), "round"),
            e.effective_tokens,
            e.projected_tokens
        ))
        .with("round", e.round)
        .with("room", e.room_tokens)
}

fn thread_folded(e: &ThreadFolded) -> Description {
    let what = match e.cause {
        FoldCause::Cleared => "the conversation begins anew".to_owned(),
        FoldCause::HighMark
        | FoldCause::Room
        | FoldCause::Cold
        | FoldCause::Refused
        | FoldCause::Invalid
        | FoldCause::Operator
        | FoldCause::Other => format!("turns up to {} gave way to a recap", e.last_turn),
    };
    Description::step("Earlier turns folded")
        .body(format!(
            "{what}: {} tokens instead of {}",
            e.tokens_after, e.tokens_before
        ))
        .with("cause", fold_cause(e.cause))
        .with("turn", e.turn_index)
}

fn thread_change_requested(e: &ThreadChangeRequested) -> Description {
    let title = match e.change {
        ThreadChange::Fold => "The next turn folds the earlier ones",
        ThreadChange::Clear => "The next turn begins an empty conversation",
        ThreadChange::Pin => "Turn pinned",
        ThreadChange::Unpin => "Turn unpinned",
        ThreadChange::Limit => "Size of the conversation limited",
        ThreadChange::Other => "Change of the conversation asked for",
    };
    Description::outcome(title)
        .with_some("turn", e.pinned_turn.as_ref())
        .with_some("tokens", e.thread_tokens.as_ref())
}

const fn fold_cause(cause: FoldCause) -> &'static str {
    match cause {
        FoldCause::HighMark => "the thread exceeded its size",
        FoldCause::Room => "the turn needed the room",
        FoldCause::Cold => "the provider's cache had expired",
        FoldCause::Refused => "the provider refused the request for its length",
        FoldCause::Invalid => "the provider refused the request as invalid",
        FoldCause::Operator | FoldCause::Cleared => "the operator asked for it",
        FoldCause::Other => "another",
    }
}

fn terminal(e: &TurnTerminal) -> Description {
    let cost = format!(
        "{}, {} tokens, {}",
        pluralize(u64::from(e.rounds), "round"),
        e.token_usage.total_tokens,
        duration(e.duration_ms)
    );
    let ended = match e.kind {
        TerminalKind::Completed => Description::detail("Turn completed").body(cost),
        TerminalKind::Aborted => Description::failure("Turn ended without an answer")
            .body(format!("{} after {cost}", terminal_reason(e.reason))),
    };
    ended.with("turn", e.turn_index).with("run", &e.run_id)
}

const fn terminal_reason(reason: TerminalReason) -> &'static str {
    match reason {
        TerminalReason::Finished => "finished",
        TerminalReason::Slept => "it rests",
        TerminalReason::MaxRounds => "the bound on model rounds was reached",
        TerminalReason::ProviderFailed => "no model could answer",
        TerminalReason::ContextLengthExceeded => "the prompt does not fit the model",
        TerminalReason::OutputLimit => "too many answers were cut off",
        TerminalReason::Poisoned => "it was resumed too often without progress",
        TerminalReason::OperatorAborted => "the operator aborted it",
        TerminalReason::AgentStopped => "the agent was stopped",
        TerminalReason::RuntimeFault => "the runtime failed",
    }
}

fn runtime_error(e: &RuntimeError) -> Description {
    let mut failed = Description::failure("Turn failed")
        .body(&e.error)
        .with("failure", &e.failure_kind)
        .with_some("turn", e.turn_index.as_ref())
        .merge(Merge::Failure);
    failed.visibility = Some(Visibility::TurnResult);
    failed
}
