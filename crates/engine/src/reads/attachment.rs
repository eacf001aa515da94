//! Reads files that agents have attached to notifications and briefs.

use super::ReadHandle;
use crate::error::Error;
use crate::ports::FileParts;
use holon_domain::AgentId;
use holon_domain::limits::ATTACHMENT_BYTES;

/// Answer to a request for an attached file.
#[derive(Debug)]
pub enum AttachmentRead {
    /// The file is open and is read part by part, so that no reader holds the whole of it.
    Opened(Box<dyn FileParts>),
    /// No notification that is remembered names this path.
    NotAttached,
    /// The file is gone, has another form, or is too large.
    Unreadable(String),
}

impl ReadHandle {
    /// Opens a file that the agent has attached, as it is now.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn attachment(
        &self,
        agent_id: &AgentId,
        path: &str,
    ) -> Result<AttachmentRead, Error> {
        let wanted = path.to_owned();
        let found = self.read_agent(agent_id, move |_, _, agent| {
            let is_attached = agent.outbox.attached.contains(&wanted);
            Ok(is_attached.then_some(agent.settings.agent_home))
        });
        let Some(home) = found.await? else {
            return Ok(AttachmentRead::NotAttached);
        };
        let opened = self.plans.open_file(&home, path, ATTACHMENT_BYTES).await;
        Ok(match opened {
            Ok(Some(file)) => AttachmentRead::Opened(file),
            Ok(None) => AttachmentRead::Unreadable("the file is gone".to_owned()),
            Err(reason) => AttachmentRead::Unreadable(reason),
        })
    }
}
