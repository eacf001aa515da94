//! The bound on open streams, which no test with real connections could reach cheaply.

use super::*;
use crate::door::Setup;
use crate::state::Transport;
use holon_api::ModelsResponse;
use holon_domain::brief::BriefRecord;
use holon_domain::summary::{AgentListEntry, AgentSummary};
use holon_domain::transcript::TranscriptEntry;
use holon_engine::Error;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An engine nobody may ask.
struct Untouched;

#[async_trait::async_trait]
impl Look for Untouched {
    fn epoch(&self) -> &str {
        unreachable!("refused before the engine is asked")
    }
    async fn agents(&self) -> Result<Vec<AgentListEntry>, Error> {
        unreachable!("refused before the engine is asked")
    }
    async fn status(&self, _: &AgentId) -> Result<AgentSummary, Error> {
        unreachable!("refused before the engine is asked")
    }
    async fn briefs(&self, _: &AgentId, _: u64) -> Result<Vec<BriefRecord>, Error> {
        unreachable!("refused before the engine is asked")
    }
    async fn transcript(&self, _: &AgentId, _: u64) -> Result<Vec<TranscriptEntry>, Error> {
        unreachable!("refused before the engine is asked")
    }
    async fn events(&self, _: &AgentId, _: EventQuery) -> Result<EventPage, Error> {
        unreachable!("refused before the engine is asked")
    }
    fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        unreachable!("refused before the engine is asked")
    }
}

#[async_trait::async_trait]
impl Setup for Untouched {
    async fn models(&self) -> ModelsResponse {
        unreachable!("no business of a stream")
    }
}

#[tokio::test]
async fn one_stream_more_than_allowed_is_refused_and_costs_the_engine_nothing() {
    let main = AgentId::parse("main").unwrap();
    let host = Host {
        default_agent: main.clone(),
        home_dir: String::new(),
        pid: 0,
        listen: None,
        streams: Arc::new(Semaphore::new(0)),
        shutdown: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    let state = ReadState {
        host: Arc::new(host),
        reads: Arc::new(Untouched),
        setup: Arc::new(Untouched),
        transport: Transport::Unix,
    };
    let request = StreamRequest {
        agent_id: main,
        cursor: None,
        limit: 1,
        projection: Projection::Operator,
        connection: None,
    };
    let refusal = open(&state, request).await.unwrap_err();
    assert_eq!(refusal.code(), "too_many_streams");
    assert_eq!(
        refusal.into_response().status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
}
