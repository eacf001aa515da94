//! The client and its methods, one per route. Each method is one request; no state is kept between requests.

use crate::answer::Answer;
use crate::endpoint::Endpoint;
use crate::error::Error;
pub(crate) use crate::exchange::ReadTimeout;
use crate::exchange::{HttpRequest, HttpResponse, RequestBody, send_request};
use crate::query::EventsQuery;
use crate::repeat;
use crate::stream::{EventStream, StreamSource};
use crate::view::{Agent, AgentListEntry, Identity};
use holon_api::{
    AdmittedResponse, ArchiveAgentResponse, ControlAction, ControlRequest, ControlResponse,
    CreateAgentRequest, DeleteAgentResponse, EmptyRequest, EnqueueRequest, EventsPage, Handshake,
    Health, HostEventsPage, PromptRequest, ReloadResponse, Root, ShutdownResponse,
};
use holon_domain::limits::{ANSWER_IDLE_MS, GIT_WRITE_MS};
use holon_domain::{AgentId, RunId};
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// Client of one host's control plane. Cheap to clone; holds no connection.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
}

impl Client {
    /// Creates a client that connects to the host's unix socket, which is open to the same user only.
    #[must_use]
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self {
            endpoint: Endpoint::Unix(path.into()),
        }
    }

    /// Creates a client for the host at `host:port`, with its control token.
    ///
    /// # Errors
    /// When the token cannot stand in a header.
    pub fn tcp(address: impl Into<String>, token: &str) -> Result<Self, Error> {
        Ok(Self {
            endpoint: Endpoint::tcp(address.into(), token)?,
        })
    }

    /// Creates a client for the same address that sends no token. Such a client may call only `health` and `handshake`.
    #[must_use]
    pub fn tcp_without_token(address: impl Into<String>) -> Self {
        Self {
            endpoint: Endpoint::Tcp {
                address: address.into(),
                authorization: None,
            },
        }
    }

    /// Returns the host's address as it is shown to people.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.endpoint.to_string()
    }

    /// Checks that the host is up.
    ///
    /// # Errors
    /// When it is unreachable or does not answer.
    pub async fn health(&self) -> Result<Health, Error> {
        self.get("/healthz".into()).await
    }

    /// Reads the protocol version and the authentication mode of the host.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn handshake(&self) -> Result<Handshake, Error> {
        self.get("/handshake".into()).await
    }

    /// Reads the id of the default agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn root(&self) -> Result<Root, Error> {
        self.get("/".into()).await
    }

    /// Lists every public agent of the host.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn agents(&self) -> Result<Vec<Answer<AgentListEntry>>, Error> {
        self.get("/agents/list".into()).await
    }

    /// Lists every archived agent of the host.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn archived_agents(&self) -> Result<Vec<Answer<AgentListEntry>>, Error> {
        self.get("/agents/list?archived=true".into()).await
    }

    /// Reads one agent's status; that of the default agent if `agent_id` is absent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn status(&self, agent_id: Option<&AgentId>) -> Result<Answer<Agent>, Error> {
        self.get(agent_path(agent_id, "status")).await
    }

    /// Reads a page of an agent's events.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn events(
        &self,
        agent_id: &AgentId,
        query: EventsQuery,
    ) -> Result<EventsPage, Error> {
        self.get(query.into_target(agent_id)).await
    }

    /// Streams an agent's events after a cursor, or those committed from now on if there is no cursor. The request is
    /// sent with the first call to `open` or `next`.
    #[must_use]
    pub fn events_stream(&self, agent_id: AgentId, after_seq: Option<u64>) -> EventStream {
        EventStream::new(
            self.endpoint.clone(),
            StreamSource::Agent(agent_id),
            after_seq,
        )
    }

    /// Reads a page of the events of all public agents. The positions of the query are the host's.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn host_events(&self, query: EventsQuery) -> Result<HostEventsPage, Error> {
        self.get(query.into_host_target()).await
    }

    /// Streams the events of all public agents after a cursor of the host, or those committed from now on if there is no
    /// cursor.
    #[must_use]
    pub fn host_events_stream(&self, after_seq: Option<u64>) -> EventStream {
        EventStream::new(self.endpoint.clone(), StreamSource::Host, after_seq)
    }

    /// Creates an agent. Idempotent: the same request again succeeds.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn create_agent(
        &self,
        agent_id: &AgentId,
        request: &CreateAgentRequest,
    ) -> Result<Answer<Identity>, Error> {
        self.post_long(control_path(agent_id, "create"), request)
            .await
    }

    /// Sends an operator's prompt. The response means that it is stored.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn prompt(
        &self,
        agent_id: &AgentId,
        request: &PromptRequest,
    ) -> Result<AdmittedResponse, Error> {
        self.post(control_path(agent_id, "prompt"), request).await
    }

    /// Sends an operator's prompt under a key of [`new_key`](crate::new_key), with which it can be sent again if the
    /// outcome is not known.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn prompt_keyed(
        &self,
        agent_id: &AgentId,
        request: &PromptRequest,
        key: &str,
    ) -> Result<AdmittedResponse, Error> {
        let target = control_path(agent_id, "prompt");
        let response = self.respond_keyed(target, request, default_timeout(), key);
        response.await?.json().await
    }

    /// Sends a prompt again that may be stored already. It is stored once, because the key is the same.
    ///
    /// # Errors
    /// As [`Error`] lists. A host that does not know keys is not asked again, and the outcome stays open.
    pub async fn prompt_again(
        &self,
        agent_id: &AgentId,
        request: &PromptRequest,
        key: &str,
    ) -> Result<AdmittedResponse, Error> {
        if !self.keeps_replies().await? {
            return Err(Error::Interrupted {
                endpoint: self.endpoint(),
                reason: "it keeps no answers, so the prompt is not sent again".to_owned(),
            });
        }
        self.prompt_keyed(agent_id, request, key).await
    }

    /// Sends an event from outside. The response means that it is stored.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn enqueue(
        &self,
        agent_id: Option<&AgentId>,
        request: &EnqueueRequest,
    ) -> Result<AdmittedResponse, Error> {
        self.post(agent_path(agent_id, "enqueue"), request).await
    }

    /// Starts or stops an agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn control(
        &self,
        agent_id: &AgentId,
        action: ControlAction,
    ) -> Result<ControlResponse, Error> {
        self.post(
            control_path(agent_id, "control"),
            &ControlRequest::of(action),
        )
        .await
    }

    /// Aborts the current run of an agent, which goes on with its queue. With a `run_id`, only this run is aborted.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn abort_run(
        &self,
        agent_id: &AgentId,
        run_id: Option<RunId>,
    ) -> Result<ControlResponse, Error> {
        let request = ControlRequest {
            run_id,
            ..ControlRequest::of(ControlAction::Abort)
        };
        self.post(control_path(agent_id, "control"), &request).await
    }

    /// Removes an agent with its home and its history. The removal goes on after the response.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn delete_agent(&self, agent_id: &AgentId) -> Result<DeleteAgentResponse, Error> {
        self.post(control_path(agent_id, "delete"), &EmptyRequest::default())
            .await
    }

    /// Archives an agent: it is stopped for good and no longer listed, and its history can be read.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn archive_agent(&self, agent_id: &AgentId) -> Result<ArchiveAgentResponse, Error> {
        self.post(control_path(agent_id, "archive"), &EmptyRequest::default())
            .await
    }

    /// Asks the host to read its settings and credentials again.
    ///
    /// # Errors
    /// As [`Error`] lists. If a file is invalid, the host refuses and keeps the old settings.
    pub async fn reload(&self) -> Result<ReloadResponse, Error> {
        self.post("/control/runtime/reload".into(), &serde_json::Map::new())
            .await
    }

    /// Asks the host to shut down.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn shutdown(&self) -> Result<ShutdownResponse, Error> {
        self.post("/control/runtime/shutdown".into(), &serde_json::Map::new())
            .await
    }

    pub(crate) const fn address(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, target: String) -> Result<T, Error> {
        self.get_within(target, default_timeout()).await
    }

    /// Reads a resource whose response may take this long to begin.
    pub(crate) async fn get_within<T: DeserializeOwned>(
        &self,
        target: String,
        timeout: ReadTimeout,
    ) -> Result<T, Error> {
        let request = HttpRequest {
            method: Method::GET,
            target,
            body: RequestBody::Empty,
            key: None,
            timeout,
        };
        send_request(&self.endpoint, request).await?.json().await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        target: String,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        self.send(target, body, default_timeout()).await
    }

    /// Sends a request that takes as long as git does.
    pub(crate) async fn post_long<T: DeserializeOwned>(
        &self,
        target: String,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let patience = Duration::from_millis(GIT_WRITE_MS.saturating_mul(2));
        self.send(target, body, ReadTimeout::Idle(patience)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        target: String,
        body: &impl Serialize,
        timeout: ReadTimeout,
    ) -> Result<T, Error> {
        self.respond(target, body, timeout).await?.json().await
    }

    /// Sends a request without a timeout that has this body, and waits for the head of its response.
    pub(crate) async fn send_body(
        &self,
        target: String,
        body: RequestBody,
        timeout: ReadTimeout,
    ) -> Result<HttpResponse, Error> {
        let request = HttpRequest {
            method: Method::POST,
            target,
            body,
            key: Some(repeat::new_key()),
            timeout,
        };
        send_request(&self.endpoint, request).await
    }

    /// Sends a request with this key once, and decodes its response.
    pub(crate) async fn send_keyed<T: DeserializeOwned>(
        &self,
        target: String,
        key: String,
        body: String,
    ) -> Result<T, Error> {
        let request = HttpRequest::post(&target, body, &key, default_timeout());
        send_request(&self.endpoint, request).await?.json().await
    }

    pub(crate) async fn respond(
        &self,
        target: String,
        body: &impl Serialize,
        timeout: ReadTimeout,
    ) -> Result<HttpResponse, Error> {
        self.respond_keyed(target, body, timeout, &repeat::new_key())
            .await
    }

    /// Sends a request with a JSON body and waits for the head of its response. If the connection is lost after the
    /// request was sent, it is sent again with the same key, so that it takes effect once.
    async fn respond_keyed(
        &self,
        target: String,
        body: &impl Serialize,
        timeout: ReadTimeout,
        key: &str,
    ) -> Result<HttpResponse, Error> {
        let body = self.encode(body)?;
        let request = || HttpRequest::post(&target, body.clone(), key, timeout);
        #[expect(
            clippy::disallowed_methods,
            reason = "measures how long this connection was silent"
        )]
        let began = Instant::now();
        match send_request(&self.endpoint, request()).await {
            // A host that did not answer in time is not asked again: it would take as long once more.
            Err(lost @ Error::Interrupted { .. })
                if !timeout.is_over(began.elapsed()) && holon_api::is_repeated(&target) =>
            {
                self.repeat(request, lost).await
            }
            done => done,
        }
    }

    pub(crate) fn encode(&self, body: &impl Serialize) -> Result<String, Error> {
        serde_json::to_string(body).map_err(|error| Error::Protocol {
            endpoint: self.endpoint(),
            reason: error.to_string(),
        })
    }

    /// Repeats a request whose connection was lost, for a bounded time. A host that does not know keys is not asked
    /// again, because the request may have taken effect.
    async fn repeat(
        &self,
        request: impl Fn() -> HttpRequest,
        lost: Error,
    ) -> Result<HttpResponse, Error> {
        let mut lost = lost;
        for pause in repeat::PAUSES {
            tokio::time::sleep(pause).await;
            match self.keeps_replies().await {
                Ok(true) => {}
                Ok(false) => return Err(lost),
                Err(error) if error.is_transient() => continue,
                Err(_) => return Err(lost),
            }
            match send_request(&self.endpoint, request()).await {
                Err(again @ Error::Interrupted { .. }) => lost = again,
                // The first request may have been carried out, whatever keeps this one from the host.
                Err(again) if again.is_transient() && again.code().is_none() => {}
                done => return done,
            }
        }
        Err(lost)
    }

    /// Asks the host if it keeps replies for requests with a key.
    pub(crate) async fn keeps_replies(&self) -> Result<bool, Error> {
        let capabilities = self.handshake().await?.capabilities.unwrap_or_default();
        Ok(capabilities.iter().any(|name| name == repeat::CAPABILITY))
    }
}

pub(crate) fn default_timeout() -> ReadTimeout {
    ReadTimeout::Idle(Duration::from_millis(ANSWER_IDLE_MS))
}

/// Returns the path of an agent's resource, or that of the default agent if `agent_id` is absent.
pub(crate) fn agent_path(agent_id: Option<&AgentId>, subject: &str) -> String {
    match agent_id {
        Some(agent_id) => format!("/agents/{agent_id}/{subject}"),
        None => format!("/{subject}"),
    }
}

pub(crate) fn control_path(agent_id: &AgentId, subject: &str) -> String {
    format!("/control/agents/{agent_id}/{subject}")
}
