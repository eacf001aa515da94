//! A context window that the server of a model states, against the assumed one, an error and the settings.

use crate::house::{House, agent, briefs, create, prompt};
use async_trait::async_trait;
use holon_domain::delta::TextSink;
use holon_domain::model::{
    ModelChain, ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest,
};
use holon_domain::provider::{LearnedLimits, LimitSource, ModelPolicy, PolicySource};
use holon_engine::ports::ModelClient;
use holon_engine::{Conduct, Host};
use holon_testkit::ports::{ScriptedModel, failure, says};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

fn model(text: &str) -> ModelRef {
    ModelRef::parse(text).expect("a model")
}

/// The house's model behind a server that states a context window.
#[derive(Debug)]
struct StatingModel {
    asked: Arc<ScriptedModel>,
    /// 0 if the server states nothing.
    window: AtomicU32,
    statements: AtomicU32,
}

impl StatingModel {
    fn new(house: &House, window: u32) -> Arc<Self> {
        Arc::new(Self {
            asked: Arc::clone(&house.model),
            window: AtomicU32::new(window),
            statements: AtomicU32::new(0),
        })
    }
}

#[async_trait]
impl ModelClient for StatingModel {
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        self.asked.call(request, text, cancel).await
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        self.asked.check(model).await
    }

    fn policy(&self, model: &ModelRef) -> ModelPolicy {
        let policy = self.asked.policy(model);
        let source = match model.provider() {
            "set" => PolicySource::ConfigOverride,
            _ => policy.source,
        };
        ModelPolicy { source, ..policy }
    }

    async fn stated_limits(&self, _model: &ModelRef) -> Option<LearnedLimits> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        let window = self.window.load(Ordering::Relaxed);
        (window > 0).then(|| LearnedLimits::window(window, LimitSource::Server))
    }
}

/// Starts a host whose one model has an assumed window, with a server that states this one, and creates `main`.
async fn stating_house(window: u32) -> (House, Arc<StatingModel>, Host) {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let stating = StatingModel::new(&house, window);
    let host = house
        .start_on(Conduct::default(), Arc::clone(&stating) as Arc<_>)
        .await;
    create(&host, "main").await;
    (house, stating, host)
}

async fn window(host: &Host) -> (u32, PolicySource) {
    let status = host.reads().status(&agent("main")).await.expect("a status");
    let policy = status.model.resolved_policy.expect("a policy");
    (policy.context_window_tokens, policy.source)
}

#[tokio::test]
async fn a_window_that_the_server_states_beats_the_assumed_one_from_the_first_request_on() {
    let (house, stating, host) = stating_house(8_000).await;
    prompt(&host, "main", &"words ".repeat(40_000)).await;
    let first = house.model.next().await;
    // The prompt is larger than the stated window, so the answer gets the least room there is.
    assert!(first.request.max_output_tokens < 4_096);
    first.answer(says("read it"));
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (8_000, PolicySource::Learned));

    // A server that was started anew with another window is believed.
    stating.window.store(64_000, Ordering::Relaxed);
    prompt(&host, "main", "again").await;
    house.model.next().await.answer(says("two"));
    briefs(&host, "main", 2).await;
    assert_eq!(window(&host).await, (64_000, PolicySource::Learned));
}

#[tokio::test]
async fn an_error_that_contradicts_the_servers_statement_is_believed_instead() {
    let (house, _, host) = stating_house(64_000).await;
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(Err(ModelFailure {
        learned: Some(LearnedLimits {
            context_window_tokens: Some(4_000),
            max_output_tokens: Some(1_000),
            ..LearnedLimits::default()
        }),
        ..failure(ModelFailureKind::InvalidRequest)
    }));
    let second = house.model.next().await;
    assert!(second.request.max_output_tokens <= 1_000);
    second.answer(says("now it fits"));
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (4_000, PolicySource::Learned));
}

#[tokio::test]
async fn a_failed_round_keeps_what_the_server_stated() {
    let (house, _stating, host) = stating_house(8_000).await;
    prompt(&host, "main", "hello").await;
    let refused = Err(failure(ModelFailureKind::ContextLengthExceeded));
    house.model.next().await.answer(refused);
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (8_000, PolicySource::Learned));
}

#[tokio::test]
async fn a_server_is_not_asked_for_a_window_that_the_operator_set() {
    let house = House::asking(ModelChain::only(model("set/known")));
    let stating = StatingModel::new(&house, 8_000);
    let host = house
        .start_on(Conduct::default(), Arc::clone(&stating) as Arc<_>)
        .await;
    create(&host, "main").await;
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(says("one"));
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (32_000, PolicySource::ConfigOverride));
    assert_eq!(stating.statements.load(Ordering::Relaxed), 0);
}
