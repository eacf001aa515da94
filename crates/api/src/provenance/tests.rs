//! Tests of what events carry about where they come from.

use super::*;
use holon_domain::Timestamp;
use holon_domain::continuation::TriggerKind;
use holon_domain::event::AssistantRoundRecorded;
use holon_domain::event::{
    MessageAdmitted, MessageProcessingStarted, SystemTickEmitted, TaskResultReceived,
};
use holon_domain::message::{MessageKind, Priority};
use holon_domain::task::TaskStatus;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn labels() -> MessageLabels {
    MessageLabels {
        message_id: MessageId::from_stored("msg_4"),
        origin: Origin::Channel {
            channel_id: "town-square".into(),
            sender_id: None,
        },
        authority_class: AuthorityClass::ExternalEvidence,
        delivery_surface: DeliverySurface::HttpPublicEnqueue,
        admission_context: AdmissionContext::PublicUnauthenticated,
        work_item_id: None,
        task_id: None,
        correlation_id: Some("c".into()),
        causation_id: None,
        reply_route: None,
    }
}

fn of(event: Event, labels: Option<MessageLabels>) -> Provenance {
    Provenance::of(&EventRecord {
        event_seq: 1,
        at: Timestamp::from_millis(0),
        event,
        labels: labels.map(Arc::new),
    })
}

#[test]
fn a_round_is_tied_to_its_run_and_to_the_message_it_answers() {
    let event = Event::AssistantRoundRecorded(AssistantRoundRecorded {
        turn_index: 1,
        round: 2,
        text_preview: None,
        text_char_count: 0,
        tool_names: Vec::new(),
        run_id: Some(RunId::from_stored("run_1")),
        message_seq: Some(4),
    });
    let expected = Provenance {
        origin: Some(labels().origin),
        trust: Some(TrustLevel::UntrustedExternal),
        authority_class: Some(AuthorityClass::ExternalEvidence),
        delivery_surface: Some(DeliverySurface::HttpPublicEnqueue),
        admission_context: Some(AdmissionContext::PublicUnauthenticated),
        transport: Some("http".into()),
        source: Some("town-square".into()),
        message_id: Some(MessageId::from_stored("msg_4")),
        run_id: Some(RunId::from_stored("run_1")),
        correlation_id: Some("c".into()),
        ..Provenance::default()
    };
    assert_eq!(of(event.clone(), Some(labels())), expected);
    assert_eq!(
        of(event, None).run_id,
        expected.run_id,
        "also when its message is gone"
    );
}

#[test]
fn an_admitted_message_shows_its_labels_and_the_older_trust_name() {
    let origin = Origin::Webhook {
        source: "http".into(),
        event_type: None,
    };
    let event = Event::MessageAdmitted(MessageAdmitted {
        message_id: MessageId::from_stored("msg_1"),
        message_seq: 1,
        kind: MessageKind::WebhookEvent,
        origin: origin.clone(),
        authority_class: AuthorityClass::ExternalEvidence,
        priority: Priority::Normal,
        delivery_surface: DeliverySurface::HttpPublicEnqueue,
        admission_context: AdmissionContext::PublicUnauthenticated,
        trigger_kind: TriggerKind::ExternalEvent,
        work_item_id: None,
        task_id: None,
        source_refs: BTreeMap::new(),
        correlation_id: Some("c".into()),
        causation_id: None,
    });
    let expected = Provenance {
        origin: Some(origin),
        trust: Some(TrustLevel::UntrustedExternal),
        authority_class: Some(AuthorityClass::ExternalEvidence),
        delivery_surface: Some(DeliverySurface::HttpPublicEnqueue),
        admission_context: Some(AdmissionContext::PublicUnauthenticated),
        transport: Some("http".into()),
        source: Some("http".into()),
        message_id: Some(MessageId::from_stored("msg_1")),
        correlation_id: Some("c".into()),
        ..Provenance::default()
    };
    assert_eq!(of(event, None), expected);
}

