//! Two agents whose models stream their answers, each over another protocol, and a client that reads the deltas.
//!
//! Every attempt of a model has words of its own, so that a recorded answer shows which attempt it came from. Nothing of
//! an attempt that was cut off is recorded, and the pieces of one effect come from one attempt.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use crate::models::{Entry, configure};
use holon_api::{CreateAgentRequest, PromptRequest};
use holon_client::{Client, Error, StreamItem};
use holon_domain::block::{Block, text_of};
use holon_domain::delta::AssistantDelta;
use holon_domain::transcript::{TranscriptEntry, TranscriptKind};
use holon_testkit::World;
use holon_testkit::checker::AcknowledgedMessage;
use holon_testkit::provider::{Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::json;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};

const AGENTS: [(&str, Protocol); 2] = [
    ("chatting", Protocol::Chat),
    ("messaging", Protocol::Messages),
];

/// Texts of all attempts, in the order of their requests.
type Attempts = Arc<Mutex<Vec<String>>>;

/// Progress of the client, and everything it was shown.
#[derive(Debug)]
pub(super) struct Streams {
    provider: Provider,
    attempts: Attempts,
    acknowledged: BTreeMap<&'static str, AcknowledgedMessage>,
    deltas: Vec<AssistantDelta>,
    records: BTreeMap<&'static str, AgentRecord>,
}

impl Scenario for Streams {
    // The points of creating a home and two agents.
    const BEFORE: u64 = 43;

