//! Stream bytes into frames, fed in chunks of any size.
//!
//! Memory is bounded: a frame over the limit is an error, not a buffer. A frame that the stream ends in the middle of
//! is never given. How the bytes are cut into chunks makes no difference to what comes out.

use crate::frame::Frame;

/// The reason that bytes are not an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A frame does not fit the limit the parser was made with.
    #[error("a frame of the event stream is larger than {limit} bytes")]
    FrameTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A line is not UTF-8, the only encoding the format has.
    #[error("a line of the event stream is not UTF-8")]
    NotUtf8,
}

/// An incremental parser of one stream. A new connection needs a new parser.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    /// The last byte was a carriage return that ended a line; a line feed right after it belongs to it.
    after_return: bool,
    /// The first line is complete, so a byte order mark is no longer skipped.
    started: bool,
    frame: Frame,
}

impl Parser {
    /// A parser at the start of a stream. `limit` bounds the bytes held for one frame: its fields and the line that is
    /// being read.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            started: false,
            frame: Frame::default(),
        }
    }

    /// Takes the next bytes and appends the frames they complete to `frames`; comments and unknown fields are skipped.
    ///
    /// # Errors
    /// When the bytes are not an event stream. The frames before the broken one have been appended; the parser must
    /// not be used again.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), Error> {
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, end) = rest.split_at(at);
            self.hold(line)?;
            frames.extend(self.end_line()?);
            rest = match end {
                [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
                [] => &[],
            };
            self.after_return = end == b"\r";
        }
        self.hold(rest)
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let fields = [&self.frame.id, &self.frame.event, &self.frame.data];
        let held: usize = fields.into_iter().flatten().map(String::len).sum();
        if held + self.line.len() + bytes.len() > self.limit {
            return Err(Error::FrameTooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads the line that is complete; an empty one completes the frame, which is given if any field stood in it.
    fn end_line(&mut self) -> Result<Option<Frame>, Error> {
        let mut bytes = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&bytes).map_err(|_| Error::NotUtf8)?;
        let first = !std::mem::replace(&mut self.started, true);
        let line = match line.strip_prefix('\u{feff}') {
            Some(rest) if first => rest,
            Some(_) | None => line,
        };
        if line.is_empty() {
            let frame = std::mem::take(&mut self.frame);
            return Ok(Some(frame).filter(|frame| *frame != Frame::default()));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        set_field(
            &mut self.frame,
            field,
            value.strip_prefix(' ').unwrap_or(value),
        );
        // The next line is read into the same memory.
        bytes.clear();
        self.line = bytes;
        Ok(None)
    }
}

/// A comment is a line whose field name is empty, so it is skipped like any unknown field.
fn set_field(frame: &mut Frame, field: &str, value: &str) {
    match field {
        "id" if !value.contains('\0') => frame.id = Some(value.to_owned()),
        "event" => frame.event = Some(value.to_owned()).filter(|name| !name.is_empty()),
        "data" => match &mut frame.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => frame.data = Some(value.to_owned()),
        },
        "retry" => frame.retry_ms = parse_ms(value).or(frame.retry_ms),
        _ => {}
    }
}

/// The format allows digits only; `u64::from_str` would also take a sign.
fn parse_ms(value: &str) -> Option<u64> {
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests;