#[test]
fn what_happens_to_a_task_names_it_and_the_message_that_tells_its_end() {
    let event = Event::TaskResultReceived(TaskResultReceived {
        task_id: TaskId::from_stored("task_1"),
        status: TaskStatus::Completed,
        message_id: MessageId::from_stored("msg_1"),
        terminal_reentry: true,
        work_item_id: None,
        message_seq: None,
    });
    assert_eq!(
        serde_json::to_string(&of(event, None)).expect("serialises"),
        r#"{"message_id":"msg_1","task_id":"task_1"}"#
    );
}

/// Returns the provenance of a stored event as a client reads it.
fn shown(kind: &str, payload: &Value) -> Value {
    let event = Event::decode(kind, 1, &payload.to_string());
    assert!(!matches!(event, Event::Unknown { .. }), "{kind}");
    serde_json::to_value(of(event, None)).expect("serialises")
}

#[test]
fn what_happens_to_a_task_carries_its_caller_its_item_and_its_authority() {
    let all = json!({
        "task_id": "task_1", "message_id": "msg_1", "work_item_id": "work_1",
        "authority_class": "integration_signal", "trust": "trusted_integration",
    });
    let created = json!({
        "task_id": "task_1", "kind": "command_task", "status": "running", "parent_message_id": "msg_1",
        "work_item_id": "work_1", "authority_class": "integration_signal",
    });
    assert_eq!(shown("task_created", &created), all);
    let updated = json!({
        "task_id": "task_1", "kind": "command_task", "previous": "running", "status": "completed", "reason": "exit 0",
        "parent_message_id": "msg_1", "work_item_id": "work_1", "authority_class": "integration_signal",
    });
    assert_eq!(shown("task_status_updated", &updated), all);
    let received = json!({
        "task_id": "task_1", "status": "completed", "message_id": "msg_2", "terminal_reentry": true,
        "work_item_id": "work_1",
    });
    assert_eq!(
        shown("task_result_received", &received),
        json!({ "task_id": "task_1", "message_id": "msg_2", "work_item_id": "work_1" })
    );
}

#[test]
fn a_wake_carries_its_trigger_its_waits_and_the_ids_of_its_sender() {
    let sent = json!({ "source": "ci", "correlation_id": "c", "causation_id": "d" });
    let with = |more: Value| {
        let mut whole = sent.clone();
        let fields = whole.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        whole
    };
    let origin = json!({ "kind": "callback", "descriptor_id": "trg_1", "source": "ci" });
    let requested = shown("wake_requested", &with(json!({ "reason": "look" })));
    assert_eq!(requested, with(json!({ "origin": { "kind": "operator" } })));
    let triggered = with(json!({
        "key": "trg_1", "count": 1, "wait_ids": ["wait_1", "wait_2"], "external_trigger_id": "trg_1",
        "authority_class": "integration_signal",
    }));
    assert_eq!(
        shown("wake_hint_triggered", &triggered),
        with(json!({
            "origin": origin, "external_trigger_id": "trg_1", "waiting_intent_ids": ["wait_1", "wait_2"],
            "authority_class": "integration_signal", "trust": "trusted_integration",
        }))
    );
    let signal = json!({ "authority_class": "integration_signal" });
    let of_trigger = |more: Value| {
        let mut whole = with(json!({ "external_trigger_id": "trg_1" }));
        let fields = whole.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        whole
    };
    let of_signal = of_trigger(json!({
        "origin": origin, "authority_class": "integration_signal", "trust": "trusted_integration",
    }));
    let mut coalesced = of_trigger(signal.clone());
    coalesced["key"] = json!("trg_1");
    assert_eq!(shown("wake_hint_coalesced", &coalesced), of_signal);
    let mut ignored = with(signal);
    ignored["keys"] = json!(["trg_1"]);
    ignored["external_trigger_ids"] = json!(["trg_1"]);
    assert_eq!(shown("wake_hint_ignored", &ignored), of_signal);
}

#[test]
fn a_wake_that_names_no_trigger_comes_from_an_operator() {
    let instruction = json!("runtime_instruction");
    for (kind, mut payload) in [
        (
            "wake_hint_triggered",
            json!({ "key": "operator", "count": 1 }),
        ),
        ("wake_hint_coalesced", json!({ "key": "operator" })),
        ("wake_hint_ignored", json!({ "keys": ["operator"] })),
    ] {
        payload["authority_class"] = instruction.clone();
        let expected = json!({
            "origin": { "kind": "operator" }, "authority_class": instruction, "trust": "trusted_system",
        });
        assert_eq!(shown(kind, &payload), expected, "{kind}");
    }
}

