//! `holon solve`: an agent works on one GitHub issue or pull request, and what came of it is written to a directory.
//!
//! This command reads nothing from GitHub and uses no token. The agent's own `gh` and `git` commands do, with what the
//! environment of the operator gives them.

mod artifacts;
mod request;
mod target;

use super::run as run_command;
use crate::args::SolveArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::path;
use artifacts::{Artifacts, Outcome};
use holon_api::RunRequest;
use holon_client::Answer;
use holon_client::view::Run;
use holon_daemon::checkout::{GitHubCheckout, github_checkout};
use request::SolveRequest;
use std::path::{Path, PathBuf};
use target::Target;

/// Runs the work and writes the artifacts, also of a run that fails.
pub(super) fn run(
    home: Option<PathBuf>,
    args: &SolveArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let around = checkout_around(args.workspace.as_deref())?;
    let target = Target::parse(&args.target, args.repo.as_deref(), around.as_ref())
        .map_err(Failure::usage)?;
    let artifacts = Artifacts::open(args.output.as_deref())?;
    let solve = SolveRequest::new(args, target, artifacts.dir())?;
    if let Some(dir) = &args.input {
        artifacts::write_input(dir, &solve)?;
    }
    let run = run_request(args, &solve, around)?;
    let ended = perform(home, run, &args.template, output);
    let outcome = match &ended {
        Ok(response) => Outcome::Ended(response),
        Err(failure) => Outcome::NotRun(failure),
    };
    artifacts.write(&solve, &outcome)?;
    output.note(&format!("artifacts: {}", artifacts.dir().display()));
    ended.map(|response| run_command::exit_of(&response))
}

/// Runs the request with the agent, which is created from the template if it does not exist.
fn perform(
    home: Option<PathBuf>,
    request: RunRequest,
    template: &str,
    output: &Output,
) -> Result<Answer<Run>, Failure> {
    match run_command::perform(home.clone(), request.clone(), output) {
        Err(failure) if failure.is("agent_not_found") => {
            let create = RunRequest {
                create_agent: true,
                template: Some(template.to_owned()),
                ..request
            };
            run_command::perform(home, create, output)
        }
        other => other,
    }
}

fn run_request(
    args: &SolveArgs,
    solve: &SolveRequest,
    around: Option<GitHubCheckout>,
) -> Result<RunRequest, Failure> {
    let absolute = |flag: &str, dir: &Option<PathBuf>| {
        let dir = dir.as_deref();
        dir.map(|dir| path::absolute(flag, dir)).transpose()
    };
    let workspace_root = match absolute("--workspace", &args.workspace)? {
        Some(given) => Some(given),
        None => around
            .filter(|around| around.repo == solve.target.repo)
            .map(|around| path::absolute("--workspace", &around.root))
            .transpose()?,
    };
    let model = args.model.as_deref();
    Ok(RunRequest {
        agent_id: Some(run_command::parse_agent_id(&args.agent)?),
        create_agent: false,
        template: None,
        model: model
            .map(|model| path::model("--model", model))
            .transpose()?,
        max_turns: args.max_turns,
        no_wait_for_tasks: false,
        workspace_root,
        cwd: absolute("--cwd", &args.cwd)?,
        text: solve.prompt(),
    })
}

/// Finds the clone around the workspace, or around the current directory. One that cannot be read counts as none unless
/// it was named.
fn checkout_around(workspace: Option<&Path>) -> Result<Option<GitHubCheckout>, Failure> {
    let dir = path::absolute("--workspace", workspace.unwrap_or_else(|| Path::new(".")))?;
    match github_checkout(Path::new(&dir)) {
        Ok(found) => Ok(found),
        Err(reason) if workspace.is_some() => {
            Err(Failure::new(Exit::Failed, "invalid_workspace", reason))
        }
        Err(_) => Ok(None),
    }
}
