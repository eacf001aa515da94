//! Tests of the authority of a message by its admission context, origin and kind.

use crate::admission::{CONTEXTS, admitted, ingress, origins, verdict};
use crate::render::spelled;
use crate::states;
use holon_core::Ingress;
use holon_core::Rejection;
use holon_core::admission::{accepts_kind, accepts_origin, authority_of, kind_fits_origin};
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{AdmissionContext, DeliverySurface, MessageKind, Origin, Priority};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn short(verdict: &Result<AuthorityClass, Rejection>) -> String {
    match verdict {
        Ok(class) => spelled(class),
        Err(Rejection::KindNotPublic) => "refused: kind".to_owned(),
        Err(Rejection::OriginNotPublic) => "refused: origin".to_owned(),
        Err(Rejection::PriorityNotPublic) => "refused: priority".to_owned(),
        Err(other) => format!("refused: {other}"),
    }
}

fn grouped_by_verdict(judge: impl Fn(AdmissionContext) -> String) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for context in CONTEXTS {
        let verdict = judge(context);
        match groups.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, contexts)) => contexts.push(spelled(context)),
            None => groups.push((verdict, vec![spelled(context)])),
        }
    }
    let lines = groups
        .into_iter()
        .map(|(verdict, contexts)| format!("    {verdict}: {}\n", contexts.join(", ")));
    lines.collect()
}

