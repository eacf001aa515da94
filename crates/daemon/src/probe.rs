//! Asking real models one tiny question, and local servers what they have: for `init` and `doctor`, without a host.

use crate::error::Error;
use crate::port::{Bound, limits};
use holon_config::Settings;
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, PromptBlock, PromptCache,
    PromptFrame, Stability,
};
use holon_llm::{HttpLimits, Secrets};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The longest a probe may take; a model that is this slow is not one to find out about by waiting.
const PROBE: Duration = Duration::from_secs(60);
/// How long a server on this machine has to take a connection. Nothing listens there as a rule.
const LOCAL_CONNECT: Duration = Duration::from_millis(500);
/// How long it has to say what it offers.
const LOCAL_ANSWER: Duration = Duration::from_secs(3);
/// Enough for a word, and for the little thinking some models do before it.
const PROBE_TOKENS: u32 = 512;

/// What came of asking one model.
#[derive(Debug)]
pub struct Probe {
    /// Which.
    pub model: ModelRef,
    /// Whether it answered.
    pub answered: Result<(), ModelFailure>,
    /// How long that took.
    pub latency_ms: u64,
}

/// Asks each of these models for one word, all at the same time. The results are in the same order.
///
/// # Errors
/// When the providers cannot be set up at all. A model that fails is a result.
pub async fn probe(settings: &Settings, models: &[ModelRef]) -> Result<Vec<Probe>, Error> {
    let bound = Arc::new(Bound::new(settings, limits(settings), Secrets::default())?);
    let asked = models.iter().map(|model| {
        let (bound, model) = (Arc::clone(&bound), model.clone());
        async move { probe_one(&bound, model).await }
    });
    Ok(at_once(asked).await)
}

/// Does all of it at the same time; what came of each is in the order it was given in.
async fn at_once<T: Send + 'static>(
    work: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let mut doing = JoinSet::new();
    for (at, one) in work.enumerate() {
        doing.spawn(async move { (at, one.await) });
    }
    let mut done = doing.join_all().await;
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}

async fn probe_one(bound: &Bound, model: ModelRef) -> Probe {
    let began = Instant::now();
    let (request, cancel) = (question(&model), CancellationToken::new());
    let answered = match tokio::time::timeout(PROBE, bound.call(&request, &|_| {}, &cancel)).await {
        Ok(answer) => answer.map(|ModelReply { .. }| ()),
        Err(_) => Err(ModelFailure::new(
            ModelFailureKind::Timeout,
            format!("{model} did not answer within {} seconds", PROBE.as_secs()),
        )),
    };
    Probe {
        model,
        answered,
        latency_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn question(model: &ModelRef) -> ModelRequest {
    let block = |text: &str| PromptBlock {
        text: text.to_owned(),
        stability: Stability::TurnScoped,
        cache_breakpoint: false,
    };
    let system = "You answer with one word.";
    ModelRequest {
        model: model.clone(),
        round: 1,
        frame: PromptFrame {
            system_prompt: system.to_owned(),
            system_blocks: vec![block(system)],
            context_blocks: vec![block("Say ok.")],
            cache: PromptCache {
                agent_id: "probe".to_owned(),
                prompt_cache_key: "probe".to_owned(),
                context_fingerprint: "probe".to_owned(),
                working_memory_revision: 0,
                compression_epoch: 0,
            },
        },
        conversation: Vec::new(),
        tools: Vec::new(),
        max_output_tokens: PROBE_TOKENS,
        reasoning_effort: None,
        prior_rounds: 0,
    }
}

/// The models each of these providers lists, asked all at the same time and for a moment only: they are servers on
/// this machine that may not be running. In the same order; one that does not answer lists nothing.
///
/// # Errors
/// When the providers cannot be set up at all.
pub async fn local_models(
    settings: &Settings,
    providers: &[&str],
) -> Result<Vec<(String, Vec<String>)>, Error> {
    let short = HttpLimits {
        connect: LOCAL_CONNECT,
        first_byte: LOCAL_ANSWER,
        idle: LOCAL_ANSWER,
        content: LOCAL_ANSWER,
        ..limits(settings)
    };
    let bound = Arc::new(Bound::new(settings, short, Secrets::default())?);
    let asked = providers.iter().map(|provider| {
        let (bound, provider) = (Arc::clone(&bound), (*provider).to_owned());
        async move {
            let listed = bound.list(&provider, &CancellationToken::new()).await;
            (provider, listed.unwrap_or_default())
        }
    });
    Ok(at_once(asked).await)
}
