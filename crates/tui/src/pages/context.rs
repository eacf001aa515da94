//! The conversation that the agent's model is shown: its sizes, its newest fold and its turns.

use super::{Facts, plain};
use crate::overlay::{Entry, Tone};
use holon_client::view::{Context, ContextFold, ContextTurn};

/// Lists the sizes of a thread first, then its turns from the newest on.
pub(crate) fn context(view: &Context) -> Vec<Entry> {
    let turns = view.turns.iter().rev().map(turn);
    std::iter::once(sizes(view)).chain(turns).collect()
}

fn sizes(view: &Context) -> Entry {
    let mut facts = Facts::default();
    facts.add("thread", format!("{} tokens", view.thread_tokens));
    facts.add("high mark", format!("{} tokens", view.high_tokens));
    facts.add("low mark", format!("{} tokens", view.low_tokens));
    facts.add(
        "pins",
        format!("{} of {} tokens", view.pinned_tokens, view.pin_tokens),
    );
    let tokens = |tokens: u64| format!("{tokens} tokens");
    facts.add_some("base", view.base_tokens.map(tokens));
    facts.add_some("tools", view.tools_tokens.map(tokens));
    facts.add_some("window", view.window_tokens.map(tokens));
    facts.add_some("model", view.model_ref.as_deref());
    let cache = if view.cold.is_cold { "cold" } else { "warm" };
    facts.add("cache", cache);
    facts.add_some("asked", view.asked.as_deref().map(asked));
    facts.add_some("folded", view.fold.as_ref().map(fold));
    let asked = match &view.asked {
        Some(command) => format!("; {}", asked(command)),
        None => String::new(),
    };
    let percent = view.thread_tokens.saturating_mul(100) / view.high_tokens.max(1);
    Entry {
        label: format!(
            "thread  {} of {} tokens ({percent} %){asked}",
            view.thread_tokens, view.high_tokens
        ),
        tone: Tone::Good,
        detail: facts.text(),
        ..Entry::default()
    }
}

fn asked(command: &str) -> String {
    match command {
        "fold" => "the next turn folds it".to_owned(),
        "clear" => "the next turn begins it anew".to_owned(),
        other => plain(other),
    }
}

fn fold(fold: &ContextFold) -> String {
    format!(
        "by turn {}, up to turn {}: {} tokens became {} ({})",
        fold.turn_index,
        fold.last_turn,
        fold.tokens_before,
        fold.tokens_after,
        plain(&fold.cause)
    )
}

fn turn(turn: &ContextTurn) -> Entry {
    let shown = match turn {
        ContextTurn { folded: true, .. } => "recap",
        ContextTurn { open: true, .. } => "open",
        ContextTurn { pinned: true, .. } => "pinned",
        ContextTurn { released: true, .. } => "until the next fold",
        ContextTurn { .. } => "whole",
    };
    let by = turn.kind.as_deref().map(plain).unwrap_or_default();
    let mut facts = Facts::default();
    facts.add("turn", turn.turn_index.to_string());
    facts.add("tokens", turn.tokens.to_string());
    facts.add("shown", shown);
    facts.add("began by", &by);
    facts.add_some("began at", turn.began_at.as_deref());
    let label = format!(
        "{:<6}{:>8} tokens  {shown:<8}  {by}",
        turn.turn_index, turn.tokens
    );
    Entry {
        id: turn.turn_index.to_string(),
        label: label.trim_end().to_owned(),
        tone: if turn.folded {
            Tone::Faint
        } else {
            Tone::Plain
        },
        detail: facts.text(),
        ..Entry::default()
    }
}
