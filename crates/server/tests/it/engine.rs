//! A scripted engine and host: they answer what they were told to and remember what they were asked.

use async_trait::async_trait;
use holon_api::{ErrorBody, ModelsResponse, ReloadResponse};
use holon_domain::agent::IdentityView;
use holon_domain::brief::BriefRecord;
use holon_domain::event::{Event, MaxOutputTokensRecovery};
use holon_domain::feed::{EventOrder, EventPage, EventQuery, EventRecord, FeedNotice};
use holon_domain::model::ModelChoice;
use holon_domain::run::RunOnceResponse;
use holon_domain::summary::{AgentListEntry, AgentSummary, ExecutionPolicy, ExecutionSnapshot};
use holon_domain::transcript::TranscriptEntry;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, MessageId, Timestamp};
use holon_engine::Error;
use holon_engine::request::{Admitted, CreateAgent, Ingress, RunRequest};
use holon_server::{Act, Doors, Look, Manage, Setup};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// Every door of the scripted host.
#[derive(Clone)]
pub(crate) struct Scripted(Arc<Inner>);

struct Inner {
    asked: Mutex<Vec<String>>,
    failure: Mutex<Option<Error>>,
    log: Mutex<Log>,
    news: broadcast::Sender<FeedNotice>,
    down: CancellationToken,
}

#[derive(Default)]
struct Log {
    events: Vec<EventRecord>,
    newest: u64,
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse_stored(name).unwrap()
}

impl Scripted {
    pub(crate) fn new(down: CancellationToken) -> Self {
        Self(Arc::new(Inner {
            asked: Mutex::default(),
            failure: Mutex::default(),
            log: Mutex::default(),
            news: broadcast::channel(4).0,
            down,
        }))
    }

    pub(crate) fn doors(&self) -> Doors {
        Doors {
            look: Arc::new(self.clone()),
            act: Arc::new(self.clone()),
            setup: Arc::new(self.clone()),
            manage: Arc::new(self.clone()),
        }
    }

    /// Every call so far, with its arguments.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.0.asked.lock().unwrap().clone()
    }

    /// From now on every call fails like this.
    pub(crate) fn fail(&self, error: Error) {
        *self.0.failure.lock().unwrap() = Some(error);
    }

    /// Commits so many events of `main` and spreads the news.
    pub(crate) fn commit(&self, count: u64) {
        self.commit_in_silence(count);
        self.announce("main");
    }

    pub(crate) fn commit_in_silence(&self, count: u64) {
        let mut log = self.0.log.lock().unwrap();
        for _ in 0..count {
            log.newest += 1;
            let event = Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
                turn_index: log.newest,
                attempt: 1,
            });
            let record = EventRecord {
                event_seq: log.newest,
                at: Timestamp::from_millis(0),
                event,
            };
            log.events.push(record);
        }
    }

    /// News of some agent.
    pub(crate) fn announce(&self, name: &str) {
        let newest_seq = self.0.log.lock().unwrap().newest;
        // Nobody may be listening.
        drop(self.0.news.send(FeedNotice {
            agent_id: agent(name),
            newest_seq,
        }));
    }

    /// Forgets events up to this one, as retention does.
    pub(crate) fn forget(&self, up_to: u64) {
        let mut log = self.0.log.lock().unwrap();
        log.events.retain(|record| record.event_seq > up_to);
    }

    /// How many streams listen.
    pub(crate) fn listeners(&self) -> usize {
        self.0.news.receiver_count()
    }

    fn ask(&self, call: String) -> Result<(), Error> {
        self.0.asked.lock().unwrap().push(call);
        match self.0.failure.lock().unwrap().clone() {
            Some(Error::Internal { message }) if message == "panic" => panic!("as scripted"),
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn page(&self, query: EventQuery) -> Result<EventPage, Error> {
        let log = self.0.log.lock().unwrap();
        let oldest = log.events.first().map(|record| record.event_seq);
        if let (Some(after), Some(oldest_seq)) = (query.after_seq, oldest)
            && after + 1 < oldest_seq
        {
            return Err(Error::CursorTooOld {
                oldest_seq,
                newest_seq: log.newest,
            });
        }
        let after = query.after_seq.unwrap_or(0);
        let before = query.before_seq.unwrap_or(u64::MAX);
        let wanted = |record: &&EventRecord| record.event_seq > after && record.event_seq < before;
        let limit = usize::try_from(query.limit).unwrap();
        let events: Vec<EventRecord> = match query.order {
            EventOrder::Ascending => log
                .events
                .iter()
                .filter(wanted)
                .take(limit)
                .cloned()
                .collect(),
            EventOrder::Descending => log
                .events
                .iter()
                .rev()
                .filter(wanted)
                .take(limit)
                .cloned()
                .collect(),
        };
        Ok(EventPage {
            has_older: false,
            has_newer: false,
            oldest_seq: oldest,
            newest_seq: (log.newest > 0).then_some(log.newest),
            events,
        })
    }
}

fn identity(name: &AgentId) -> IdentityView {
    serde_json::from_value(json!({
        "agent_id": name, "kind": "named", "visibility": "public", "ownership": "self_owned",
        "profile_preset": "public_named",
    }))
    .unwrap()
}

#[async_trait]
impl Look for Scripted {
    fn epoch(&self) -> &str {
        "epoch-1"
    }

    async fn agents(&self) -> Result<Vec<AgentListEntry>, Error> {
        self.ask("agents".into()).map(|()| Vec::new())
    }

    async fn status(&self, agent_id: &AgentId) -> Result<AgentSummary, Error> {
        self.ask(format!("status {agent_id}"))?;
        if agent_id.as_str() == "nobody" {
            return Err(Error::AgentNotFound {
                agent_id: agent_id.clone(),
            });
        }
        Ok(summary(agent_id))
    }

    async fn briefs(&self, agent_id: &AgentId, limit: u64) -> Result<Vec<BriefRecord>, Error> {
        self.ask(format!("briefs {agent_id} {limit}"))
            .map(|()| Vec::new())
    }

    async fn transcript(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Vec<TranscriptEntry>, Error> {
        self.ask(format!("transcript {agent_id} {limit}"))
            .map(|()| Vec::new())
    }

    async fn events(&self, agent_id: &AgentId, query: EventQuery) -> Result<EventPage, Error> {
        self.ask(format!("events {agent_id} {query:?}"))?;
        self.page(query)
    }

    fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.0.news.subscribe()
    }
}

#[async_trait]
impl Act for Scripted {
    async fn create_agent(&self, request: CreateAgent) -> Result<IdentityView, Error> {
        self.ask(format!("create {request:?}"))?;
        Ok(identity(&request.agent_id))
    }

    async fn admit(&self, agent_id: &AgentId, ingress: Ingress) -> Result<Admitted, Error> {
        self.ask(format!("admit {agent_id} {ingress:?}"))?;
        Ok(Admitted {
            agent_id: agent_id.clone(),
            message_id: MessageId::from_stored("msg_1"),
            message_seq: 1,
        })
    }

    async fn start_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        self.ask(format!("start {agent_id}"))
    }

    async fn stop_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        self.ask(format!("stop {agent_id}"))
    }

    async fn set_model(&self, agent_id: &AgentId, choice: ModelChoice) -> Result<(), Error> {
        self.ask(format!("model {agent_id} {choice:?}"))
    }

    async fn run_once(&self, request: RunRequest) -> Result<RunOnceResponse, Error> {
        self.ask(format!("run {request:?}"))?;
        if request.text == "for ever" {
            std::future::pending::<()>().await;
        }
        Ok(serde_json::from_value(json!({
            "agent_id": "main", "message_id": "msg_1", "final_status": "completed", "final_text": "done",
            "tasks": [], "message_count": 1, "changed_files": [],
            "token_usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, "input_tokens": 0, "output_tokens": 0,
            "model_rounds": 1, "tool_calls": 0, "shell_commands": 0, "exec_command_items": 0,
            "batched_exec_command_items": 0, "provider_attempt_timeline": {"attempts": [], "requested_model_ref": "scripted/x"},
        }))
        .unwrap())
    }
}

