//! `holon agent`: creates, lists, starts, stops, aborts and deletes agents. Models have a file of their own.

use crate::addressing::hint;
use crate::args::{AgentCommand, ControlArg, WorkspaceArgs};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{self, Output};
use crate::target::Target;
use crate::{path, render};
use holon_api::{ControlAction, CreateAgentRequest, DeleteAgentResponse};
use holon_domain::{AgentId, RunId};
use serde::Serialize;
use std::path::PathBuf;

/// Returns the command that an action of `holon control` stands for.
pub(super) const fn of_control(action: ControlArg, id: Option<String>) -> Option<AgentCommand> {
    Some(match action {
        ControlArg::Start => AgentCommand::Start { id },
        ControlArg::Stop => AgentCommand::Stop { id },
        ControlArg::Abort => AgentCommand::Abort { id, run: None },
    })
}

/// Runs a subcommand; without one, lists the agents.
pub(super) async fn run(
    target: Target,
    command: Option<AgentCommand>,
    output: &Output,
) -> Result<Exit, Failure> {
    match command.unwrap_or(AgentCommand::List {
        archived: false,
        all: false,
    }) {
        AgentCommand::Create {
            id,
            model,
            template,
            seed,
            workspace,
        } => {
            let request = CreateAgentRequest {
                model,
                template,
                seed,
                ..CreateAgentRequest::default()
            };
            create(target, &id, request, workspace, output).await
        }
        AgentCommand::List { all: true, .. } => super::agent_tree::list_all(target, output).await,
        AgentCommand::List { archived, .. } => list(target, archived, output).await,
        AgentCommand::Tree { id } => super::agent_tree::tree(target, id, output).await,
        AgentCommand::Start { id } => control(target, id, ControlAction::Start, output).await,
        AgentCommand::Stop { id } => control(target, id, ControlAction::Stop, output).await,
        AgentCommand::Abort { id, run } => abort(target, id, run, output).await,
        AgentCommand::Archive { id } => archive(target, &id, output).await,
        AgentCommand::Delete { id, yes } => delete(target, &id, yes, output).await,
        AgentCommand::Model { command } => super::agent_model::run(target, command, output).await,
        AgentCommand::Status { id } => super::view::status(target, id, output).await,
        AgentCommand::Export { id, out, dry_run } => {
            super::archive::export(target, id, out, dry_run, output).await
        }
        AgentCommand::Import {
            file,
            name,
            dry_run,
        } => super::archive::import(target, &file, name, dry_run, output).await,
        AgentCommand::Clone { id, name, dry_run } => {
            super::archive::clone(target, id, name, dry_run, output).await
        }
    }
}

async fn create(
    target: Target,
    id: &str,
    given: CreateAgentRequest,
    workspace: WorkspaceArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let agent_id =
        AgentId::parse(id).map_err(|error| Failure::usage(format!("{id:?}: {error}")))?;
    let absolute = |flag: &'static str, dir: Option<PathBuf>| {
        dir.map(|dir| target.absolute(flag, &dir)).transpose()
    };
    let request = CreateAgentRequest {
        workspace_root: absolute("--workspace-root", workspace.workspace_root)?,
        cwd: absolute("--cwd", workspace.cwd)?,
        model: given
            .model
            .map(|model| path::model("--model", &model))
            .transpose()?,
        template: given.template,
        seed: given.seed,
        trust: Default::default(),
    };
    let host = Host::find(target, None, output)?;
    let identity = host.check_answer(host.client().create_agent(&agent_id, &request).await)?;
    output.answer(&identity, |identity| match identity.created {
        Some(true) => format!("agent {} is created", identity.agent_id),
        Some(false) => format!(
            "agent {} existed already, and nothing is changed",
            identity.agent_id
        ),
        // Hosts of earlier builds do not tell.
        None => format!("agent {} exists", identity.agent_id),
    });
    Ok(Exit::Done)
}

async fn list(target: Target, archived: bool, output: &Output) -> Result<Exit, Failure> {
    let host = Host::find(target, None, output)?;
    if archived {
        let agents = host.check_answer(host.client().archived_agents().await)?;
        output.answer(&agents, |agents| match agents.as_slice() {
            [] => "no agent is archived".to_owned(),
            agents => render::agents::list(agents, output::columns()),
        });
        return Ok(Exit::Done);
    }
    let agents = host.check_answer(host.client().agents().await)?;
    output.answer(&agents, |agents| {
        render::agents::list(agents, output::columns())
    });
    Ok(Exit::Done)
}

