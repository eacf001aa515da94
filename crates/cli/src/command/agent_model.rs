//! `holon agent model`: shows and changes the model of an agent.

use crate::args::{AgentModelCommand, SetModelArgs};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use crate::{path, render};
use holon_api::SetModelRequest;
use holon_client::view::Model;

/// Runs one subcommand of `agent model`.
pub(super) async fn run(
    target: Target,
    command: AgentModelCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        AgentModelCommand::Get { id } => get(target, id, output).await,
        AgentModelCommand::Set(args) => set(target, args, output).await,
        AgentModelCommand::Clear { id } => clear(target, id, output).await,
    }
}

async fn get(target: Target, id: Option<String>, output: &Output) -> Result<Exit, Failure> {
    let host = Host::find(target, id, output)?;
    let summary = host.check_answer(host.client().status(host.agent()).await)?;
    let model = summary.member::<Model>("model")?;
    output.answer(&model, |model| render::model::state(model));
    Ok(Exit::Done)
}

async fn set(target: Target, args: SetModelArgs, output: &Output) -> Result<Exit, Failure> {
    let request = SetModelRequest {
        model: path::model("MODEL", &args.model)?,
        reasoning_effort: args.effort,
        thinking_tokens: args.thinking_tokens,
        fallback_models: fallbacks(&args)?,
        ..SetModelRequest::default()
    };
    let host = Host::find(target, args.id, output)?;
    let agent_id = host.agent_id().await?;
    let answer = host.check_answer(host.client().set_model(&agent_id, &request).await)?;
    output.answer(&answer, |answer| render::model::model_change(answer));
    Ok(Exit::Done)
}

/// Returns the agent's own list of fallbacks; `None` if those of the host apply.
fn fallbacks(args: &SetModelArgs) -> Result<Option<Vec<String>>, Failure> {
    if args.fallback.is_empty() && !args.no_fallback {
        return Ok(None);
    }
    let listed = args.fallback.iter();
    let models: Result<Vec<String>, Failure> = listed
        .map(|model| path::model("--fallback", model))
        .collect();
    models.map(Some)
}

async fn clear(target: Target, id: Option<String>, output: &Output) -> Result<Exit, Failure> {
    let host = Host::find(target, id, output)?;
    let agent_id = host.agent_id().await?;
    let answer = host.check_answer(host.client().clear_model(&agent_id).await)?;
    output.answer(&answer, |answer| render::model::model_change(answer));
    Ok(Exit::Done)
}
