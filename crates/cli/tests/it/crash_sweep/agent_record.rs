//! Responses of the control plane about one agent, in the form the checker reads.

use super::host::Host;
use holon_api::PageOrder;
use holon_client::{Client, Error, EventStream, EventsQuery};
use holon_domain::AgentId;
use holon_domain::agent::AgentStatus;
use holon_domain::block::Block;
use holon_domain::brief::BriefRecord;
use holon_domain::event::Event;
use holon_domain::summary::AgentSummary;
use holon_domain::transcript::{TranscriptEntry, TranscriptKind};
use holon_testkit::checker::{HistoryEntry, Story};
use serde_json::Value;

pub(super) fn id(name: &str) -> AgentId {
    AgentId::parse(name).expect("a name")
}

/// Waits until the agent is idle and has no more than this number of tasks.
pub(super) async fn until_settled(
    host: &Host,
    name: &str,
    tasks: usize,
) -> Result<AgentSummary, Error> {
    let agent_id = id(name);
    let mut news = None;
    loop {
        let status: AgentSummary = host.client.status(Some(&agent_id)).await?.known()?;
        let agent = &status.agent;
        let booting = agent.status == AgentStatus::Booting;
        let busy = agent.pending > 0 || agent.current_run_id.is_some();
        let rests = agent.sleeping_until.is_none();
        if !booting && !busy && rests && status.active_tasks.len() <= tasks {
            return Ok(status);
        }
        let stream = || {
            host.client
                .events_stream(agent_id.clone(), Some(status.newest_seq))
        };
        let news: &mut EventStream = news.get_or_insert_with(stream);
        // The next status decides, whichever branch ended the wait.
        tokio::select! {
            event = news.next() => drop(event),
            () = host.died() => {}
        }
    }
}

/// Status, events and transcript of one agent.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentRecord {
    pub(super) story: Story,
    pub(super) events: Vec<Event>,
    pub(super) transcript: Vec<TranscriptEntry>,
}

/// Reads everything about one agent.
pub(super) async fn gather(client: &Client, name: &str) -> Result<AgentRecord, Error> {
    let agent = id(name);
    let briefs = client.briefs(Some(&agent), Some(500)).await?;
    let briefs = briefs.iter().map(|brief| brief.known());
    let briefs: Vec<BriefRecord> = briefs.collect::<Result<_, _>>()?;
    let transcript = client.transcript(Some(&agent), Some(500)).await?;
    let transcript = transcript.iter().map(|entry| entry.known());
    let transcript: Vec<TranscriptEntry> = transcript.collect::<Result<_, _>>()?;
    let query = EventsQuery {
        after_seq: Some(0),
        limit: Some(512),
        order: Some(PageOrder::Asc),
        ..EventsQuery::default()
    };
    let events = client.events(&agent, query).await?.events;
    let settles = |brief: BriefRecord| brief.settles.iter().map(ToString::to_string).collect();
    Ok(AgentRecord {
        story: Story {
            acknowledged: Vec::new(),
            settled: briefs.into_iter().map(settles).collect(),
            events: events.iter().map(|event| event.event_seq).collect(),
            transcript: transcript.iter().flat_map(said).collect(),
        },
        events: events.iter().map(|event| event.event()).collect(),
        transcript,
    })
}

fn said(entry: &TranscriptEntry) -> Vec<HistoryEntry> {
    match entry.kind {
        TranscriptKind::IncomingMessage => {
            let message_id = entry.related_message_id.as_ref();
            vec![HistoryEntry::Message {
                message_id: message_id.expect("a message has an id").to_string(),
            }]
        }
        TranscriptKind::AssistantRound => {
            let blocks: Vec<Block> =
                serde_json::from_value(entry.data["blocks"].clone()).expect("blocks");
            let calls = holon_domain::block::calls_of(&blocks).map(|call| call.id.to_string());
            vec![HistoryEntry::Round {
                calls: calls.collect(),
            }]
        }
        TranscriptKind::ToolResults => {
            let results = entry.data["results"].as_array().expect("results");
            let call = |result: &Value| HistoryEntry::Result {
                call: result["tool_call_id"].as_str().expect("an id").to_owned(),
            };
            results.iter().map(call).collect()
        }
        TranscriptKind::RuntimeFailure
        | TranscriptKind::ContinuationPrompt
        | TranscriptKind::SubagentPrompt
        | TranscriptKind::SubagentAssistantRound => vec![HistoryEntry::Other],
    }
}
