//! Events as a client sees them: the envelope, and the gap frame of a stream whose reader fell behind. `page` owns pages
//! of them.

mod page;

pub use page::{EventsPage, HostEventsPage, HostPageQuery, PageOrder, PageQuery};

use crate::provenance::Provenance;
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::event::{Event, ProviderRoundCompleted};
use holon_domain::feed::{EventRecord, HostEntry, HostEntryContent};
use holon_domain::{AgentId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Response header of a stream: identity of the store its cursors belong to.
pub const EPOCH_HEADER: &str = "holon-epoch";

/// Stream event that reports a failure of the host; its data is an [`crate::ErrorBody`].
pub const STREAM_ERROR: &str = "error";

/// Stream event that carries an [`AssistantDelta`](holon_domain::delta::AssistantDelta). It has no id, so it does not
/// move the reader's cursor. The event of the recorded round replaces the deltas of that round.
pub const ASSISTANT_DELTA: &str = "assistant_delta";

/// Stream event of a run whose agent is at work on another message; its data is a [`crate::RunQueued`].
pub const RUN_QUEUED: &str = "run_queued";

/// Stream event that ends the stream of a run; its data is the run's response.
pub const RUN_COMPLETED: &str = "run_completed";

/// Amount of detail in a shown event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// The standard payload for operators.
    #[default]
    Operator,
    /// Diagnosis on the host itself: beside the standard payload, the payload as it is stored.
    LocalDebug,
}

impl Projection {
    /// Returns the spelling on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::LocalDebug => "local_debug",
        }
    }
}

/// Description of the projection an event was shown with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectionInfo {
    /// Spelling of the projection. Text, so that a client reads the name of a projection that it does not know.
    pub name: Cow<'static, str>,
    /// True if the event has a `raw_payload` beside the standard payload.
    pub raw_payload_included: bool,
    /// Names of fields that were removed. None are: secrets are not stored.
    pub redactions: Vec<String>,
}

impl ProjectionInfo {
    /// Returns the description of a projection.
    #[must_use]
    pub const fn of(projection: Projection) -> Self {
        Self {
            name: Cow::Borrowed(projection.as_str()),
            raw_payload_included: matches!(projection, Projection::LocalDebug),
            redactions: Vec::new(),
        }
    }
}

/// One event, in the same shape in pages and in streams.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EventEnvelope {
    /// Unique on this host: made of agent id and sequence number.
    pub id: String,
    /// Position among the agent's events; the cursor from which a reader resumes.
    pub event_seq: u64,
    /// Position among the events of all agents; the cursor of the host's stream. Only there it is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_seq: Option<u64>,
    /// Time of the commit.
    pub ts: Timestamp,
    pub agent_id: AgentId,
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the payload's schema.
    pub version: u32,
    pub projection: ProjectionInfo,
    /// Ids and labels of the message and run that caused the event.
    pub provenance: Provenance,
    /// The stored payload with derived fields added.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub payload: Box<RawValue>,
    /// The stored payload alone, with positions in place of ids. Present only in the projection `local_debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub raw_payload: Option<Box<RawValue>>,
}

impl EventEnvelope {
    /// Builds the envelope of a stored event.
    ///
    /// # Errors
    /// Only if a payload holds something JSON cannot express, which no payload type does.
    pub fn new(
        agent_id: &AgentId,
        record: &EventRecord,
        projection: Projection,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            id: format!("evt_{agent_id}_{}", record.event_seq),
            event_seq: record.event_seq,
            host_seq: None,
            ts: record.at,
            agent_id: agent_id.clone(),
            kind: record.event.kind().to_owned(),
            version: record.event.version(),
            projection: ProjectionInfo::of(projection),
            provenance: Provenance::of(record),
            payload: RawValue::from_string(payload_of(record)?)?,
            raw_payload: raw_payload(projection, || record.event.encode())?,
        })
    }

    /// Builds the envelope of an entry of the host's history.
    ///
    /// # Errors
    /// Only if a payload holds something JSON cannot express, which no payload type does.
    pub fn of_host(entry: &HostEntry, projection: Projection) -> Result<Self, serde_json::Error> {
        let envelope = match &entry.content {
            HostEntryContent::Event(record) => Self::new(&entry.agent_id, record, projection)?,
            HostEntryContent::AgentDeleted { event_seq, at } => Self {
                id: format!("evt_{}_{event_seq}", entry.agent_id),
                event_seq: *event_seq,
                host_seq: None,
                ts: *at,
                agent_id: entry.agent_id.clone(),
                kind: AgentDeleted::EVENT.to_owned(),
                version: 1,
                projection: ProjectionInfo::of(projection),
                provenance: Provenance::default(),
                payload: serde_json::value::to_raw_value(&deletion(entry, *event_seq))?,
                raw_payload: raw_payload(projection, || {
                    serde_json::to_string(&deletion(entry, *event_seq))
                })?,
            },
        };
        Ok(Self {
            host_seq: Some(entry.host_seq),
            ..envelope
        })
    }

    /// Decodes the payload; a kind or version that this build does not know becomes `Event::Unknown`.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::decode(&self.kind, self.version, self.payload.get())
    }
}

