//! The server itself, tested by a client on plain sockets.

mod answers;
mod rules;
mod wire;

use super::{Protocol, Provider};
use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

/// One connection to a server.
struct Client(BufReader<TcpStream>);

/// An answer as received.
#[derive(Debug)]
struct ReceivedAnswer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl ReceivedAnswer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a document")
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("text")
    }
}

impl Client {
    fn to(provider: &Provider) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", provider.port())).expect("it listens");
        Self(BufReader::new(stream))
    }

    fn send(&mut self, path: &str, headers: &[(&str, &str)], body: &Value) {
        let body = body.to_string();
        let mut head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nuser-agent: test\r\n");
        head.push_str("content-type: application/json\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let stream = self.0.get_mut();
        stream.write_all(head.as_bytes()).expect("it reads");
    }

    /// Sends the minimal request of the protocol.
    fn ask(&mut self, protocol: Protocol) {
        self.send(protocol.path(), &headers(protocol), &request(protocol));
    }

    fn get(&mut self, path: &str) -> ReceivedAnswer {
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nuser-agent: test\r\n\r\n");
        let stream = self.0.get_mut();
        stream.write_all(head.as_bytes()).expect("it reads");
        self.read().expect("an answer")
    }

    /// Returns true if no unread byte has arrived.
    fn has_nothing(&mut self) -> bool {
        let stream = self.0.get_mut();
        stream.set_nonblocking(true).expect("a socket takes this");
        let nothing = self.0.buffer().is_empty() && self.0.fill_buf().is_err();
        let stream = self.0.get_mut();
        stream.set_nonblocking(false).expect("a socket takes this");
        nothing
    }

    fn head(&mut self) -> io::Result<(u16, String)> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Ok((status.expect("a status"), head.to_ascii_lowercase()))
    }

    /// Reads the whole answer, which ends by a length or chunks.
    fn read(&mut self) -> io::Result<ReceivedAnswer> {
        let (status, head) = self.head()?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let body = match length {
            Some(length) => self.exactly(length.parse().expect("a number"))?,
            None => self.chunks()?.concat(),
        };
        Ok(ReceivedAnswer { status, head, body })
    }

    fn chunks(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut chunks = Vec::new();
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(chunks);
            }
            chunks.push(chunk);
        }
    }

    fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let size = usize::from_str_radix(line.trim_end(), 16).expect("a chunk size");
        let bytes = self.exactly(size)?;
        self.exactly(2)?;
        Ok(bytes)
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Makes one request on a new connection.
fn ask(provider: &Provider, protocol: Protocol) -> io::Result<ReceivedAnswer> {
    let mut client = Client::to(provider);
    client.ask(protocol);
    client.read()
}

/// The minimal headers of the protocol.
fn headers(protocol: Protocol) -> Vec<(&'static str, &'static str)> {
    match protocol {
        Protocol::Responses | Protocol::Chat => Vec::new(),
        Protocol::Codex => vec![("accept", "text/event-stream")],
        Protocol::Messages => vec![("anthropic-version", "2023-06-01")],
    }
}

/// The minimal body of the protocol.
fn request(protocol: Protocol) -> Value {
    let input = json!([{ "role": "user", "content": "hi" }]);
    match protocol {
        Protocol::Responses => json!({ "model": "m", "input": input }),
        Protocol::Codex => json!({
            "model": "m", "input": input, "stream": true, "store": false,
            "instructions": "Be good.", "reasoning": null, "include": [],
        }),
        Protocol::Messages => json!({ "model": "m", "max_tokens": 100, "messages": input }),
        Protocol::Chat => json!({ "model": "m", "messages": input }),
    }
}
