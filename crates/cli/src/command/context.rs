//! `holon context`: shows and steers the conversation that an agent's model is shown, through the running host.

use crate::args::ContextCommand;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render::context::{self, Change};
use crate::target::Target;
use holon_api::{LimitThreadRequest, PinTurnRequest};

/// Runs a subcommand against the agent that it names, or the default one.
pub(super) async fn run(
    target: Target,
    command: ContextCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let (agent, change) = match command {
        ContextCommand::Show(agent) => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let shown = host.check_answer(host.client().context(&agent_id).await)?;
            output.answer(&shown, |shown| {
                context::meter(shown, crate::output::columns())
            });
            return Ok(Exit::Done);
        }
        ContextCommand::Fold(agent) => (agent, Change::Fold),
        ContextCommand::Clear(agent) => (agent, Change::Clear),
        ContextCommand::Pin(pin) => (pin.agent, Change::Pin(pin.turn)),
        ContextCommand::Unpin(pin) => (pin.agent, Change::Unpin(pin.turn)),
        ContextCommand::Limit(limit) => (limit.agent, Change::Limit(limit.tokens)),
    };
    let host = Host::find(target, agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    let client = host.client();
    let answer = match change {
        Change::Fold => client.fold_context(&agent_id).await,
        Change::Clear => client.clear_context(&agent_id).await,
        Change::Pin(turn) => client.pin_turn(&agent_id, &PinTurnRequest { turn }).await,
        Change::Unpin(turn) => client.unpin_turn(&agent_id, &PinTurnRequest { turn }).await,
        Change::Limit(thread_tokens) => {
            let request = LimitThreadRequest { thread_tokens };
            client.limit_thread(&agent_id, &request).await
        }
    };
    let changed = host.check_answer(answer)?;
    output.answer(&changed, |changed| context::change(change, changed));
    Ok(Exit::Done)
}