/// Returns the payload of a removal.
fn deletion(entry: &HostEntry, event_seq: u64) -> AgentDeleted {
    AgentDeleted {
        agent_id: entry.agent_id.clone(),
        after_seq: event_seq.saturating_sub(1),
    }
}

/// Returns the stored payload for the projection that shows it.
fn raw_payload(
    projection: Projection,
    stored: impl FnOnce() -> Result<String, serde_json::Error>,
) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    match projection {
        Projection::Operator => Ok(None),
        Projection::LocalDebug => Ok(Some(RawValue::from_string(stored()?)?)),
    }
}

/// Encodes the stored payload and adds the fields that are derived from it. A stored field wins over a derived one.
fn payload_of(record: &EventRecord) -> Result<String, serde_json::Error> {
    let stored = record.event.encode()?;
    let mut derived = derived_fields(record);
    if let Some(labels) = &record.labels {
        derived.push(("message_id", json!(labels.message_id)));
    }
    if derived.is_empty() {
        return Ok(stored);
    }
    let mut payload: Value = serde_json::from_str(&stored)?;
    if let Some(fields) = payload.as_object_mut() {
        for (name, value) in derived {
            fields.entry(name).or_insert(value);
        }
    }
    serde_json::to_string(&payload)
}

fn derived_fields(record: &EventRecord) -> Vec<(&'static str, Value)> {
    let trust = |class: AuthorityClass| ("trust", json!(TrustLevel::from(class)));
    match &record.event {
        Event::ProviderRoundCompleted(round) => round_fields(round),
        Event::TurnTerminal(_) => vec![("completed_at", json!(record.at))],
        Event::MessageAdmitted(e) => vec![trust(e.authority_class)],
        Event::OperatorInterjectionAdmitted(e) => {
            e.authority_class.map(trust).into_iter().collect()
        }
        Event::ProcessExecutionRequested(e) => vec![trust(e.authority_class)],
        _ => Vec::new(),
    }
}

fn round_fields(round: &ProviderRoundCompleted) -> Vec<(&'static str, Value)> {
    let (tries, usage) = (&round.tries, round.token_usage);
    let mut fields = vec![
        ("requested_model", json!(tries.requested_model())),
        ("active_model", json!(tries.model_ref)),
        ("fallback_active", json!(tries.fallback_active())),
        ("provider_round_ms", json!(tries.duration_ms)),
        ("provider_started_at", json!(tries.started_at)),
        ("provider_completed_at", json!(tries.completed_at())),
        ("provider_attempt_timeline", json!(tries.timeline(usage))),
        ("input_tokens", json!(usage.input_tokens)),
        ("output_tokens", json!(usage.output_tokens)),
    ];
    if let Some(cache) = usage.cache_usage() {
        fields.push(("provider_cache_usage", json!(cache)));
    }
    if let Some(reduced) = tries.context_management {
        fields.push(("context_management", json!(reduced)));
    }
    if let Some(claim) = tries.implausible_usage {
        fields.push(("implausible_usage", json!(claim)));
    }
    fields
}

