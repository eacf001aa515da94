//! Options of `holon solve`.

use std::path::PathBuf;

/// Options of the `solve` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct SolveArgs {
    /// Issue or pull request: its URL on GitHub, OWNER/REPO#N, or #N with --repo or inside a clone of the repository.
    #[arg(value_name = "REF")]
    pub(crate) target: String,
    /// Repository of #N [default: the one around the workspace].
    #[arg(long, value_name = "OWNER/REPO")]
    pub(crate) repo: Option<String>,
    /// Branch that a change is made against.
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    pub(crate) base: String,
    /// Goal of the work, in words [default: solve the issue, or make the pull request ready].
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// Role that the agent takes for this work, in words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) role: Option<String>,
    /// Id of the agent. It is created if it does not exist.
    #[arg(long, value_name = "ID", default_value = "github-solve")]
    pub(crate) agent: String,
    /// Template of the agent if it is created.
    #[arg(long, value_name = "TEMPLATE", default_value = "holon-github-solve")]
    pub(crate) template: String,
    /// Model to use, as provider/model; the agent keeps it for later turns.
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
    /// Upper bound on model rounds [default: 500, the limit of a turn].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Directory of the project to work in [default: the clone of the repository around the current directory, or the
    /// agent's own home].
    #[arg(long, value_name = "DIR", alias = "workspace-root")]
    pub(crate) workspace: Option<PathBuf>,
    /// Directory inside the project in which commands start [default: the project's root].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Directory with files for the agent to read. The request is written there as solve.json.
    #[arg(long, value_name = "DIR")]
    pub(crate) input: Option<PathBuf>,
    /// Directory for run.json, summary.md and manifest.json [default: a new temporary directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