    fn new(world: &World) -> Self {
        let attempts = Attempts::default();
        let provider = Provider::start(script(Arc::clone(&attempts)));
        let entries =
            AGENTS.map(|(name, protocol)| Entry::new(name, protocol, provider.base_url()));
        configure(world, "", &entries);
        Self {
            provider,
            attempts,
            acknowledged: BTreeMap::new(),
            deltas: Vec::new(),
            records: BTreeMap::new(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        for (name, _) in AGENTS {
            let request = CreateAgentRequest {
                model: Some(format!("{name}/model")),
                ..CreateAgentRequest::default()
            };
            host.client.create_agent(&id(name), &request).await?;
        }
        for (name, _) in AGENTS {
            self.watch(host, name).await?;
            self.records.insert(name, gather(&host.client, name).await?);
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        assert_eq!(self.provider.violations(), [""; 0], "{what}");
        for (name, _) in AGENTS {
            let what = format!("{what}: {name}");
            let mut story = self.records[name].story.clone();
            story
                .acknowledged
                .extend(self.acknowledged.get(name).cloned());
            judge::story(&story, &what);
            assert_eq!(story.settled.len(), 1, "{what}: one outcome");
            self.judge_answers(name, &what);
        }
        judge::marks(world, &AGENTS.map(|(name, _)| name), what);
    }
}

impl Streams {
    /// Prompts an agent, unless it was prompted before, and reads its deltas until it is idle.
    async fn watch(&mut self, host: &Host, name: &'static str) -> Result<(), Error> {
        let mut stream = host.client.events_stream(id(name), None).with_deltas();
        while_alive(host, stream.open()).await?;
        self.prompt(&host.client, name).await?;
        let mut settled = pin!(until_settled(host, name, 0));
        let newest = loop {
            tokio::select! {
                status = &mut settled => break status?.newest_seq,
                item = stream.next_item() => self.keep(item?),
            }
        };
        // The deltas of a round go before its event, so none is missing once the newest event is read.
        while stream.cursor().is_some_and(|cursor| cursor < newest) {
            let item = while_alive(host, stream.next_item()).await?;
            self.keep(item);
        }
        Ok(())
    }

    async fn prompt(&mut self, client: &Client, name: &'static str) -> Result<(), Error> {
        // A prompt whose response was lost may be stored.
        let status = client.status(Some(&id(name))).await?;
        if status.agent.total_message_count > 0 {
            return Ok(());
        }
        let request = PromptRequest {
            images: Vec::new(),
            text: "please".to_owned(),
            priority: None,
            max_turns: None,
            trust: None,
        };
        let admitted = client.prompt(&id(name), &request).await?;
        let message = AcknowledgedMessage {
            message_id: admitted.message_id.to_string(),
            owed: true,
        };
        self.acknowledged.insert(name, message);
        Ok(())
    }

    fn keep(&mut self, item: StreamItem) {
        if let StreamItem::Delta(delta) = item {
            self.deltas.push(delta);
        }
    }

    /// Checks the recorded rounds of an agent against the attempts and against what was shown of them.
    fn judge_answers(&self, name: &str, what: &str) {
        let recorded: Vec<String> = self.records[name]
            .transcript
            .iter()
            .filter_map(said)
            .collect();
        assert_eq!(recorded.len(), 2, "{what}: {recorded:#?}");
        let attempts = self.attempts.lock().expect("no choice panics");
        for text in &recorded {
            assert!(
                attempts.contains(text),
                "{what}: {text:?} is no whole answer"
            );
        }
        let shown = self.shown(name, what);
        for ((_, _, effect), text) in &shown {
            let of = attempts
                .iter()
                .filter(|attempt| attempt.starts_with(text.as_str()));
            assert_eq!(of.count(), 1, "{what}: effect {effect} showed {text:?}");
        }
        for ((turn, round, effect), text) in &shown {
            let later = (*turn, *round, *effect + 1)..=(*turn, *round, u64::MAX);
            let is_void = shown.range(later).next().is_some();
            let kept = &recorded[*round as usize - 1];
            assert!(
                !(is_void && kept.starts_with(text.as_str())),
                "{what}: {kept:?} is what void effect {effect} showed"
            );
        }
    }

    /// Joins the pieces of each effect that was shown from its beginning. A client that comes late misses some.
    fn shown(&self, name: &str, what: &str) -> BTreeMap<(u64, u32, u64), String> {
        let mut shown: BTreeMap<_, String> = BTreeMap::new();
        for delta in self.deltas.iter().filter(|d| d.agent_id == id(name)) {
            let effect = (delta.turn_index, delta.round, delta.effect);
            if delta.offset > 0 && !shown.contains_key(&effect) {
                continue;
            }
            let text = shown.entry(effect).or_default();
            let so_far = text.len() as u64;
            assert_eq!(delta.offset, so_far, "{what}: {delta:?} after {text:?}");
            text.push_str(&delta.text);
        }
        shown
    }
}

/// Waits for a step of a client that would reconnect; fails at once if the host dies.
async fn while_alive<T>(
    host: &Host,
    step: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::select! {
        done = step => done,
        () = host.died() => match host.client.status(None).await {
            Ok(_) => panic!("a host answers after its death"),
            Err(error) => Err(error),
        },
    }
}

/// The text of a recorded round.
fn said(entry: &TranscriptEntry) -> Option<String> {
    if entry.kind != TranscriptKind::AssistantRound {
        return None;
    }
    let blocks: Vec<Block> = serde_json::from_value(entry.data["blocks"].clone()).expect("blocks");
    Some(text_of(&blocks))
}

/// Answers the first request of a turn with a command and the next with the end. Each answer has a number of its own.
fn script(attempts: Attempts) -> Script {
    Script::choose(move |request: &RecordedRequest| {
        let mut attempts = attempts.lock().expect("no choice panics");
        let number = attempts.len();
        let agent = match request.protocol {
            Some(Protocol::Messages) => "messaging",
            Some(_) | None => "chatting",
        };
        let (text, calls) = match request.tool_outputs().len() {
            0 => (format!("{number:04}: I look once."), true),
            _ => (format!("{number:04}: I have seen it."), false),
        };
        attempts.push(text.clone());
        let round = Round::text(text);
        if !calls {
            return round;
        }
        let cmd = format!("echo {agent} >> ../../../marks");
        // It waits however busy the machine is, so that it does not become a task.
        round.call(
            "ExecCommand",
            json!({ "cmd": cmd, "yield_time_ms": 600_000 }),
        )
    })
}
