//! Renders a prompt of an agent: a table of its parts, those that the turn added, and their texts on request.

use super::join_lines;
use holon_client::view::{
    ExecutionRules, InstructionSource, LoadedInstructions, Prompt, PromptBlock, PromptPolicy,
    ReducedContext, RoundCache, ShownPrompt, ThreadPart, TurnPart,
};
use std::collections::BTreeMap;

/// Renders the place, the sources, the parts and the use of the cache; with `full` also the texts.
pub(crate) fn prompt(view: &Prompt, full: bool) -> String {
    let mut lines = vec![
        format!("agent      {}", view.agent_id),
        format!("home       {}", view.agent_home),
        format!("workspace  {} {}", view.workspace_id, view.workspace_anchor),
        format!("executes   in {}, cwd {}", view.execution_root, view.cwd),
    ];
    lines.extend(rules(&view.execution_policy));
    lines.extend(instructions(&view.loaded_agents_md));
    match &view.prompt {
        Some(shown) => lines.extend(parts(shown)),
        None => lines.push("prompt     none yet: no model has answered this agent".to_owned()),
    }
    lines.extend(view.rounds.iter().map(round));
    let blocks = view.prompt.iter().flat_map(|shown| &shown.blocks);
    let texts = blocks.filter(|_| full).filter_map(text);
    let added = view.prompt.iter().flat_map(|shown| &shown.turn_parts);
    let added = added.filter(|_| full).filter_map(added_text);
    let recaps = view.prompt.iter().flat_map(|shown| &shown.thread);
    let recaps = recaps.filter(|_| full).filter_map(|part| {
        let text = part.text.as_ref()?;
        Some(format!("\n--- recap of folded turns\n{text}"))
    });
    let all: Vec<String> = [join_lines(lines)]
        .into_iter()
        .chain(texts)
        .chain(recaps)
        .chain(added)
        .collect();
    all.join("\n")
}

/// Summarises the execution policy: the backend, what it can do, and how far each boundary is enforced.
fn rules(policy: &ExecutionRules) -> Vec<String> {
    let abilities = [
        (policy.process_execution_exposed, "runs commands"),
        (policy.managed_worktree_supported, "makes worktrees"),
    ];
    let abilities = abilities
        .into_iter()
        .filter_map(|(is_there, words)| is_there.then_some(words));
    let whole: Vec<&str> = std::iter::once(policy.backend.as_str())
        .chain(abilities)
        .collect();
    let mut lines = vec![format!("policy     {}", whole.join(", "))];
    lines.extend(levels("runtime", &policy.resource_authority));
    lines.extend(levels("commands", &policy.process_execution));
    lines
}

/// Lists boundaries by their degree of enforcement, one line for each degree.
fn levels(name: &str, boundaries: &BTreeMap<String, String>) -> Vec<String> {
    let mut by_level: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (boundary, level) in boundaries {
        by_level.entry(level).or_default().push(boundary);
    }
    let levels = by_level.into_iter();
    levels
        .map(|(level, names)| format!("{name:<11}{level}: {}", names.join(", ")))
        .collect()
}

/// Lists the instruction files with scope and kind, and those that are not loaded.
fn instructions(loaded: &LoadedInstructions) -> Vec<String> {
    let files = loaded.sources().map(|source| {
        let InstructionSource { path, scope, kind } = source;
        format!("guided by  {path} ({scope}, {kind})")
    });
    let notes = loaded.notes.iter();
    files
        .chain(notes.map(|note| format!("warning    {}: {}", note.path, note.note)))
        .collect()
}

fn parts(shown: &ShownPrompt) -> Vec<String> {
    let thread_tokens: u64 = shown.thread.iter().map(|part| part.tokens).sum();
    let used = shown.prompt_tokens + shown.tools_tokens + shown.turn_tokens + thread_tokens;
    let rounds = match shown.turn_tokens {
        0 => String::new(),
        tokens => format!(", {tokens} of its rounds"),
    };
    let earlier_turns = match thread_tokens {
        0 => String::new(),
        tokens => format!(", {tokens} of earlier turns"),
    };
    let mut lines = vec![
        format!("turn       {} to {}", shown.turn_index, shown.model_ref),
        limits(&shown.policy),
        format!(
            "tokens     {used} of {} (estimated; {} of them tools{rounds}{earlier_turns})",
            shown.budget_tokens, shown.tools_tokens
        ),
        format!(
            "cache key  {}, fingerprint {}",
            shown.prompt_cache_key, shown.context_fingerprint
        ),
        format!(
            "memory     revision {}, compression epoch {}",
            shown.working_memory_revision, shown.compression_epoch
        ),
    ];
    lines.extend(fixed(shown));
    lines.extend([
        String::new(),
        format!("{:<19}{:<14}{:>8}  decision", "part", "stability", "tokens"),
    ]);
    lines.extend(shown.blocks.iter().map(part));
    if !shown.thread.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "{:<19}{:<14}{:>8}  shown",
            "earlier turns", "items", "tokens"
        ));
        lines.extend(shown.thread.iter().map(earlier));
    }
    if !shown.turn_parts.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "{:<19}{:<14}{:>8}  shown",
            "added by the turn", "rounds", "tokens"
        ));
        lines.extend(shown.turn_parts.iter().map(added));
    }
    lines.push(String::new());
    lines
}

