//! A server on a fresh socket and a fresh port, with a client that sends raw bytes.

use crate::host::ScriptedHost;
use crate::schemas;
use holon_client::Client;
use holon_domain::AgentId;
use holon_server::{
    Error, HostPorts, PeerCommand, PeerFinder, ServerConfig, Token, bind_unix, serve,
};
use holon_testkit::engine::TestEngine;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const SECRET: &str = "0123456789abcdefghijkl";

/// Answers for every caller on the socket.
struct Peers(Option<PeerCommand>);

impl PeerFinder for Peers {
    fn command_of(&self, _pid: i32) -> Option<PeerCommand> {
        self.0.clone()
    }
}

pub(crate) struct World {
    pub(crate) engine: TestEngine,
    pub(crate) host: Arc<ScriptedHost>,
    pub(crate) address: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) shutdown: CancellationToken,
    pub(crate) serving: JoinHandle<Result<(), Error>>,
    _home: TempDir,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_on(TestEngine::start().await).await
    }

    /// Starts a server of this engine.
    pub(crate) async fn start_on(engine: TestEngine) -> Self {
        Self::start_for(engine, None).await
    }

    /// Starts a server for which every caller on the socket belongs to this command of an agent.
    pub(crate) async fn start_for(engine: TestEngine, peer: Option<PeerCommand>) -> Self {
        Self::start_with(engine, peer, Arc::default()).await
    }

    /// Starts another server of the same engine and host, as after a restart.
    pub(crate) async fn restarted(self) -> Self {
        self.shutdown.cancel();
        self.serving.await.unwrap().unwrap();
        Self::start_with(self.engine, None, self.host).await
    }

    async fn start_with(
        engine: TestEngine,
        peer: Option<PeerCommand>,
        host: Arc<ScriptedHost>,
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("holon.sock");
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let doors = HostPorts {
            peers: Arc::new(Peers(peer)),
            reads: engine.reads(),
            control: engine.control(),
            setup: Arc::clone(&host) as Arc<_>,
            manage: Arc::clone(&host) as Arc<_>,
        };
        let config = ServerConfig {
            unix_later: None,
            default_agent: AgentId::parse("main").unwrap(),
            workspace_dir: "/srv/holon/agents".into(),
            home_dir: "/srv/holon".into(),
            pid: 4711,
            tcp: Some(tcp),
            unix: Some(bind_unix(&socket).unwrap()),
            token: Token::new(SECRET).unwrap(),
            allowed_hosts: Vec::new(),
            advertise_url: None,
        };
        let serving = tokio::spawn(serve(config, doors, shutdown.clone()));
        Self {
            engine,
            host,
            address,
            socket,
            shutdown,
            serving,
            _home: home,
        }
    }

    pub(crate) fn local(&self) -> Client {
        Client::unix(&self.socket)
    }

    pub(crate) fn remote(&self) -> Client {
        Client::tcp(self.address.to_string(), SECRET).unwrap()
    }

    /// Sends raw request bytes and reads the whole response.
    pub(crate) async fn over_tcp(&self, request: impl AsRef<[u8]>) -> Reply {
        converse(
            TcpStream::connect(self.address).await.unwrap(),
            request.as_ref(),
        )
        .await
    }

    /// Sends raw request bytes over the socket.
    pub(crate) async fn over_unix(&self, request: impl AsRef<[u8]>) -> Reply {
        converse(
            UnixStream::connect(&self.socket).await.unwrap(),
            request.as_ref(),
        )
        .await
    }

    /// Sends a request as the socket's owner and closes the connection. The answer must be as the document describes it.
    pub(crate) async fn ask(&self, method: &str, target: &str, body: &str) -> Reply {
        let kind = if body.is_empty() {
            ""
        } else {
            "Content-Type: application/json\r\n"
        };
        let length = body.len();
        let reply = self
            .over_unix(format!(
                "{method} {target} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            ))
            .await;
        schemas::check(method, target, &reply);
        reply
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Returns status and code of a refusal and checks its JSON shape.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let body: holon_api::ErrorBody =
            serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"));
        assert!(!body.ok && !body.error.is_empty(), "{self:?}");
        (self.status, body.code.unwrap())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> Reply {
    stream.write_all(request).await.unwrap();
    read_reply(&mut stream).await
}

pub(crate) async fn read_reply(stream: &mut (impl AsyncRead + Unpin)) -> Reply {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    Reply {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
