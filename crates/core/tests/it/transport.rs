//! Tests of remote operators: who is admitted through a binding, and where the answer goes.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::work::{agent_makes, call, pick};
use crate::world::World;
use holon_core::input::OperatorCommand;
use holon_core::{Ingress, Input, Rejection, Reply};
use holon_domain::authority::AuthorityClass;
use holon_domain::delivery::{DeliveryRoute, DeliveryTrigger, TargetAuth};
use holon_domain::intent::{Intent, NewWait, WakeCondition, WorkIntent};
use holon_domain::message::{AdmissionContext, DeliverySurface, Origin, Priority};
use holon_domain::operator_transport::{
    BindingStatus, DeliveryAuth, OperatorTransportBinding, TransportCapabilities, TransportClaim,
};
use holon_domain::wait::WaitStatus;
use holon_domain::{BindingId, Timestamp, limits};
use serde_json::json;

fn id(name: &str) -> BindingId {
    BindingId::from_stored(name)
}

fn binding(name: &str) -> OperatorTransportBinding {
    OperatorTransportBinding {
        binding_id: id(name),
        transport: "bridge".to_owned(),
        operator_actor_id: "jo".to_owned(),
        default_route_id: format!("{name}-default"),
        reply_route_ids: vec!["room-7".to_owned()],
        delivery_callback_url: "http://127.0.0.1:9/".to_owned(),
        delivery_auth: DeliveryAuth {
            kind: TargetAuth::Bearer,
            key_id: None,
        },
        capabilities: TransportCapabilities {
            text: true,
            markdown: false,
            attachments: false,
        },
        provider: Some("matrix".to_owned()),
        provider_identity_ref: Some("@jo:example.org".to_owned()),
        status: BindingStatus::Active,
        created_at: make::T0,
        last_seen_at: None,
        expires_at: None,
        turn_results: false,
        metadata: None,
        secret_id: None,
    }
}

fn bind(world: &mut World, binding: OperatorTransportBinding) -> Result<Reply, Rejection> {
    let command = OperatorCommand::Bind(binding);
    world.send(Input::Operator(Box::new(command))).reply
}

fn revoke(world: &mut World, name: &str) -> Result<Reply, Rejection> {
    let command = OperatorCommand::Revoke {
        binding_id: id(name),
    };
    world.send(Input::Operator(Box::new(command))).reply
}

fn claim(name: &str) -> TransportClaim {
    TransportClaim {
        binding_id: id(name),
        actor_id: "jo".to_owned(),
        reply_route_id: Some("room-7".to_owned()),
        provider: Some("matrix".to_owned()),
        provider_identity_ref: Some("@jo:example.org".to_owned()),
    }
}

fn message(claim: TransportClaim) -> Input {
    let ingress = Ingress {
        origin: Origin::Operator {
            actor_id: Some(claim.actor_id.clone()),
        },
        metadata: Some(json!({"binding_id": "forged", "reply_route_id": "forged", "x": 1})),
        ..Ingress::operator_prompt(
            "how far are you?".to_owned(),
            Priority::Interject,
            DeliverySurface::RemoteOperatorTransport,
            AdmissionContext::OperatorTransportAuthenticated,
        )
    };
    Input::OperatorMessage {
        claim: Box::new(claim),
        ingress: Box::new(ingress),
    }
}

/// Routes of the deliveries so far, each with the route of the transport.
fn routes(world: &World) -> Vec<(DeliveryRoute, Option<String>)> {
    let rows = world.deliveries.values();
    rows.map(|(record, _)| (record.route.clone(), record.route_id.clone()))
        .collect()
}

fn to(name: &str, route: &str) -> (DeliveryRoute, Option<String>) {
    let binding_id = id(name);
    (
        DeliveryRoute::Binding { binding_id },
        Some(route.to_owned()),
    )
}