/// Says where the part ends that stays the same from request to request, and where a provider may be told to cache.
fn fixed(shown: &ShownPrompt) -> Vec<String> {
    let Some(last) = shown.cache_marks.last() else {
        return Vec::new();
    };
    let marks: Vec<String> = shown
        .cache_marks
        .iter()
        .map(|mark| format!("{} ({} tokens)", mark.after, mark.tokens))
        .collect();
    vec![
        format!(
            "fixed      {} tokens: the tools and the parts down to {}; the same in every request until the thread is folded or one of them changes",
            shown.fixed_tokens, last.after
        ),
        format!(
            "marks      after {}; further ones move with the end of the request (Anthropic takes 4 in all; other protocols need none)",
            marks.join(", ")
        ),
    ]
}

/// Renders the limits of the model with their sources.
fn limits(policy: &PromptPolicy) -> String {
    format!(
        "window     {} ({}), {} % for the prompt; answer {} ({})",
        policy.context_window_tokens,
        policy.source,
        policy.effective_context_window_percent,
        policy.max_output_tokens,
        policy.output_source
    )
}

fn part(block: &PromptBlock) -> String {
    let name = match block.log_seq {
        Some(seq) => format!("{} {seq}", block.source),
        None => block.source.clone(),
    };
    format!(
        "{name:<19}{:<14}{:>8}  {}",
        block.stability,
        block.to_tokens,
        decision(block)
    )
}

/// Describes an earlier turn, or the recap that stands for folded ones.
fn earlier(part: &ThreadPart) -> String {
    let (name, shown) = match part.turn_index {
        Some(turn) => (format!("turn {turn}"), "as it was"),
        None => ("recap".to_owned(), "in place of folded turns"),
    };
    format!("{name:<19}{:<14}{:>8}  {shown}", part.items, part.tokens)
}

/// Describes a part that the turn added.
fn added(part: &TurnPart) -> String {
    let (name, shown) = match part.kind.as_str() {
        "recap" => ("recap", "in place of its rounds"),
        "replaced_recap" => ("recap", "no more: a later recap stands for it"),
        "message" => ("message", "whole"),
        "reminder" => ("reminder", "whole"),
        "rounds" => (
            "rounds",
            "as they were; a small window shortens their results",
        ),
        other => (other, ""),
    };
    let rounds = if part.first_round == part.last_round {
        part.last_round.to_string()
    } else {
        format!("{} to {}", part.first_round, part.last_round)
    };
    format!("{name:<19}{rounds:<14}{:>8}  {shown}", part.tokens)
}

/// Describes what became of a part, and why.
fn decision(block: &PromptBlock) -> String {
    let pinned = if block.pinned { ", pinned" } else { "" };
    let Some(reason) = block.reason.as_deref() else {
        return format!("{}{pinned}", block.outcome);
    };
    let why = match reason {
        "over_share" => "more than its share of the budget",
        "over_room" => "no room; lowest priority",
        "over_window" => "what is always shown does not fit the model's window",
        other => other,
    };
    format!(
        "{} from {}{pinned}: {why}",
        block.outcome, block.from_tokens
    )
}

fn round(round: &RoundCache) -> String {
    let share = round
        .cached_share
        .map_or_else(String::new, |share| format!(" ({:.0} %)", share * 100.0));
    let reduced = round.context_management.map_or_else(String::new, reduction);
    format!(
        "round      {}.{}: {} tokens read, {} from the cache{share}{}{reduced}",
        round.turn_index,
        round.round,
        round.input_tokens,
        round.cached_tokens,
        overlap(round)
    )
}

