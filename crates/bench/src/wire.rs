//! The load generator: bare HTTP/1.1 over TCP with keep-alive, and a line reader for event streams.

use std::error::Error;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// One connection to a host.
#[derive(Debug)]
pub(crate) struct Wire {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    host: String,
    token: String,
}

impl Wire {
    pub(crate) async fn connect(
        addr: &str,
        token: &str,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        let (read, write) = stream.into_split();
        Ok(Self {
            read: BufReader::new(read),
            write,
            host: addr.to_owned(),
            token: token.to_owned(),
        })
    }

    fn head(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let Self { host, token, .. } = self;
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<(u16, String), Box<dyn Error + Send + Sync>> {
        self.request_with(method, path, "", body).await
    }

    /// Sends a request with further headers and reads its whole answer.
    pub(crate) async fn request_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Result<(u16, String), Box<dyn Error + Send + Sync>> {
        let request = self.head(method, path, headers, body);
        self.write.write_all(request.as_bytes()).await?;
        let status = self.status().await?;
        let mut length = 0;
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.read.read_exact(&mut body).await?;
        Ok((status, String::from_utf8(body)?))
    }

    /// Opens an event stream; its lines follow.
    pub(crate) async fn stream(&mut self, path: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let request = self.head("GET", path, "", "");
        self.write.write_all(request.as_bytes()).await?;
        match self.status().await? {
            200 => Ok(()),
            status => Err(format!("the stream was refused with {status}").into()),
        }
    }

    async fn status(&mut self) -> Result<u16, Box<dyn Error + Send + Sync>> {
        let line = self.line().await?;
        Ok(line.split(' ').nth(1).ok_or("no status line")?.parse()?)
    }

    /// The next line, without its end.
    pub(crate) async fn line(&mut self) -> Result<String, Box<dyn Error + Send + Sync>> {
        let mut line = String::new();
        if self.read.read_line(&mut line).await? == 0 {
            return Err("the connection was closed".into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Waits for an event of this kind and says when it came.
    pub(crate) async fn await_event(
        &mut self,
        kind: &str,
    ) -> Result<Instant, Box<dyn Error + Send + Sync>> {
        let wanted = format!("event: {kind}");
        loop {
            if self.line().await? == wanted {
                return Ok(Instant::now());
            }
        }
    }

    /// Waits for an event of this kind whose data has these words, and says when it came.
    pub(crate) async fn await_event_with(
        &mut self,
        kind: &str,
        words: &str,
    ) -> Result<Instant, Box<dyn Error + Send + Sync>> {
        loop {
            let at = self.await_event(kind).await?;
            if self.line().await?.contains(words) {
                return Ok(at);
            }
        }
    }
}

/// Asks until the host is healthy; answers how long that took.
pub(crate) async fn healthy(
    addr: &str,
    began: Instant,
) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    loop {
        if let Ok(mut wire) = Wire::connect(addr, "").await
            && let Ok((200, _)) = wire.request("GET", "/healthz", "").await
        {
            return Ok(began.elapsed());
        }
        if began.elapsed() > Duration::from_secs(30) {
            return Err("the host did not become healthy".into());
        }
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}
