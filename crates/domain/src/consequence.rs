//! What a tool call comes to: its result, and the row that goes with it, written in one commit.
//!
//! The shell reports one of these for a call it performed, and `core` alone turns it into facts.

use crate::task::CommandTaskSpec;
use crate::tool::ToolEnvelope;
use crate::work_item::PlanArtifact;

/// What a call comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Consequence {
    /// A result and nothing else.
    Result(ToolEnvelope),
    /// The command of the call goes on without it: the result says so, and a task follows the command.
    Task {
        /// The result of the call.
        result: ToolEnvelope,
        /// How the command was started and where it is found.
        spec: Box<CommandTaskSpec>,
    },
    /// The plan file of a new work item is written. The row of the item follows in the same commit.
    PlanWritten(PlanArtifact),
}
