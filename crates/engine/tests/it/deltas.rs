//! Text of answers while they arrive: its stamps, its offsets, and readers that are absent, late or slow.

use crate::house::{House, agent, briefs, create, prompt, until_event};
use crate::runs::request;
use async_trait::async_trait;
use holon_domain::delta::AssistantDelta;
use holon_domain::delta::TextSink;
use holon_domain::event::Event;
use holon_domain::limits::{self, DELTAS_KEPT, SUSPENSION_PAUSE_MAX_MS};
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_engine::ports::ModelClient;
use holon_engine::request::RunRequest;
use holon_engine::{Conduct, Host, RunNews};
use holon_testkit::ports::{SMALL_POLICY, calls, failure, says};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

type Attempt = (Vec<String>, Result<ModelReply, ModelFailure>);

/// A model that says the pieces of each attempt before it returns the attempt's result.
#[derive(Debug)]
struct Streaming(Mutex<VecDeque<Attempt>>);

#[async_trait]
impl ModelClient for Streaming {
    async fn call(
        &self,
        _request: &ModelRequest,
        text: TextSink<'_>,
        _cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let next = self.0.lock().unwrap().pop_front();
        let (pieces, result) = next.expect("no further attempt is asked for");
        pieces.iter().for_each(|piece| text(piece));
        result
    }

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        SMALL_POLICY
    }
}

/// Starts a host with agent `main` whose model makes these attempts.
async fn host_of(house: &House, attempts: impl IntoIterator<Item = Attempt>) -> Host {
    let model = Streaming(Mutex::new(attempts.into_iter().collect()));
    let host = house.start_on(Conduct::default(), Arc::new(model)).await;
    create(&host, "main").await;
    host
}

fn attempt(pieces: &[&str], result: Result<ModelReply, ModelFailure>) -> Attempt {
    (
        pieces.iter().map(|&piece| piece.to_owned()).collect(),
        result,
    )
}

/// Takes the deltas that have come.
fn taken(deltas: &mut Receiver<Arc<AssistantDelta>>) -> Vec<AssistantDelta> {
    std::iter::from_fn(|| deltas.try_recv().ok())
        .map(|delta| AssistantDelta::clone(&delta))
        .collect()
}

#[tokio::test]
async fn a_delta_names_agent_turn_round_and_effect_and_where_its_text_stands() {
    let house = House::new();
    let host = host_of(
        &house,
        [
            attempt(&["I ", "look."], calls(&[("AgentGet", json!({}))])),
            attempt(&["Se\u{e9}n", "."], says("Se\u{e9}n.")),
        ],
    )
    .await;
    let mut deltas = host.reads().deltas(&agent("main"));
    prompt(&host, "main", "hello").await;
    briefs(&host, "main", 1).await;
    let seen = taken(&mut deltas);
    let places: Vec<(u64, u32, u64, &str)> = seen
        .iter()
        .map(|one| (one.turn_index, one.round, one.offset, one.text.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            (1, 1, 0, "I "),
            (1, 1, 2, "look."),
            (1, 2, 0, "Se\u{e9}n"),
            (1, 2, 5, "."),
        ]
    );
    assert!(seen.iter().all(|one| one.agent_id == agent("main")));
    assert_eq!(seen[0].effect, seen[1].effect);
    assert_ne!(seen[1].effect, seen[2].effect);
}

#[tokio::test]
async fn a_second_attempt_at_a_round_has_another_effect_and_begins_anew() {
    let house = House::new();
    let cut = Err(failure(ModelFailureKind::ServerError));
    let host = host_of(
        &house,
        [
            attempt(&["Half", " an"], cut),
            attempt(&["Whole."], says("Whole.")),
        ],
    )
    .await;
    let mut deltas = host.reads().deltas(&agent("main"));
    prompt(&host, "main", "hello").await;
    until_event(&host, "main", "provider_retry_scheduled").await;
    house.clock.advance(SUSPENSION_PAUSE_MAX_MS);
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].text, "Whole.");
    let seen = taken(&mut deltas);
    let rounds: Vec<(u64, u32, u64)> = seen
        .iter()
        .map(|one| (one.turn_index, one.round, one.offset))
        .collect();
    assert_eq!(rounds, [(1, 1, 0), (1, 1, 4), (1, 1, 0)]);
    assert_eq!(seen[0].effect, seen[1].effect);
    assert_ne!(seen[1].effect, seen[2].effect);
}

#[tokio::test]
async fn a_reader_gets_the_deltas_of_its_own_agent_only() {
    let house = House::new();
    let host = host_of(&house, [attempt(&["Hello."], says("Hello."))]).await;
    let mut own = host.reads().deltas(&agent("main"));
    let mut other = host.reads().deltas(&agent("other"));
    prompt(&host, "main", "hello").await;
    briefs(&host, "main", 1).await;
    assert_eq!(taken(&mut own).len(), 1);
    assert_eq!(other.try_recv().unwrap_err(), TryRecvError::Empty);
}

