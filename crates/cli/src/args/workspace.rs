//! Command line of workspaces and worktrees.

use super::AgentArg;
use clap::{Subcommand, ValueEnum};
use holon_domain::workspace::UseMode;
use std::path::PathBuf;

/// Subcommands of `holon workspace`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Attach a directory, so that an agent may use it.
    Attach {
        /// Directory of the project to attach.
        path: PathBuf,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Make a workspace active, from the agent's next turn on.
    Use(UseArgs),
    /// List the workspaces that an agent may use, and mark the active one.
    List(AgentArg),
    /// Detach a workspace that is not active; no file is touched.
    Detach {
        /// Id of the workspace.
        workspace: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Leave the active workspace for the agent's home.
    Exit(AgentArg),
}

/// Options of `workspace use`.
#[derive(Debug, clap::Args)]
pub(crate) struct UseArgs {
    /// Id of an attached workspace, agent_home, or the path of a directory.
    pub(crate) workspace: String,
    /// Place where commands run: in the directory itself, or in a git worktree with a branch of its own.
    #[arg(long, value_name = "MODE", value_enum, default_value_t = ModeArg::Direct)]
    pub(crate) mode: ModeArg,
    /// Directory below the execution root in which commands start.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Words for the name of the worktree and its branch.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Place in which commands of an agent run, as `--mode` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    Direct,
    Isolated,
}

impl From<ModeArg> for UseMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Direct => Self::Direct,
            ModeArg::Isolated => Self::Isolated,
        }
    }
}

/// Subcommands of `holon worktree`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorktreeCommand {
    /// List the worktrees that the runtime made, and why each is kept.
    List,
    /// Remove worktrees without work in them; the others are kept and reported.
    Clean {
        /// Show what would be removed, and remove nothing.
        #[arg(long)]
        dry_run: bool,
    },
}
