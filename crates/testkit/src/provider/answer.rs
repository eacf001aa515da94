//! An answer on the wire: its head, the pieces of its body, their framing, and its ending.

use super::render::{Event, RenderedAnswer};
use super::round::Lines;
use holon_sse::Frame;
use serde_json::Value;
use std::time::Duration;

/// The server's reaction to a request.
#[derive(Debug, Clone)]
pub(super) enum Reaction {
    Answer(Answer),
    /// The request stays unanswered until the client disconnects.
    Silence,
    Reset,
    Close,
}

/// The content of one HTTP response and the way it is sent.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) pieces: Vec<Piece>,
    pub(super) framing: Framing,
    pub(super) ending: Ending,
    /// Pause before each byte of the body; absent for normal speed.
    pub(super) drip: Option<Duration>,
}

/// A part of a body, written at once.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// A repeated byte, so that a huge body takes no memory here.
    Filler {
        byte: u8,
        count: u64,
    },
}

/// The way in which a client recognises the end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// A content length, which need not be true.
    Length(u64),
    /// Chunked encoding, one chunk per piece.
    Chunked,
}

/// The connection's state after the last piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The connection stays open for another request.
    Kept,
    /// The answer is complete and the connection is closed.
    Closed,
    /// The connection is closed in the middle of the body.
    Cut,
    Reset,
    /// The server sends nothing more until the client disconnects.
    Stalled,
}

impl Answer {
    /// An answer with one JSON document.
    pub(super) fn json(status: u16, document: &Value) -> Self {
        Self::whole(
            status,
            "application/json",
            document.to_string().into_bytes(),
        )
    }

    /// An answer with one body of this type.
    pub(super) fn whole(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            framing: Framing::Length(body.len() as u64),
            pieces: vec![Piece::Bytes(body)],
            ending: Ending::Kept,
            drip: None,
        }
    }

    /// A model's answer: a document with its length, or events in chunks.
    pub(super) fn of(rendered: &RenderedAnswer, lines: Lines) -> Self {
        match rendered {
            RenderedAnswer::Document(document) => Self::json(200, document),
            RenderedAnswer::Events(events) => Self {
                pieces: event_pieces(events, lines),
                framing: Framing::Chunked,
                ..Self::whole(200, holon_sse::MEDIA_TYPE, Vec::new())
            },
        }
    }

    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Replaces the body, with a matching length.
    pub(super) fn with_pieces(mut self, pieces: Vec<Piece>) -> Self {
        if let Framing::Length(_) = self.framing {
            self.framing = Framing::Length(pieces.iter().map(Piece::len).sum());
        }
        self.pieces = pieces;
        self
    }

    /// The pieces that consist of bytes.
    pub(super) fn bytes(&self) -> Vec<Vec<u8>> {
        let bytes = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => Some(bytes.clone()),
            Piece::Filler { .. } => None,
        };
        self.pieces.iter().filter_map(bytes).collect()
    }

    /// Keeps half of the body but announces all of it, with this ending.
    pub(super) fn half(mut self, ending: Ending) -> Self {
        let mut left = self.pieces.iter().map(Piece::len).sum::<u64>() / 2;
        let mut kept = Vec::new();
        for mut bytes in self.bytes() {
            bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= bytes.len() as u64;
            if !bytes.is_empty() {
                kept.push(Piece::Bytes(bytes));
            }
        }
        self.pieces = kept;
        self.ending = ending;
        self
    }
}

impl Piece {
    /// Length of the body in bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Filler { count, .. } => *count,
        }
    }
}

/// Builds one piece per event.
fn event_pieces(events: &[Event], lines: Lines) -> Vec<Piece> {
    let numbered = events.iter().enumerate();
    numbered
        .map(|(number, event)| {
            let (name, data) = match event {
                Event::Named { name, data } => {
                    let mut data = data.clone();
                    data["type"] = (*name).into();
                    data["sequence_number"] = number.into();
                    (Some(*name), data)
                }
                Event::Bare(data) => (None, data.clone()),
                Event::Done => return Piece::Bytes(b"data: [DONE]\n\n".to_vec()),
            };
            Piece::Bytes(match lines {
                Lines::Usual => usual(name, &data),
                Lines::Odd => odd(name, &data, number).into_bytes(),
            })
        })
        .collect()
}

fn usual(name: Option<&str>, data: &Value) -> Vec<u8> {
    let data = data.to_string();
    let frame = Frame {
        id: None,
        event: name,
        data: Some(data.as_str()),
        retry_ms: None,
    };
    let mut bytes = Vec::new();
    frame.write(&mut bytes);
    bytes
}

/// Writes an event with all the unusual but valid syntax that a reader must accept.
fn odd(name: Option<&str>, data: &Value, number: usize) -> String {
    // Line breaks between JSON tokens mean nothing, so they can separate the data lines of an event.
    let pretty = format!("{data:#}");
    let lines: Vec<String> = pretty
        .lines()
        .map(|line| format!("data:{line}\r\n"))
        .collect();
    let (event, keepalive) = match name {
        Some(name) => (
            format!("event:{name}\r\n"),
            "event: keepalive\r\ndata: {\"type\":\"keepalive\"}\r\n\r\n",
        ),
        None => (String::new(), ": keepalive\r\n\r\n"),
    };
    format!(
        ": a comment\r\n\r\nid: {number}\r\nretry: 1\r\n{event}{}\r\n{keepalive}",
        lines.concat()
    )
}
