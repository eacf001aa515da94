//! What the runtime adds to a model round: the answer parsed and committed, the next request built and sent.
//!
//! The provider is instant and on loopback, so the time between its answer and the next whole request is all the
//! runtime's own. The baseline sends the same bytes over the same kind of connection and does nothing else.

use crate::stats::Sample;
use crate::world;
use async_trait::async_trait;
use holon_domain::delta::TextSink;
use holon_domain::model::{ModelChain, ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{ModelPolicy, ProviderSpec, Transport};
use holon_engine::Host;
use holon_engine::ports::{ModelClient, Ports};
use holon_llm::{Credential, Credentials, HttpLimits, Router};
use holon_testkit::ports::{FixedModel, WIDE_POLICY};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Rounds of one turn that are measured, after the first; few, so that the conversation stays as long as it is.
const ROUNDS: usize = 10;
const TURNS: usize = 20;
/// Bytes of a short conversation.
const SHORT: usize = 5 << 10;

/// Starts a host in this directory whose model is asked over HTTP at a port of this machine.
pub(crate) async fn host_over(port: u16, dir: &Path) -> Fallible<Host> {
    let model = Over(Router::new(
        dir.to_owned(),
        vec![spec(port)],
        Arc::new(NoKeys),
        HttpLimits::default(),
    )?);
    let ports = Ports {
        model: Arc::new(model),
        ..world::ports(FixedModel::Text)
    };
    let chain = ModelChain::only(ModelRef::parse("bench/model")?);
    world::host_with(&dir.join("holon.sqlite3"), ports, chain).await
}

/// A turn of many rounds whose conversation has about this many bytes.
pub(crate) async fn overhead(conversation_bytes: usize) -> Fallible<Value> {
    let provider = Provider::start(Script {
        first_words: conversation_bytes,
        ..Script::SHORT
    })?;
    let dir = tempfile::tempdir()?;
    let host = host_over(provider.port, dir.path()).await?;
    let agent_id = world::agent(&host, "worker").await?;
    for _ in 0..TURNS {
        crate::admission::turn(&host, &agent_id).await?;
    }
    host.shut_down().await?;
    let Served { between, request } = provider.finish()?;
    let bare = bare(&request)?;
    Ok(json!({
        "conversation_bytes": conversation_bytes,
        "request_bytes": request.len(),
        "bare_exchange": bare.report(),
        "answer_to_next_request": between.report(),
        // The aim is that of a short conversation.
        "answer_to_next_request_p50_us_aim": (conversation_bytes <= SHORT).then_some(800),
    }))
}

/// The rounds of one long turn: those around the tenth and the last ones. Each adds a call and its result, so the request
/// grows; what the runtime adds to it must not.
pub(crate) async fn late(rounds: usize) -> Fallible<Value> {
    let provider = Provider::start(Script {
        turns: 1,
        rounds,
        ..Script::SHORT
    })?;
    let dir = tempfile::tempdir()?;
    let host = host_over(provider.port, dir.path()).await?;
    let agent_id = world::agent(&host, "worker").await?;
    crate::admission::turn(&host, &agent_id).await?;
    host.shut_down().await?;
    let Served { between, request } = provider.finish()?;
    let early = between.part(5..15);
    let late = between.part(rounds.saturating_sub(10)..rounds);
    Ok(json!({
        "rounds": rounds,
        "last_request_bytes": request.len(),
        "rounds_6_to_15": early.report(),
        "last_10_rounds": late.report(),
        "p50_ratio": crate::stats::round(late.quantile(0.5) / early.quantile(0.5)),
    }))
}

/// The same request over and over on one connection, answered by the same server.
fn bare(request: &[u8]) -> Fallible<Sample> {
    let provider = Provider::start(Script::SHORT)?;
    let mut stream = TcpStream::connect(("127.0.0.1", provider.port))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    for _ in 0..TURNS * (ROUNDS + 1) {
        stream.write_all(request)?;
        read_message(&mut reader)?;
    }
    drop((stream, reader));
    Ok(provider.finish()?.between)
}

#[derive(Debug)]
pub(crate) struct NoKeys;

#[async_trait]
impl Credentials for NoKeys {
    async fn credential(&self, _: &str) -> Result<Option<Credential>, String> {
        Ok(None)
    }
}

/// The real client in a window nothing fills.
#[derive(Debug)]
pub(crate) struct Over(pub(crate) Router);

#[async_trait]
impl ModelClient for Over {
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        self.0.call(request, text, &cancel).await
    }

    async fn check(&self, _: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, _: &ModelRef) -> ModelPolicy {
        WIDE_POLICY
    }
}