#[test]
fn a_bound_operator_is_admitted_as_an_operator_and_the_answer_goes_back_by_the_reply_route() {
    let mut world = states::idle();
    let made = Reply::Binding(Box::new(binding("one")));
    assert_eq!(bind(&mut world, binding("one")), Ok(made));
    let admitted = world.send(message(claim("one"))).reply;
    assert!(
        matches!(admitted, Ok(Reply::Admitted { .. })),
        "{admitted:?}"
    );
    let envelope = &world.messages[&1].entry.envelope;
    assert_eq!(
        envelope.authority_class,
        AuthorityClass::OperatorInstruction
    );
    let surface = DeliverySurface::RemoteOperatorTransport;
    assert_eq!(envelope.delivery_surface, surface);
    let context = AdmissionContext::OperatorTransportAuthenticated;
    assert_eq!(envelope.admission_context, context);
    let metadata = json!({"binding_id": "one", "reply_route_id": "room-7", "x": 1});
    assert_eq!(envelope.metadata, Some(metadata));
    assert_eq!(
        world.agent.operator_bindings[0].last_seen_at,
        Some(world.now)
    );
    world.send(ModelAnswer::words("half way").to(&world));
    assert_eq!(routes(&world), [to("one", "room-7")]);
    let (record, _) = world.deliveries.values().next().expect("a delivery");
    assert_eq!(record.trigger, DeliveryTrigger::TurnResult);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_message_without_a_route_is_answered_by_the_default_route_of_its_binding() {
    let mut world = states::idle();
    bind(&mut world, binding("one")).expect("is bound");
    bind(&mut world, binding("two")).expect("is bound");
    let claim = TransportClaim {
        reply_route_id: None,
        ..claim("one")
    };
    world.send(message(claim));
    world.send(ModelAnswer::words("half way").to(&world));
    assert_eq!(routes(&world), [to("one", "one-default")]);
}

#[test]
fn a_claim_that_does_not_fit_the_binding_is_refused_and_nothing_changes() {
    let forged = [
        (
            TransportClaim {
                actor_id: "eve".to_owned(),
                ..claim("one")
            },
            Rejection::OperatorMismatch,
        ),
        (
            TransportClaim {
                provider: Some("irc".to_owned()),
                ..claim("one")
            },
            Rejection::OperatorMismatch,
        ),
        (
            TransportClaim {
                provider_identity_ref: Some("@eve:example.org".to_owned()),
                ..claim("one")
            },
            Rejection::OperatorMismatch,
        ),
        (claim("another"), Rejection::NoSuchBinding),
    ];
    for (claim, rejection) in forged {
        let mut world = states::idle();
        bind(&mut world, binding("one")).expect("is bound");
        let before = world.agent.clone();
        let refused = world.send(message(claim)).reply;
        assert_eq!(refused, Err(rejection));
        assert_eq!(world.agent, before);
        assert!(world.messages.is_empty());
    }
}

#[test]
fn a_claim_that_leaves_out_what_its_binding_names_is_refused() {
    let without = [
        TransportClaim {
            provider: None,
            ..claim("one")
        },
        TransportClaim {
            provider_identity_ref: None,
            ..claim("one")
        },
    ];
    for claim in without {
        let mut world = states::idle();
        bind(&mut world, binding("one")).expect("is bound");
        let refused = world.send(message(claim)).reply;
        let code = refused.map_err(|rejection| rejection.code());
        assert_eq!(code, Err("operator_identity_missing"));
        assert!(world.messages.is_empty());
    }
}

#[test]
fn a_route_that_the_binding_does_not_list_is_replaced_by_its_default_route() {
    let mut world = states::idle();
    bind(&mut world, binding("one")).expect("is bound");
    let claim = TransportClaim {
        reply_route_id: Some("everyone".to_owned()),
        ..claim("one")
    };
    world.send(message(claim));
    world.send(ModelAnswer::words("half way").to(&world));
    assert_eq!(routes(&world), [to("one", "one-default")]);
}

#[test]
fn a_revoked_or_expired_binding_admits_nothing_and_receives_nothing() {
    let expired = OperatorTransportBinding {
        expires_at: Some(Timestamp::from_millis(make::T0.as_millis())),
        ..binding("one")
    };
    for (made, is_revoked) in [(binding("one"), true), (expired, false)] {
        let mut world = states::idle();
        bind(&mut world, made).expect("is bound");
        if is_revoked {
            assert_eq!(revoke(&mut world, "one"), Ok(Reply::Done));
            assert_eq!(revoke(&mut world, "one"), Ok(Reply::Unchanged));
        }
        let refused = world.send(message(claim("one"))).reply;
        assert_eq!(refused, Err(Rejection::BindingInactive));
        let ask = make::prompt(Priority::Normal);
        world.send(make::admit(ask));
        world.send(ModelAnswer::words("done").to(&world));
        assert_eq!(routes(&world), []);
    }
}

#[test]
fn a_result_that_answers_nobody_remote_is_delivered_only_where_it_is_asked_for() {
    for (turn_results, expected) in [(false, vec![]), (true, vec![to("two", "two-default")])] {
        let mut world = states::idle();
        for name in ["one", "two"] {
            let made = OperatorTransportBinding {
                turn_results,
                ..binding(name)
            };
            bind(&mut world, made).expect("is bound");
        }
        world.send(make::admit(make::prompt(Priority::Normal)));
        world.send(ModelAnswer::words("done").to(&world));
        assert_eq!(routes(&world), expected);
    }
}

#[test]
fn a_result_about_a_work_item_goes_to_who_asked_for_the_item_if_that_binding_wants_results() {
    let answer = to("one", "room-7");
    for (turn_results, results) in [(true, 1), (false, 0)] {
        let mut world = states::idle();
        // The newest binding wants the opposite.
        for (name, turn_results) in [("one", turn_results), ("two", !turn_results)] {
            let made = OperatorTransportBinding {
                turn_results,
                ..binding(name)
            };
            bind(&mut world, made).expect("is bound");
        }
        world.send(message(claim("one")));
        let item = agent_makes(&mut world);
        call(&mut world, vec![pick(&item)]);
        // The message asked for its answer by its route. The item goes on in a turn that nobody asked for.
        world.send(ModelAnswer::words("I begin").to(&world));
        assert_eq!(routes(&world), std::slice::from_ref(&answer));
        let turn = world.agent.open_turn.as_ref().expect("a turn of the item");
        assert!(turn.work_item_id.is_some() && turn.reply_route.is_none());
        world.send(ModelAnswer::words("half way").to(&world));
        let expected = vec![answer.clone(); 1 + results];
        assert_eq!(routes(&world), expected, "{turn_results}");
    }
}

#[test]
fn bindings_are_few_and_an_ended_one_gives_way() {
    let mut world = states::idle();
    for count in 0..limits::OPERATOR_BINDINGS {
        bind(&mut world, binding(&format!("b{count}"))).expect("is bound");
    }
    let refused = bind(&mut world, binding("more"));
    assert_eq!(refused, Err(Rejection::TooManyBindings));
    bind(&mut world, binding("b3")).expect("a known one is replaced");
    revoke(&mut world, "b2").expect("is revoked");
    bind(&mut world, binding("more")).expect("there is room");
    assert_eq!(
        world.agent.operator_bindings.len(),
        limits::OPERATOR_BINDINGS
    );
    assert_eq!(revoke(&mut world, "b2"), Err(Rejection::NoSuchBinding));
}

#[test]
fn a_stopped_agent_refuses_a_remote_operator_with_the_way_to_start_it() {
    let mut world = states::idle();
    bind(&mut world, binding("one")).expect("is bound");
    world.send(Input::Stop);
    let refused = world.send(message(claim("one"))).reply;
    assert!(
        matches!(refused, Err(Rejection::Stopped { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_remote_operator_may_answer_a_wait_for_the_operator() {
    let mut world = states::idle();
    bind(&mut world, binding("one")).expect("is bound");
    world.send(make::admit(make::prompt(Priority::Normal)));
    let wait = NewWait {
        reason: "the answer".to_owned(),
        wake_on: vec![WakeCondition::Operator],
        work_item_id: None,
        external_ref: None,
        question: None,
        recheck_after_ms: None,
    };
    let call = ("WaitFor", Ok(Intent::WaitFor(wait)));
    world.send(ModelAnswer::calls(vec![call]).to(&world));
    assert_eq!(world.waits[0].status, WaitStatus::Active);
    // The question itself is delivered by the default route.
    assert_eq!(routes(&world), [to("one", "one-default")]);
    let (asked, _) = world.deliveries.values().next().expect("a delivery");
    assert_eq!(asked.trigger, DeliveryTrigger::OperatorInputRequired);
    world.send(message(claim("one")));
    assert!(world.agent.open_turn.is_some(), "the agent goes on");
    let wait_id = world.waits[0].id.clone();
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.interrupted_waits, std::slice::from_ref(&wait_id));
    let taken = Intent::Work(WorkIntent::CancelWait { wait_id });
    world.send(ModelAnswer::calls(vec![("CancelWait", Ok(taken))]).to(&world));
    world.send(ModelAnswer::words("then I go on").to(&world));
    assert_eq!(world.waits[0].status, WaitStatus::Cancelled);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_revoked_binding_gives_up_what_waits_for_it() {
    let mut world = states::idle();
    bind(&mut world, binding("one")).expect("is bound");
    world.send(message(claim("one")));
    world.send(ModelAnswer::words("half way").to(&world));
    assert_eq!(revoke(&mut world, "one"), Ok(Reply::Done));
    let (_, outcome) = world.deliveries.values().next().expect("a delivery");
    let error = outcome
        .as_ref()
        .and_then(|outcome| outcome.error.as_deref());
    assert_eq!(error, Some("the binding one was revoked"));
    assert_eq!(world.violations(), []);
}

#[test]
fn metadata_of_a_binding_and_the_settings_as_a_whole_are_bounded() {
    let with = |name: &str, bytes: usize, routes: usize| OperatorTransportBinding {
        // The quotes count too.
        metadata: Some(serde_json::Value::String("x".repeat(bytes - 2))),
        reply_route_ids: vec!["r".repeat(512); routes],
        ..binding(name)
    };
    let mut world = states::idle();
    let most = limits::BINDING_METADATA_BYTES;
    bind(&mut world, with("fits", most, 0)).expect("is bound");
    let refused = bind(&mut world, with("large", most + 1, 0));
    let what = "metadata of the binding";
    let (bytes, max) = (most + 1, most);
    assert_eq!(refused, Err(Rejection::TooLarge { what, bytes, max }));
    let refused = (0..limits::OPERATOR_BINDINGS)
        .find_map(|count| bind(&mut world, with(&format!("b{count}"), most, 64)).err());
    let Some(Rejection::TooLarge { what, bytes, max }) = refused else {
        panic!("the settings are bounded: {refused:?}");
    };
    assert_eq!(
        (what, max),
        ("settings of the agent", limits::AGENT_SETTINGS_BYTES)
    );
    assert!(bytes > max, "{bytes}");
    let stored = serde_json::to_string(&world.agent.settings).expect("writes");
    assert!(stored.len() <= max, "{}", stored.len());
}

#[test]
fn a_binding_of_an_earlier_build_gives_up_its_large_metadata_when_it_is_revoked() {
    for (bytes, is_kept) in [(limits::BINDING_METADATA_BYTES, true), (4 << 20, false)] {
        let mut world = states::idle();
        bind(&mut world, binding("one")).expect("bound");
        let metadata = serde_json::Value::String("x".repeat(bytes - 2));
        world.agent.settings.operator_bindings[0].metadata = Some(metadata);
        revoke(&mut world, "one").expect("revoked");
        let bindings = &world.agent.settings.operator_bindings;
        assert_eq!(bindings[0].metadata.is_some(), is_kept, "{bytes}");
    }
}
