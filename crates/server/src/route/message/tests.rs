//! Conversion of JSON to a message: defaults, derived fields, and refusals.

use super::*;

fn convert(json: &str) -> Result<Ingress, String> {
    let request: EnqueueRequest = serde_json::from_str(json).unwrap();
    public_ingress(request).map_err(|refusal| refusal.into_body().code.unwrap())
}

#[test]
fn an_enqueued_message_is_public_for_every_sender() {
    let ingress = convert(r#"{"text":"hello"}"#).unwrap();
    assert_eq!(ingress.kind, MessageKind::WebhookEvent);
    assert_eq!(
        ingress.origin,
        Origin::Webhook {
            source: "http".into(),
            event_type: None
        }
    );
    assert_eq!(ingress.priority, Priority::Normal);
    assert_eq!(ingress.body, Body::text("hello"));
    assert_eq!(ingress.delivery_surface, DeliverySurface::HttpPublicEnqueue);
    assert_eq!(
        ingress.admission_context,
        AdmissionContext::PublicUnauthenticated
    );
}

#[test]
fn kind_and_origin_follow_from_each_other() {
    let from_origin =
        convert(r#"{"json":{"a":1},"origin":{"kind":"channel","channel_id":"irc"}}"#).unwrap();
    assert_eq!(from_origin.kind, MessageKind::ChannelEvent);
    let from_kind =
        convert(r#"{"body":{"type":"text","text":"x"},"kind":"channel_event"}"#).unwrap();
    assert_eq!(
        from_kind.origin,
        Origin::Channel {
            channel_id: "http".into(),
            sender_id: None
        }
    );
}

#[test]
fn what_cannot_become_a_message_is_refused_by_code() {
    for (json, code) in [
        (
            r#"{"text":"x","trust":"trusted_operator"}"#,
            "authority_not_accepted",
        ),
        (
            r#"{"text":"x","authority_class":"operator_instruction"}"#,
            "authority_not_accepted",
        ),
        (r"{}", "missing_content"),
        (r#"{"text":"x","json":1}"#, "ambiguous_content"),
        (
            r#"{"text":"x","body":{"type":"text","text":"x"}}"#,
            "ambiguous_content",
        ),
        (
            r#"{"json":1,"body":{"type":"brief","text":"x"}}"#,
            "ambiguous_content",
        ),
    ] {
        assert_eq!(convert(json).err().as_deref(), Some(code), "{json}");
    }
}

#[test]
fn a_claim_reaches_admission_as_it_was_made() {
    let claims =
        convert(r#"{"text":"x","kind":"operator_prompt","priority":"interject"}"#).unwrap();
    assert_eq!(
        (claims.kind, claims.priority),
        (MessageKind::OperatorPrompt, Priority::Interject)
    );
    assert!(matches!(claims.origin, Origin::Webhook { .. }));
    let claims = convert(r#"{"text":"x","origin":{"kind":"operator"}}"#).unwrap();
    assert_eq!(claims.origin, Origin::Operator { actor_id: None });
    assert_eq!(claims.kind, MessageKind::WebhookEvent);
}

#[test]
fn a_prompt_is_the_operators_and_interjects_unless_it_says_otherwise() {
    let ingress = prompt_ingress(
        serde_json::from_str(r#"{"text":"go"}"#).unwrap(),
        DeliverySurface::HttpControlPrompt,
    );
    assert_eq!(ingress.kind, MessageKind::OperatorPrompt);
    assert_eq!(
        ingress.origin,
        Origin::Operator {
            actor_id: Some("control".into())
        }
    );
    assert_eq!(ingress.priority, Priority::Interject);
    assert_eq!(ingress.delivery_surface, DeliverySurface::HttpControlPrompt);
    assert_eq!(
        ingress.admission_context,
        AdmissionContext::ControlAuthenticated
    );
    let asked = r#"{"text":"go","priority":"background","max_turns":3}"#;
    let ingress = prompt_ingress(
        serde_json::from_str(asked).unwrap(),
        DeliverySurface::HttpControlPrompt,
    );
    assert_eq!(
        (ingress.priority, ingress.max_rounds),
        (Priority::Background, Some(3))
    );
}

#[test]
fn a_prompt_of_the_program_itself_is_labelled_as_its_own() {
    let mut headers = HeaderMap::new();
    let at_socket = |headers: &HeaderMap| surface_of(headers, &Caller::Local);
    assert_eq!(at_socket(&headers), DeliverySurface::HttpControlPrompt);
    headers.insert(SURFACE_HEADER, CLI_SURFACE.parse().unwrap());
    let over_network = surface_of(&headers, &Caller::Control);
    assert_eq!(over_network, DeliverySurface::HttpControlPrompt);
    assert_eq!(over_network.transport(), "http");
    assert_eq!(at_socket(&headers), DeliverySurface::CliPrompt);
    headers.insert(SURFACE_HEADER, "runtime_system".parse().unwrap());
    assert_eq!(at_socket(&headers), DeliverySurface::HttpControlPrompt);
}
