//! `holon prompt`: sends a message to an agent without waiting for the answer.

use super::{images, text};
use crate::args::PromptArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::PromptRequest;
use holon_domain::AgentId;

/// Sends the message and prints its id.
pub(super) async fn run(
    target: Target,
    args: PromptArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let attached = images::read(&args.image)?;
    let mut request = PromptRequest {
        text: text::read_prompt(args.text)?,
        images: Vec::new(),
        priority: None,
        max_turns: None,
        trust: args.trust.map(Into::into),
    };
    let host = Host::find(target, args.agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    request.images = host.check_answer(images::upload(host.client(), &attached).await)?;
    let admitted = host
        .check_answer(host.client().prompt(&agent_id, &request).await)
        .map_err(|failure| name_model_commands(failure, &agent_id))?;
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

/// Replaces the option of a run, which a prompt does not take, by the commands that give the agent a model.
fn name_model_commands(failure: Failure, agent_id: &AgentId) -> Failure {
    if !failure.is("no_model") {
        return failure;
    }
    failure.hint(format!(
        "run: holon init; or choose one for the agent: holon agent model set PROVIDER/MODEL {agent_id}; without a key try: holon demo"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_model_a_prompt_proposes_no_option_of_a_run() {
        let scout = AgentId::parse("scout").expect("an id");
        let refused = Failure::new(Exit::Failed, "no_model", "no model is configured")
            .hint("choose one with --model PROVIDER/MODEL");
        let hint = name_model_commands(refused, &scout).body.hint;
        let hint = hint.expect("a next step");
        assert!(!hint.contains("--model"), "{hint}");
        assert!(
            hint.contains("holon agent model set PROVIDER/MODEL scout"),
            "{hint}"
        );
    }
}
