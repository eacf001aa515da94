//! Sends a small request to real models, and lists the models of local servers, for `init` and `doctor` without a
//! host.

use crate::error::Error;
use crate::port::{ProviderBinding, limits};
use holon_config::Settings;
use holon_domain::model::{
    CacheLife, ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, PromptBlock,
    PromptCache, PromptFrame, Stability,
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
    let bind = || ProviderBinding::new(settings, limits(settings), Secrets::default());
    let (bound, fresh) = (Arc::new(bind()?), Arc::new(bind()?));
    let probes = models.iter().map(|model| {
        let (bound, fresh) = (Arc::clone(&bound), Arc::clone(&fresh));
        let model = model.clone();
        async move { probe_one(&bound, &fresh, model).await }
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

/// Probes one model. `fresh` has no connection yet: llama.cpp may close the one that brought its answer, and then the
/// first look at its window gets none.
async fn probe_one(bound: &ProviderBinding, fresh: &ProviderBinding, model: ModelRef) -> Probe {
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
        Ok(()) => match bound.stated_window(&model).await {
            None if bound.is_window_unanswered(&model).await => fresh.stated_window(&model).await,
            stated => stated,
        },
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
                life: CacheLife::Usual,
            },
        },
        thread: Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use holon_config::{Env, FileSettings, Flags};
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::{TcpListener, TcpStream};

    /// Reads one request and returns its path. `None` at the end of the connection.
    async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<String> {
        let (mut path, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            let read = stream.read_line(&mut line).await.ok()?;
            let line = line.trim_end();
            if read == 0 {
                return None;
            }
            if line.is_empty() {
                break;
            }
            path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
            let lower = line.to_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        stream.read_exact(&mut vec![0; length]).await.ok()?;
        path
    }

    async fn answer(stream: &mut BufReader<TcpStream>, kind: &str, body: &str) {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let whole = format!("{head}{body}");
        let written = stream.write_all(whole.as_bytes()).await;
        written.expect("the client reads");
    }

    /// A server of models on this machine.
    struct LocalServer {
        /// True for one like llama.cpp: the connection that brought an answer of the model brings no other.
        hangs_up: bool,
        props: &'static str,
        /// Requests for the list of models.
        lists: AtomicU64,
    }

    async fn serve(mut stream: BufReader<TcpStream>, server: Arc<LocalServer>) {
        let mut has_answered = false;
        while let Some(path) = read_request(&mut stream).await {
            if has_answered && server.hangs_up {
                break;
            }
            let json = "application/json";
            match path.as_str() {
                "/v1/models" => {
                    let list = r#"{"data":[{"id":"m","owned_by":"llamacpp"}]}"#;
                    server.lists.fetch_add(1, Ordering::SeqCst);
                    answer(&mut stream, json, list).await;
                }
                "/props" => {
                    answer(&mut stream, json, server.props).await;
                }
                _ => {
                    let chunk = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;
                    let events = format!("data: {chunk}\n\ndata: [DONE]\n\n");
                    answer(&mut stream, "text/event-stream", &events).await;
                    has_answered = true;
                }
            }
        }
    }

    /// Probes a model of a server. Returns the window that it states, and how often it was asked for its list.
    async fn probed_window(hangs_up: bool, props: &'static str) -> (Option<StatedWindow>, u64) {
        let local = Arc::new(LocalServer {
            hangs_up,
            props,
            lists: AtomicU64::new(0),
        });
        let asked = Arc::clone(&local);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(BufReader::new(stream), Arc::clone(&local)));
            }
        });
        let text = format!("[providers.llamacpp]\nbase_url = \"http://{address}/v1\"\n");
        let file = FileSettings::parse(&text, Path::new("/h/config.toml")).unwrap();
        let flags = Flags {
            home: Some("/h".into()),
            ..Flags::default()
        };
        let settings = holon_config::resolve(&Env::default(), &flags, Some(&file)).unwrap();
        let model = ModelRef::parse("llamacpp/m").unwrap();
        let probes = probe(&settings, &[model]).await.unwrap();
        let [probed] = probes.as_slice() else {
            panic!("one result");
        };
        assert_eq!(probed.answered, Ok(()));
        server.abort();
        (probed.stated_window, asked.lists.load(Ordering::SeqCst))
    }

    #[tokio::test]
    async fn a_window_is_asked_for_again_on_a_fresh_connection() {
        let props = r#"{"default_generation_settings":{"n_ctx":6144}}"#;
        let (window, _) = probed_window(true, props).await;
        assert_eq!(window, Some(StatedWindow::Exactly(6_144)));
    }

    #[tokio::test]
    async fn a_server_that_answers_without_a_window_is_not_asked_again() {
        assert_eq!(probed_window(false, "{}").await, (None, 1));
    }
}