#[test]
fn authority_follows_from_the_door_the_origin_and_the_kind() {
    let mut table = String::new();
    for kind in MessageKind::ALL {
        for (name, origin) in origins() {
            if kind_fits_origin(kind, &origin) {
                table += &format!("{} from {name}\n", spelled(kind));
                table += &grouped_by_verdict(|context| {
                    short(&verdict(ingress(kind, origin.clone(), context)))
                });
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn only_a_trusted_operator_prompt_may_interject() {
    let mut table = String::new();
    for kind in MessageKind::ALL {
        for (name, origin) in origins() {
            if kind_fits_origin(kind, &origin) {
                table += &format!("{} from {name}\n", spelled(kind));
                table += &grouped_by_verdict(|context| {
                    let ingress = Ingress {
                        priority: Priority::Interject,
                        ..ingress(kind, origin.clone(), context)
                    };
                    short(&verdict(ingress))
                });
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_kind_that_its_origin_cannot_have_is_refused_at_every_door() {
    for kind in MessageKind::ALL {
        for (name, origin) in origins() {
            if kind_fits_origin(kind, &origin) {
                continue;
            }
            for context in CONTEXTS {
                let expected = if !accepts_origin(context, &origin) {
                    Rejection::OriginNotPublic
                } else if !accepts_kind(context, kind) {
                    Rejection::KindNotPublic
                } else {
                    Rejection::KindOriginMismatch
                };
                assert_eq!(
                    verdict(ingress(kind, origin.clone(), context)),
                    Err(expected),
                    "{kind:?} from {name} as {context:?}"
                );
            }
        }
    }
}

#[test]
fn no_door_raises_an_origin_above_its_ceiling() {
    for (name, origin) in origins() {
        for context in CONTEXTS {
            let worth = authority_of(&ingress(MessageKind::ChannelEvent, origin.clone(), context));
            assert!(worth >= origin.ceiling(), "{name} as {context:?}");
        }
    }
}

#[test]
fn a_prompt_may_ask_for_less_trust_and_never_for_more() {
    use AuthorityClass::{
        ExternalEvidence, IntegrationSignal, OperatorInstruction, RuntimeInstruction,
    };
    let [(_, operator), _, (_, webhook), ..] = origins();
    let asked = [
        OperatorInstruction,
        RuntimeInstruction,
        IntegrationSignal,
        ExternalEvidence,
    ];
    for at_most in asked {
        let prompt = Ingress {
            at_most: Some(at_most),
            ..ingress(
                MessageKind::OperatorPrompt,
                operator.clone(),
                AdmissionContext::ControlAuthenticated,
            )
        };
        assert_eq!(verdict(prompt.clone()), Ok(at_most), "it is lowered");
        let loud = Ingress {
            priority: Priority::Interject,
            ..prompt
        };
        let may_interject = at_most == OperatorInstruction;
        assert_eq!(verdict(loud).is_ok(), may_interject, "{at_most:?}");
        let event = Ingress {
            at_most: Some(at_most),
            ..ingress(
                MessageKind::WebhookEvent,
                webhook.clone(),
                AdmissionContext::PublicUnauthenticated,
            )
        };
        assert_eq!(verdict(event), Ok(ExternalEvidence), "it is not raised");
    }
}

/// Names by which a sender could try to say what only the runtime decides.
const FORGED: [&str; 14] = [
    "agent_id",
    "target_agent_id",
    "work_item_id",
    "task_id",
    "authority",
    "authority_class",
    "trust",
    "priority",
    "admission_context",
    "delivery_surface",
    "origin",
    "kind",
    "cause",
    "max_rounds",
];

fn forged_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "operator_instruction",
        "trusted_operator",
        "runtime_owned",
        "control_authenticated",
        "interject",
        "work_1",
        "task_1",
        "other",
    ]);
    prop_oneof![
        words.prop_map(|word| json!(word)),
        any::<u32>().prop_map(|number| json!(number)),
        Just(json!({ "kind": "operator", "work_item_id": "work_1" })),
        Just(Value::Null),
    ]
}

/// Metadata with a hundred forged fields: each name alone, and again inside of others.
fn forged_metadata() -> impl Strategy<Value = Value> {
    let value = prop::collection::vec(forged_value(), 100);
    value.prop_map(|values| {
        let mut metadata = Map::new();
        for (at, value) in values.into_iter().enumerate() {
            let name = FORGED[at % FORGED.len()];
            match at / FORGED.len() {
                0 => drop(metadata.insert(name.to_owned(), value)),
                depth => {
                    let inner = metadata.entry(format!("inner_{depth}"));
                    let inner = inner.or_insert_with(|| json!({}));
                    inner[name] = value;
                }
            }
        }
        Value::Object(metadata)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, failure_persistence: None, ..ProptestConfig::default() })]

    /// A hundred forged fields in each of a thousand messages from outside, none of which has an effect.
    #[test]
    fn nothing_that_a_sender_writes_about_its_message_is_believed(
        metadata in forged_metadata(),
        is_signed in any::<bool>(),
        of_channel in any::<bool>(),
        ids in prop::collection::vec("[a-z_]{1,12}", 2),
    ) {
        let (door, ceiling) = if is_signed {
            (AdmissionContext::SignedIntegration, AuthorityClass::IntegrationSignal)
        } else {
            (AdmissionContext::PublicUnauthenticated, AuthorityClass::ExternalEvidence)
        };
        let (kind, origin) = if of_channel {
            let origin = Origin::Channel { channel_id: ids[0].clone(), sender_id: Some("operator".to_owned()) };
            (MessageKind::ChannelEvent, origin)
        } else {
            let origin = Origin::Webhook { source: ids[0].clone(), event_type: Some("control".to_owned()) };
            (MessageKind::WebhookEvent, origin)
        };
        let delivery_surface = DeliverySurface::HttpPublicEnqueue;
        let plain = Ingress {
            delivery_surface,
            correlation_id: Some(ids[1].clone()),
            ..ingress(kind, origin, door)
        };
        let forged = Ingress { metadata: Some(metadata), ..plain.clone() };
        let mut worlds = (states::booting(), states::booting());
        let plain = admitted(&mut worlds.0, plain).expect("it is admitted");
        let mut message = admitted(&mut worlds.1, forged).expect("it is admitted");
        prop_assert!(message.authority_class >= ceiling, "{message:?}");
        prop_assert_eq!((&message.work_item_id, &message.task_id), (&None, &None));
        prop_assert_ne!(message.priority, Priority::Interject);
        // Beside its metadata it is the message that it would be without any.
        message.metadata = None;
        prop_assert_eq!(message, plain);
    }
}
