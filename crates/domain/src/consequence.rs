//! Outcome of a tool call with the row that is written in the same commit.
//!
//! The shell reports it for a call that it performed, and `core` alone turns it into facts.

use crate::guidance::SkillUse;
use crate::task::CommandTaskSpec;
use crate::tool::ToolEnvelope;
use crate::work_item::PlanArtifact;
use crate::workspace::SelectedWorkspace;

/// Outcome of a tool call as the shell reports it.
#[derive(Debug, Clone, PartialEq)]
pub enum Consequence {
    /// A result and nothing else.
    Result(ToolEnvelope),
    /// A result of commands that referred to skills, which become active.
    SkillUsed {
        result: ToolEnvelope,
        /// At least one, each once.
        skills: Vec<SkillUse>,
    },
    /// The command of the call continues in the background: the result says so, and a task follows the command.
    Task {
        result: ToolEnvelope,
        /// Start parameters and location of the command.
        spec: Box<CommandTaskSpec>,
    },
    /// The plan file of a new work item was written. The row of the item follows in the same commit.
    PlanWritten(PlanArtifact),
    /// A workspace was looked at. It becomes active in the same commit, unless a rule forbids it.
    Workspace {
        /// Result of a call that succeeds.
        result: ToolEnvelope,
        selected: Box<SelectedWorkspace>,
    },
    /// The files of a new agent were made. The agent follows in the same commit, unless a rule forbids it.
    ChildPrepared {
        /// Worktree of the agent. Absent if it gets none.
        selected: Option<Box<SelectedWorkspace>>,
    },
    /// The files that a call attaches were looked at. If there is no fault, the call is carried out in the same commit.
    FilesSeen {
        /// Why one of them can never be sent, worded for the model.
        fault: Option<String>,
    },
}

impl Consequence {
    /// Returns the result; `None` if the core writes it.
    pub const fn result_mut(&mut self) -> Option<&mut ToolEnvelope> {
        match self {
            Self::Result(result)
            | Self::SkillUsed { result, .. }
            | Self::Task { result, .. }
            | Self::Workspace { result, .. } => Some(result),
            Self::PlanWritten(_) | Self::ChildPrepared { .. } | Self::FilesSeen { .. } => None,
        }
    }
}
