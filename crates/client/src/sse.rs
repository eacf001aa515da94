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
    /// The last id seen up to and with this frame.
    pub id: Option<String>,
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
    last_id: Option<String>,
}

impl Parser {
    /// A parser at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The last id the stream gave, whether or not a frame with data carried it.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Takes the next bytes and puts the frames they complete into `frames`.
    ///
    /// # Errors
    /// When the bytes are no event stream; the parser is of no more use then.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), ParseError> {
        for &byte in bytes {
            let belongs_to_return = byte == b'\n' && std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if belongs_to_return => {}
                b'\n' => self.end_line(frames)?,
                b'\r' => {
                    self.end_line(frames)?;
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

    fn end_line(&mut self, frames: &mut Vec<Frame>) -> Result<(), ParseError> {
        let line =
            String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| ParseError::NotText)?;
        let line = if std::mem::replace(&mut self.started, true) {
            line.as_str()
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(&line)
        };
        if line.is_empty() {
            frames.extend(self.dispatch());
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
            "id" if !value.contains('\0') => self.last_id = Some(value.to_owned()),
            _ => {}
        }
    }

    /// The frame the empty line ends; none when it had no data.
    fn dispatch(&mut self) -> Option<Frame> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then(|| Frame {
            event: if event.is_empty() {
                "message".to_owned()
            } else {
                event
            },
            data,
            id: self.last_id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(chunks: &[&[u8]]) -> (Vec<Frame>, Option<String>) {
        let mut parser = Parser::new();
        let mut frames = Vec::new();
        for chunk in chunks {
            parser.push(chunk, &mut frames).unwrap();
        }
        (frames, parser.last_id().map(str::to_owned))
    }

    fn frame(event: &str, data: &str, id: Option<&str>) -> Frame {
        Frame {
            event: event.into(),
            data: data.into(),
            id: id.map(str::to_owned),
        }
    }

    const SAMPLE: &str = "retry: 1000\nid: 4\n\n: heartbeat\n\nid: 5\nevent: turn_started\ndata: {\"é\":1}\n\n\
                          event: gap\ndata: a\ndata:  b\n\ndata: last\nid: 9\n\n";

    fn expected() -> (Vec<Frame>, Option<String>) {
        let frames = vec![
            frame("turn_started", "{\"é\":1}", Some("5")),
            frame("gap", "a\n b", Some("5")),
            frame("message", "last", Some("9")),
        ];
        (frames, Some("9".into()))
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
    fn an_id_without_data_moves_the_cursor_and_gives_no_frame() {
        assert_eq!(
            parse(&[b"retry: 1000\nid: 42\n\n"]),
            (Vec::new(), Some("42".into()))
        );
    }

    #[test]
    fn an_unfinished_frame_is_not_given() {
        assert_eq!(parse(&[b"id: 1\ndata: x\n"]).0, Vec::new());
    }

    #[test]
    fn comments_unknown_fields_and_a_byte_order_mark_are_passed_over() {
        let text = "\u{feff}data: x\n: data: y\nnonsense\nother: z\n\n";
        assert_eq!(parse(&[text.as_bytes()]).0, [frame("message", "x", None)]);
    }

    #[test]
    fn an_empty_data_line_is_data() {
        assert_eq!(parse(&[b"data\n\n"]).0, [frame("message", "", None)]);
        assert_eq!(
            parse(&[b"data:\ndata:\n\n"]).0,
            [frame("message", "\n", None)]
        );
    }

    #[test]
    fn a_line_without_end_is_refused_at_the_bound() {
        let mut parser = Parser::new();
        let mut frames = Vec::new();
        let chunk = vec![b'x'; 1 << 20];
        let verdict = (0..9)
            .map(|_| parser.push(&chunk, &mut frames))
            .find(Result::is_err);
        assert_eq!(verdict, Some(Err(ParseError::TooLarge)));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let verdict = Parser::new().push(b"data: \xff\n\n", &mut Vec::new());
        assert_eq!(verdict, Err(ParseError::NotText));
    }
}
