//! Parses requests: the part of HTTP/1.1 that clients of providers use.

use super::protocol::{Protocol, RequestKind};
use super::recorded_request::RecordedRequest;
use serde_json::Value;
use std::io::{self, BufRead, Read as _};

/// Reads the next request; `None` if the client has finished.
pub(super) fn read_request(
    from: &mut impl BufRead,
    connection: usize,
) -> io::Result<Option<RecordedRequest>> {
    let Some(start) = read_line(from)? else {
        return Ok(None);
    };
    let mut words = start.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(wrong(format!("no request line: {start:?}")));
    };
    let headers = read_headers(from)?;
    let raw = read_body(from, &headers)?;
    let body: Value = serde_json::from_slice(&raw).unwrap_or_default();
    Ok(Some(RecordedRequest {
        index: 0,
        connection,
        method: method.to_owned(),
        path: path.to_owned(),
        protocol: protocol(path, &body),
        headers,
        body,
        raw,
    }))
}

fn protocol(path: &str, body: &Value) -> Option<Protocol> {
    match RequestKind::of(path, body)? {
        RequestKind::Answer(protocol) => Some(protocol),
        RequestKind::Models | RequestKind::Description => None,
    }
}

fn read_headers(from: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?.ok_or_else(|| wrong("the head breaks off".to_owned()))?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| wrong(format!("no header: {line:?}")))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn read_body(from: &mut impl BufRead, headers: &[(String, String)]) -> io::Result<Vec<u8>> {
    let named = |name: &str| headers.iter().find(|(known, _)| known == name);
    if named("transfer-encoding").is_some_and(|(_, value)| value == "chunked") {
        return read_chunks(from);
    }
    let length = named("content-length").map_or(Ok(0), |(_, value)| value.parse());
    let length: u64 = length.map_err(|_| wrong("no content length".to_owned()))?;
    read_exactly(from, length)
}

fn read_chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(from)?.unwrap_or_default();
        let size = u64::from_str_radix(&line, 16)
            .map_err(|_| wrong(format!("no chunk size: {line:?}")))?;
        body.extend(read_exactly(from, size)?);
        read_line(from)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(from: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(wrong("the body breaks off".to_owned()))
    }
}

/// Reads a line without its end; `None` at the end of the stream.
fn read_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
