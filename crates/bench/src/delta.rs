//! From the first byte of a streamed answer to the subscriber of the event stream, through the real program.
//!
//! The provider is on loopback and holds the rest of each answer back until the subscriber has its first words. The
//! baseline is the same write, read at the other end of one connection.

use crate::program::{Fallible, Served, expect_ok, home};
use crate::stats::Sample;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// Measures this many answers.
pub(crate) async fn first(holon: &Path, answers: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let mut provider = Provider::start().await?;
    std::fs::write(home.join("config.toml"), provider.settings())?;
    let served = Served::start_with(holon, &home, "bench/model").await?;
    let mut operator = served.wire().await?;
    let mut subscriber = served.wire().await?;
    let create = "/control/agents/watched/create";
    expect_ok(operator.request("POST", create, "{}").await?)?;
    let path = "/agents/watched/events/stream?deltas=true";
    subscriber.stream(path).await?;
    let mut subject = Sample::default();
    for _ in 0..answers {
        let prompt = "/control/agents/watched/prompt";
        expect_ok(operator.request("POST", prompt, r#"{"text":"go"}"#).await?)?;
        let seen = subscriber.await_event("assistant_delta").await?;
        subject.add(seen.duration_since(provider.began().await?));
        provider.go_on.add_permits(1);
        subscriber.await_event("brief_created").await?;
    }
    Ok(json!({
        "bare_write_to_read": bare(answers).await?.report(),
        "first_byte_to_subscriber": subject.report(),
        "first_byte_to_subscriber_p50_us_aim": 2_000,
    }))
}

/// The first bytes of an answer, written and read over one connection.
async fn bare(times: usize) -> Fallible<Sample> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut writer = TcpStream::connect(listener.local_addr()?).await?;
    writer.set_nodelay(true)?;
    let (mut reader, _) = listener.accept().await?;
    let opening = opening();
    let (mut sample, mut bytes) = (Sample::default(), vec![0; opening.len()]);
    for _ in 0..times {
        let began = Instant::now();
        writer.write_all(opening.as_bytes()).await?;
        reader.read_exact(&mut bytes).await?;
        sample.add(began.elapsed());
    }
    Ok(sample)
}

/// A chat-completions server whose answers stop after their first words.
struct Provider {
    addr: String,
    began: mpsc::UnboundedReceiver<Instant>,
    /// One permit for the rest of each answer.
    go_on: Arc<Semaphore>,
}

impl Provider {
    async fn start() -> Fallible<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?.to_string();
        let (sender, began) = mpsc::unbounded_channel();
        let go_on = Arc::new(Semaphore::new(0));
        let rest = Arc::clone(&go_on);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, sender.clone(), Arc::clone(&rest)));
            }
        });
        Ok(Self { addr, began, go_on })
    }

    /// The settings that make it the provider `bench`.
    fn settings(&self) -> String {
        format!(
            "[providers.bench]\ntransport = \"openai_chat_completions\"\nbase_url = \"http://{}/v1\"\n",
            self.addr
        )
    }

    /// The time just before the first byte of the newest answer.
    async fn began(&mut self) -> Fallible<Instant> {
        Ok(self.began.recv().await.ok_or("the provider ended")?)
    }
}

async fn serve(
    stream: TcpStream,
    began: mpsc::UnboundedSender<Instant>,
    go_on: Arc<Semaphore>,
) -> Fallible<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        // Questions about the model's window are sent too, some of them as POST.
        let first = read_request(&mut stream).await?;
        if !first.starts_with("POST /v1/chat/completions ") {
            let none = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(none).await?;
            continue;
        }
        let at = Instant::now();
        stream.write_all(opening().as_bytes()).await?;
        began.send(at)?;
        go_on.acquire().await?.forget();
        stream.write_all(rest().as_bytes()).await?;
    }
}

/// Reads a request and answers its first line.
pub(crate) async fn read_request(stream: &mut BufReader<TcpStream>) -> Fallible<String> {
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).await?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err("the connection was closed".into());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(first)
}

/// The head of an answer and its first words.
pub(crate) fn opening() -> String {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    format!("{head}{}", piece("Hello there. ", None))
}

/// The rest of an answer.
pub(crate) fn rest() -> String {
    let done = "data: [DONE]\n\n";
    let last = piece("Done.", Some("stop"));
    format!("{last}{:x}\r\n{done}\r\n0\r\n\r\n", done.len())
}

/// One event in a chunk of its own.
fn piece(words: &str, why: Option<&str>) -> String {
    let event = json!({
        "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": { "role": "assistant", "content": words }, "finish_reason": why }],
    });
    let event = format!("data: {event}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}
