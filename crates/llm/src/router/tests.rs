//! Failed name lookups, through a whole call.

use super::*;
use crate::codec::sample;
use crate::credential::Credential;
use crate::http::Lookup;
use async_trait::async_trait;
use holon_domain::model::ModelFailureKind as Kind;
use holon_domain::provider::Transport;
use std::io;
use std::net::SocketAddr;

#[derive(Debug)]
struct NoKey;

#[async_trait]
impl Credentials for NoKey {
    async fn credential(&self, _provider: &str) -> Result<Option<Credential>, String> {
        Ok(None)
    }
}

/// A resolver that never answers.
#[derive(Debug)]
struct SilentLookup;

#[async_trait]
impl Lookup for SilentLookup {
    async fn addresses(&self, _name: &str) -> io::Result<Vec<SocketAddr>> {
        std::future::pending().await
    }
}

/// A resolver that fails with this kind of error.
#[derive(Debug)]
struct FailingLookup(io::ErrorKind);

#[async_trait]
impl Lookup for FailingLookup {
    async fn addresses(&self, _name: &str) -> io::Result<Vec<SocketAddr>> {
        Err(self.0.into())
    }
}

async fn failure(lookup: impl Lookup + 'static, limits: HttpLimits) -> ModelFailure {
    let spec = sample::provider(
        Transport::OpenaiChatCompletions,
        "http://api.provider.invalid/v1",
    );
    let http = HttpCaller::new(Arc::new(NoKey), limits)
        .with_lookup(Arc::new(lookup))
        .unwrap();
    let router = Router::with_http("scripts".into(), vec![spec], http).unwrap();
    let request = sample::request("sample/model", Vec::new());
    let answer = router
        .call(&request, &|_| {}, &CancellationToken::new())
        .await;
    answer.unwrap_err()
}

fn assert_names_the_host(failure: &ModelFailure) {
    assert_eq!(failure.kind, Kind::Network, "{failure:?}");
    for part in ["api.provider.invalid", "base_url", "this machine's network"] {
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_service_that_never_answers_is_the_networks_fault() {
    let seconds = Duration::from_secs;
    let short = HttpLimits {
        connect: seconds(1),
        ..HttpLimits::default()
    };
    let hurried = HttpLimits::with_times(seconds(1), seconds(1));
    for limits in [HttpLimits::default(), short, hurried] {
        assert_names_the_host(&failure(SilentLookup, limits).await);
    }
}

#[tokio::test]
async fn a_name_service_that_fails_is_the_networks_fault_however_it_fails() {
    for kind in [io::ErrorKind::Other, io::ErrorKind::TimedOut] {
        assert_names_the_host(&failure(FailingLookup(kind), HttpLimits::default()).await);
    }
}
