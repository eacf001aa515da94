//! Intents: what a tool call asks for once its arguments are understood.
//!
//! An intent is either a fact the kernel decides inside its own commit, or an action the shell performs as an effect.

use crate::message::Priority;
use serde::{Deserialize, Serialize};

/// What a call asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "intent", rename_all = "snake_case")]
pub enum Intent {
    /// Rest, for a while or until something wakes the agent.
    Sleep {
        /// Why, in the agent's words.
        reason: Option<String>,
        /// For how long; none means until something arrives.
        duration_ms: Option<u64>,
    },
    /// Put a follow-up into the agent's own queue.
    Enqueue {
        /// What to do.
        text: String,
        /// When.
        priority: Priority,
    },
    /// Describe the agent.
    AgentGet,
    /// Something outside the kernel.
    Host(HostAction),
}

/// What the shell is asked to do for a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum HostAction {
    /// Run a command to its end.
    ExecCommand(ExecCommand),
    /// Change files by a patch, all of them or none.
    ApplyPatch(ApplyPatch),
}

/// A patch, read and found well-formed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyPatch {
    /// A unified diff; its paths count from the active workspace's execution root.
    pub patch: String,
}

/// A command, understood and bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommand {
    /// The shell text.
    pub cmd: String,
    /// Where, relative to the active workspace's current directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Which shell; the user's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether as a login shell.
    pub login: bool,
    /// How long it may run before it is stopped.
    pub timeout_ms: u64,
    /// The most of its output a model reads, in estimated tokens; the host's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}
