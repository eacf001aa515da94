//! Events as a client sees them: the envelope, the page, and the frame that says some were missed.

use crate::provenance::Provenance;
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::event::{Event, ProviderRoundCompleted};
use holon_domain::feed::{EventOrder, EventPage, EventRecord};
use holon_domain::{AgentId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Header of a stream's answer: identity of the store its positions belong to.
pub const EPOCH_HEADER: &str = "holon-epoch";

/// Stream event by which the host says that it failed; its data is an [`crate::ErrorBody`].
pub const STREAM_ERROR: &str = "error";

/// How much of an event is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// The standard payload.
    #[default]
    Operator,
    /// For diagnosis on the host itself. The standard payload holds all that is stored, so this holds nothing more today,
    /// and says so by `raw_payload_included`.
    LocalDebug,
}

/// What was done to an event before it was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectionInfo {
    /// Which projection.
    pub name: Projection,
    /// Whether raw diagnostics are in it beyond the standard payload. No kind stores any, so it is false.
    pub raw_payload_included: bool,
    /// Fields that were taken out. None are: secrets are not stored.
    pub redactions: Vec<String>,
}

impl ProjectionInfo {
    /// What a projection does.
    #[must_use]
    pub const fn of(name: Projection) -> Self {
        Self {
            name,
            raw_payload_included: false,
            redactions: Vec::new(),
        }
    }
}

/// One event, in pages and streams alike.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventEnvelope {
    /// Unique on this host: agent and position.
    pub id: String,
    /// Its position among the agent's events; the cursor to go on from.
    pub event_seq: u64,
    /// When it was committed.
    pub ts: Timestamp,
    /// Whose.
    pub agent_id: AgentId,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of its payload.
    pub version: u32,
    /// How it is shown.
    pub projection: ProjectionInfo,
    /// Where what happened came from.
    pub provenance: Provenance,
    /// What happened, as it is stored.
    pub payload: Box<RawValue>,
}

impl EventEnvelope {
    /// A stored event, ready to be sent.
    ///
    /// # Errors
    /// Only if a payload holds something JSON cannot, which no payload type does.
    pub fn new(
        agent_id: &AgentId,
        record: &EventRecord,
        projection: Projection,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            id: format!("evt_{agent_id}_{}", record.event_seq),
            event_seq: record.event_seq,
            ts: record.at,
            agent_id: agent_id.clone(),
            kind: record.event.kind().to_owned(),
            version: record.event.version(),
            projection: ProjectionInfo::of(projection),
            provenance: Provenance::of(record),
            payload: RawValue::from_string(payload_of(record)?)?,
        })
    }

    /// The typed event; a kind or version this build does not know comes as data.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::decode(&self.kind, self.version, self.payload.get())
    }
}

/// The payload as readers get it: as stored, and with what follows from what is stored spelled out.
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
    fields
}

/// Order of a page, as it is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageOrder {
    /// Oldest first.
    Asc,
    /// Newest first.
    #[default]
    Desc,
}

impl From<PageOrder> for EventOrder {
    fn from(order: PageOrder) -> Self {
        match order {
            PageOrder::Asc => Self::Ascending,
            PageOrder::Desc => Self::Descending,
        }
    }
}

/// `GET /agents/{id}/events`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventsPage {
    /// In the order asked for.
    pub events: Vec<EventEnvelope>,
    /// The oldest there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seq: Option<u64>,
    /// The newest there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_seq: Option<u64>,
    /// Whether there are older ones than these.
    pub has_older: bool,
    /// Whether there are newer ones than these.
    pub has_newer: bool,
    /// The order they are in.
    pub order: PageOrder,
    /// The most there could have been.
    pub limit: u64,
    /// Identity of the store the positions belong to.
    pub epoch: String,
}

/// What a page was asked for, to be repeated in it.
#[derive(Debug, Clone, Copy)]
pub struct PageOf<'a> {
    /// Whose events.
    pub agent_id: &'a AgentId,
    /// From which store.
    pub epoch: &'a str,
    /// In which order.
    pub order: PageOrder,
    /// At most how many.
    pub limit: u64,
    /// Shown how.
    pub projection: Projection,
}

impl EventsPage {
    /// A page as it was read, ready to be sent.
    ///
    /// # Errors
    /// Only if a payload holds something JSON cannot, which no payload type does.
    pub fn new(of: PageOf<'_>, page: &EventPage) -> Result<Self, serde_json::Error> {
        let envelope = |record| EventEnvelope::new(of.agent_id, record, of.projection);
        Ok(Self {
            events: page.events.iter().map(envelope).collect::<Result<_, _>>()?,
            oldest_seq: page.oldest_seq,
            newest_seq: page.newest_seq,
            has_older: page.has_older,
            has_newer: page.has_newer,
            order: of.order,
            limit: of.limit,
            epoch: of.epoch.to_owned(),
        })
    }
}

/// Data of the stream event `gap`: the reader fell behind, the stream ends, and the cursor is still good
/// unless `oldest_seq` says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The last event that was sent.
    pub after_seq: u64,
    /// The newest there is.
    pub newest_seq: u64,
    /// The oldest that is kept, when that is newer than the cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seq: Option<u64>,
}

impl Gap {
    /// Name of the stream event.
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
    fn an_envelope_of_a_newer_host_is_read_without_the_labels_nobody_knows_here() {
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
        assert_eq!(got.projection.name, Projection::LocalDebug);
        assert!(
            !got.projection.raw_payload_included,
            "it says that it holds nothing more"
        );
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
