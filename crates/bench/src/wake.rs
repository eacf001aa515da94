//! From a wake of a resting agent to the first byte of its request at the provider, over loopback.
//!
//! The baseline is a message of an operator, which takes the same way without a tick.

use crate::round;
use crate::stats::{Sample, round};
use crate::world;
use holon_domain::AgentId;
use holon_engine::Host;
use holon_engine::request::Wake;
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Wakes and messages that are measured, in alternation, and those before them that are not.
const TURNS: usize = 100;
const UNMEASURED: usize = 5;
/// Longest time until a request comes; only a defect exceeds it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures wakes and messages of one agent in alternation.
pub(crate) async fn to_first_byte() -> Fallible<Value> {
    let provider = Provider::start()?;
    let dir = tempfile::tempdir()?;
    let host = round::host_over(provider.port, dir.path()).await?;
    let agent_id = world::agent(&host, "worker").await?;
    let (mut messages, mut wakes) = (Sample::default(), Sample::default());
    for turn in 0..UNMEASURED + TURNS {
        let began = Instant::now();
        host.control().admit(&agent_id, world::prompt()).await?;
        let message = provider.first_byte()?.duration_since(began);
        until_rest(&host, &agent_id).await?;
        let began = Instant::now();
        host.control().wake(&agent_id, look()).await?;
        let wake = provider.first_byte()?.duration_since(began);
        until_rest(&host, &agent_id).await?;
        if turn >= UNMEASURED {
            messages.add(message);
            wakes.add(wake);
        }
    }
    host.shut_down().await?;
    Ok(json!({
        "message": messages.report(), "wake": wakes.report(),
        "p50_ratio": round_ratio(&wakes, &messages),
    }))
}

fn round_ratio(wakes: &Sample, messages: &Sample) -> f64 {
    round(wakes.quantile(0.5) / messages.quantile(0.5))
}

fn look() -> Wake {
    Wake {
        reason: "the mail is here".to_owned(),
        source: None,
        correlation_id: None,
        causation_id: None,
    }
}

async fn until_rest(host: &Host, agent_id: &AgentId) -> Fallible<()> {
    let mut news = host.reads().subscribe();
    loop {
        let status = host.reads().status(agent_id).await?;
        if status.agent.pending == 0 && status.agent.current_run_id.is_none() {
            return Ok(());
        }
        drop(news.recv().await);
    }
}

/// A chat-completions server that reports the time of the first byte of each request.
struct Provider {
    port: u16,
    first_bytes: Receiver<Instant>,
}

impl Provider {
    fn start() -> Fallible<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let (sender, first_bytes) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                // A connection ends with the host.
                std::thread::spawn(move || drop(serve(stream, &sender)));
            }
        });
        Ok(Self { port, first_bytes })
    }

    fn first_byte(&self) -> Fallible<Instant> {
        Ok(self.first_bytes.recv_timeout(PATIENCE)?)
    }
}

fn serve(mut stream: TcpStream, first_bytes: &Sender<Instant>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut first = [0];
        reader.read_exact(&mut first)?;
        let came = Instant::now();
        round::read_message(&mut reader)?;
        if first_bytes.send(came).is_err() {
            // The bench is over.
            return Ok(());
        }
        stream.write_all(&round::answer("", false))?;
    }
}