/// Data of the stream event `agent_deleted`. In an agent's stream it is the last frame and has no id: no cursor of this
/// stream can be continued. In the host's stream it is an event like the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDeleted {
    pub agent_id: AgentId,
    /// In an agent's stream the last event that was sent; in the host's stream the last event of the agent.
    pub after_seq: u64,
}

impl AgentDeleted {
    /// Name of the stream event that reports a deletion.
    pub const EVENT: &str = "agent_deleted";
}

/// Data of the stream event `gap`: the reader fell behind and the stream ends. The cursor is still valid unless
/// `oldest_seq` is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Sequence number of the last event that was sent.
    pub after_seq: u64,
    /// Sequence number of the newest stored event.
    pub newest_seq: u64,
    /// Sequence number of the oldest kept event; present only if it is newer than the cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seq: Option<u64>,
}

impl Gap {
    /// Name of the stream event that carries a gap.
    pub const EVENT: &str = "gap";
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::RunId;
    use holon_domain::event::{CurrentRunAborted, MaxOutputTokensRecovery};
    use holon_domain::turn::TerminalReason;

    fn record(event: Event) -> EventRecord {
        EventRecord {
            event_seq: 9,
            at: Timestamp::from_millis(1_794_700_000_123),
            event,
            labels: None,
        }
    }

    fn payload(record: &EventRecord) -> Value {
        let sent =
            EventEnvelope::new(&main_agent(), record, Projection::Operator).expect("encodes");
        serde_json::from_str(sent.payload.get()).expect("is JSON")
    }

    fn main_agent() -> AgentId {
        AgentId::parse("main").expect("valid")
    }

    #[test]
    fn an_envelope_of_a_newer_host_is_read_without_unknown_labels() {
        let sent = json!({
            "id": "evt_main_9", "event_seq": 9, "ts": "2026-11-15T00:00:00.123Z", "agent_id": "main",
            "type": "agent_dreamed", "version": 7,
            "projection": {"name": "operator", "raw_payload_included": false, "redactions": []},
            "provenance": {
                "origin": {"kind": "satellite", "orbit": 7}, "trust": "half", "authority_class": "hearsay",
                "delivery_surface": "pigeon", "admission_context": "by_ear", "message_id": "msg_1",
            },
            "payload": {"about": "sheep"},
        });
        let read: EventEnvelope = serde_json::from_str(&sent.to_string()).expect("reads");
        let kept = Provenance {
            message_id: Some(holon_domain::MessageId::from_stored("msg_1")),
            ..Provenance::default()
        };
        assert_eq!(
            (read.kind.as_str(), &read.provenance),
            ("agent_dreamed", &kept)
        );
        assert!(matches!(read.event(), Event::Unknown { version: 7, .. }));
    }

    #[test]
    fn projections_and_orders_are_sent_as_requests_spell_them() {
        for projection in [Projection::Operator, Projection::LocalDebug] {
            assert_eq!(json!(projection), projection.as_str());
        }
        for order in [PageOrder::Asc, PageOrder::Desc] {
            assert_eq!(json!(order), order.as_str());
        }
    }