/// Fields of payloads that name what a provenance names, each with the field of the provenance that shows it.
const NAMED: [(&str, &str); 25] = [
    ("message_id", "message_id"),
    ("parent_message_id", "message_id"),
    ("settles", "message_id"),
    ("acknowledges", "message_id"),
    ("run_id", "run_id"),
    ("current_run_id", "run_id"),
    ("aborted_run_id", "run_id"),
    ("task_id", "task_id"),
    ("supervision_task_id", "task_id"),
    ("related_task_id", "task_id"),
    ("work_item_id", "work_item_id"),
    ("work_item_ids", "work_item_id"),
    ("current_work_item_id", "work_item_id"),
    ("parent_work_item_id", "parent_work_item_id"),
    ("external_trigger_id", "external_trigger_id"),
    ("external_trigger_ids", "external_trigger_id"),
    ("wait_id", "waiting_intent_ids"),
    ("wait_ids", "waiting_intent_ids"),
    ("waiting_intent_id", "waiting_intent_ids"),
    ("waiting_intent_ids", "waiting_intent_ids"),
    ("correlation_id", "correlation_id"),
    ("causation_id", "causation_id"),
    ("authority_class", "authority_class"),
    ("delivery_surface", "delivery_surface"),
    ("admission_context", "admission_context"),
];

/// Returns a value for a field of a payload, and the word by which it is found again.
fn value_of(name: &str) -> (Value, &'static str) {
    match name {
        "authority_class" => (json!("integration_signal"), "integration_signal"),
        "delivery_surface" => (json!("cli_prompt"), "cli_prompt"),
        "admission_context" => (json!("local_process"), "local_process"),
        "settles" | "acknowledges" => (json!(["id_1"]), "id_1"),
        name if name.ends_with("_ids") => (json!(["id_1"]), "id_1"),
        _ => (json!("id_1"), "id_1"),
    }
}

/// Returns an event of this kind with this field; `None` if events of the kind have no such field. Others that the same
/// field of the provenance shows are left out where they may be absent.
fn with_field(row: &Value, name: &str, field: &str) -> Option<Event> {
    let (value, _) = value_of(name);
    let (kind, version) = (row["kind"].as_str()?, row["version"].as_u64()?);
    let version = u32::try_from(version).ok()?;
    let mut whole = row["data"].clone();
    whole
        .as_object_mut()?
        .insert(name.to_owned(), value.clone());
    let mut alone = whole.clone();
    let others = NAMED
        .iter()
        .filter(|(other, shows)| *other != name && *shows == field);
    for (other, _) in others {
        alone.as_object_mut()?.remove(*other);
    }
    let mut decoded = [alone, whole]
        .into_iter()
        .map(|data| Event::decode(kind, version, &data.to_string()));
    let event = decoded.find(|event| !matches!(event, Event::Unknown { .. }))?;
    let stored: Value = serde_json::from_str(&event.encode().ok()?).ok()?;
    (stored.get(name) == Some(&value)).then_some(event)
}

#[test]
fn every_id_and_label_in_a_payload_is_in_the_provenance() {
    let golden = include_str!("../../../store/tests/golden/events.json");
    let rows: Vec<Value> = serde_json::from_str(golden).expect("JSON");
    let mut lost = Vec::new();
    let mut found = 0;
    for row in rows {
        for (name, field) in NAMED {
            let Some(event) = with_field(&row, name, field) else {
                continue;
            };
            let shown = serde_json::to_value(of(event, None)).expect("serialises");
            found += 1;
            if !shown[field].to_string().contains(value_of(name).1) {
                lost.push(format!("{} {name}: {}", row["kind"], shown[field]));
            }
        }
    }
    assert_eq!(lost, [""; 0]);
    assert!(found > 100, "{found}");
}

