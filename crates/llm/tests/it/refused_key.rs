//! A refused credential is read once more, and the request is repeated only with another one.

use crate::support::text_of;
use crate::wire;
use async_trait::async_trait;
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelReply};
use holon_domain::provider::AuthKind;
use holon_llm::{Credential, Credentials, Router};
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use secrecy::ExposeSecret as _;
use std::sync::{Arc, Mutex};

/// Hands out one key after another, and records what was refused.
#[derive(Debug)]
struct Keys {
    first: &'static str,
    /// Key that is found after a refusal; absent if it is the same or cannot be read.
    renewed: Option<&'static str>,
    log: Mutex<Vec<String>>,
}

fn credential(key: &str) -> Credential {
    Credential {
        kind: AuthKind::BearerToken,
        secret: key.into(),
        account_id: None,
    }
}

#[async_trait]
impl Credentials for Keys {
    async fn credential(&self, _provider: &str) -> Result<Option<Credential>, String> {
        Ok(Some(credential(self.first)))
    }

    async fn renewed(&self, _provider: &str, refused: &Credential) -> Option<Credential> {
        let line = format!("read again after {}", refused.secret.expose_secret());
        self.log.lock().unwrap().push(line);
        self.renewed.map(credential)
    }

    fn note_refused(&self, _provider: &str, refused: Option<&Credential>) {
        let refused = refused.map(|refused| refused.secret.expose_secret().to_owned());
        let line = format!("refused {}", refused.unwrap_or_default());
        self.log.lock().unwrap().push(line);
    }
}

/// A server that accepts one key only.
fn server() -> Provider {
    Provider::start(Script::choose(|request: &RecordedRequest| {
        match request.header("authorization") {
            Some("Bearer key-2") => Round::text("Welcome."),
            _ => Round::fault(Fault::Unauthorized),
        }
    }))
}

async fn ask(
    protocol: Protocol,
    provider: &Provider,
    renewed: Option<&'static str>,
) -> (Result<ModelReply, ModelFailure>, Vec<String>) {
    let keys = Arc::new(Keys {
        first: "key-1",
        renewed,
        log: Mutex::default(),
    });
    let spec = wire::spec(protocol, &provider.base_url());
    let credentials = Arc::clone(&keys) as Arc<dyn Credentials>;
    let router = Router::new("scripts".into(), vec![spec], credentials, wire::patient()).unwrap();
    let answer = wire::ask(&router).await;
    let log = keys.log.lock().unwrap().clone();
    (answer, log)
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_is_tried_once_in_every_protocol() {
    for protocol in Protocol::ALL {
        let provider = server();
        let (answer, log) = ask(protocol, &provider, Some("key-2")).await;
        assert_eq!(text_of(&answer.unwrap()), "Welcome.", "{protocol:?}");
        assert_eq!(log, ["read again after key-1"], "{protocol:?}");
        assert_eq!(provider.finish().len(), 2, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_is_not_sent_again_and_the_refusal_is_noted() {
    let provider = server();
    let (answer, log) = ask(Protocol::Chat, &provider, None).await;
    assert_eq!(answer.unwrap_err().kind, ModelFailureKind::Auth);
    assert_eq!(log, ["read again after key-1", "refused key-1"]);
    assert_eq!(provider.finish().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_key_that_is_refused_too_is_the_end_of_the_attempt() {
    let provider = server();
    let (answer, log) = ask(Protocol::Messages, &provider, Some("key-3")).await;
    assert_eq!(answer.unwrap_err().kind, ModelFailureKind::Auth);
    assert_eq!(log, ["read again after key-1", "refused key-3"]);
    assert_eq!(provider.finish().len(), 2);
}
