//! Refused credentials over the shell: a suspended turn goes on by itself once its provider has another one.

use crate::house::{House, agent, briefs, commits, create, events, prompt, status};
use async_trait::async_trait;
use holon_domain::attempt::TransportDiagnostics;
use holon_domain::brief::{ActionCode, BriefKind, BriefRecord};
use holon_domain::closure::WaitingReason;
use holon_domain::delta::TextSink;
use holon_domain::event::{Event, SuspensionEnd};
use holon_domain::model::{
    ModelChoice, ModelFailure, ModelFailureKind, ModelOptions, ModelRef, ModelReply, ModelRequest,
};
use holon_domain::provider::ModelPolicy;
use holon_engine::ports::ModelClient;
use holon_engine::{Conduct, Host};
use holon_testkit::ports::{ScriptedModel, failure, says};
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

/// A scripted model whose credentials the test renews.
#[derive(Debug)]
struct RenewableModel {
    model: Arc<ScriptedModel>,
    watched: mpsc::UnboundedSender<String>,
    renewed: Mutex<mpsc::UnboundedReceiver<String>>,
}

#[async_trait]
impl ModelClient for RenewableModel {
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        self.model.call(request, text, cancel).await
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        match model.provider() {
            "unknown" => Err(failure(ModelFailureKind::UnsupportedTransport)),
            _ => Ok(()),
        }
    }

    fn policy(&self, model: &ModelRef) -> ModelPolicy {
        self.model.policy(model)
    }

    fn watch_credential(&self, provider: &str) {
        drop(self.watched.send(provider.to_owned()));
    }

    async fn credential_renewed(&self) -> String {
        let next = self.renewed.lock().await.recv().await;
        match next {
            Some(provider) => provider,
            None => std::future::pending().await,
        }
    }
}

/// The test's ends of the credentials.
struct Credentials {
    watched: mpsc::UnboundedReceiver<String>,
    renewed: mpsc::UnboundedSender<String>,
}

impl Credentials {
    fn renew(&self, provider: &str) {
        self.renewed.send(provider.to_owned()).expect("a host");
    }
}

async fn start(house: &House) -> (Host, Credentials) {
    let (watched, of_host) = mpsc::unbounded_channel();
    let (renewed, for_host) = mpsc::unbounded_channel();
    let model = RenewableModel {
        model: house.model.clone(),
        watched,
        renewed: Mutex::new(for_host),
    };
    let host = house.start_on(Conduct::default(), Arc::new(model)).await;
    let credentials = Credentials {
        watched: of_host,
        renewed,
    };
    (host, credentials)
}

/// A refusal of the credential of the provider `test`.
fn refusal() -> Result<ModelReply, ModelFailure> {
    Err(ModelFailure {
        diagnostics: Some(Box::new(TransportDiagnostics {
            provider: Some("test".to_owned()),
            ..TransportDiagnostics::default()
        })),
        ..failure(ModelFailureKind::Auth)
    })
}

/// Refuses the next request, and waits until its credential is watched.
async fn refuse(house: &House, credentials: &mut Credentials) {
    house.model.next().await.answer(refusal());
    let watched = credentials.watched.recv().await;
    assert_eq!(watched.as_deref(), Some("test"));
}

fn actions(told: &[BriefRecord]) -> Vec<ActionCode> {
    let action = |brief: &BriefRecord| brief.action_required.as_ref().map(|action| action.code);
    told.iter().filter_map(action).collect()
}

