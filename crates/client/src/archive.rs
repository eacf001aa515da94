//! Routes that export, import and clone an agent.

use crate::answer::Answer;
use crate::client::{Client, control_path};
use crate::error::Error;
use crate::exchange::{HttpResponse, ReadTimeout, RequestBody};
use crate::query::with_query;
use crate::upload::Upload;
use bytes::Bytes;
use holon_api::{CloneAgentRequest, ExportAgentRequest, ExportReport};
use holon_domain::AgentId;
use holon_domain::archive::ImportReport;

/// An archive that arrives.
#[derive(Debug)]
pub struct ExportStream {
    response: HttpResponse,
    /// Bytes that the host announced.
    bytes: u64,
    seen: u64,
}

impl ExportStream {
    /// Returns the bytes of the whole archive.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the next part. `None` at the end of the archive.
    ///
    /// # Errors
    /// Fails if the connection breaks, or the archive ends before its announced length.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match self.response.chunk().await? {
            Some(part) => {
                self.seen += part.len() as u64;
                Ok(Some(part))
            }
            None if self.seen == self.bytes => Ok(None),
            None => {
                let (seen, bytes) = (self.seen, self.bytes);
                let reason = format!("the archive ended after {seen} of {bytes} bytes");
                Err(self.response.interrupted(reason))
            }
        }
    }
}

impl Client {
    /// Asks what the archive of an agent would hold.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn preview_export(&self, agent_id: &AgentId) -> Result<Answer<ExportReport>, Error> {
        let request = ExportAgentRequest { dry_run: true };
        let target = control_path(agent_id, "export");
        let response = self.respond(target, &request, ReadTimeout::Unlimited);
        response.await?.json().await
    }

    /// Exports an agent. The archive arrives with the calls to [`ExportStream::next`].
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn export_agent(&self, agent_id: &AgentId) -> Result<ExportStream, Error> {
        let request = ExportAgentRequest { dry_run: false };
        let target = control_path(agent_id, "export");
        let response = self
            .respond(target, &request, ReadTimeout::Unlimited)
            .await?;
        let length = response.header("content-length");
        let bytes = length.and_then(|length| length.parse().ok());
        let bytes = bytes
            .ok_or_else(|| response.unexpected("the archive has no announced length".to_owned()))?;
        Ok(ExportStream {
            response,
            bytes,
            seen: 0,
        })
    }

    /// Makes a stopped agent from an archive, or only checks the archive.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn import_agent(
        &self,
        agent_id: &AgentId,
        archive: Upload,
        dry_run: bool,
    ) -> Result<Answer<ImportReport>, Error> {
        let query = [("dry_run", dry_run.then(|| "true".to_owned()))];
        let target = with_query(&control_path(agent_id, "import"), query);
        let body = RequestBody::Archive(archive);
        let response = self.send_body(target, body, ReadTimeout::Unlimited);
        response.await?.json().await
    }

    /// Makes a stopped copy of an agent, or only says what it would hold.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn clone_agent(
        &self,
        agent_id: &AgentId,
        request: &CloneAgentRequest,
    ) -> Result<Answer<ImportReport>, Error> {
        let target = control_path(agent_id, "clone");
        let response = self.respond(target, request, ReadTimeout::Unlimited);
        response.await?.json().await
    }
}