/// Says how much of a request begins like the one before.
fn overlap(round: &RoundCache) -> String {
    match (round.request_bytes, round.same_bytes) {
        (None, _) => String::new(),
        (Some(bytes), None) => format!("; {bytes} bytes, with no request before to compare"),
        (Some(bytes), Some(same)) => {
            let percent = same.saturating_mul(100) / bytes.max(1);
            format!("; {same} of {bytes} bytes begin like the request before ({percent} %)")
        }
    }
}

/// Describes what the provider's servers left out of a request; empty if they left out nothing.
fn reduction(reduced: ReducedContext) -> String {
    let cleared = (reduced.cleared_tool_uses > 0).then(|| {
        format!(
            "; the provider cleared {} tool results ({} tokens)",
            reduced.cleared_tool_uses, reduced.cleared_input_tokens
        )
    });
    let compacted =
        (reduced.compactions > 0).then(|| "; the provider compacted older items".to_owned());
    cleared.into_iter().chain(compacted).collect()
}

fn added_text(part: &TurnPart) -> Option<String> {
    let text = part.text.as_ref()?;
    let (kind, first, last) = (&part.kind, part.first_round, part.last_round);
    Some(format!("\n--- {kind} (rounds {first} to {last})\n{text}"))
}

fn text(block: &PromptBlock) -> Option<String> {
    let text = block.text.as_ref()?;
    let (source, stability) = (&block.source, &block.stability);
    Some(format!("\n--- {source} ({stability})\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn recaps_and_messages_of_the_turn_stand_below_the_parts() {
        let view: Prompt = serde_json::from_value(json!({
            "agent_id": "main", "agent_home": "/h", "workspace_id": "agent_home", "workspace_anchor": "/h",
            "execution_root": "/h", "cwd": "/h",
            "prompt": {
                "turn_index": 7, "model_ref": "a/b", "budget_tokens": 9000, "tools_tokens": 10, "prompt_tokens": 20,
                "prompt_cache_key": "k", "context_fingerprint": "f", "blocks": [], "turn_tokens": 970,
                "fixed_tokens": 25, "cache_marks": [{"after": "policy", "tokens": 15}, {"after": "surroundings", "tokens": 25}],
                "thread": [
                    {"items": 1, "tokens": 300, "text": "Recap of your earlier turns"},
                    {"turn_index": 6, "items": 4, "tokens": 700},
                ],
                "turn_parts": [
                    {"kind": "replaced_recap", "first_round": 1, "last_round": 20, "tokens": 600},
                    {"kind": "recap", "first_round": 1, "last_round": 40, "tokens": 800, "text": "Recap of rounds"},
                    {"kind": "message", "first_round": 41, "last_round": 41, "tokens": 70, "text": "Stop."},
                    {"kind": "rounds", "first_round": 41, "last_round": 43, "tokens": 100},
                ],
            },
            "rounds": [
                {"turn_index": 7, "round": 2, "input_tokens": 50, "cached_tokens": 0,
                    "context_management": {"cleared_tool_uses": 3, "cleared_input_tokens": 900},
                    "request_bytes": 2_000, "same_bytes": 1_900},
                {"turn_index": 7, "round": 1, "input_tokens": 40, "cached_tokens": 0, "context_management": {},
                    "request_bytes": 1_000},
            ],
        }))
        .expect("a view");
        let text = prompt(&view, false);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        for line in [
            "tokens     2000 of 9000 (estimated; 10 of them tools, 970 of its rounds, 1000 of earlier turns)",
            "recap              1                  300  in place of folded turns",
            "turn 6             4                  700  as it was",
            "recap              1 to 20            600  no more: a later recap stands for it",
            "recap              1 to 40            800  in place of its rounds",
            "message            41                  70  whole",
            "round      7.2: 50 tokens read, 0 from the cache; 1900 of 2000 bytes begin like the request before (95 %); the provider cleared 3 tool results (900 tokens)",
            "round      7.1: 40 tokens read, 0 from the cache; 1000 bytes, with no request before to compare",
            "fixed      25 tokens: the tools and the parts down to surroundings; the same in every request until the thread is folded or one of them changes",
            "marks      after policy (15 tokens), surroundings (25 tokens); further ones move with the end of the request (Anthropic takes 4 in all; other protocols need none)",
            "rounds             41 to 43           100  as they were; a small window shortens their results",
        ] {
            assert!(lines.contains(&line), "{line}\n{text}");
        }
        assert!(!text.contains("Stop."), "{text}");
        let full = prompt(&view, true);
        assert!(
            full.contains("--- recap of folded turns\nRecap of your earlier turns"),
            "{full}"
        );
        assert!(
            full.ends_with("--- message (rounds 41 to 41)\nStop."),
            "{full}"
        );
    }
}