    #[test]
    fn an_envelope_names_agent_position_kind_and_version() {
        let event = Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
            turn_index: 3,
            attempt: 1,
            run_id: None,
            message_seq: None,
        });
        let envelope = EventEnvelope::new(&main_agent(), &record(event), Projection::Operator)
            .expect("encodes");
        assert_eq!(
            serde_json::to_string(&envelope).expect("serialises"),
            concat!(
                r#"{"id":"evt_main_9","event_seq":9,"ts":"2026-11-14T23:46:40.123Z","agent_id":"main","#,
                r#""type":"max_output_tokens_recovery","version":1,"#,
                r#""projection":{"name":"operator","raw_payload_included":false,"redactions":[]},"#,
                r#""provenance":{},"payload":{"turn_index":3,"attempt":1}}"#
            )
        );
    }

    #[test]
    fn the_typed_event_survives_the_wire() {
        let event = Event::CurrentRunAborted(CurrentRunAborted {
            run_id: RunId::from_stored("run_1"),
            reason: TerminalReason::OperatorAborted,
            turn_index: None,
            message_seq: None,
        });
        let sent = EventEnvelope::new(
            &main_agent(),
            &record(event.clone()),
            Projection::LocalDebug,
        )
        .expect("encodes");
        let text = serde_json::to_string(&sent).expect("serialises");
        let got: EventEnvelope = serde_json::from_str(&text).expect("parses");
        assert_eq!(got.event(), event);
        assert_eq!(got.projection.name, "local_debug");
        assert!(got.projection.raw_payload_included);
        let raw = got.raw_payload.expect("the stored payload");
        let stored = Event::decode(&got.kind, got.version, raw.get());
        assert_eq!(stored, event);
    }

    #[test]
    fn an_event_that_names_its_message_by_position_is_sent_with_its_id() {
        let event = Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
            turn_index: 3,
            attempt: 1,
            run_id: Some(RunId::from_stored("run_1")),
            message_seq: Some(4),
        });
        let mut record = record(event);
        assert_eq!(payload(&record).get("message_id"), None);
        record.labels = Some(std::sync::Arc::new(crate::provenance::tests::labels()));
        assert_eq!(payload(&record)["message_id"], "msg_4");
        assert_eq!(payload(&record)["run_id"], "run_1");
    }

    #[test]
    fn the_end_of_a_turn_is_sent_with_its_time_and_its_last_words() {
        let stored = serde_json::json!({
            "turn_index": 1, "run_id": "run_1", "kind": "completed", "reason": "finished",
            "duration_ms": 4, "rounds": 1, "last_assistant_message": "done",
            "token_usage": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
        });
        let event = Event::decode("turn_terminal", 1, &stored.to_string());
        let sent = payload(&record(event));
        assert_eq!(sent["completed_at"], "2026-11-14T23:46:40.123Z");
        assert_eq!(sent["last_assistant_message"], "done");
    }

    #[test]
    fn an_event_of_another_build_comes_through_as_data() {
        let event = Event::Unknown {
            kind: "from_tomorrow".into(),
            version: 4,
            data: serde_json::json!({"a": [1]}),
        };
        let envelope =
            EventEnvelope::new(&main_agent(), &record(event.clone()), Projection::Operator)
                .expect("encodes");
        assert_eq!(
            (envelope.kind.as_str(), envelope.version),
            ("from_tomorrow", 4)
        );
        assert_eq!(envelope.event(), event);
    }

    #[test]
    fn a_provider_round_is_sent_with_the_timeline_that_follows_from_what_is_stored() {
        let stored = serde_json::json!({
            "turn_index": 1, "round": 1, "stop_reason": "end_turn",
            "context_build_ms": 1,
            "token_usage": {
                "input_tokens": 7, "output_tokens": 2, "total_tokens": 9, "cache_read_tokens": 4,
            },
            "prompt_cache_key": "k", "context_fingerprint": "f",
            "tries": {
                "model_ref": "scripted/x", "requested_model_ref": "first/y", "started_at": "2026-11-14T23:46:40.123Z",
                "duration_ms": 40, "max_attempts": 3
            },
        });
        let event = Event::decode("provider_round_completed", 1, &stored.to_string());
        let sent = EventEnvelope::new(&main_agent(), &record(event.clone()), Projection::Operator)
            .expect("encodes");
        let payload: Value = serde_json::from_str(sent.payload.get()).expect("is JSON");
        let timeline = &payload["provider_attempt_timeline"];
        assert_eq!(timeline["winning_model_ref"], "scripted/x");
        assert_eq!(timeline["attempts"][0]["outcome"], "succeeded");
        assert_eq!(
            timeline["attempts"][0]["completed_at"],
            "2026-11-14T23:46:40.163Z"
        );
        assert_eq!(timeline["aggregated_token_usage"]["total_tokens"], 9);
        assert_eq!(payload["provider_started_at"], "2026-11-14T23:46:40.123Z");
        assert_eq!(payload["provider_round_ms"], 40);
        assert_eq!(payload["requested_model"], "first/y");
        assert_eq!(payload["active_model"], "scripted/x");
        assert_eq!(payload["fallback_active"], true);
        assert_eq!(payload["provider_cache_usage"]["read_input_tokens"], 4);
        assert_eq!(
            sent.event(),
            event,
            "what was added does not change what is read back"
        );
    }
}
