//! The routes as methods. Each is one request; nothing is kept between them.

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::exchange::{Ask, Patience, ask};
use crate::stream::EventStream;
use crate::told::Told;
use crate::view::{Agent, Brief, Chosen, Entry, Identity, Listed, Models, Run};
use holon_api::{
    AdmittedResponse, ClearModelRequest, ControlAction, ControlRequest, ControlResponse,
    CreateAgentRequest, EnqueueRequest, EventsPage, Handshake, Health, PageOrder, Projection,
    PromptRequest, ReloadResponse, Root, RunRequest, SetModelRequest, ShutdownResponse,
};
use holon_domain::AgentId;
use holon_domain::limits::ANSWER_IDLE_MS;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::time::Duration;

/// One host's control plane. Cheap to clone; holds no connection.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
}

/// Which page of events. Everything left out is the server's choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventsQuery {
    /// Only older than this.
    pub before_seq: Option<u64>,
    /// Only newer than this.
    pub after_seq: Option<u64>,
    /// At most this many.
    pub limit: Option<u64>,
    /// In which order.
    pub order: Option<PageOrder>,
    /// How much of each.
    pub projection: Option<Projection>,
}

impl EventsQuery {
    fn to_target(self, agent_id: &AgentId) -> String {
        let order = self.order.map(|order| match order {
            PageOrder::Asc => "asc".to_owned(),
            PageOrder::Desc => "desc".to_owned(),
        });
        let projection = self.projection.map(|projection| match projection {
            Projection::Operator => "operator".to_owned(),
            Projection::LocalDebug => "local_debug".to_owned(),
        });
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        query(
            &format!("/agents/{agent_id}/events"),
            [
                ("before_seq", number(self.before_seq)),
                ("after_seq", number(self.after_seq)),
                ("limit", number(self.limit)),
                ("order", order),
                ("projection", projection),
            ],
        )
    }
}

/// Names and values here are numbers and words of ours, so nothing needs escaping. Agent ids do not either.
pub(crate) fn query<const N: usize>(path: &str, params: [(&str, Option<String>); N]) -> String {
    let given = params
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name}={value}")));
    let joined = given.collect::<Vec<_>>().join("&");
    if joined.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{joined}")
    }
}