async fn control(
    target: Target,
    id: Option<String>,
    action: ControlAction,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, id, output)?;
    let agent_id = host.agent_id().await?;
    let answer = host.check_answer(host.client().control(&agent_id, action).await)?;
    output.answer(&answer, |answer| match action {
        ControlAction::Start | ControlAction::Resume => {
            format!("agent {} is started", answer.agent_id)
        }
        ControlAction::Stop | ControlAction::Pause => {
            format!("agent {} is stopped", answer.agent_id)
        }
        ControlAction::Abort => format!("the run of agent {} is aborted", answer.agent_id),
    });
    Ok(Exit::Done)
}

async fn abort(
    target: Target,
    id: Option<String>,
    run: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, id, output)?;
    let agent_id = host.agent_id().await?;
    let run_id = run.map(RunId::from_stored);
    let answer = host.check_answer(host.client().abort_run(&agent_id, run_id).await)?;
    output.answer(&answer, |answer| {
        let run = answer.run_id.as_ref().map_or("", |run| run.as_str());
        format!(
            "run {run} of agent {} is aborted; it goes on with its queue",
            answer.agent_id
        )
    });
    Ok(Exit::Done)
}

async fn archive(target: Target, id: &str, output: &Output) -> Result<Exit, Failure> {
    let agent_id =
        AgentId::parse_stored(id).map_err(|error| Failure::usage(format!("{id:?}: {error}")))?;
    let host = Host::find(target, None, output)?;
    let answer = host.check_answer(host.client().archive_agent(&agent_id).await)?;
    output.answer(&answer, |answer| {
        hint(format!(
            "agent {} is archived; holon transcript --agent {} shows its history",
            answer.agent_id, answer.agent_id
        ))
    });
    Ok(Exit::Done)
}

async fn delete(target: Target, id: &str, yes: bool, output: &Output) -> Result<Exit, Failure> {
    let agent_id =
        AgentId::parse_stored(id).map_err(|error| Failure::usage(format!("{id:?}: {error}")))?;
    let host = Host::find(target, None, output);
    let deliveries_given_up = match &host {
        Ok(host) => waiting_deliveries(host, &agent_id).await,
        // The refusal needs no host.
        Err(_) => 0,
    };
    if !yes {
        let lost = match deliveries_given_up {
            0 => String::new(),
            1 => ", and gives up 1 delivery that waits".to_owned(),
            count => format!(", and gives up {count} deliveries that wait"),
        };
        let words = format!("this removes agent {agent_id} with its home and its history{lost}");
        return Err(Failure::usage(words).hint(format!(
            "to keep a copy first: holon agent export {agent_id}; to go on, add --yes"
        )));
    }
    let host = host?;
    let answer = host.check_answer(host.client().delete_agent(&agent_id).await)?;
    let removal = Removal {
        answer: &answer,
        deliveries_given_up,
    };
    output.answer(&removal, render_removal);
    Ok(Exit::Done)
}

/// The answer to a removal, with what the command has read before. A repeated request gets the same answer of the host,
/// which therefore holds no count.
#[derive(Debug, Serialize)]
struct Removal<'a> {
    #[serde(flatten)]
    answer: &'a DeleteAgentResponse,
    /// Deliveries of the agent that waited right before the removal.
    deliveries_given_up: u64,
}

fn render_removal(removal: &Removal<'_>) -> String {
    let lost = match removal.deliveries_given_up {
        0 => String::new(),
        1 => "; 1 delivery that waited is given up".to_owned(),
        count => format!("; {count} deliveries that waited are given up"),
    };
    let id = &removal.answer.agent_id;
    format!("agent {id} is being removed; its tasks are ended first{lost}")
}

/// Counts the deliveries of an agent that have not ended; none if the host does not say.
async fn waiting_deliveries(host: &Host, agent_id: &AgentId) -> u64 {
    let status = host.client().status(Some(agent_id)).await;
    status.map_or(0, |status| status.agent.pending_deliveries)
}
