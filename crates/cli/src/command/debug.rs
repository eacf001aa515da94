//! `holon debug`: diagnosis of an agent.

use super::latency::LatencyLimits;
use crate::args::DebugCommand;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use crate::target::Target;

/// Prints the prompt of an agent's last turn, or of the turn that was named, or the times of its last turns.
pub(super) async fn run(
    target: Target,
    command: DebugCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let (agent, turn, full) = match command {
        DebugCommand::Prompt { agent, turn, full } => (agent.id(), turn, full),
        DebugCommand::Latency {
            agent,
            limit,
            events_limit,
        } => {
            let limits = LatencyLimits {
                turns: limit,
                events: events_limit,
            };
            return super::latency::run(target, agent.id(), limits, output).await;
        }
    };
    let host = Host::find(target, agent, output)?;
    let agent_id = host.agent_id().await?;
    let prompt = host.check_answer(host.client().debug_prompt(&agent_id, turn).await)?;
    output.answer(&prompt, |prompt| render::prompt::prompt(prompt, full));
    Ok(Exit::Done)
}
