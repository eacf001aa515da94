//! Changes of the conversation that the agent's model is shown.

use crate::msg::Question;
use holon_api::PinTurnRequest;
use holon_client::{Client, Error};
use holon_domain::AgentId;

/// Makes a change and says what it leads to.
pub(super) async fn change(
    client: &Client,
    agent: &AgentId,
    question: Question,
) -> Result<String, Error> {
    Ok(match question {
        Question::PinTurn { turn } => {
            let change = client.pin_turn(agent, &PinTurnRequest { turn }).await?;
            let (taken, room) = (change.context.pinned_tokens, change.context.pin_tokens);
            format!("turn {turn} is pinned; pinned turns take {taken} of {room} tokens")
        }
        Question::UnpinTurn { turn } => {
            client.unpin_turn(agent, &PinTurnRequest { turn }).await?;
            format!("turn {turn} is not pinned; the next fold may take it")
        }
        Question::FoldContext => {
            let change = client.fold_context(agent).await?;
            let (now, low) = (change.context.thread_tokens, change.context.low_tokens);
            format!("the next turn folds the thread of {now} tokens to at most {low}")
        }
        Question::ClearContext => {
            client.clear_context(agent).await?;
            "the next turn begins an empty thread; history and memory stay".to_owned()
        }
        _ => String::new(),
    })
}
