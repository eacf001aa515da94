//! Renders the latest steps of the current work item, so that a turn goes on where the one before it stopped.

use super::short;
use crate::candidate::{Candidate, Priority, count};
use crate::visible;
use holon_domain::prompt_plan::BlockSource;
use holon_domain::work_item::{ItemStep, StepAction};

/// Renders the steps, oldest first; `None` if there are none. Of a shorter form the oldest steps are missing.
pub(super) fn candidate(steps: &[ItemStep]) -> Option<Candidate<'_>> {
    (!steps.is_empty()).then(|| {
        Candidate::optional(BlockSource::ItemTrace, Priority::ItemTrace, render(steps)).or_shorter(
            |tokens| {
                let fits = |from: &usize| {
                    let left = steps.get(*from..).unwrap_or_default();
                    count(&render(left)) <= tokens
                };
                let from = (0..steps.len()).find(fits).unwrap_or(steps.len() - 1);
                render(steps.get(from..).unwrap_or_default())
            },
        )
    })
}

fn render(steps: &[ItemStep]) -> String {
    let lines: Vec<String> = steps.iter().map(line).collect();
    format!(
        "Latest steps on the current item, oldest first (already run; results are summaries):\n{}",
        lines.join("\n")
    )
}

fn line(step: &ItemStep) -> String {
    let turn = step.turn_index;
    match &step.action {
        StepAction::Said(words) => format!(
            "- turn {turn}: you wrote {}",
            visible::quoted(&words_of(words))
        ),
        StepAction::Called {
            tool,
            summary,
            failed,
        } => {
            let outcome = if *failed { "failed" } else { "done" };
            format!(
                "- turn {turn}: {} {outcome}: {}",
                short(tool),
                visible::quoted(&words_of(summary))
            )
        }
    }
}

fn words_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    holon_domain::text::preview(&words.join(" "), super::LINE_BYTES)
}
