//! Secrets of bindings to remote operators: whose they are, and when they come and go.

use crate::house::{House, agent, create, prompt};
use holon_core::Rejection;
use holon_domain::delivery::{SubmitResult, TargetAuth};
use holon_domain::operator_transport::{
    BindingStatus, DeliveryAuth, OperatorTransportBinding, TransportCapabilities,
};
use holon_domain::{BindingId, Timestamp, limits};
use holon_engine::{BindingAddition, Error, Host};
use holon_testkit::ports::says;

fn binding(id: &str) -> OperatorTransportBinding {
    OperatorTransportBinding {
        binding_id: BindingId::from_stored(id),
        transport: "bridge".to_owned(),
        operator_actor_id: "jo".to_owned(),
        default_route_id: "room".to_owned(),
        reply_route_ids: Vec::new(),
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
        provider: None,
        provider_identity_ref: None,
        status: BindingStatus::Active,
        created_at: Timestamp::from_millis(0),
        last_seen_at: None,
        expires_at: None,
        turn_results: false,
        metadata: None,
        secret_id: None,
    }
}

async fn bind(host: &Host, name: &str, id: &str, secret: Option<&str>) -> Result<bool, Error> {
    bind_as(host, name, binding(id), secret).await
}

/// Makes a binding. Returns false if it needs a secret.
async fn bind_as(
    host: &Host,
    name: &str,
    binding: OperatorTransportBinding,
    secret: Option<&str>,
) -> Result<bool, Error> {
    let id = binding.binding_id.clone();
    let control = host.control();
    match control.bind_operator(&agent(name), binding, secret).await? {
        BindingAddition::Made(stored) => {
            assert_eq!(stored.binding_id, id);
            Ok(true)
        }
        BindingAddition::NeedsSecret => Ok(false),
    }
}

/// The stored secret that an agent's binding names.
async fn secret_of(house: &House, name: &str, id: &str) -> Option<String> {
    let record = house.record(&agent(name)).await?;
    let mut bindings = record.operator_bindings.iter();
    let found = bindings.find(|binding| binding.binding_id.as_str() == id)?;
    let secrets = house.outbound.secrets();
    secrets.get(&found.secret_profile(&agent(name))).cloned()
}

fn stored(house: &House) -> Vec<String> {
    house.outbound.secrets().into_values().collect()
}

#[tokio::test]
async fn two_agents_with_one_binding_id_have_a_secret_each() {
    let house = House::new();
    let host = house.with_main().await;
    create(&host, "other").await;
    for (name, secret) in [("main", "of-main"), ("other", "of-other")] {
        let made = bind(&host, name, "shared", Some(secret)).await;
        assert_eq!(made, Ok(true));
    }
    let is_each = (
        secret_of(&house, "main", "shared").await,
        secret_of(&house, "other", "shared").await,
    );
    let expected = (Some("of-main".to_owned()), Some("of-other".to_owned()));
    assert_eq!(is_each, expected);
    let control = host.control();
    let revoked = control
        .revoke_binding(&agent("other"), BindingId::from_stored("shared"))
        .await;
    assert_eq!(revoked, Ok(()));
    assert_eq!(stored(&house), ["of-main"]);
    assert_eq!(is_each.0, secret_of(&house, "main", "shared").await);
}

#[tokio::test]
async fn a_refused_binding_changes_no_secret() {
    let house = House::new();
    let host = house.with_main().await;
    for count in 0..limits::OPERATOR_BINDINGS {
        let made = bind(&host, "main", &format!("b{count}"), Some("old")).await;
        assert_eq!(made, Ok(true));
    }
    let before = house.outbound.secrets();
    let unknown = bind(&host, "nobody", "b0", Some("new")).await;
    assert!(
        matches!(unknown, Err(Error::AgentNotFound { .. })),
        "{unknown:?}"
    );
    assert_eq!(house.outbound.secrets(), before);
    let full = bind(&host, "main", "more", Some("new")).await;
    assert_eq!(full, Err(Error::Rejected(Rejection::TooManyBindings)));
    assert_eq!(house.outbound.secrets(), before);
}

