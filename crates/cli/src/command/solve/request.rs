//! The request of `holon solve`, and the words in which the agent gets it.

use super::target::{Target, TargetKind};
use crate::args::SolveArgs;
use crate::exit::Failure;
use crate::path;
use serde::Serialize;
use std::path::Path;

/// Everything that the operator asked for, as `solve.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct SolveRequest {
    /// The target as `OWNER/REPO#N`.
    pub(super) target_ref: String,
    pub(super) target: Target,
    /// Address of the target for people.
    url: String,
    base: String,
    /// Absent if the operator gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    pub(super) agent_id: String,
    /// Absolute path of the directory with files to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_dir: Option<String>,
    /// Absolute path of the directory for the artifacts.
    output_dir: String,
}

/// Where the agent begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    AgentHome,
    /// A directory of the operator, which may hold changes of his.
    Checkout,
}

impl SolveRequest {
    pub(super) fn new(args: &SolveArgs, target: Target, output: &Path) -> Result<Self, Failure> {
        let input = args.input.as_deref();
        Ok(Self {
            target_ref: target.reference(),
            url: target.url(),
            target,
            base: args.base.clone(),
            goal: args.goal.clone(),
            role: args.role.clone(),
            agent_id: args.agent.clone(),
            input_dir: input
                .map(|dir| path::absolute("--input", dir))
                .transpose()?,
            output_dir: path::absolute("--output", output)?,
        })
    }

    /// Words the request for the agent.
    pub(super) fn prompt(&self, place: Place) -> String {
        let Self {
            target_ref, base, ..
        } = self;
        let mut lines = vec![
            format!("Work on {target_ref}: {}", self.url),
            format!("Goal: {}", self.goal()),
            format!("A change is made against the branch `{base}`, on a branch of its own."),
        ];
        match place {
            Place::AgentHome => {}
            Place::Checkout => lines.push(
                "You begin in your operator's own checkout. If it is a git repository, call UseWorkspace on its \
                 workspace_id with mode isolated before you change anything, and leave the checkout as it is."
                    .to_owned(),
            ),
        }
        if let Some(role) = &self.role {
            lines.push(format!("Your role in this work: {role}"));
        }
        lines.extend([
            "Use `gh` and `git` with the credentials that their environment has. If they have none, say so and stop; do \
             not look for others."
                .to_owned(),
            "If the goal is a review, leave exactly one review or comment.".to_owned(),
        ]);
        if let Some(dir) = &self.input_dir {
            lines.push(format!("Files for this work are in {dir}."));
        }
        lines.push(format!(
            "Files that your operator should keep go to {}; run.json, summary.md and manifest.json there are not yours.",
            self.output_dir
        ));
        lines.push(
            "End with a summary that a maintainer can judge: cause, change, checks with results, risks, and what is left."
                .to_owned(),
        );
        lines.join("\n")
    }

    fn goal(&self) -> &str {
        match (&self.goal, self.target.kind) {
            (Some(goal), _) => goal,
            (None, TargetKind::Issue) => "solve the issue.",
            (None, TargetKind::PullRequest) => {
                "make the pull request ready: its checks pass and its reviews are answered."
            }
            (None, TargetKind::Unknown) => {
                "solve it if it is an issue; make it ready if it is a pull request."
            }
        }
    }
}
