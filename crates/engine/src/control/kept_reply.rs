//! Replies that are kept for requests with a key, so that a repetition gets the same answer.

use super::{ControlHandle, read_admission};
use crate::error::Error;
use crate::request::AdmittedMessage;
use crate::shell::engine_error;
use holon_domain::AgentId;
use holon_domain::request_key::{KeptReplyGap, RequestKey};
use holon_store::WriteOrder;

impl ControlHandle {
    /// Returns the admission that is kept for this request, if it was admitted before.
    ///
    /// # Errors
    /// When the key was used for another request, or storage fails.
    pub(crate) async fn kept_admission(
        &self,
        agent_id: &AgentId,
    ) -> Result<Option<AdmittedMessage>, Error> {
        let Some(key) = self.request.clone() else {
            return Ok(None);
        };
        match self.read_kept(&key, Some(agent_id.clone()), true).await? {
            Some(kept) => {
                let reply = serde_json::from_str(&kept);
                let reply = reply.map_err(|_| Error::OutcomeUnreadable {
                    agent_id: Some(agent_id.clone()),
                })?;
                read_admission(agent_id, reply).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Returns true if this request was decided before, so that its effects have been performed too.
    ///
    /// # Errors
    /// When the key was used for another request, or storage fails.
    pub async fn is_decided(&self, agent_id: &AgentId) -> Result<bool, Error> {
        let Some(key) = self.request.clone() else {
            return Ok(false);
        };
        let kept = self.read_kept(&key, Some(agent_id.clone()), false).await?;
        Ok(kept.is_some())
    }

    /// Returns the response that is kept for a request whose answer comes from an effect. One about an agent counts only
    /// as long as that agent exists.
    ///
    /// # Errors
    /// When the key was used for another request, or storage fails.
    pub async fn kept_response(
        &self,
        key: &RequestKey,
        agent: Option<AgentId>,
    ) -> Result<Option<String>, Error> {
        self.read_kept(key, agent, false).await
    }

    /// Keeps the response to a request whose answer comes from an effect. `agent` is the one that it is about.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn keep_response(
        &self,
        key: RequestKey,
        agent: Option<AgentId>,
        response: String,
    ) -> Result<(), Error> {
        let (shell, bytes) = (self.shell.clone(), response.len());
        let kept = holon_store::commit(
            self.shell.store.as_ref(),
            // The effect was performed: without its reply a repetition would perform it again.
            WriteOrder::runtime(bytes),
            move |ledger| {
                let now = shell.ports.clock.now();
                ledger.keep_reply(&key, agent.as_ref(), &response, now)
            },
        );
        kept.await.map_err(engine_error)
    }

    /// Reads the reply that is kept for a request. One that was given for an earlier agent of this name is none;
    /// `without_agent` says if it counts while there is no agent.
    pub(super) async fn read_kept(
        &self,
        key: &RequestKey,
        agent: Option<AgentId>,
        without_agent: bool,
    ) -> Result<Option<String>, Error> {
        let (id, now) = (key.id.clone(), self.shell.ports.clock.now());
        let asked = agent.clone();
        let read = self.readers.read(move |reader| {
            let kept = reader.kept_reply(&id, now)?;
            let (Some(found), Some(agent)) = (&kept, agent) else {
                return Ok(kept);
            };
            // The name alone tells if there is such an agent: its record may be unreadable.
            let birth = reader.birth(&agent)?;
            let is_of_present = birth.map_or(without_agent, |birth| found.belongs_to(birth));
            Ok(kept.filter(|_| is_of_present))
        });
        match read.await? {
            Some(kept) if !kept.answers(key) => Err(Error::KeyReused),
            Some(kept) => match kept.read::<serde::de::IgnoredAny>() {
                Ok(_) => Ok(Some(kept.reply)),
                Err(gap) => Err(gap_error(gap, asked)),
            },
            None => Ok(None),
        }
    }
}

/// Says why the reply to a request that was carried out before cannot be given.
pub(super) fn gap_error(gap: KeptReplyGap, agent_id: Option<AgentId>) -> Error {
    match gap {
        KeptReplyGap::Removed => Error::OutcomeRemoved { agent_id },
        KeptReplyGap::Unreadable => Error::OutcomeUnreadable { agent_id },
    }
}
