//! Event-stream bytes into events: pure, fed in pieces of any size.
//!
//! Knows the grammar (fields, comments, three kinds of line end, a byte order mark) and nothing of what events mean.
//! Memory is bounded: an event over the limit is an error, not a buffer. An event the stream ends in the middle of is
//! never given.

/// One event that carries data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name, if it gives one.
    pub(super) name: Option<String>,
    /// Its data lines, joined by line feeds.
    pub(super) data: String,
}

/// Why bytes are no event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotEvents {
    /// An event is over the limit.
    TooLarge,
    /// A line is not UTF-8.
    NotText,
}

/// Takes bytes, gives events.
#[derive(Debug)]
pub(super) struct Parser {
    limit: usize,
    line: Vec<u8>,
    /// The last byte was a carriage return that ended a line; a line feed right after it belongs to it.
    after_return: bool,
    /// The first line is behind us, so no byte order mark may come any more.
    started: bool,
    name: Option<String>,
    data: Option<String>,
}

impl Parser {
    /// A parser at the start of a stream whose events take at most `limit` bytes each.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            started: false,
            name: None,
            data: None,
        }
    }

    /// Takes the next bytes and puts the events they complete into `events`.
    /// After an error the parser is of no more use.
    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), NotEvents> {
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, end) = rest.split_at(at);
            self.take(line)?;
            events.extend(self.end_line()?);
            rest = match end {
                [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
                [] => &[],
            };
            self.after_return = end == b"\r";
        }
        self.take(rest)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), NotEvents> {
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + bytes.len() > self.limit {
            return Err(NotEvents::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Event>, NotEvents> {
        let line = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&line).map_err(|_| NotEvents::NotText)?;
        let first = !std::mem::replace(&mut self.started, true);
        let line = match line.strip_prefix('\u{feff}') {
            Some(rest) if first => rest,
            Some(_) | None => line,
        };
        if line.is_empty() {
            let name = self.name.take().filter(|name| !name.is_empty());
            return Ok(self.data.take().map(|data| Event { name, data }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        self.field(field, value.strip_prefix(' ').unwrap_or(value));
        Ok(None)
    }

    /// A comment is a line whose field name is empty; it, ids, retry hints and unknown fields are passed over.
    fn field(&mut self, field: &str, value: &str) {
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 10;

    fn parse(chunks: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::new(LIMIT);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.push(chunk, &mut events).unwrap();
        }
        events
    }

    fn event(name: Option<&str>, data: &str) -> Event {
        Event {
            name: name.map(str::to_owned),
            data: data.to_owned(),
        }
    }

    const SAMPLE: &str = "\u{feff}event: response.created\nid: 5\nretry: 10\ndata: {\"é\":\"漢🦀\"}\n\n\
                          : keep-alive\n\nevent: unheard.of\nodd: field\nbare\ndata: a\ndata:  b\ndata\n\n\
                          event: no-data\n\ndata: [DONE]\n\n";

    fn expected() -> Vec<Event> {
        vec![
            event(Some("response.created"), "{\"é\":\"漢🦀\"}"),
            event(Some("unheard.of"), "a\n b\n"),
            event(None, "[DONE]"),
        ]
    }

    #[test]
    fn every_split_in_three_gives_the_same_events() {
        let bytes = SAMPLE.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let chunks = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(parse(&chunks), expected(), "split at {first} and {second}");
            }
        }
    }

    #[test]
    fn all_three_line_ends_mean_the_same_at_every_split_and_byte_by_byte() {
        for end in ["\n", "\r\n", "\r"] {
            let text = SAMPLE.replace('\n', end);
            for at in 0..=text.len() {
                let (before, after) = text.as_bytes().split_at(at);
                let events = parse(&[before, b"", after]);
                assert_eq!(events, expected(), "{end:?} split at {at}");
            }
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(parse(&bytes), expected(), "{end:?} byte by byte");
        }
    }

    #[test]
    fn an_event_the_stream_ends_in_is_not_given() {
        assert_eq!(parse(&[b"data: x\n"]), []);
        assert_eq!(parse(&[b"data: x"]), []);
    }

    #[test]
    fn a_name_without_data_does_not_name_the_next_event() {
        assert_eq!(
            parse(&[b"event: a\n\ndata: b\n\n"]),
            [event(None, "b")],
            "an event ends at its empty line"
        );
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_only_at_the_start() {
        assert_eq!(
            parse(&["data: a\n\n\u{feff}data: b\n\n".as_bytes()]),
            [event(None, "a")]
        );
    }

    #[test]
    fn an_event_over_the_limit_is_refused_in_one_line_or_in_many() {
        let mut events = Vec::new();
        let long = vec![b'x'; LIMIT + 1];
        let refused = Parser::new(LIMIT).push(&long, &mut events);
        assert_eq!(refused, Err(NotEvents::TooLarge));
        let mut parser = Parser::new(LIMIT);
        let line = format!("data: {}\n", "y".repeat(100));
        let refused = (0..20).find_map(|_| parser.push(line.as_bytes(), &mut events).err());
        assert_eq!(refused, Some(NotEvents::TooLarge));
        assert!(events.is_empty());
    }

    #[test]
    fn a_stream_of_any_length_fits_while_its_events_do() {
        let mut parser = Parser::new(LIMIT);
        let mut events = Vec::new();
        let line = format!("data: {}\n\n", "y".repeat(1_000));
        for _ in 0..100 {
            parser.push(line.as_bytes(), &mut events).unwrap();
        }
        assert_eq!(events.len(), 100);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let refused = Parser::new(LIMIT).push(b"data: \xff\n\n", &mut Vec::new());
        assert_eq!(refused, Err(NotEvents::NotText));
    }
}
