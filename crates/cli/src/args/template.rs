//! Subcommands of `holon template` and `holon skills`.

use super::AgentArg;
use clap::Subcommand;

/// Subcommands of `holon template`.
#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// List the templates of this user and the built-in ones.
    List,
    /// Show a template: its AGENTS.md and its skills.
    Show {
        /// Id, absolute path, or URL of a GitHub tree (github.com/OWNER/REPO/tree/REF/DIR).
        template: String,
    },
    /// Check that an agent can be made from a template.
    Validate {
        /// Id, absolute path, or URL of a GitHub tree (github.com/OWNER/REPO/tree/REF/DIR).
        template: String,
    },
}

/// Subcommands of `holon skills`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills that an agent can use.
    List(AgentArg),
    /// Install a skill into an agent's home.
    Install {
        /// Directory with a SKILL.md, the name of a built-in skill with --builtin, or with --remote a place on GitHub: a
        /// repository's URL with an optional #REF, the URL of a tree, or OWNER/REPO@SKILL.
        name_or_path: String,
        /// Install the built-in skill of this name.
        #[arg(long, conflicts_with = "copy")]
        builtin: bool,
        /// Fetch the skill from GitHub and copy it. The copy is pinned to the commit.
        #[arg(long, conflicts_with_all = ["builtin", "copy"])]
        remote: bool,
        /// Name of the skill in a repository that has several.
        #[arg(long, value_name = "NAME", requires = "remote")]
        skill: Option<String>,
        /// Copy the directory [default: link it, so that its changes show].
        #[arg(long)]
        copy: bool,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Remove a skill from an agent's home.
    Uninstall {
        /// Name of the skill.
        name: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}
