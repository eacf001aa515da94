//! The choice of a provider, checks without a request, and the lists of models.

use crate::support::Key;
use crate::wire::{KEY, asking, patient, router, router_with, spec};
use holon_domain::model::{ModelFailureKind as Kind, ModelRef};
use holon_llm::{Error, Router, TransportRefusal};
use holon_testkit::provider::{Fault, Protocol, Provider, Script};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn model(text: &str) -> ModelRef {
    ModelRef::parse(text).unwrap()
}

#[tokio::test]
async fn an_unknown_provider_is_answered_with_the_nearest_and_how_to_see_all() {
    let router = router(spec(Protocol::Chat, "http://127.0.0.1:9"), patient());
    assert_eq!(router.providers(), ["scripted", "acme"]);
    let failure = router.check(&model("acne/m")).await.unwrap_err();
    assert_eq!(failure.kind, Kind::UnsupportedTransport);
    assert!(
        failure.message.contains("did you mean acme?"),
        "{}",
        failure.message
    );
    assert!(
        failure
            .message
            .contains("holon config providers list --all"),
        "{}",
        failure.message
    );
    let far = router.check(&model("zebra/m")).await.unwrap_err();
    assert!(!far.message.contains("did you mean"), "{}", far.message);
}

#[tokio::test]
async fn a_provider_whose_transport_is_refused_gets_no_request() {
    let provider = Provider::start(Script::of([]));
    let refusal = TransportRefusal {
        problem: "acme has the transport \"pigeon\"".to_owned(),
        next_step: "run: holon config".to_owned(),
    };
    let router = router(spec(Protocol::Chat, &provider.base_url()), patient())
        .with_refused([("acme".to_owned(), refusal)].into());
    let cancel = CancellationToken::new();
    let failure = router.call(&asking(), &|_| {}, &cancel).await.unwrap_err();
    assert_eq!(failure.kind, Kind::UnsupportedTransport);
    assert_eq!(
        failure.message,
        "acme has the transport \"pigeon\"; run: holon config"
    );
    assert_eq!(failure.diagnostics.unwrap().stage, "route");
    assert_eq!(
        router.check(&asking().model).await.unwrap_err().kind,
        Kind::UnsupportedTransport
    );
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn a_check_sends_no_request() {
    let provider = Provider::start(Script::of([]));
    let router = router(spec(Protocol::Messages, &provider.base_url()), patient());
    assert_eq!(router.check(&asking().model).await, Ok(()));
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn an_invalid_base_url_affects_only_its_provider_and_is_not_shown() {
    let mut bad = spec(Protocol::Chat, "https://user:canary@host/v1");
    bad.id = "bad".to_owned();
    let good = spec(Protocol::Chat, "http://127.0.0.1:9");
    let router = Router::new("".into(), vec![bad, good], Arc::new(Key::none()), patient()).unwrap();
    assert_eq!(router.check(&asking().model).await, Ok(()));
    let failure = router.check(&model("bad/m")).await.unwrap_err();
    assert!(
        failure.message.contains("holon config providers set bad"),
        "{}",
        failure.message
    );
    let everything = format!("{failure:?} {router:?}");
    assert!(!everything.contains("canary"), "{everything}");
}

#[test]
fn two_providers_cannot_have_one_id() {
    let named = |id: &str| {
        let mut spec = spec(Protocol::Chat, "http://127.0.0.1:9");
        spec.id = id.to_owned();
        spec
    };
    for ids in [["acme", "acme"], ["acme", "scripted"]] {
        let twice = Router::new(
            "".into(),
            ids.map(named).into(),
            Arc::new(Key::none()),
            patient(),
        );
        assert!(
            matches!(twice, Err(Error::DuplicateProvider { .. })),
            "{ids:?}"
        );
    }
}

#[test]
fn no_debug_output_of_a_router_shows_the_key() {
    let router = router(spec(Protocol::Chat, "http://127.0.0.1:9"), patient());
    assert!(!format!("{router:?}").contains(KEY));
}

#[tokio::test]
async fn a_credential_that_cannot_be_sent_is_found_by_the_check() {
    let spec = spec(Protocol::Chat, "http://127.0.0.1:9");
    let router = router_with(spec, patient(), Key::of("two\nlines"));
    let failure = router.check(&asking().model).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Auth);
    assert!(
        failure.message.contains("set it again"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn models_are_listed_in_every_protocol_with_the_key() {
    for protocol in Protocol::ALL {
        let provider = Provider::start(Script::of([]).models(&["b", "a"]).key(KEY));
        let router = router(spec(protocol, &provider.base_url()), patient());
        let never = CancellationToken::new();
        assert_eq!(router.models("acme", &never).await.unwrap(), ["a", "b"]);
        assert_eq!(
            router.models("scripted", &never).await.unwrap(),
            Vec::<String>::new()
        );
        assert!(router.models("nobody", &never).await.is_err());
        assert_eq!(provider.looks().len(), 1, "{protocol:?}");
        provider.finish();
    }
}

#[tokio::test]
async fn a_list_that_is_refused_fails_like_any_request() {
    for (fault, kind) in [
        (Fault::Unauthorized, Kind::Auth),
        (Fault::HtmlOk, Kind::NotJson),
        (Fault::ServerError, Kind::ServerError),
    ] {
        let provider = Provider::start(Script::of([]).models_fault(fault));
        let router = router(spec(Protocol::Chat, &provider.base_url()), patient());
        let failure = router
            .models("acme", &CancellationToken::new())
            .await
            .unwrap_err();
        assert_eq!(failure.kind, kind);
        let facts = failure.diagnostics.unwrap();
        assert!(facts.url.unwrap().ends_with("/models"));
        assert_eq!(facts.model_ref, None);
    }
}