/// A sleeping agent.
fn summary(agent_id: &AgentId) -> AgentSummary {
    serde_json::from_value(json!({
        "identity": identity(agent_id),
        "agent": {
            "id": agent_id, "status": "asleep", "lifecycle": "runnable", "created_at": "2026-11-14T23:46:40Z",
            "pending": 0, "total_message_count": 0, "turn_index": 0,
        },
        "scheduling_posture": {"posture": "idle", "reason": "nothing to do"},
        "lifecycle": {"resume_required": false, "accepts_external_messages": true, "wake_requires_resume": false},
        "model": model_state(),
        "token_usage": {"total": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, "total_model_rounds": 0},
        "execution": ExecutionSnapshot {
            policy: ExecutionPolicy::host_local(),
            workspace: WorkspaceEntry::agent_home("/srv/x"),
        },
        "newest_seq": 0,
    }))
    .unwrap()
}

/// What every agent asks here.
pub(crate) fn model_state() -> Value {
    json!({
        "source": "agent_override", "runtime_default_model": "a/1", "effective_model": "b/2",
        "effective_fallback_models": ["a/1"], "override_model": "b/2", "fallback_active": false,
    })
}

#[async_trait]
impl Setup for Scripted {
    async fn models(&self) -> ModelsResponse {
        // Cannot fail; that it was asked is all there is to see.
        drop(self.ask("models".into()));
        ModelsResponse {
            available_models: Vec::new(),
            model_availability: Vec::new(),
        }
    }
}

#[async_trait]
impl Manage for Scripted {
    async fn reload(&self) -> Result<ReloadResponse, ErrorBody> {
        self.ask("reload".into()).map_err(|error| {
            ErrorBody::new("invalid_settings", error.to_string()).hint("correct the file")
        })?;
        Ok(ReloadResponse {
            ok: true,
            changed: vec!["model.default".into()],
            restart_needed: Vec::new(),
            default_model: Some("a/1".into()),
            fallback_models: Vec::new(),
        })
    }

    fn go_down(&self) {
        self.0.down.cancel();
    }
}