/// The request that the fake provider received and the times around it.
struct Served {
    /// From the end of an answer to the end of the next request.
    between: Sample,
    /// The last request, head and body.
    request: Vec<u8>,
}

/// A chat-completions server for one connection.
struct Provider {
    port: u16,
    serving: JoinHandle<std::io::Result<Served>>,
}

/// What the provider answers.
#[derive(Debug, Clone, Copy)]
struct Script {
    turns: usize,
    /// Rounds of each turn that call a tool.
    rounds: usize,
    /// Bytes of words in the first answer of each turn.
    first_words: usize,
}

impl Script {
    const SHORT: Self = Self {
        turns: TURNS,
        rounds: ROUNDS,
        first_words: 0,
    };
}

impl Provider {
    fn start(script: Script) -> Fallible<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let serving = std::thread::spawn(move || {
            let (stream, _) = listener.accept()?;
            serve(stream, script)
        });
        Ok(Self { port, serving })
    }

    fn finish(self) -> Fallible<Served> {
        let served = self.serving.join().map_err(|_| "the provider panicked")?;
        Ok(served?)
    }
}

/// A provider on this port of loopback.
pub(crate) fn spec(port: u16) -> ProviderSpec {
    ProviderSpec {
        id: "bench".to_owned(),
        transport: Transport::OpenaiChatCompletions,
        base_url: format!("http://127.0.0.1:{port}/v1"),
        store_responses: false,
        context_management: None,
        reasoning_effort: None,
        omit: std::collections::BTreeSet::new(),
    }
}

/// In each turn the first answer has the words that make the conversation long; then call after call of a tool that the
/// decision itself answers, which costs no commit of its own; then the end.
fn serve(mut stream: TcpStream, script: Script) -> std::io::Result<Served> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut served = Served {
        between: Sample::default(),
        request: Vec::new(),
    };
    let words = "word ".repeat(script.first_words / 5);
    for _ in 0..script.turns {
        read_message(&mut reader)?;
        for round in 0..script.rounds {
            let said = if round == 0 { words.as_str() } else { "" };
            stream.write_all(&answer(said, true))?;
            let answered = Instant::now();
            served.request = read_message(&mut reader)?;
            served.between.add(answered.elapsed());
        }
        stream.write_all(&answer("", false))?;
    }
    Ok(served)
}

pub(crate) fn answer(words: &str, calls: bool) -> Vec<u8> {
    let call = json!([{ "id": "c1", "type": "function",
        "function": { "name": "TaskList", "arguments": "{}" } }]);
    let (content, tool_calls, why) = if calls {
        (json!(words), call, "tool_calls")
    } else {
        (json!("done"), Value::Null, "stop")
    };
    let body = json!({
        "choices": [{ "index": 0, "finish_reason": why,
            "message": { "role": "assistant", "content": content, "tool_calls": tool_calls } }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    })
    .to_string();
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// One HTTP message with a content length, head and body.
pub(crate) fn read_message(reader: &mut impl std::io::BufRead) -> std::io::Result<Vec<u8>> {
    let (mut message, mut length) = (Vec::new(), 0_usize);
    loop {
        let start = message.len();
        if reader.read_until(b'\n', &mut message)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line =
            String::from_utf8_lossy(message.get(start..).unwrap_or_default()).to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.take(length as u64).read_to_end(&mut message)?;
    Ok(message)
}
