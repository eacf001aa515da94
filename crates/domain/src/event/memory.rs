//! Payloads of events about working memory and episodes.

use crate::id::{EpisodeId, WorkItemId};
use crate::memory::{EpisodeBoundary, MemoryChangeReason, TurnMemoryDelta, WorkingMemoryDelta};
use serde::{Deserialize, Serialize};

/// A new revision of the working memory. See [`Event::WorkingMemoryUpdated`](super::Event::WorkingMemoryUpdated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkingMemoryUpdated {
    /// Revision after the change.
    pub revision: u64,
    pub reason: MemoryChangeReason,
    /// Change that the next prompt shows. It holds earlier changes too that no prompt has shown.
    pub delta: WorkingMemoryDelta,
    /// What the turn did that made the change.
    pub turn_memory_delta: TurnMemoryDelta,
}

/// The end of an episode. See [`Event::EpisodeMemoryFinalized`](super::Event::EpisodeMemoryFinalized).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeMemoryFinalized {
    pub episode_id: EpisodeId,
    pub boundary_reason: EpisodeBoundary,
    pub turn_range: TurnRange,
    /// Work item that the episode was about. Absent if it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
}

/// First and last turn of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRange {
    pub start: u64,
    pub end: u64,
}