#[test]
fn a_delegation_and_a_task_show_the_message_of_their_caller() {
    for (kind, payload) in [
        (
            "task_status_updated",
            json!({ "task_id": "task_1", "kind": "command_task", "previous": "running", "status": "completed",
                "reason": "exit 0", "message_seq": 4 }),
        ),
        (
            "task_input_delivered",
            json!({ "task_id": "task_1", "task_kind": "child_agent_task", "bytes_written": 2,
                "input_target": "child_followup", "message_seq": 4 }),
        ),
        (
            "task_child_spawned",
            json!({ "child_agent_id": "kid", "visibility": "private", "profile_preset": "private_child",
                "workspace_mode": "inherit", "task_id": "task_1", "message_seq": 4 }),
        ),
        (
            "work_item_delegation_completed",
            json!({ "delegation_id": "dlg_1", "child_agent_id": "kid", "supervision_task_id": "task_1",
                "state": "completed", "message_seq": 4 }),
        ),
    ] {
        let event = Event::decode(kind, 1, &payload.to_string());
        assert_eq!(event.message_seq(), Some(4), "{kind}");
        let shown = of(event, Some(labels()));
        assert_eq!(shown.origin, Some(labels().origin), "{kind}");
        assert_eq!(
            shown.authority_class,
            Some(labels().authority_class),
            "{kind}"
        );
        assert_eq!(shown.task_id, Some(TaskId::from_stored("task_1")), "{kind}");
    }
}

#[test]
fn what_happens_to_a_work_item_names_it() {
    let event = Event::SystemTickEmitted(SystemTickEmitted {
        subsystem: "work_queue".into(),
        message_id: MessageId::from_stored("msg_1"),
        planned_at: Timestamp::from_millis(0),
        work_item_id: Some(WorkItemId::from_stored("work_1")),
    });
    assert_eq!(
        serde_json::to_string(&of(event, None)).expect("serialises"),
        r#"{"message_id":"msg_1","work_item_id":"work_1"}"#
    );
}

#[test]
fn a_delivery_names_its_trigger_its_waits_and_what_its_sender_said_about_it() {
    let event = Event::decode(
        "callback_delivered",
        1,
        r#"{"external_trigger_id":"trg_1","scope":"agent","delivery_mode":"wake_hint","disposition":"triggered",
            "source":"ci","bytes":0,"trigger_count":1,"waiting_intent_ids":["wait_1","wait_2"],
            "work_item_ids":["work_1"],"correlation_id":"c","causation_id":"d",
            "delivery_surface":"http_callback_wake","admission_context":"external_trigger_capability",
            "authority_class":"integration_signal"}"#,
    );
    let shown = of(event, None);
    assert_eq!(
        shown.external_trigger_id,
        Some(TriggerId::from_stored("trg_1"))
    );
    assert_eq!(shown.waiting_intent_ids.len(), 2);
    assert_eq!(shown.work_item_id, Some(WorkItemId::from_stored("work_1")));
    assert_eq!(shown.correlation_id.as_deref(), Some("c"));
    assert_eq!(shown.causation_id.as_deref(), Some("d"));
    assert_eq!(shown.transport.as_deref(), Some("http"));
    assert!(
        matches!(shown.origin, Some(Origin::Callback { .. })),
        "{shown:?}"
    );
}

#[test]
fn what_happens_to_a_delegation_names_the_work_item_of_the_parent() {
    let event = Event::decode(
        "work_item_delegation_created",
        1,
        r#"{"delegation_id":"dlg_1","child_agent_id":"tmp_child_1","supervision_task_id":"task_1",
            "parent_work_item_id":"work_1"}"#,
    );
    let shown = of(event, Some(labels()));
    assert_eq!(
        shown.parent_work_item_id,
        Some(WorkItemId::from_stored("work_1"))
    );
    assert_eq!(shown.task_id, Some(TaskId::from_stored("task_1")));
    assert_eq!(shown.message_id, Some(MessageId::from_stored("msg_4")));
}

#[test]
fn a_message_that_is_taken_up_is_tied_to_its_run() {
    let event = Event::MessageProcessingStarted(MessageProcessingStarted {
        message_id: MessageId::from_stored("msg_1"),
        run_id: RunId::from_stored("run_1"),
        queue_wait_ms: 0,
        message_seq: None,
        turn_index: None,
    });
    assert_eq!(
        serde_json::to_string(&of(event, None)).expect("serialises"),
        r#"{"message_id":"msg_1","run_id":"run_1"}"#
    );
}
