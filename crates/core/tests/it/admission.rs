//! Tests of admission: bindings, sizes and order. Tests of authority are in `provenance`.

use crate::world::World;
use crate::{make, states};
use holon_core::admission::{judge_models, models_for};
use holon_core::{HostConditions, Ingress, Input, Rejection, Reply};
use holon_domain::authority::AuthorityClass;
use holon_domain::brief::{AttachmentKind, BriefAttachment};
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageEnvelope, MessageKind, Origin, Priority,
};
use holon_domain::model::{ModelChain, ModelFailure, ModelFailureKind, ModelRef};
use holon_domain::queue::QueueStatus;
use holon_domain::{TaskId, TimerId, limits};
use serde_json::json;

pub(crate) const CONTEXTS: [AdmissionContext; 7] = [
    AdmissionContext::PublicUnauthenticated,
    AdmissionContext::ControlAuthenticated,
    AdmissionContext::ExternalTriggerCapability,
    AdmissionContext::LocalProcess,
    AdmissionContext::RuntimeOwned,
    AdmissionContext::OperatorTransportAuthenticated,
    AdmissionContext::SignedIntegration,
];

pub(crate) fn origins() -> [(&'static str, Origin); 7] {
    let text = str::to_owned;
    [
        ("operator", Origin::Operator { actor_id: None }),
        (
            "channel",
            Origin::Channel {
                channel_id: text("c"),
                sender_id: None,
            },
        ),
        (
            "webhook",
            Origin::Webhook {
                source: text("ci"),
                event_type: None,
            },
        ),
        (
            "callback",
            Origin::Callback {
                descriptor_id: text("trig_1"),
                source: None,
            },
        ),
        (
            "timer",
            Origin::Timer {
                timer_id: TimerId::from_stored("timer_1"),
            },
        ),
        (
            "system",
            Origin::System {
                subsystem: text("test"),
            },
        ),
        (
            "task",
            Origin::Task {
                task_id: TaskId::from_stored("task_1"),
            },
        ),
    ]
}

pub(crate) fn ingress(
    kind: MessageKind,
    origin: Origin,
    admission_context: AdmissionContext,
) -> Ingress {
    Ingress {
        kind,
        origin,
        admission_context,
        ..make::prompt(Priority::Normal)
    }
}

/// Returns the authority of an admitted message, or its refusal.
pub(crate) fn verdict(ingress: Ingress) -> Result<AuthorityClass, Rejection> {
    let mut world = states::booting();
    admitted(&mut world, ingress).map(|message| message.authority_class)
}

pub(crate) fn admitted(world: &mut World, ingress: Ingress) -> Result<MessageEnvelope, Rejection> {
    let before = world.clone();
    match world.send(make::admit(ingress)).reply {
        Ok(Reply::Admitted { message_seq, .. }) => {
            Ok(world.messages[&message_seq].entry.envelope.clone())
        }
        Ok(other) => panic!("admission answered {other:?}"),
        Err(refused) => {
            assert_eq!(world.agent, before.agent, "a refusal changes nothing");
            Err(refused)
        }
    }
}

fn with_bindings(
    kind: MessageKind,
    origin: Origin,
    delivery_surface: DeliverySurface,
    admission_context: AdmissionContext,
) -> Ingress {
    Ingress {
        delivery_surface,
        metadata: Some(json!({
            "work_item_id": "work_1",
            "task_id": "task_9",
            "waiting_intent_id": "wait_1",
            "other": 3,
        })),
        ..ingress(kind, origin, admission_context)
    }
}

#[test]
fn only_runtime_owned_ingress_binds_a_work_item_or_a_task_out_of_metadata() {
    let [operator, channel, _, _, timer, system, _] = origins().map(|(_, origin)| origin);
    use AdmissionContext::{ControlAuthenticated, PublicUnauthenticated, RuntimeOwned};
    use DeliverySurface::{
        HttpControlPrompt, HttpPublicEnqueue, RuntimeSystem, TaskRejoin, TimerScheduler,
    };
    let cases = [
        (
            MessageKind::SystemTick,
            &system,
            RuntimeSystem,
            RuntimeOwned,
            true,
        ),
        (
            MessageKind::SystemTick,
            &system,
            TaskRejoin,
            RuntimeOwned,
            true,
        ),
        (
            MessageKind::TimerTick,
            &timer,
            TimerScheduler,
            RuntimeOwned,
            true,
        ),
        (
            MessageKind::OperatorPrompt,
            &operator,
            HttpControlPrompt,
            ControlAuthenticated,
            false,
        ),
        (
            MessageKind::ChannelEvent,
            &channel,
            HttpPublicEnqueue,
            PublicUnauthenticated,
            false,
        ),
        (
            MessageKind::ChannelEvent,
            &channel,
            RuntimeSystem,
            PublicUnauthenticated,
            false,
        ),
    ];
    for (kind, origin, surface, context, binds) in cases {
        let mut world = states::booting();
        let ingress = with_bindings(kind, origin.clone(), surface, context);
        let metadata = ingress.metadata.clone();
        let message = admitted(&mut world, ingress).expect("admitted");
        let at = format!("{kind:?} through {surface:?} as {context:?}");
        assert_eq!(message.work_item_id.is_some(), binds, "{at}");
        assert_eq!(message.task_id.is_some(), binds, "{at}");
        assert_eq!(message.metadata, metadata, "{at}: metadata stays as data");
        assert_eq!(
            message
                .source_refs
                .get("waiting_intent_id")
                .map(String::as_str),
            Some("wait_1"),
            "{at}: provenance is kept for everyone"
        );
    }
}

#[test]
fn a_task_or_timer_named_by_its_origin_wins_over_metadata() {
    let [.., timer, _, task] = origins().map(|(_, origin)| origin);
    let mut world = states::booting();
    let mut forged = ingress(
        MessageKind::TaskResult,
        task,
        AdmissionContext::RuntimeOwned,
    );
    forged.metadata = Some(json!({ "task_id": "task_forged" }));
    forged.delivery_surface = DeliverySurface::TaskRejoin;
    let message = admitted(&mut world, forged).expect("admitted");
    assert_eq!(message.task_id, Some(TaskId::from_stored("task_1")));
    assert_eq!(message.source_refs["task_id"], "task_1");

    let mut forged = ingress(
        MessageKind::TimerTick,
        timer,
        AdmissionContext::RuntimeOwned,
    );
    forged.metadata = Some(json!({ "timer_id": "timer_forged" }));
    let message = admitted(&mut world, forged).expect("admitted");
    assert_eq!(message.source_refs["timer_id"], "timer_1");
}

#[test]
fn bodies_and_metadata_are_admitted_up_to_their_limits_and_not_beyond() {
    let max = limits::MESSAGE_BODY_BYTES;
    let brief = |title: usize, name: usize| Body::Brief {
        title: Some("t".repeat(title)),
        text: "x".to_owned(),
        attachments: vec![BriefAttachment {
            kind: AttachmentKind::File,
            name: "n".repeat(name),
            uri: None,
            value: None,
        }],
    };
    let quoted = |bytes: usize| json!("j".repeat(bytes - 2));
    let cases = [
        ("text at the limit", Body::text("x".repeat(max)), None, true),
        ("text over it", Body::text("x".repeat(max + 1)), None, false),
        (
            "JSON at the limit",
            Body::Json { value: quoted(max) },
            None,
            true,
        ),
        (
            "JSON over it",
            Body::Json {
                value: quoted(max + 1),
            },
            None,
            false,
        ),
        ("a brief at the limit", brief(max - 3, 2), None, true),
        ("a brief with a long title", brief(max, 0), None, false),
        ("a brief with a long attachment", brief(0, max), None, false),
        (
            "metadata at the limit",
            Body::text("x"),
            Some(quoted(limits::MESSAGE_METADATA_BYTES)),
            true,
        ),
        (
            "metadata over it",
            Body::text("x"),
            Some(quoted(limits::MESSAGE_METADATA_BYTES + 1)),
            false,
        ),
    ];
    for (name, body, metadata, fits) in cases {
        let ingress = Ingress {
            body,
            metadata,
            ..make::prompt(Priority::Normal)
        };
        let verdict = verdict(ingress);
        assert_eq!(verdict.is_ok(), fits, "{name}");
        assert!(
            fits || matches!(verdict, Err(Rejection::TooLarge { .. })),
            "{name}: {verdict:?}"
        );
    }
}

#[test]
fn a_prompt_without_words_is_refused_and_an_event_without_words_is_not() {
    let silent = |ingress: Ingress| Ingress {
        body: Body::text(" \n"),
        ..ingress
    };
    assert_eq!(
        verdict(silent(make::prompt(Priority::Normal))),
        Err(Rejection::EmptyBody)
    );
    let event = silent(make::channel_event("", Priority::Normal));
    assert_eq!(verdict(event), Ok(AuthorityClass::ExternalEvidence));
}

#[test]
fn ids_and_names_over_their_limit_are_refused_wherever_they_stand() {
    let long = |max: usize| Some("ü".repeat(max + 1));
    let (link, name) = (
        limits::MESSAGE_LINK_CHARACTERS,
        limits::ORIGIN_NAME_CHARACTERS,
    );
    let links = [
        ("correlation_id", long(link), None),
        ("causation_id", None, long(link)),
    ];
    for (what, correlation_id, causation_id) in links {
        let ingress = Ingress {
            correlation_id,
            causation_id,
            ..make::prompt(Priority::Normal)
        };
        let (characters, max) = (link + 1, link);
        let refused = Rejection::NameTooLong {
            what,
            characters,
            max,
        };
        assert_eq!(verdict(ingress), Err(refused));
    }
    for (kind, origin) in long_origins(name + 1) {
        let ingress = Ingress {
            kind,
            origin: origin.clone(),
            admission_context: AdmissionContext::RuntimeOwned,
            ..make::prompt(Priority::Normal)
        };
        let refused = verdict(ingress);
        assert!(
            matches!(refused, Err(Rejection::NameTooLong { characters, .. }) if characters == name + 1),
            "{refused:?}"
        );
    }
    let at_the_limit = Ingress {
        correlation_id: Some("x".repeat(link)),
        causation_id: Some("x".repeat(link)),
        ..make::prompt(Priority::Normal)
    };
    assert!(verdict(at_the_limit).is_ok());
    for (kind, origin) in long_origins(name) {
        let ingress = Ingress {
            kind,
            origin,
            admission_context: AdmissionContext::RuntimeOwned,
            ..make::prompt(Priority::Normal)
        };
        assert!(verdict(ingress).is_ok());
    }
}

/// Returns every origin once for each of its strings, with that string of the given length.
fn long_origins(bytes: usize) -> Vec<(MessageKind, Origin)> {
    let (long, short) = ("x".repeat(bytes), "c".to_owned());
    let origin = |channel_id: &String, sender_id: &String| Origin::Channel {
        channel_id: channel_id.clone(),
        sender_id: Some(sender_id.clone()),
    };
    let webhook = |source: &String, event_type: &String| Origin::Webhook {
        source: source.clone(),
        event_type: Some(event_type.clone()),
    };
    let callback = |descriptor_id: &String, source: &String| Origin::Callback {
        descriptor_id: descriptor_id.clone(),
        source: Some(source.clone()),
    };
    let actor = Origin::Operator {
        actor_id: Some(long.clone()),
    };
    let timer_id = TimerId::from_stored(long.clone());
    let task_id = TaskId::from_stored(long.clone());
    let subsystem = long.clone();
    vec![
        (MessageKind::OperatorPrompt, actor),
        (MessageKind::ChannelEvent, origin(&long, &short)),
        (MessageKind::ChannelEvent, origin(&short, &long)),
        (MessageKind::WebhookEvent, webhook(&long, &short)),
        (MessageKind::WebhookEvent, webhook(&short, &long)),
        (MessageKind::CallbackEvent, callback(&long, &short)),
        (MessageKind::CallbackEvent, callback(&short, &long)),
        (MessageKind::TimerTick, Origin::Timer { timer_id }),
        (MessageKind::TaskStatus, Origin::Task { task_id }),
        (MessageKind::SystemTick, Origin::System { subsystem }),
    ]
}

/// Returns the reply to a message when this many are already queued.
fn verdict_behind(pending: u64, ingress: Ingress) -> Result<Reply, Rejection> {
    let world = states::booting();
    let sent = make::admit(ingress);
    let decided = world.decide_on(&sent, &mut crate::world::Dice::new(), &|loaded| {
        loaded.queue.pending = pending;
    });
    decided.map(|step| step.reply)
}

#[test]
fn a_full_queue_refuses_and_keeps_what_it_holds() {
    let agent_id = states::booting().agent.identity.agent_id.clone();
    let prompt = make::prompt(Priority::Interject);
    assert_eq!(
        verdict_behind(limits::QUEUE_ENTRIES, prompt.clone()),
        Err(Rejection::QueueFull { agent_id })
    );
    assert!(verdict_behind(limits::QUEUE_ENTRIES - 1, prompt).is_ok());
}

#[test]
fn a_queue_that_outsiders_filled_keeps_room_for_operators() {
    let agent_id = states::booting().agent.identity.agent_id.clone();
    let full = limits::QUEUE_ENTRIES_OTHERS;
    let event = || make::channel_event("news", Priority::Background);
    let refused = Err(Rejection::QueueFullForOthers { agent_id });
    assert!(verdict_behind(full - 1, event()).is_ok());
    assert_eq!(verdict_behind(full, event()), refused);
    // Above the whole bound too, the caller is told its own bound.
    assert_eq!(verdict_behind(limits::QUEUE_ENTRIES, event()), refused);
    for priority in Priority::ALL {
        assert!(verdict_behind(full, make::prompt(priority)).is_ok());
    }
}

#[test]
fn without_a_model_a_message_is_refused_unless_the_agent_has_its_own() {
    let mut world = states::booting();
    world.host.models = ModelChain::none();
    let refused = admitted(&mut world, make::prompt(Priority::Normal));
    assert_eq!(refused, Err(Rejection::NoModel));
    world.agent.settings.model_override = Some(make::model("scripted/own"));
    assert!(admitted(&mut world, make::prompt(Priority::Normal)).is_ok());
}

#[test]
fn a_stopped_agent_says_so_also_when_it_has_no_model() {
    let mut world = states::booting();
    world.send(Input::Stop);
    world.host.models = ModelChain::none();
    let agent_id = world.agent.identity.agent_id.clone();
    let refused = admitted(&mut world, make::prompt(Priority::Normal));
    assert_eq!(refused, Err(Rejection::Stopped { agent_id }));
}

#[test]
fn a_model_that_was_named_is_the_only_one_and_otherwise_one_of_the_list_is_enough() {
    let host = HostConditions::new(ModelChain {
        fallbacks: vec![make::model("a/2")],
        ..ModelChain::only(make::model("a/1"))
    });
    let (named, own) = (make::model("n/1"), make::model("o/1"));
    let names =
        |models: Vec<ModelRef>| -> Vec<String> { models.iter().map(ToString::to_string).collect() };
    let chain = |named: Option<&ModelRef>, listed: Option<&[ModelRef]>| {
        names(models_for(&host, named, Some(&own), listed))
    };
    assert_eq!(chain(Some(&named), None), ["n/1"]);
    assert_eq!(chain(None, None), ["o/1", "a/2"]);
    assert_eq!(chain(None, Some(&[make::model("l/1")])), ["o/1", "l/1"]);
    let fails = |words: &str| Err(ModelFailure::new(ModelFailureKind::Auth, words));
    assert_eq!(judge_models(&[]), Err(Rejection::NoModel));
    assert_eq!(judge_models(&[fails("first"), Ok(())]), Ok(()));
    assert_eq!(
        judge_models(&[fails("first"), fails("second")]),
        Err(Rejection::ModelUnavailable {
            reason: "first".to_owned()
        })
    );
}

#[test]
fn a_bound_of_no_rounds_is_refused() {
    let none = Ingress {
        max_rounds: Some(0),
        ..make::prompt(Priority::Normal)
    };
    assert_eq!(verdict(none), Err(Rejection::NoRounds));
}

#[test]
fn a_delivery_record_is_taken_from_known_callers_only() {
    let brief = |ingress: Ingress| Ingress {
        body: Body::Brief {
            title: None,
            text: "done".to_owned(),
            attachments: Vec::new(),
        },
        ..ingress
    };
    let outside = brief(make::channel_event("", Priority::Normal));
    assert_eq!(verdict(outside), Err(Rejection::BodyNotPublic));
    assert!(verdict(brief(make::prompt(Priority::Normal))).is_ok());
}

#[test]
fn messages_are_taken_by_band_and_inside_a_band_in_their_order() {
    use Priority::{Background, Interject, Next, Normal};
    let mut world = states::booting();
    for priority in [
        Background, Normal, Next, Normal, Interject, Next, Background, Interject,
    ] {
        world.send(make::admit(make::prompt(priority)));
    }
    let mut world = states::ready(world);
    let mut taken = Vec::new();
    while let Some(turn) = &world.agent.open_turn {
        taken.push(turn.message_seq);
        // Interjections would join the open turn; a sleep call ends each turn by itself.
        world.send(make::ModelAnswer::calls(vec![make::sleep(None)]).to(&world));
    }
    assert_eq!(taken, [5, 8, 3, 6, 2, 4, 1, 7]);
    assert_eq!(world.in_status(QueueStatus::Processed).len(), 8);
}