#[tokio::test]
async fn what_was_said_before_a_reader_came_is_not_kept() {
    let house = House::new();
    let host = host_of(&house, [attempt(&["Hello."], says("Hello."))]).await;
    prompt(&host, "main", "hello").await;
    briefs(&host, "main", 1).await;
    let mut deltas = host.reads().deltas(&agent("main"));
    assert_eq!(deltas.try_recv().unwrap_err(), TryRecvError::Empty);
}

#[tokio::test]
async fn a_reader_that_never_reads_slows_no_turn_and_misses_the_oldest_pieces() {
    let house = House::new();
    let pieces = vec!["x".to_owned(); 3 * DELTAS_KEPT];
    let host = host_of(&house, [(pieces, says("done"))]).await;
    let mut deltas = host.reads().deltas(&agent("main"));
    prompt(&host, "main", "hello").await;
    assert_eq!(briefs(&host, "main", 1).await[0].text, "done");
    let missed = deltas.try_recv().unwrap_err();
    assert_eq!(missed, TryRecvError::Lagged(2 * DELTAS_KEPT as u64));
}

#[tokio::test]
async fn a_watched_run_tells_its_agent_first_and_its_deltas_before_the_recorded_round() {
    for agent_id in [None, Some(agent("main"))] {
        let request = RunRequest {
            agent_id,
            ..request("hello")
        };
        check_news_of_a_run(request).await;
    }
}

async fn check_news_of_a_run(request: RunRequest) {
    let house = House::new();
    let host = host_of(&house, [attempt(&["Hel", "lo."], says("Hello."))]).await;
    let (news, mut heard) = mpsc::channel(512);
    let run = host.control().run_once_watched(request, news).await;
    let response = run.unwrap();
    assert_eq!(response.final_text, "Hello.");
    let Some(RunNews::Began(agent_id)) = heard.recv().await else {
        panic!("the agent is told first");
    };
    assert_eq!(agent_id, response.agent_id);
    let mut seen = Vec::new();
    while let Some(news) = heard.recv().await {
        seen.push(match news {
            RunNews::Began(again) => panic!("{again} began twice"),
            RunNews::Queued(_) => panic!("the agent has no other message"),
            RunNews::Delta(delta) => delta.text.clone(),
            RunNews::Event(record) => record.event.kind().to_owned(),
        });
    }
    let at = |what: &str| seen.iter().position(|one| one == what);
    assert!(at("Hel").is_some() && at("Hel") < at("lo."), "{seen:?}");
    assert!(at("lo.") < at("assistant_round_recorded"), "{seen:?}");
}

#[tokio::test]
async fn a_caller_that_does_not_read_the_news_of_its_run_gets_its_answer_all_the_same() {
    let house = House::new();
    let pieces = vec!["x".to_owned(); 3 * DELTAS_KEPT];
    let host = host_of(&house, [(pieces, says("done"))]).await;
    let (news, _unread) = mpsc::channel(1);
    let request = RunRequest {
        agent_id: Some(agent("main")),
        ..request("hello")
    };
    let run = host.control().run_once_watched(request, news).await;
    assert_eq!(run.unwrap().final_text, "done");
}

#[tokio::test]
async fn a_watched_run_behind_another_turn_tells_that_it_waits_and_passes_its_own_text_only() {
    let house = House::new();
    let host = host_of(
        &house,
        [
            attempt(&["Half"], Err(failure(ModelFailureKind::ServerError))),
            attempt(&["The", "irs."], says("Theirs.")),
            attempt(&["Mi", "ne."], says("Mine.")),
        ],
    )
    .await;
    prompt(&host, "main", "theirs").await;
    until_event(&host, "main", "provider_retry_scheduled").await;
    let (news, mut heard) = mpsc::channel(512);
    let request = RunRequest {
        agent_id: Some(agent("main")),
        ..request("mine")
    };
    let control = host.control();
    let seen = async {
        let mut seen = Vec::new();
        while let Some(news) = heard.recv().await {
            match news {
                RunNews::Began(_) => {}
                RunNews::Queued(admitted) => {
                    seen.push(format!("queued {}", admitted.message_seq));
                    // Longer than the first pause of a retry, shorter than the patience of a caller.
                    house.clock.advance(limits::ATTENDED_PATIENCE_MS / 2);
                }
                RunNews::Delta(delta) => seen.push(delta.text.clone()),
                RunNews::Event(record) => {
                    if let Event::TurnStarted(e) = &record.event {
                        seen.push(format!("turn of {:?}", e.message_seq));
                    }
                }
            }
        }
        seen
    };
    let (run, seen) = tokio::join!(control.run_once_watched(request, news), seen);
    assert_eq!(run.unwrap().final_text, "Mine.");
    assert_eq!(seen[0], "queued 2", "{seen:?}");
    let is_text = |one: &&String| !one.starts_with("turn of") && !one.starts_with("queued");
    let texts: Vec<&String> = seen.iter().filter(is_text).collect();
    assert_eq!(texts, ["Mi", "ne."], "{seen:?}");
    assert!(seen.contains(&"turn of Some(2)".to_owned()), "{seen:?}");
}
