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
use crate::{path, settings};
use artifacts::{Artifacts, Outcome};
use holon_api::RunRequest;
use holon_client::Answer;
use holon_client::view::Run;
use holon_config::Flags;
use holon_daemon::checkout::{GitHubCheckout, github_checkout};
use request::{Place, SolveRequest};
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
    let own_home = agent_home(home.clone(), &args.agent)?;
    let run = run_request(args, &solve, around, own_home)?;
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
    match run_command::perform(
        crate::target::Target::Home(home.clone()),
        request.clone(),
        output,
    ) {
        Err(failure) if failure.is("agent_not_found") => {
            let create = RunRequest {
                create_agent: true,
                template: Some(template.to_owned()),
                ..request
            };
            run_command::perform(crate::target::Target::Home(home), create, output)
        }
        other => other,
    }
}

fn run_request(
    args: &SolveArgs,
    solve: &SolveRequest,
    around: Option<GitHubCheckout>,
    own_home: String,
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
    let cwd = absolute("--cwd", &args.cwd)?;
    let place = match (&workspace_root, &cwd) {
        (None, None) => Place::AgentHome,
        (Some(_), _) | (None, Some(_)) => Place::Checkout,
    };
    // Without a checkout the agent works in its home. It may have worked in the checkout of another repository before.
    let workspace_root = workspace_root.or_else(|| cwd.is_none().then_some(own_home));
    let model = args.model.as_deref();
    Ok(RunRequest {
        agent_id: Some(run_command::parse_agent_id(&args.agent)?),
        create_agent: false,
        template: None,
        model: model
            .map(|model| path::model("--model", model))
            .transpose()?,
        max_turns: args.max_turns,
        trust: None,
        no_wait_for_tasks: false,
        workspace_root,
        cwd,
        text: solve.prompt(place),
        images: Vec::new(),
    })
}

/// Returns the path of the agent's home, which need not exist yet.
fn agent_home(home: Option<PathBuf>, agent: &str) -> Result<String, Failure> {
    let flags = Flags {
        home,
        ..Flags::default()
    };
    let (settings, _) = settings::load_client(&flags)?;
    let agent = run_command::parse_agent_id(agent)?;
    let dir = settings.home.value.join("agents").join(agent.as_str());
    path::absolute("--home", &dir)
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
