//! Waits for a commit about one agent.

use crate::error::Error;
use holon_domain::feed::FeedNotice;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Waits for a commit about the agent that the receiver belongs to, or for a lag that may have hidden one.
pub(crate) async fn wait_for_news(news: &mut Receiver<FeedNotice>) -> Result<(), Error> {
    match news.recv().await {
        Ok(_) | Err(RecvError::Lagged(_)) => Ok(()),
        Err(RecvError::Closed) => Err(Error::ShuttingDown),
    }
}
