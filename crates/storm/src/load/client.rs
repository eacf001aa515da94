//! One client of the load: it sends numbered prompts to its agent and follows the agent's events.

use super::history::HistoryWriter;
use crate::Fallible;
use holon_api::{PageOrder, PromptRequest};
use holon_client::{Client, Error, EventStream, EventsQuery};
use holon_domain::AgentId;
use holon_domain::message::Priority;
use holon_sim::rng::Rng;
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;

/// Longest pause between two prompts of a client, in milliseconds.
const PAUSE_MS: u64 = 300;
/// Pause after a stream that gave up, because no host answered for long.
const STREAM_PAUSE: Duration = Duration::from_millis(200);

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// They send prompts and follow events.
    Send,
    /// They only follow events, while the agents finish their work.
    Rest,
    /// They follow until the newest event, at most this long.
    Finish(Duration),
}

/// A client with its agent and its history.
pub(crate) struct LoadClient {
    number: u64,
    agent: AgentId,
    client: Client,
    rng: Rng,
    prompts: HistoryWriter,
    events: HistoryWriter,
}

impl LoadClient {
    /// Creates the client and its two history files, for prompts and for events.
    pub(crate) fn new(
        number: u64,
        agent: AgentId,
        client: Client,
        rng: Rng,
        place: &Path,
    ) -> Fallible<Self> {
        Ok(Self {
            number,
            agent,
            client,
            rng,
            prompts: HistoryWriter::create(&place.with_extension("prompts"))?,
            events: HistoryWriter::create(&place.with_extension("events"))?,
        })
    }

    /// Sends and follows until the load is over.
    pub(crate) async fn run(self, stage: watch::Receiver<Stage>) -> Fallible<()> {
        let Self {
            number,
            agent,
            client,
            rng,
            prompts,
            events,
        } = self;
        let follower = follow(agent.clone(), client.clone(), events, stage.clone());
        let sender = send_all(number, agent, client, rng, prompts, stage);
        let (followed, sent) = tokio::join!(follower, sender);
        followed.and(sent)
    }
}

async fn send_all(
    number: u64,
    agent: AgentId,
    client: Client,
    mut rng: Rng,
    mut history: HistoryWriter,
    stage: watch::Receiver<Stage>,
) -> Fallible<()> {
    history.write("agent", agent.as_str())?;
    for message in 0_u64.. {
        if *stage.borrow() != Stage::Send {
            break;
        }
        let text = format!("load message {number}.{message}");
        history.write("send", &text)?;
        let request = PromptRequest {
            images: Vec::new(),
            text: text.clone(),
            priority: Some(Priority::Normal),
            max_turns: None,
            trust: None,
        };
        match client.prompt(&agent, &request).await {
            Ok(admitted) => history.write("ack", &format!("{} {text}", admitted.message_id))?,
            Err(error) if is_refusal(&error) => history.write("refused", &text)?,
            Err(error) => history.write("unknown", &format!("{text}: {error}"))?,
        }
        tokio::time::sleep(Duration::from_millis(rng.below(PAUSE_MS))).await;
    }
    Ok(())
}

/// Returns true if the host answered that it did not take the message.
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Api { status, .. } if *status < 500)
}

async fn follow(
    agent: AgentId,
    client: Client,
    mut history: HistoryWriter,
    mut stage: watch::Receiver<Stage>,
) -> Fallible<()> {
    history.write("agent", agent.as_str())?;
    let mut stream = client.events_stream(agent.clone(), Some(0));
    let timeout = loop {
        tokio::select! {
            event = stream.next() => record(&mut history, event).await?,
            timeout = wait_for_finish(&mut stage) => break timeout?,
        }
    };
    let query = EventsQuery {
        limit: Some(1),
        order: Some(PageOrder::Desc),
        ..EventsQuery::default()
    };
    let page = client.events(&agent, query).await?;
    let goal = page.events.first().map_or(0, |event| event.event_seq);
    let reached = tokio::time::timeout(timeout, follow_to(&mut stream, &mut history, goal)).await;
    reached.unwrap_or(Ok(()))
}

/// Waits until the clients are to finish. Returns the time that they have for it.
async fn wait_for_finish(stage: &mut watch::Receiver<Stage>) -> Fallible<Duration> {
    let reached = stage.wait_for(|stage| matches!(stage, Stage::Finish(_)));
    match *reached.await? {
        Stage::Finish(timeout) => Ok(timeout),
        Stage::Send | Stage::Rest => Err("the load goes on".into()),
    }
}

async fn follow_to(
    stream: &mut EventStream,
    history: &mut HistoryWriter,
    goal: u64,
) -> Fallible<()> {
    while stream.cursor().unwrap_or_default() < goal {
        let event = stream.next().await;
        record(history, event).await?;
    }
    Ok(())
}

async fn record(
    history: &mut HistoryWriter,
    event: Result<holon_api::EventEnvelope, Error>,
) -> Fallible<()> {
    match event {
        Ok(event) => history.write("event", &event.event_seq.to_string()),
        Err(error) => {
            tokio::time::sleep(STREAM_PAUSE).await;
            history.write("reopened", &error.to_string())
        }
    }
}
