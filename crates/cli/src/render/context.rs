//! Renders the conversation of an agent as a meter, and what a change of it leads to.

use super::{join_lines, table};
use crate::addressing::hint;
use holon_client::view::{ColdThread, Context, ContextChange, ContextFold, ContextTurn};

/// Cells of the bar.
const CELLS: u64 = 40;

/// A change that the operator asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Fold,
    Clear,
    Pin(u64),
    Unpin(u64),
    /// A bound of the agent's own; absent for that of the host.
    Limit(Option<u32>),
}

/// Renders the sizes, the marks, what is asked, the newest fold and the turns.
pub(crate) fn meter(view: &Context, columns: Option<usize>) -> String {
    let mut lines = vec![
        format!("agent      {}", view.agent_id),
        format!(
            "thread     {} {} of {} tokens{}; a fold leaves {}",
            bar(view),
            view.thread_tokens,
            view.high_tokens,
            own_bound(view),
            view.low_tokens
        ),
        format!(
            "pins       {} of {} tokens",
            view.pinned_tokens, view.pin_tokens
        ),
    ];
    lines.extend(beside(view));
    lines.extend(coldness(view.cold));
    lines.extend(view.asked.as_deref().map(asked));
    lines.extend(view.fold.as_ref().map(fold));
    if view.has_more {
        lines.push(
            "turns      older ones are not listed; the next turn folds the thread".to_owned(),
        );
    }
    let summary = join_lines(lines);
    if view.turns.is_empty() {
        let next = hint(format!(
            "no turn yet; begin with: holon run --agent {} \"...\"",
            view.agent_id
        ));
        return format!("{summary}\n{next}");
    }
    let rows: Vec<Vec<String>> = view.turns.iter().map(turn).collect();
    let header = ["turn", "tokens", "shown", "began", "by"];
    format!("{summary}\n\n{}", table::render(&header, &rows, columns))
}

/// Says where the high mark comes from if the agent has a bound of its own.
fn own_bound(view: &Context) -> String {
    match view.own_thread_tokens {
        None => String::new(),
        Some(own) if own <= view.high_tokens => " (this agent's own limit)".to_owned(),
        Some(own) => format!(" (60 % of the window; this agent's own limit is {own})"),
    }
}

/// Draws how much of the high mark is taken, with the low mark as a stroke.
fn bar(view: &Context) -> String {
    let cell = |tokens: u64| tokens.saturating_mul(CELLS) / view.high_tokens.max(1);
    let (filled, low) = (cell(view.thread_tokens), cell(view.low_tokens));
    let cells = (0..CELLS).map(|place| match place {
        place if place == low => '|',
        place if place < filled => '#',
        _ => '.',
    });
    format!("[{}]", cells.collect::<String>())
}

/// Describes what a request holds beside the thread.
fn beside(view: &Context) -> Option<String> {
    let (base, tools) = (view.base_tokens?, view.tools_tokens?);
    let window = view
        .window_tokens
        .map_or_else(String::new, |window| format!("; window {window}"));
    let model = view.model_ref.as_deref().unwrap_or("the model");
    Some(format!(
        "beside it  {base} tokens of base, {tools} of tools{window} ({model})"
    ))
}

fn coldness(cold: ColdThread) -> Option<String> {
    let secs = cold.after_ms / 1_000;
    match (cold.after_ms, cold.is_cold) {
        (0, _) => None,
        (_, true) => Some(format!(
            "cache      cold: the agent has rested for more than {secs} s; above {} tokens, a turn that begins by itself folds",
            cold.fold_above_tokens
        )),
        (_, false) => Some(format!("cache      warm until {secs} s after a turn")),
    }
}

fn asked(command: &str) -> String {
    let what = match command {
        "fold" => "the next turn folds the thread",
        "clear" => "the next turn begins an empty thread",
        other => other,
    };
    format!("asked      {what}")
}

fn fold(fold: &ContextFold) -> String {
    let cause = match fold.cause.as_str() {
        "high_mark" => "the thread exceeded its size",
        "room" => "the turn needed the room",
        "cold" => "the provider's cache had expired",
        "refused" => "the provider refused the request",
        "operator" => "an operator asked for it",
        "cleared" => "an operator began an empty thread",
        other => other,
    };
    let omitted = match fold.omitted {
        0 => String::new(),
        omitted => format!(", {omitted} of them without a recap of their own"),
    };
    format!(
        "folded     by turn {}, up to turn {}{omitted}: {} tokens became {} ({cause})",
        fold.turn_index, fold.last_turn, fold.tokens_before, fold.tokens_after
    )
}

fn turn(turn: &ContextTurn) -> Vec<String> {
    let shown = match turn {
        ContextTurn { folded: true, .. } => "recap",
        ContextTurn { open: true, .. } => "open",
        ContextTurn { pinned: true, .. } => "pinned",
        ContextTurn { released: true, .. } => "until the next fold",
        ContextTurn { .. } => "whole",
    };
    vec![
        turn.turn_index.to_string(),
        turn.tokens.to_string(),
        shown.to_owned(),
        turn.began_at.clone().unwrap_or_default(),
        turn.kind.as_deref().unwrap_or_default().replace('_', " "),
    ]
}

