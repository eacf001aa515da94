//! Event-stream bytes into frames: pure, fed in pieces of any size.
//!
//! Knows the grammar (fields, comments, three kinds of line ends) and nothing of what the frames mean.
//! Memory is bounded: a frame over [`MAX_FRAME_BYTES`] is an error, not a buffer.

/// The largest frame that is taken in. Events are bounded far below it.
pub const MAX_FRAME_BYTES: usize = 8 << 20;

/// One frame that carries data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its event name; `message` when it gives none.
    pub event: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
    /// The id it gives itself; a frame without one does not move the reader's position.
    pub id: Option<String>,
}

/// What an empty line completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Something to read.
    Frame(Frame),
    /// An id without data: where the reader stands, and nothing to read.
    Position(String),
}

/// Why bytes are no event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A frame is over the bound.
    #[error("a frame is larger than {MAX_FRAME_BYTES} bytes")]
    TooLarge,
    /// A line is not UTF-8.
    #[error("a line is not UTF-8")]
    NotText,
}

/// Takes bytes, gives frames.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    /// The last byte was a carriage return that ended a line; a line feed right after it belongs to it.
    after_return: bool,
    /// Nothing of the first line has been seen yet, so a byte order mark may come.
    started: bool,
    event: String,
    data: String,
    has_data: bool,
    id: Option<String>,
}

impl Parser {
    /// A parser at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and puts what they complete into `pieces`.
    ///
    /// # Errors
    /// When the bytes are no event stream; the parser is of no more use then.
    pub fn push(&mut self, bytes: &[u8], pieces: &mut Vec<Piece>) -> Result<(), ParseError> {
        for &byte in bytes {
            let belongs_to_return = byte == b'\n' && std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if belongs_to_return => {}
                b'\n' => self.end_line(pieces)?,
                b'\r' => {
                    self.end_line(pieces)?;
                    self.after_return = true;
                }
                other => {
                    self.after_return = false;
                    self.line.push(other);
                    if self.line.len() + self.data.len() > MAX_FRAME_BYTES {
                        return Err(ParseError::TooLarge);
                    }
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self, pieces: &mut Vec<Piece>) -> Result<(), ParseError> {
        let line =
            String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| ParseError::NotText)?;
        let line = if std::mem::replace(&mut self.started, true) {
            line.as_str()
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(&line)
        };
        if line.is_empty() {
            pieces.extend(self.dispatch());
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        self.field(field, value.strip_prefix(' ').unwrap_or(value));
        Ok(())
    }

    /// A comment is a line whose field name is empty; it and unknown fields are passed over.
    fn field(&mut self, field: &str, value: &str) {
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            _ => {}
        }
    }

    /// What the empty line ends; nothing after comments.
    fn dispatch(&mut self) -> Option<Piece> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        let id = self.id.take();
        if !std::mem::take(&mut self.has_data) {
            return id.map(Piece::Position);
        }
        let event = if event.is_empty() {
            "message".to_owned()
        } else {
            event
        };
        Some(Piece::Frame(Frame { event, data, id }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(chunks: &[&[u8]]) -> Vec<Piece> {
        let mut parser = Parser::new();
        let mut pieces = Vec::new();
        for chunk in chunks {
            parser.push(chunk, &mut pieces).unwrap();
        }
        pieces
    }

    fn frame(event: &str, data: &str, id: Option<&str>) -> Piece {
        Piece::Frame(Frame {
            event: event.into(),
            data: data.into(),
            id: id.map(str::to_owned),
        })
    }

    const SAMPLE: &str = "retry: 1000\nid: 4\n\n: heartbeat\n\nid: 5\nevent: turn_started\ndata: {\"é\":1}\n\n\
                          event: gap\ndata: a\ndata:  b\n\ndata: last\nid: 9\n\n";

    fn expected() -> Vec<Piece> {
        vec![
            Piece::Position("4".into()),
            frame("turn_started", "{\"é\":1}", Some("5")),
            frame(
                "gap", "a
 b", None,
            ),
            frame("message", "last", Some("9")),
        ]
    }

    #[test]
    fn every_split_in_three_gives_the_same_frames() {
        let bytes = SAMPLE.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let chunks = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(parse(&chunks), expected(), "split at {first} and {second}");
            }
        }
    }

    #[test]
    fn all_three_line_ends_mean_the_same_at_every_split() {
        for end in ["\n", "\r\n", "\r"] {
            let text = SAMPLE.replace('\n', end);
            for at in 0..=text.len() {
                let (before, after) = text.as_bytes().split_at(at);
                assert_eq!(parse(&[before, after]), expected(), "{end:?} split at {at}");
            }
        }
    }

    #[test]
    fn an_id_without_data_is_a_position_and_comments_are_nothing() {
        assert_eq!(
            parse(&[b"retry: 1000
id: 42

"]),
            [Piece::Position("42".into())]
        );
        assert_eq!(
            parse(&[b": heartbeat

"]),
            []
        );
    }

    #[test]
    fn an_unfinished_frame_is_not_given() {
        assert_eq!(parse(&[b"id: 1\ndata: x\n"]), []);
    }

    #[test]
    fn comments_unknown_fields_and_a_byte_order_mark_are_passed_over() {
        let text = "\u{feff}data: x\n: data: y\nnonsense\nother: z\n\n";
        assert_eq!(parse(&[text.as_bytes()]), [frame("message", "x", None)]);
    }

    #[test]
    fn an_empty_data_line_is_data() {
        assert_eq!(parse(&[b"data\n\n"]), [frame("message", "", None)]);
        assert_eq!(
            parse(&[b"data:\ndata:\n\n"]),
            [frame("message", "\n", None)]
        );
    }

    #[test]
    fn a_line_without_end_is_refused_at_the_bound() {
        let mut parser = Parser::new();
        let mut pieces = Vec::new();
        let chunk = vec![b'x'; 1 << 20];
        let verdict = (0..9)
            .map(|_| parser.push(&chunk, &mut pieces))
            .find(Result::is_err);
        assert_eq!(verdict, Some(Err(ParseError::TooLarge)));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let verdict = Parser::new().push(b"data: \xff\n\n", &mut Vec::new());
        assert_eq!(verdict, Err(ParseError::NotText));
    }
}
