//! `holon prompt`: say something to an agent and go on.

use super::text;
use crate::args::PromptArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use holon_api::PromptRequest;
use std::path::PathBuf;

/// Sends and prints what became of it.
pub(super) async fn run(
    home: Option<PathBuf>,
    args: PromptArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let request = PromptRequest {
        text: text::words(args.text)?,
        priority: None,
        max_turns: None,
    };
    let host = Host::find(home, args.agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    let admitted = host.asked(host.client().prompt(&agent_id, &request).await)?;
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
