//! The doors of a running host. Reading never activates: `Reads` cannot reach the writer, `Acts` can.

use crate::error::Error;
use crate::request::{Admitted, CreateAgent, Ingress, RunRequest};
use holon_domain::AgentId;
use holon_domain::agent::AgentIdentity;
use holon_domain::brief::BriefRecord;
use holon_domain::feed::{EventPage, EventQuery, FeedNotice};
use holon_domain::run::RunOnceResponse;
use holon_domain::summary::{AgentListEntry, AgentSummary};
use holon_domain::transcript::TranscriptEntry;
use tokio::sync::broadcast;

/// Looks at agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reads {}

impl Reads {
    /// Identity of this store, new at creation and restore.
    #[must_use]
    pub fn epoch(&self) -> &str {
        unimplemented!()
    }

    /// Every public agent.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn agents(&self) -> Result<Vec<AgentListEntry>, Error> {
        unimplemented!()
    }

    /// One agent.
    ///
    /// # Errors
    /// When there is none, or storage fails.
    pub async fn status(&self, agent_id: &AgentId) -> Result<AgentSummary, Error> {
        unimplemented!("{agent_id}")
    }

    /// Its newest briefs, oldest of them first.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn briefs(&self, agent_id: &AgentId, limit: u64) -> Result<Vec<BriefRecord>, Error> {
        unimplemented!("{agent_id} {limit}")
    }

    /// Its newest transcript entries, oldest of them first.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn transcript(&self, agent_id: &AgentId, limit: u64) -> Result<Vec<TranscriptEntry>, Error> {
        unimplemented!("{agent_id} {limit}")
    }

    /// A page of its events.
    ///
    /// # Errors
    /// When there is no such agent, the cursor is too old, or storage fails.
    pub async fn events(&self, agent_id: &AgentId, query: EventQuery) -> Result<EventPage, Error> {
        unimplemented!("{agent_id} {query:?}")
    }

    /// News of commits. A receiver that lags reads on by cursor.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        unimplemented!()
    }
}

/// Changes things. Cheap to clone. Every method returns after its commit is on disk.
#[derive(Debug, Clone)]
pub struct Acts {}

impl Acts {
    /// Makes an agent; the same again is harmless.
    ///
    /// # Errors
    /// When the name is taken differently, the workspace or model cannot be used, or storage fails.
    pub async fn create_agent(&self, request: CreateAgent) -> Result<AgentIdentity, Error> {
        unimplemented!("{request:?}")
    }

    /// Puts a message into an agent's queue.
    ///
    /// # Errors
    /// When admission refuses it or storage fails; then nothing was written.
    pub async fn admit(&self, agent_id: &AgentId, ingress: Ingress) -> Result<Admitted, Error> {
        unimplemented!("{agent_id} {ingress:?}")
    }

    /// Lets a stopped agent run again.
    ///
    /// # Errors
    /// When there is no such agent or storage fails.
    pub async fn start_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        unimplemented!("{agent_id}")
    }

    /// Stops an agent: its run is aborted, its queue is kept.
    ///
    /// # Errors
    /// When there is no such agent or storage fails.
    pub async fn stop_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        unimplemented!("{agent_id}")
    }

    /// Runs one request to its outcome and returns as soon as that is committed.
    ///
    /// # Errors
    /// When it could not be admitted. A run that failed is an answer, not an error.
    pub async fn run_once(&self, request: RunRequest) -> Result<RunOnceResponse, Error> {
        unimplemented!("{request:?}")
    }
}
