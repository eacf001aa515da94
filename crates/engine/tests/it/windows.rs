//! A context window that the server of a model states, against the assumed one, an error and the settings.

use crate::house::{House, agent, briefs, create, prompt};
use async_trait::async_trait;
use holon_domain::delta::TextSink;
use holon_domain::model::{
    CacheLives, ModelChain, ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest,
};
use holon_domain::provider::{LearnedLimits, ModelPolicy, PolicySource, StatedWindow};
use holon_engine::ports::ModelClient;
use holon_engine::{Conduct, Host};
use holon_testkit::ports::{PendingCall, ScriptedModel, calls, failure, says};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub(crate) fn model(text: &str) -> ModelRef {
    ModelRef::parse(text).expect("a model")
}

pub(crate) const fn exactly(tokens: u32) -> Option<StatedWindow> {
    Some(StatedWindow::Exactly(tokens))
}

/// The house's model behind a server that states a context window and offers two lives of its cache.
#[derive(Debug)]
pub(crate) struct StatingModel {
    asked: Arc<ScriptedModel>,
    /// Absent if the server states nothing.
    window: Mutex<Option<StatedWindow>>,
    endpoint: Mutex<String>,
    statements: AtomicU32,
}

impl StatingModel {
    fn new(house: &House, window: Option<StatedWindow>) -> Arc<Self> {
        Arc::new(Self {
            asked: Arc::clone(&house.model),
            window: Mutex::new(window),
            endpoint: Mutex::new("http://one/v1".to_owned()),
            statements: AtomicU32::new(0),
        })
    }

    fn state(&self, window: Option<StatedWindow>) {
        *self.window.lock().expect("a lock") = window;
    }

    fn move_to(&self, endpoint: &str) {
        endpoint.clone_into(&mut self.endpoint.lock().expect("a lock"));
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

    fn cache_lives(&self, _model: &ModelRef) -> CacheLives {
        CacheLives {
            usual_ms: 300_000,
            long_ms: 3_600_000,
        }
    }

    fn endpoint(&self, _model: &ModelRef) -> Option<String> {
        Some(self.endpoint.lock().expect("a lock").clone())
    }

    async fn stated_window(&self, _model: &ModelRef, _now: Duration) -> Option<StatedWindow> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        *self.window.lock().expect("a lock")
    }
}

/// Starts a host whose one model has an assumed window, with a server that states this one, and creates `main`.
pub(crate) async fn stating_house(
    window: Option<StatedWindow>,
) -> (House, Arc<StatingModel>, Host) {
    let house = House::asking(ModelChain::only(model("local/unknown")));
    let stating = StatingModel::new(&house, window);
    let host = house
        .start_on(Conduct::default(), Arc::clone(&stating) as Arc<_>)
        .await;
    create(&host, "main").await;
    (house, stating, host)
}

/// A refusal that names the real limits.
fn refused() -> Result<ModelReply, ModelFailure> {
    Err(ModelFailure {
        learned: Some(LearnedLimits {
            context_window_tokens: Some(4_000),
            max_output_tokens: Some(1_000),
            ..LearnedLimits::default()
        }),
        ..failure(ModelFailureKind::InvalidRequest)
    })
}

/// Sends a prompt and answers it. `number` is the number of briefs afterwards.
async fn answer_one(house: &House, host: &Host, number: usize) {
    prompt(host, "main", "a question").await;
    house.model.next().await.answer(says("an answer"));
    briefs(host, "main", number).await;
}

async fn window(host: &Host) -> (u32, PolicySource) {
    let status = host.reads().status(&agent("main")).await.expect("a status");
    let policy = status.model.resolved_policy.expect("a policy");
    (policy.context_window_tokens, policy.source)
}

#[tokio::test]
async fn a_window_that_the_server_states_beats_the_assumed_one_from_the_first_request_on() {
    let (house, stating, host) = stating_house(exactly(8_000)).await;
    prompt(&host, "main", &"words ".repeat(40_000)).await;
    let first = house.model.next().await;
    // The prompt is larger than the stated window, so the answer gets the least room there is.
    assert!(first.request.max_output_tokens < 4_096);
    first.answer(says("read it"));
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (8_000, PolicySource::Learned));

    // A server that was started anew with another window is believed.
    stating.state(exactly(64_000));
    prompt(&host, "main", "again").await;
    house.model.next().await.answer(says("two"));
    briefs(&host, "main", 2).await;
    assert_eq!(window(&host).await, (64_000, PolicySource::Learned));
}

#[tokio::test]
async fn an_error_that_contradicts_the_servers_statement_is_believed_instead() {
    let (house, stating, host) = stating_house(exactly(64_000)).await;
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(refused());
    let second = house.model.next().await;
    assert!(second.request.max_output_tokens <= 1_000);
    second.answer(says("now it fits"));
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (4_000, PolicySource::Learned));

    // The same statement was contradicted, so repeating it changes nothing. Another one is a server that was started
    // anew.
    answer_one(&house, &host, 2).await;
    assert_eq!(window(&host).await, (4_000, PolicySource::Learned));
    stating.state(exactly(16_000));
    answer_one(&house, &host, 3).await;
    assert_eq!(window(&host).await, (16_000, PolicySource::Learned));
}

#[tokio::test]
async fn a_window_that_an_error_taught_is_widened_by_what_the_server_says_later() {
    let (house, stating, host) = stating_house(None).await;
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(refused());
    house.model.next().await.answer(says("now it fits"));
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (4_000, PolicySource::Learned));
    stating.state(exactly(16_000));
    answer_one(&house, &host, 2).await;
    assert_eq!(window(&host).await, (16_000, PolicySource::Learned));
}

