//! Waits for a commit about one agent.

use crate::error::Error;
use holon_domain::AgentId;
use holon_domain::feed::FeedNotice;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Waits for a commit about one agent, or for a lag of the feed that may have hidden one.
pub(crate) async fn wait_for_news(
    news: &mut Receiver<FeedNotice>,
    agent_id: &AgentId,
) -> Result<(), Error> {
    loop {
        match news.recv().await {
            Ok(notice) if notice.agent_id == *agent_id => return Ok(()),
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return Ok(()),
            Err(RecvError::Closed) => return Err(Error::ShuttingDown),
        }
    }
}
