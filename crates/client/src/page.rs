//! Pages of an agent's briefs and of its transcript, forward and backward by cursor.

use crate::answer::Answer;
use crate::client::{Client, agent_path, default_timeout};
use crate::error::Error;
use crate::exchange::{HttpRequest, RequestBody, send_request};
use crate::query::with_query;
use crate::view::{Brief, TranscriptEntry};
use holon_api::event::EPOCH_HEADER;
use holon_domain::AgentId;
use hyper::Method;
use serde::de::DeserializeOwned;

/// Selection of the entries of a page. Without bounds it has the newest entries.
#[derive(Debug, Clone, Default)]
pub struct SeqQuery {
    /// Returns only entries before this position.
    pub before_seq: Option<u64>,
    /// Returns the first entries after this position.
    pub after_seq: Option<u64>,
    /// Upper bound on the number of entries.
    pub limit: Option<u64>,
    /// The epoch of the page that the position comes from. The host refuses a position of a deleted agent with it.
    pub epoch: Option<String>,
}

impl SeqQuery {
    /// Selects the newest entries.
    #[must_use]
    pub fn newest(limit: Option<u64>) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }
}

/// A page in ascending order.
#[derive(Debug, Clone)]
pub struct SeqPage<T> {
    pub entries: Vec<T>,
    /// Identity of what the positions of the entries belong to. Absent if the host is too old to have one.
    pub epoch: Option<String>,
}

impl Client {
    /// Reads an agent's newest briefs, in ascending order.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn briefs(
        &self,
        agent_id: Option<&AgentId>,
        limit: Option<u64>,
    ) -> Result<Vec<Answer<Brief>>, Error> {
        let page = self.briefs_page(agent_id, SeqQuery::newest(limit)).await?;
        Ok(page.entries)
    }

    /// Reads a page of an agent's briefs.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn briefs_page(
        &self,
        agent_id: Option<&AgentId>,
        query: SeqQuery,
    ) -> Result<SeqPage<Answer<Brief>>, Error> {
        self.seq_page(&agent_path(agent_id, "briefs"), query).await
    }

    /// Reads an agent's newest transcript entries, in ascending order.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn transcript(
        &self,
        agent_id: Option<&AgentId>,
        limit: Option<u64>,
    ) -> Result<Vec<Answer<TranscriptEntry>>, Error> {
        let page = self
            .transcript_page(agent_id, SeqQuery::newest(limit))
            .await?;
        Ok(page.entries)
    }

    /// Reads a page of an agent's transcript.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn transcript_page(
        &self,
        agent_id: Option<&AgentId>,
        query: SeqQuery,
    ) -> Result<SeqPage<Answer<TranscriptEntry>>, Error> {
        self.seq_page(&agent_path(agent_id, "transcript"), query)
            .await
    }

    async fn seq_page<T: DeserializeOwned>(
        &self,
        path: &str,
        query: SeqQuery,
    ) -> Result<SeqPage<T>, Error> {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let target = with_query(
            path,
            [
                ("before_seq", number(query.before_seq)),
                ("after_seq", number(query.after_seq)),
                ("limit", number(query.limit)),
                ("epoch", query.epoch),
            ],
        );
        let request = HttpRequest {
            method: Method::GET,
            target,
            body: RequestBody::Empty,
            key: None,
            timeout: default_timeout(),
        };
        let mut response = send_request(self.address(), request).await?;
        let epoch = response.header(EPOCH_HEADER).map(str::to_owned);
        let entries = response.json().await?;
        Ok(SeqPage { entries, epoch })
    }
}
