//! Working memory and episodes.

use super::{Description, words};
use holon_domain::event::{EpisodeMemoryFinalized, Event, WorkingMemoryUpdated};

pub(super) fn describe(event: &Event) -> Option<Description> {
    Some(match event {
        Event::WorkingMemoryUpdated(e) => updated(e),
        Event::EpisodeMemoryFinalized(e) => finalized(e),
        _ => return None,
    })
}

fn updated(e: &WorkingMemoryUpdated) -> Description {
    Description::detail("Working memory changed")
        .body(e.delta.summary_lines.join("; "))
        .with("revision", e.revision)
        .with("reason", words(e.reason))
}

fn finalized(e: &EpisodeMemoryFinalized) -> Description {
    let range = e.turn_range;
    let turns = if range.start == range.end {
        format!("turn {}", range.start)
    } else {
        format!("turns {} to {}", range.start, range.end)
    };
    Description::step("Episode archived")
        .body(format!("{turns}: {}", words(e.boundary_reason)))
        .with("episode", &e.episode_id)
        .with_some("work item", e.work_item_id.as_ref())
}