impl Client {
    /// The host behind a socket of this user on this machine.
    #[must_use]
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self {
            endpoint: Endpoint::Unix(path.into()),
        }
    }

    /// The host at `host:port`, with its control token.
    ///
    /// # Errors
    /// When the token cannot be sent.
    pub fn tcp(address: impl Into<String>, token: &str) -> Result<Self, Error> {
        Ok(Self {
            endpoint: Endpoint::tcp(address.into(), token)?,
        })
    }

    /// The same address as a stranger, who may ask for health and handshake only.
    #[must_use]
    pub fn stranger(address: impl Into<String>) -> Self {
        Self {
            endpoint: Endpoint::Tcp {
                address: address.into(),
                authorization: None,
            },
        }
    }

    /// Where this client asks, as it is shown to people.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.endpoint.to_string()
    }

    /// Whether the host is up.
    ///
    /// # Errors
    /// When it is not.
    pub async fn health(&self) -> Result<Health, Error> {
        self.get("/healthz".into()).await
    }

    /// What the host speaks and whom it lets in.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn handshake(&self) -> Result<Handshake, Error> {
        self.get("/handshake".into()).await
    }

    /// The agent that is meant when none is named.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn root(&self) -> Result<Root, Error> {
        self.get("/".into()).await
    }

    /// Every public agent.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn agents(&self) -> Result<Vec<Told<Listed>>, Error> {
        self.get("/agents/list".into()).await
    }

    /// One agent; without a name, the default one.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn status(&self, agent_id: Option<&AgentId>) -> Result<Told<Agent>, Error> {
        self.get(of(agent_id, "status")).await
    }

    /// Its newest briefs, oldest of them first.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn briefs(
        &self,
        agent_id: Option<&AgentId>,
        limit: Option<u64>,
    ) -> Result<Vec<Told<Brief>>, Error> {
        self.get(query(
            &of(agent_id, "briefs"),
            [("limit", limit.map(|limit| limit.to_string()))],
        ))
        .await
    }

    /// Its newest transcript entries, oldest of them first.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn transcript(
        &self,
        agent_id: Option<&AgentId>,
        limit: Option<u64>,
    ) -> Result<Vec<Told<Entry>>, Error> {
        self.get(query(
            &of(agent_id, "transcript"),
            [("limit", limit.map(|limit| limit.to_string()))],
        ))
        .await
    }

    /// A page of its events.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn events(
        &self,
        agent_id: &AgentId,
        query: EventsQuery,
    ) -> Result<EventsPage, Error> {
        self.get(query.to_target(agent_id)).await
    }

    /// Its events after a cursor and from then on; without a cursor, from now on. Nothing is sent before the first
    /// event is asked for.
    #[must_use]
    pub fn events_stream(&self, agent_id: AgentId, after_seq: Option<u64>) -> EventStream {
        EventStream::new(self.endpoint.clone(), agent_id, after_seq)
    }

    /// Makes an agent; the same again is harmless.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn create_agent(
        &self,
        agent_id: &AgentId,
        request: &CreateAgentRequest,
    ) -> Result<Told<Identity>, Error> {
        self.post(control(agent_id, "create"), request).await
    }

    /// Sends an operator's words. An answer means they are on disk.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn prompt(
        &self,
        agent_id: &AgentId,
        request: &PromptRequest,
    ) -> Result<AdmittedResponse, Error> {
        self.post(control(agent_id, "prompt"), request).await
    }

    /// Sends an event from outside. An answer means it is on disk.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn enqueue(
        &self,
        agent_id: Option<&AgentId>,
        request: &EnqueueRequest,
    ) -> Result<AdmittedResponse, Error> {
        self.post(of(agent_id, "enqueue"), request).await
    }

    /// Starts or stops an agent.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn control(
        &self,
        agent_id: &AgentId,
        action: ControlAction,
    ) -> Result<ControlResponse, Error> {
        self.post(control(agent_id, "control"), &ControlRequest { action })
            .await
    }

    /// Gives an agent a model of its own, from its next turn on.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn set_model(
        &self,
        agent_id: &AgentId,
        request: &SetModelRequest,
    ) -> Result<Told<Chosen>, Error> {
        self.post(control(agent_id, "model"), request).await
    }

    /// Lets an agent ask the host's default model again, from its next turn on.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn clear_model(&self, agent_id: &AgentId) -> Result<Told<Chosen>, Error> {
        let request = ClearModelRequest::default();
        self.post(control(agent_id, "model/clear"), &request).await
    }

    /// The models the host knows, and which of them can be asked.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn models(&self) -> Result<Told<Models>, Error> {
        self.get("/models".into()).await
    }

    /// Runs one request to its outcome. Waits as long as that takes.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn run(&self, request: &RunRequest) -> Result<Told<Run>, Error> {
        self.send("/control/run".into(), request, Patience::Endless)
            .await
    }

    /// Asks the host to read its settings and credentials again.
    ///
    /// # Errors
    /// See [`Error`]; a file that cannot be used is a refusal, and the old settings stay.
    pub async fn reload(&self) -> Result<ReloadResponse, Error> {
        self.post("/control/runtime/reload".into(), &serde_json::Map::new())
            .await
    }

    /// Asks the host to go down.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn shutdown(&self) -> Result<ShutdownResponse, Error> {
        self.post("/control/runtime/shutdown".into(), &serde_json::Map::new())
            .await
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, target: String) -> Result<T, Error> {
        let request = Ask {
            method: Method::GET,
            target,
            body: None,
            patience: usual(),
        };
        ask(&self.endpoint, request).await?.json().await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        target: String,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        self.send(target, body, usual()).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        target: String,
        body: &impl Serialize,
        patience: Patience,
    ) -> Result<T, Error> {
        let body = serde_json::to_string(body).map_err(|error| Error::Protocol {
            endpoint: self.endpoint(),
            reason: error.to_string(),
        })?;
        let request = Ask {
            method: Method::POST,
            target,
            body: Some(body),
            patience,
        };
        ask(&self.endpoint, request).await?.json().await
    }
}

fn usual() -> Patience {
    Patience::Idle(Duration::from_millis(ANSWER_IDLE_MS))
}

/// A subject of an agent; without a name, the default agent's.
fn of(agent_id: Option<&AgentId>, subject: &str) -> String {
    match agent_id {
        Some(agent_id) => format!("/agents/{agent_id}/{subject}"),
        None => format!("/{subject}"),
    }
}

pub(crate) fn control(agent_id: &AgentId, subject: &str) -> String {
    format!("/control/agents/{agent_id}/{subject}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_given_stands_in_a_query() {
        let agent = AgentId::parse("main").unwrap();
        assert_eq!(
            EventsQuery::default().to_target(&agent),
            "/agents/main/events"
        );
        let query = EventsQuery {
            before_seq: None,
            after_seq: Some(4),
            limit: Some(9),
            order: Some(PageOrder::Asc),
            projection: Some(Projection::LocalDebug),
        };
        assert_eq!(
            query.to_target(&agent),
            "/agents/main/events?after_seq=4&limit=9&order=asc&projection=local_debug"
        );
    }
}
