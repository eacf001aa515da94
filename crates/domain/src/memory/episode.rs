//! Episodes: immutable records of finished chunks of an agent's work.
//!
//! The builder of the open episode takes in each turn that ends. A boundary turns it into a record, which is never
//! changed. Every list and text is bounded, so a builder that never reaches a boundary ends at the turn cap.

use crate::id::{AgentId, EpisodeId, WorkItemId, WorkspaceId};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Position of an episode among its agent's episodes. Dense, the first is 1.
pub type EpisodeSeq = u64;

/// Reason for the end of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeBoundary {
    /// The next turn was about another work item.
    ActiveWorkSwitched,
    /// The agent began to wait or to rest.
    WaitBoundary,
    /// A turn took the result of a task.
    TaskRejoined,
    /// The work item was completed.
    ResultCheckpoint,
    /// The episode had as many turns as one may have.
    HardTurnCap,
    /// A boundary of another build.
    #[serde(other)]
    Other,
}

impl EpisodeBoundary {
    /// Returns the stored spelling, which is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ActiveWorkSwitched => "active_work_switched",
            Self::WaitBoundary => "wait_boundary",
            Self::TaskRejoined => "task_rejoined",
            Self::ResultCheckpoint => "result_checkpoint",
            Self::HardTurnCap => "hard_turn_cap",
            Self::Other => "other",
        }
    }
}

/// Work that an episode covers. The builder and the record share it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeContent {
    /// Workspace that was active at the end of the newest turn.
    pub workspace_id: WorkspaceId,
    pub start_turn_index: u64,
    pub end_turn_index: u64,
    /// Messages that turns had taken before the episode, and at its end.
    pub start_message_count: u64,
    pub end_message_count: u64,
    /// Work item of the turns. Absent if they had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_work_item_id: Option<WorkItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_summary: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope_hints: Vec<String>,
    /// Files that calls changed, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub working_set_files: Vec<String>,
    /// The newest commands, the oldest of them first, each with its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verification: Vec<String>,
    /// Beginnings of what the agent said at the end of turns, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Entries of the checklist that were not done at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carry_forward: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<String>,
}

/// The open episode of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeBuilder {
    pub id: EpisodeId,
    /// Turns that were taken in. Turns without an answer are not.
    pub turns: u32,
    /// Begin of the first of them. Absent in rows of earlier builds; clients then get the time that the log has of the
    /// first turn, or the creation of the agent if the log does not reach back to it.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    #[serde(flatten)]
    pub content: EpisodeContent,
}

/// The open episode as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeBuilderView {
    /// Its fields are serialised beside the others.
    #[serde(flatten)]
    pub builder: EpisodeBuilder,
    /// The newest turn that was taken in.
    #[serde(default)]
    pub latest_turn_index: u64,
    /// Messages that turns had taken at its end.
    #[serde(default)]
    pub latest_message_count: u64,
}

impl From<EpisodeBuilder> for EpisodeBuilderView {
    fn from(builder: EpisodeBuilder) -> Self {
        Self {
            latest_turn_index: builder.content.end_turn_index,
            latest_message_count: builder.content.end_message_count,
            builder,
        }
    }
}

/// A finished episode. It is written once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeRecord {
    pub id: EpisodeId,
    pub seq: EpisodeSeq,
    pub agent_id: AgentId,
    pub created_at: Timestamp,
    pub boundary_reason: EpisodeBoundary,
    #[serde(flatten)]
    pub content: EpisodeContent,
    /// The episode in words, at most `limits::EPISODE_SUMMARY_BYTES`.
    pub summary: String,
}

/// Names of the lines of a summary that are about what was open at the end of the episode.
pub const LEFT_TO_DO: &str = "left to do";
pub const WAITING_ON: &str = "waiting on";

impl EpisodeRecord {
    /// Removes what was open at the end of the episode, for an episode whose item was completed later.
    pub fn forget_open_ends(&mut self) {
        self.content.carry_forward.clear();
        self.content.waiting_on.clear();
        let is_open_end = |line: &&str| {
            let name = line.split_once(": ").map(|(name, _)| name);
            matches!(name, Some(LEFT_TO_DO | WAITING_ON))
        };
        let lines = self.summary.lines().filter(|line| !is_open_end(line));
        self.summary = lines.collect::<Vec<_>>().join("\n");
    }

    /// Returns the episode as text. Empty parts are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let content = &self.content;
        let mut text = self.summary.clone();
        let lists = [
            ("Files", &content.working_set_files),
            ("Commands", &content.commands),
            ("Checks", &content.verification),
            ("Outcomes", &content.decisions),
            ("Left to do", &content.carry_forward),
            ("Waiting on", &content.waiting_on),
        ];
        for (name, entries) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            text.push_str(&format!("\n\n{name}:\n- {}", entries.join("\n- ")));
        }
        text
    }

    /// Returns the first line of a list: what the episode was about.
    #[must_use]
    pub fn title(&self) -> String {
        let content = &self.content;
        let about = content.objective.as_deref();
        let about = about.or_else(|| content.decisions.first().map(String::as_str));
        let turns = content.turns_in_words();
        match about {
            Some(about) => format!("{about} ({turns})"),
            None => turns,
        }
    }
}

impl EpisodeContent {
    /// Names the turns: `turn 3`, or `turns 3 to 9`.
    #[must_use]
    pub fn turns_in_words(&self) -> String {
        match (self.start_turn_index, self.end_turn_index) {
            (first, last) if first == last => format!("turn {first}"),
            (first, last) => format!("turns {first} to {last}"),
        }
    }
}

/// A page of episodes, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodePage {
    pub episodes: Vec<EpisodeRecord>,
    /// `before_seq` of the next page. Absent if there are no older episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before_seq: Option<EpisodeSeq>,
}