/// Says what a change leads to.
pub(crate) fn change(change: Change, done: &ContextChange) -> String {
    let view = &done.context;
    let agent = &view.agent_id;
    let again = if done.changed { "" } else { " already" };
    match change {
        Change::Fold => format!(
            "the next turn of {agent} is asked{again} to fold its thread from {} tokens to {}",
            view.thread_tokens,
            view.low_tokens.min(view.thread_tokens / 2)
        ),
        Change::Clear => format!(
            "the next turn of {agent} is asked{again} to begin an empty thread; history, memory and work items stay"
        ),
        Change::Pin(turn) => format!(
            "turn {turn} is{again} pinned; pinned turns take {} of {} tokens",
            view.pinned_tokens, view.pin_tokens
        ),
        Change::Unpin(turn) if done.changed => {
            format!("turn {turn} is not pinned any more; the next fold may take it")
        }
        Change::Unpin(turn) => format!("turn {turn} was not pinned"),
        Change::Limit(None) => format!(
            "the thread of {agent} is{again} bounded by the setting of the host: {} tokens",
            view.high_tokens
        ),
        Change::Limit(Some(own)) if u64::from(own) > view.high_tokens => format!(
            "the limit of {agent} is{again} {own} tokens; 60 % of the model's window is less, so {} hold",
            view.high_tokens
        ),
        Change::Limit(Some(own)) => {
            format!("the thread of {agent} is{again} folded above {own} tokens")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn view(changes: &Value) -> Context {
        let mut whole = json!({
            "agent_id": "main", "model_ref": "a/b", "window_tokens": 200_000, "thread_tokens": 30_000,
            "base_tokens": 5_000, "tools_tokens": 4_000, "high_tokens": 100_000, "low_tokens": 40_000,
            "pin_tokens": 20_000, "pinned_tokens": 700, "cold": {"is_cold": false, "after_ms": 300_000,
            "fold_above_tokens": 16_000}, "turns": [],
        });
        let fields = whole.as_object_mut().expect("an object");
        fields.extend(changes.as_object().expect("an object").clone());
        serde_json::from_value(whole).expect("a view")
    }

    #[test]
    fn a_meter_names_every_size_and_every_turn() {
        let text = meter(
            &view(&json!({
                "asked": "clear",
                "cold": {"is_cold": true, "after_ms": 300_000, "fold_above_tokens": 16_000},
                "fold": {"cause": "high_mark", "turn_index": 9, "last_turn": 6, "tokens_before": 100_400,
                    "tokens_after": 39_000, "omitted": 2},
                "turns": [
                    {"turn_index": 6, "tokens": 40, "folded": true},
                    {"turn_index": 7, "tokens": 700, "pinned": true, "kind": "operator_prompt", "began_at": "T7"},
                    {"turn_index": 8, "tokens": 90, "released": true, "kind": "timer_tick", "began_at": "T8"},
                    {"turn_index": 9, "tokens": 9, "kind": "of_a_newer_host", "began_at": "T9", "open": true},
                ],
            })),
            Some(120),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "agent      main",
                "thread     [############....|.......................] 30000 of 100000 tokens; a fold leaves 40000",
                "pins       700 of 20000 tokens",
                "beside it  5000 tokens of base, 4000 of tools; window 200000 (a/b)",
                "cache      cold: the agent has rested for more than 300 s; above 16000 tokens, a turn that begins by itself folds",
                "asked      the next turn begins an empty thread",
                "folded     by turn 9, up to turn 6, 2 of them without a recap of their own: 100400 tokens became 39000 (the thread exceeded its size)",
                "",
                "turn  tokens  shown                began  by",
                "6     40      recap",
                "7     700     pinned               T7     operator prompt",
                "8     90      until the next fold  T8     timer tick",
                "9     9       open                 T9     of a newer host",
            ],
            "{text}"
        );
    }

    #[test]
    fn an_empty_thread_names_the_next_step() {
        let text = meter(&view(&json!({"base_tokens": null})), None);
        assert!(
            text.ends_with("no turn yet; begin with: holon run --agent main \"...\""),
            "{text}"
        );
        assert!(!text.contains("beside it"), "{text}");
    }

    #[test]
    fn a_change_says_what_it_leads_to() {
        let small = view(&json!({}));
        let large = view(&json!({"thread_tokens": 90_000}));
        for (asked, context, changed, words) in [
            (Change::Fold, &large, true, "from 90000 tokens to 40000"),
            (Change::Fold, &small, true, "from 30000 tokens to 15000"),
            (Change::Fold, &small, false, "is asked already to fold"),
            (Change::Clear, &large, true, "memory and work items stay"),
            (
                Change::Pin(3),
                &small,
                true,
                "turn 3 is pinned; pinned turns take 700 of 20000",
            ),
            (Change::Pin(3), &small, false, "turn 3 is already pinned"),
            (Change::Unpin(3), &small, true, "the next fold may take it"),
            (Change::Unpin(3), &small, false, "turn 3 was not pinned"),
        ] {
            let done = ContextChange {
                changed,
                context: context.clone(),
            };
            let text = change(asked, &done);
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn an_own_limit_is_told_with_what_holds() {
        for (changes, wanted) in [
            (json!({}), "of 100000 tokens; a fold"),
            (
                json!({"own_thread_tokens": 100_000}),
                "of 100000 tokens (this agent's own limit); a fold",
            ),
            (
                json!({"own_thread_tokens": 900_000}),
                "of 100000 tokens (60 % of the window; this agent's own limit is 900000); a fold",
            ),
        ] {
            let text = meter(&view(&changes), None);
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        let said = |limit, changed| {
            let context = view(&json!({}));
            change(Change::Limit(limit), &ContextChange { context, changed })
        };
        assert_eq!(
            said(Some(90_000), true),
            "the thread of main is folded above 90000 tokens"
        );
        assert_eq!(
            said(None, false),
            "the thread of main is already bounded by the setting of the host: 100000 tokens"
        );
        let wide = said(Some(300_000), true);
        assert!(wide.ends_with("so 100000 hold"), "{wide}");
    }
}