#[tokio::test]
async fn a_turn_goes_on_by_itself_once_the_refused_credential_is_renewed() {
    let house = House::new();
    let (host, mut credentials) = start(&house).await;
    create(&host, "main").await;
    prompt(&host, "main", "hello").await;
    refuse(&house, &mut credentials).await;
    // It is watched only after the turn was suspended, so that no renewal comes too early.
    let closure = status(&host, "main").await.closure.expect("a closure");
    assert_eq!(
        closure.waiting_reason,
        Some(WaitingReason::AwaitingOperatorInput)
    );
    credentials.renew("another");
    credentials.renew("test");
    house.model.next().await.answer(says("here"));
    let told = briefs(&host, "main", 2).await;
    assert_eq!(actions(&told), [ActionCode::ProviderAuth]);
    let outcomes = told.iter().filter(|brief| brief.kind == BriefKind::Result);
    assert_eq!(outcomes.count(), 1);
    let ends: Vec<SuspensionEnd> = events(&host, "main")
        .await
        .iter()
        .filter_map(|event| match event {
            Event::TurnSuspensionEnded(ended) => Some(ended.by),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [SuspensionEnd::CredentialRenewed]);
}

#[tokio::test]
async fn suspended_turns_of_many_agents_go_on_in_shared_commits() {
    let house = House::new();
    let (host, mut credentials) = start(&house).await;
    let agents = 40;
    for number in 0..agents {
        let name = format!("agent-{number}");
        create(&host, &name).await;
        prompt(&host, &name, "hello").await;
        refuse(&house, &mut credentials).await;
    }
    let before = commits(&host, "agent-0").await;
    credentials.renew("test");
    let mut asked = Vec::new();
    for _ in 0..agents {
        asked.push(house.model.next().await);
    }
    let needed = host.commits() - before;
    assert!(needed < agents / 2, "{needed} commits");
}

#[tokio::test]
async fn a_restart_asks_once_and_watches_again_without_another_brief() {
    let house = House::new();
    let (host, mut credentials) = start(&house).await;
    create(&host, "main").await;
    prompt(&host, "main", "hello").await;
    refuse(&house, &mut credentials).await;
    drop(host);
    let house = house.after_crash();
    let (host, mut credentials) = start(&house).await;
    refuse(&house, &mut credentials).await;
    credentials.renew("test");
    house.model.next().await.answer(says("here"));
    let told = briefs(&host, "main", 2).await;
    assert_eq!(actions(&told), [ActionCode::ProviderAuth]);
    assert_eq!(told.len(), 2, "{told:?}");
}

#[tokio::test]
async fn a_credential_renewed_while_a_fallback_was_asked_is_not_lost() {
    let house = House::new();
    let (host, mut credentials) = start(&house).await;
    create(&host, "main").await;
    let model = |text: &str| ModelRef::parse(text).expect("a model");
    let choice = ModelChoice::Use {
        model: model("test/own"),
        options: ModelOptions {
            fallback_models: Some(vec![model("other/next")]),
            ..ModelOptions::default()
        },
    };
    let set = host.control().set_model(&agent("main"), choice).await;
    set.expect("is set");
    prompt(&host, "main", "hello").await;
    refuse(&house, &mut credentials).await;
    let fallback = house.model.next().await;
    // The host learns of the renewal, and the turn is not suspended yet.
    credentials.renew("test");
    fallback.answer(Err(failure(ModelFailureKind::ModelUnavailable)));
    let watched = credentials.watched.recv().await;
    assert_eq!(watched.as_deref(), Some("test"), "it is watched again");
    credentials.renew("test");
    house.model.next().await.answer(says("here"));
    let told = briefs(&host, "main", 2).await;
    assert!(told.iter().any(|brief| brief.kind == BriefKind::Result));
}

#[tokio::test]
async fn thinking_and_fallbacks_of_an_agent_reach_its_requests_and_its_status() {
    let house = House::new();
    let (host, _credentials) = start(&house).await;
    create(&host, "main").await;
    let model = |text: &str| ModelRef::parse(text).expect("a model");
    let choice = |fallback: &str| ModelChoice::Use {
        model: model("test/own"),
        options: ModelOptions {
            thinking_tokens: Some(2_048),
            fallback_models: Some(vec![model(fallback)]),
            ..ModelOptions::default()
        },
    };
    let control = host.control();
    let refused = control.set_model(&agent("main"), choice("unknown/m")).await;
    assert!(refused.is_err(), "a fallback that cannot be asked");
    let set = control.set_model(&agent("main"), choice("test/next")).await;
    set.expect("is set");
    let shown = status(&host, "main").await.model;
    assert_eq!(shown.override_thinking_tokens, Some(2_048));
    assert_eq!(
        shown.override_fallback_models.as_deref(),
        Some(["test/next".to_owned()].as_slice())
    );
    assert_eq!(shown.effective_fallback_models, ["test/next"]);
    prompt(&host, "main", "hello").await;
    let first = house.model.next().await;
    assert_eq!(first.request.reasoning.thinking_tokens, Some(2_048));
    first.answer(refusal());
    let next = house.model.next().await;
    assert_eq!(next.request.model, model("test/next"));
    assert_eq!(next.request.reasoning.thinking_tokens, None);
    next.answer(says("here"));
    briefs(&host, "main", 1).await;
}
