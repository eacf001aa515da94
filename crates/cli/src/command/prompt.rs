//! `holon prompt`: sends a message to an agent without waiting for the answer.

use super::text;
use crate::args::PromptArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::PromptRequest;

/// Sends the message and prints its id.
pub(super) async fn run(
    target: Target,
    args: PromptArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let request = PromptRequest {
        text: text::read_prompt(args.text)?,
        priority: None,
        max_turns: None,
        trust: args.trust.map(Into::into),
    };
    let host = Host::find(target, args.agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    let admitted = host.check_answer(host.client().prompt(&agent_id, &request).await)?;
    output.answer(&admitted, |admitted| {
        format!(
            "{} is in the queue of {}",
            admitted.message_id, admitted.agent_id
        )
    });
    output.aside(&format!(
        "see what comes of it with: holon tail --agent {agent_id}"
    ));
    Ok(Exit::Done)
}
