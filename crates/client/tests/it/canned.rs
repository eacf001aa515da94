//! A host with one scripted response per connection, in order. It closes its socket after the last one.

use holon_client::Client;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// What a host that keeps replies says of itself.
pub(crate) const HANDSHAKE: &str = r#"{"ok":true,"protocol":{"name":"holon-control","version":1},
    "auth":{"mode":"local","required":false},"capabilities":["control.idempotency"]}"#;

/// Behaviour of the host on one connection.
#[derive(Debug, Clone)]
pub(crate) enum Script {
    /// Sends these bytes, then closes the connection.
    Send(String),
    /// Closes the connection without a byte.
    HangUp,
    /// Keeps the connection open without a byte.
    Silence,
    /// Sends these bytes after a delay, then closes the connection.
    After(Duration, String),
}

/// Scripts a response with a JSON body.
pub(crate) fn json(status: u16, body: &str) -> Script {
    Script::Send(answer(status, "application/json", "", body))
}

/// Scripts an event stream of these frames, which then breaks off.
pub(crate) fn stream(epoch: &str, frames: &str) -> Script {
    Script::Send(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nholon-epoch: {epoch}\r\n\r\n{frames}"
    ))
}

pub(crate) fn answer(status: u16, kind: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

/// Returns the frame of one event.
pub(crate) fn event(seq: u64) -> String {
    format!(
        "id: {seq}\nevent: max_output_tokens_recovery\ndata: {{\"id\":\"evt_main_{seq}\",\"event_seq\":{seq},\
         \"ts\":\"2026-01-01T00:00:00.000Z\",\"agent_id\":\"main\",\"type\":\"max_output_tokens_recovery\",\"version\":1,\
         \"projection\":{{\"name\":\"operator\",\"raw_payload_included\":false,\"redactions\":[]}},\"provenance\":{{}},\
         \"payload\":{{\"turn_index\":{seq},\"attempt\":1}}}}\n\n"
    )
}

pub(crate) struct Host {
    home: TempDir,
    heard: Arc<Mutex<Vec<String>>>,
    keys: Arc<Mutex<Vec<Option<String>>>>,
}

impl Host {
    pub(crate) fn start(scripts: Vec<Script>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(home.path().join("s")).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keys = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(answer_all(
            listener,
            scripts,
            Arc::clone(&heard),
            Arc::clone(&keys),
        ));
        Self { home, heard, keys }
    }

    pub(crate) fn client(&self) -> Client {
        Client::unix(self.home.path().join("s"))
    }

    /// Returns the first lines of the requests so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// Returns the idempotency keys of the requests so far.
    pub(crate) fn keys(&self) -> Vec<Option<String>> {
        self.keys.lock().unwrap().clone()
    }
}

async fn answer_all(
    listener: UnixListener,
    scripts: Vec<Script>,
    heard: Arc<Mutex<Vec<String>>>,
    keys: Arc<Mutex<Vec<Option<String>>>>,
) {
    let mut silent = Vec::new();
    for script in scripts {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        let first = request.lines().next().unwrap().to_owned();
        heard.lock().unwrap().push(first);
        let key = request
            .lines()
            .find_map(|line| line.strip_prefix("idempotency-key: "));
        keys.lock().unwrap().push(key.map(str::to_owned));
        match script {
            Script::Send(bytes) => stream.write_all(bytes.as_bytes()).await.unwrap(),
            Script::HangUp => {}
            Script::Silence => silent.push(stream),
            Script::After(time, bytes) => {
                tokio::time::advance(time).await;
                stream.write_all(bytes.as_bytes()).await.unwrap();
            }
        }
    }
    if !silent.is_empty() {
        std::future::pending::<()>().await;
    }
}

/// Reads a request with its body.
async fn read_request(stream: &mut UnixStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !is_whole(&text) {
        let count = stream.read(&mut buffer).await.unwrap();
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    text
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    body.len() == length.map_or(0, |length| length.parse().unwrap())
}
