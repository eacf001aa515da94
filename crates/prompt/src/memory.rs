//! Renders the working memory of an agent, for the prompt that begins a thread. Later prompts show the turns themselves.
//!
//! The item, its plan and the waits have parts of their own, so the working memory adds only what those leave out. Texts
//! are records of the agent's own turns; they are quoted, so that none reads as a label of the runtime.

use crate::candidate::{Candidate, Priority, count};
use crate::visible;
use holon_domain::memory::{WorkingMemory, WorkingMemoryState};
use holon_domain::prompt_plan::BlockSource;

/// Source of the text about the agent's memory.
#[derive(Debug, Clone, Copy)]
pub enum Memory<'a> {
    /// Current row, for the first request of a turn.
    Rows(&'a WorkingMemoryState),
    /// Revision that the first request showed. The text about the agent's work holds its working memory.
    Kept { revision: u64 },
}

impl Memory<'_> {
    pub(crate) const fn revision(self) -> u64 {
        match self {
            Self::Rows(state) => state.working_memory_revision,
            Self::Kept { revision } => revision,
        }
    }
}

/// Lists the parts of the working memory, which stand before the agent's work.
pub(crate) fn working_memory(state: &WorkingMemoryState) -> Vec<Candidate<'_>> {
    let memory = &state.current_working_memory;
    let shown = snapshot(memory).map(|whole| {
        let shortened = whole.clone();
        Candidate::optional(BlockSource::WorkingMemory, Priority::WorkingMemory, whole)
            .or_shorter(move |tokens| shorten_rendered(&shortened, tokens))
    });
    shown.into_iter().collect()
}

/// Renders the files and words that no other part shows; `None` if there are none.
fn snapshot(memory: &WorkingMemory) -> Option<String> {
    let (files, said) = (&memory.working_set_files, &memory.recent_decisions);
    let mut lines = Vec::new();
    if !files.is_empty() {
        lines.push(format!("- files you changed last: {}", quoted(files)));
    }
    lines.extend(
        said.iter()
            .map(|words| format!("- you said: {}", visible::quoted(words))),
    );
    (!lines.is_empty()).then(|| {
        format!(
            "Working memory, newest first (kept by the runtime from your earlier turns):\n{}",
            lines.join("\n")
        )
    })
}

/// Shortens a rendered snapshot by whole lines: the oldest words first. Empty if not even its first entry fits.
pub(crate) fn shorten_rendered(text: &str, tokens: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    (2..=lines.len())
        .rev()
        .map(|most| lines.get(..most).unwrap_or_default().join("\n"))
        .find(|text| count(text) <= tokens)
        .unwrap_or_default()
}

fn quoted(entries: &[String]) -> String {
    let entries: Vec<String> = entries.iter().map(|entry| visible::quoted(entry)).collect();
    entries.join(", ")
}