#[tokio::test]
async fn a_binding_needs_a_secret_unless_it_replaces_one_that_has_it() {
    let house = House::new();
    let host = house.with_main().await;
    let needed = Ok(false);
    let made = Ok(true);
    assert_eq!(bind(&host, "main", "one", None).await, needed);
    let without = OperatorTransportBinding {
        delivery_auth: DeliveryAuth {
            kind: TargetAuth::None,
            key_id: None,
        },
        ..binding("one")
    };
    let control = host.control();
    let open = bind_as(&host, "main", without, None).await;
    assert_eq!(open, made);
    assert_eq!(bind(&host, "main", "one", None).await, needed);
    assert_eq!(bind(&host, "main", "one", Some("first")).await, made);
    assert_eq!(bind(&host, "main", "one", None).await, made);
    let kept = secret_of(&house, "main", "one").await;
    assert_eq!(kept.as_deref(), Some("first"));
    assert_eq!(bind(&host, "main", "one", Some("second")).await, made);
    assert_eq!(stored(&house), ["second"], "the replaced one is forgotten");
    create(&host, "other").await;
    assert_eq!(bind(&host, "other", "one", None).await, needed);
    let id = BindingId::from_stored("one");
    let revoked = control.revoke_binding(&agent("main"), id).await;
    assert_eq!(revoked, Ok(()));
    assert_eq!(bind(&host, "main", "one", None).await, needed);
    assert!(stored(&house).is_empty());
}

#[tokio::test]
async fn a_secret_goes_with_its_agent_and_with_a_binding_that_gives_way() {
    let house = House::new();
    let host = house.with_main().await;
    create(&host, "main.two").await;
    for name in ["main", "main.two"] {
        let made = bind(&host, name, "kept", Some(name)).await;
        assert_eq!(made, Ok(true));
    }
    let control = host.control();
    let ended = OperatorTransportBinding {
        expires_at: Some(Timestamp::from_millis(0)),
        ..binding("ended")
    };
    let made = bind_as(&host, "main", ended, Some("ended")).await;
    assert_eq!(made, Ok(true));
    assert!(stored(&house).contains(&"ended".to_owned()));
    for count in 1..limits::OPERATOR_BINDINGS {
        let made = bind(&host, "main", &format!("b{count}"), Some("b")).await;
        assert_eq!(made, Ok(true));
    }
    assert!(!stored(&house).contains(&"ended".to_owned()));
    control.remove_agent(&agent("main")).await.expect("goes");
    house.is_gone(&agent("main")).await;
    assert_eq!(stored(&house), ["main.two"]);
}

#[tokio::test]
async fn a_delivery_that_its_operator_did_not_get_is_shown_until_a_later_one_is_accepted() {
    let house = House::new();
    let host = house.with_main().await;
    let wanted = OperatorTransportBinding {
        turn_results: true,
        ..binding("one")
    };
    let main = agent("main");
    let made = bind_as(&host, "main", wanted, Some("s")).await;
    assert_eq!(made, Ok(true));
    let error = "the endpoint answered 400".to_owned();
    house.outbound.script([SubmitResult::Refused { error }]);
    for (count, expected) in [(1, Some("the endpoint answered 400")), (2, None)] {
        prompt(&host, "main", "do it").await;
        house.model.next().await.answer(says("done"));
        house.outbound.attempts(count).await;
        house.has_no_effects("main").await;
        let shown = host
            .reads()
            .operator_bindings(&main)
            .await
            .expect("bindings");
        let outcome = shown[0].1.given_up.as_ref();
        assert_eq!(outcome.and_then(|it| it.error.as_deref()), expected);
        assert_eq!(shown[0].1.pending, 0);
    }
}