#[tokio::test]
async fn an_upper_bound_of_the_server_narrows_the_assumed_window_and_does_not_widen_it() {
    let (house, stating, host) = stating_house(Some(StatedWindow::AtMost(131_072))).await;
    answer_one(&house, &host, 1).await;
    assert_eq!(window(&host).await, (32_000, PolicySource::UnknownFallback));
    stating.state(Some(StatedWindow::AtMost(8_000)));
    answer_one(&house, &host, 2).await;
    assert_eq!(window(&host).await, (8_000, PolicySource::Learned));
    stating.state(exactly(4_000));
    answer_one(&house, &host, 3).await;
    assert_eq!(window(&host).await, (4_000, PolicySource::Learned));
}

#[tokio::test]
async fn limits_of_a_server_do_not_hold_for_another_one() {
    let (house, stating, host) = stating_house(None).await;
    prompt(&host, "main", "hello").await;
    house.model.next().await.answer(refused());
    house.model.next().await.answer(says("now it fits"));
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (4_000, PolicySource::Learned));
    stating.move_to("http://two/v1");
    assert_eq!(window(&host).await, (32_000, PolicySource::UnknownFallback));
    prompt(&host, "main", "again").await;
    let asked = house.model.next().await;
    assert_eq!(asked.request.max_output_tokens, 4_096);
    asked.answer(says("two"));
    briefs(&host, "main", 2).await;
    stating.move_to("http://one/v1");
    assert_eq!(window(&host).await, (4_000, PolicySource::Learned));
}

#[tokio::test]
async fn a_failed_round_keeps_what_the_server_stated() {
    let (house, _stating, host) = stating_house(exactly(8_000)).await;
    prompt(&host, "main", "hello").await;
    for _ in 0..2 {
        let refused = Err(failure(ModelFailureKind::ContextLengthExceeded));
        house.model.next().await.answer(refused);
    }
    briefs(&host, "main", 1).await;
    assert_eq!(window(&host).await, (8_000, PolicySource::Learned));
}

#[tokio::test]
async fn a_server_is_not_asked_for_a_window_that_the_operator_set() {
    let house = House::asking(ModelChain::only(model("set/known")));
    let stating = StatingModel::new(&house, exactly(8_000));
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

type Asked = PendingCall<ModelRequest, Result<ModelReply, ModelFailure>>;

/// Returns the next request, or `None` if the turn ends without one.
async fn next_or_end(house: &House, host: &Host) -> Option<Asked> {
    tokio::select! {
        call = house.model.next() => Some(call),
        _ = briefs(host, "main", 1) => None,
    }
}

fn too_long() -> Result<ModelReply, ModelFailure> {
    Err(failure(ModelFailureKind::ContextLengthExceeded))
}

#[tokio::test]
async fn a_refused_request_is_made_smaller_and_is_never_sent_again_as_it_was() {
    // After this many rounds with results, the provider refuses every request.
    for rounds in [0, 1, 2, 5] {
        for window in [2_048, 4_096, 5_200, 8_192] {
            let (house, _stating, host) = stating_house(exactly(window)).await;
            prompt(&host, "main", "Read the notes.").await;
            for _ in 0..rounds {
                let call = house.model.next().await;
                call.answer(calls(&[("ExecCommand", json!({ "cmd": "cat notes" }))]));
                let printed = "a line of the notes\n".repeat(250);
                house.commands.next().await.ends(&printed);
            }
            let call = house.model.next().await;
            let refused = call.request.clone();
            call.answer(too_long());
            if let Some(call) = next_or_end(&house, &host).await {
                let (now, then) = (call.request.estimated_tokens(), refused.estimated_tokens());
                assert!(now < then, "{rounds} rounds, {window}: {now} after {then}");
                let last = call.request.frame.context_blocks.last();
                assert!(last.is_some_and(|block| block.text.contains("Read the notes.")));
                call.answer(too_long());
            } else {
                assert_eq!(rounds, 0, "results of {window} could give way");
                let told = briefs(&host, "main", 1).await;
                assert!(told[0].text.contains("larger window"), "{}", told[0].text);
            }
        }
    }
}

#[tokio::test]
async fn a_turn_goes_on_after_a_refusal() {
    for window in [4_096, 8_192, 16_384] {
        let (house, _stating, host) = stating_house(exactly(window)).await;
        prompt(&host, "main", "Read the notes.").await;
        // The provider takes less than it stated: from the fourth round on no request as large as that round's first.
        let (mut limit, mut rounds, mut refusals) = (u64::MAX, 0, 0);
        while rounds < 12 {
            let call = house.model.next().await;
            let tokens = call.request.estimated_tokens();
            if tokens >= limit || (rounds == 3 && limit == u64::MAX) {
                (limit, refusals) = (limit.min(tokens), refusals + 1);
                assert!(refusals <= 3, "{window}: {refusals} in round {rounds}");
                call.answer(too_long());
                continue;
            }
            rounds += 1;
            call.answer(calls(&[("ExecCommand", json!({ "cmd": "cat notes" }))]));
            let printed = "a line of the notes\n".repeat(250);
            house.commands.next().await.ends(&printed);
        }
        house.model.next().await.answer(says("read"));
        let told = briefs(&host, "main", 1).await;
        assert_eq!(told[0].text, "read", "{window}");
        assert!(refusals > 0, "{window}");
    }
}
