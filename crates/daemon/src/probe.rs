//! Sends a small request to real models, and lists the models of local servers, for `init` and `doctor` without a
//! host.

use crate::error::Error;
use crate::port::{ProviderBinding, limits};
use holon_config::Settings;
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, PromptBlock, PromptCache,
    PromptFrame, Stability,
};
use holon_domain::provider::{ReasoningPolicy, StatedWindow};
use holon_domain::tool_set::ToolSet;
use holon_llm::{HttpLimits, Secrets};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Timeout of a probe.
const PROBE: Duration = Duration::from_secs(60);
/// Connect timeout of a server on this machine, where usually no server runs.
const LOCAL_CONNECT: Duration = Duration::from_millis(500);
/// Timeout for its list of models.
const LOCAL_ANSWER: Duration = Duration::from_secs(3);
/// Output limit: enough for one word and for the short reasoning of some models.
const PROBE_TOKENS: u32 = 512;

/// The result of probing one model.
#[derive(Debug)]
pub struct Probe {
    pub model: ModelRef,
    pub answered: Result<(), ModelFailure>,
    pub latency_ms: u64,
    /// Context window that the server states. Absent if it states none, if the settings or the table know the window,
    /// and if the model did not answer.
    pub stated_window: Option<StatedWindow>,
}

/// Sends a one-word prompt to each of these models concurrently. The results are in the same order.
///
/// # Errors
/// Fails if the providers cannot be set up. A model that fails is a result.
pub async fn probe(settings: &Settings, models: &[ModelRef]) -> Result<Vec<Probe>, Error> {
    let bound = Arc::new(ProviderBinding::new(
        settings,
        limits(settings),
        Secrets::default(),
    )?);
    let probes = models.iter().map(|model| {
        let (bound, model) = (Arc::clone(&bound), model.clone());
        async move { probe_one(&bound, model).await }
    });
    Ok(join_ordered(probes).await)
}

/// Runs all futures concurrently and returns their results in the given order.
async fn join_ordered<T: Send + 'static>(
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

async fn probe_one(bound: &ProviderBinding, model: ModelRef) -> Probe {
    let began = Instant::now();
    let (request, cancel) = (probe_request(&model), CancellationToken::new());
    let answered = match tokio::time::timeout(PROBE, bound.call(&request, &|_| {}, &cancel)).await {
        Ok(answer) => answer.map(|ModelReply { .. }| ()),
        Err(_) => Err(ModelFailure::new(
            ModelFailureKind::Timeout,
            format!("{model} did not answer within {} seconds", PROBE.as_secs()),
        )),
    };
    let latency_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    // After the answer, because a server that loads models knows the window of a loaded one only.
    let stated_window = match answered {
        Ok(()) => bound.stated_window(&model).await,
        Err(_) => None,
    };
    Probe {
        model,
        answered,
        latency_ms,
        stated_window,
    }
}

fn probe_request(model: &ModelRef) -> ModelRequest {
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
        tools: ToolSet::default(),
        max_output_tokens: PROBE_TOKENS,
        reasoning_effort: None,
        reasoning: ReasoningPolicy::NONE,
        prior_rounds: 0,
    }
}

/// Lists the models of each of these local providers concurrently, with short timeouts because their servers may not
/// be running. The results are in the same order; a server that does not answer lists no models.
///
/// # Errors
/// Fails if the providers cannot be set up.
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
    let bound = Arc::new(ProviderBinding::new(settings, short, Secrets::default())?);
    let probes = providers.iter().map(|provider| {
        let (bound, provider) = (Arc::clone(&bound), (*provider).to_owned());
        async move {
            let listed = bound.list(&provider, &CancellationToken::new()).await;
            (provider, listed.unwrap_or_default())
        }
    });
    Ok(join_ordered(probes).await)
}
