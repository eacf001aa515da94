//! Reads what a command printed, by a query: from an offset on, the last lines, or both ends.
//!
//! Owns how a query becomes parts of streams; what of them is shown, and how it is told what is not, is decided where
//! answers are written. Offsets are those of the stream, whoever keeps it. Invariants: a part has at most so many bytes
//! as were asked for, and the offset it names for the next never falls inside a character.

use crate::decode::{After, REPLACED, decode, last_lines, torn};
use crate::facts::{lacks, unread};
use holon_domain::command::{StreamPart, TaskStreams};
use holon_domain::intent::TaskOutput;
use holon_process::{Error, OutputFacts, Slice, Stream, StreamFacts, Task};
use std::sync::Arc;

/// A character has at most so many bytes; a part of fewer might never get past one.
const CHARACTER: usize = 4;

/// Who knows what a command printed.
#[derive(Debug)]
pub(crate) enum Source {
    /// Its shim.
    Live(Arc<Task>),
    /// Its files, which are complete.
    Kept(OutputFacts),
    /// Its files, which its shim may still write to: it cannot be asked at the moment.
    Growing(OutputFacts),
}

/// What is asked for of one stream.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// What follows an offset.
    From(u64),
    /// The last lines, and of those only what follows an offset.
    Lines { after: u64, lines: usize },
    /// Both ends.
    Ends,
    /// Nothing but its size.
    Size,
}

impl Source {
    /// Answers a query with at most `max` bytes of each stream.
    ///
    /// # Errors
    /// When nobody can be asked and no file can be read.
    pub(crate) async fn printed(
        &self,
        query: &TaskOutput,
        max: usize,
    ) -> Result<TaskStreams, Error> {
        let facts = self.facts().await?;
        let max = max.max(CHARACTER);
        let lines = query
            .tail_lines
            .map(|lines| usize::try_from(lines).unwrap_or(usize::MAX));
        let wanted = |after: Option<u64>, asked: bool| match (after, lines) {
            _ if !asked => Wanted::Size,
            (after, Some(lines)) => Wanted::Lines {
                after: after.unwrap_or(0),
                lines,
            },
            (Some(after), None) => Wanted::From(after),
            (None, None) => Wanted::Ends,
        };
        let (asks_output, asks_stderr) = (query.wants_output(), query.wants_stderr());
        let output = Reader::new(self, Stream::Output, &facts.output);
        let read_output = output
            .part(wanted(query.after_byte, asks_output), max)
            .await;
        let stderr = match &facts.errors {
            Some(errors) => {
                let reader = Reader::new(self, Stream::Errors, errors);
                let wanted = wanted(query.stderr_after_byte, asks_stderr);
                let read = reader.part(wanted, max).await;
                Some((reader, read))
            }
            None => None,
        };
        // Where nothing that was asked for can be shown, that is the answer.
        let shows =
            |read: &Result<StreamPart, Error>| matches!(read, Ok(part) if part.total_bytes > 0);
        let shown = (asks_output && shows(&read_output))
            || (asks_stderr && stderr.as_ref().is_some_and(|(_, read)| shows(read)));
        let told = |reader: &Reader<'_>, read: Result<StreamPart, Error>| match read {
            Err(error) if shown => reader.without_file(error),
            read => read,
        };
        Ok(TaskStreams {
            output: told(&output, read_output)?,
            stderr: match stderr {
                Some((reader, read)) => Some(told(&reader, read)?),
                None => None,
            },
        })
    }

    async fn facts(&self) -> Result<OutputFacts, Error> {
        match self {
            Self::Live(task) => task.output().await,
            Self::Kept(facts) | Self::Growing(facts) => Ok(facts.clone()),
        }
    }
}

/// One stream of a command.
struct Reader<'a> {
    source: &'a Source,
    stream: Stream,
    facts: &'a StreamFacts,
}

impl<'a> Reader<'a> {
    const fn new(source: &'a Source, stream: Stream, facts: &'a StreamFacts) -> Self {
        Self {
            source,
            stream,
            facts,
        }
    }

    async fn part(&self, wanted: Wanted, max: usize) -> Result<StreamPart, Error> {
        match wanted {
            Wanted::From(after) => self.from(after, max).await,
            Wanted::Lines { after, lines } => self.tail(after, lines, max).await,
            Wanted::Ends if self.facts.total_bytes <= max as u64 => self.from(0, max).await,
            Wanted::Ends => self.ends(max).await,
            Wanted::Size => Ok(self.size().await),
        }
    }

    /// The stream without what its file would show, where the file is to blame for the error.
    fn without_file(&self, error: Error) -> Result<StreamPart, Error> {
        let lacks = unread(self.facts, &error).ok_or(error)?;
        let total = self.facts.total_bytes;
        Ok(StreamPart {
            at: total,
            next_offset: total,
            total_bytes: total,
            lacks,
            ..self.bare()
        })
    }

    /// What follows an offset.
    async fn from(&self, after: u64, max: usize) -> Result<StreamPart, Error> {
        let read = self.read(after, max).await?;
        Ok(self.told(&read, 0, max))
    }

    /// The last lines of what follows an offset.
    async fn tail(&self, after: u64, lines: usize, max: usize) -> Result<StreamPart, Error> {
        let total = self.facts.total_bytes;
        let from = total.saturating_sub(max as u64).max(after);
        let read = self.read_to(from, total, max).await?;
        let mut skip = last_lines(&read.bytes, lines);
        if skip == 0 && read.at > after {
            skip = torn(&read.bytes);
        }
        Ok(self.told(&read, skip, max))
    }

    /// The beginning and the end.
    async fn ends(&self, max: usize) -> Result<StreamPart, Error> {
        let total = self.facts.total_bytes;
        let half = (max / 2).max(CHARACTER);
        let read = self.read(0, half).await?;
        let (head, used) = decode(&read.bytes, half, After::More);
        let head_ends = read.at + used as u64;
        let tail_from = total.saturating_sub(half as u64).max(head_ends);
        let tail = self.read_to(tail_from, total, half).await?;
        let skip = if tail.at > head_ends {
            torn(&tail.bytes)
        } else {
            0
        };
        let part = self.told(&tail, skip, half);
        Ok(StreamPart {
            head,
            tail: part.head,
            left_out: part.at.saturating_sub(head_ends),
            at: read.at,
            ..part
        })
    }

    /// Nothing but how much there is, and where its end is.
    async fn size(&self) -> StreamPart {
        let total = self.facts.total_bytes;
        let from = total.saturating_sub(CHARACTER as u64);
        let end = match self.read_to(from, total, CHARACTER).await {
            // Every byte may be a character of its own that is replaced.
            Ok(read) => {
                self.told(&read, torn(&read.bytes), REPLACED * CHARACTER)
                    .next_offset
            }
            // Nobody wanted to see it.
            Err(_) => total,
        };
        StreamPart {
            at: end,
            next_offset: end,
            total_bytes: total.max(end),
            ..self.bare()
        }
    }

    /// At most `max` bytes from an offset on, up to where something is missing.
    async fn read(&self, from: u64, max: usize) -> Result<Slice, Error> {
        let mut read = self.slice(from, max).await?;
        loop {
            let (next, room) = (read.next_offset(), max.saturating_sub(read.bytes.len()));
            if room == 0 || next >= read.total_bytes {
                return Ok(read);
            }
            let more = self.slice(next, room).await?;
            if more.at != next || more.bytes.is_empty() {
                return Ok(read);
            }
            read.bytes.extend(more.bytes);
            read.total_bytes = more.total_bytes;
        }
    }

    /// The bytes before an offset, from another on or from where nothing is missing any more.
    async fn read_to(&self, from: u64, until: u64, max: usize) -> Result<Slice, Error> {
        let mut read = self.read(from, max).await?;
        while read.next_offset() < until {
            let next = read.next_offset();
            let more = self.read(next, max).await?;
            if more.bytes.is_empty() {
                break;
            }
            if more.at == next {
                read.bytes.extend(more.bytes);
            } else {
                read = more;
            }
        }
        Ok(read)
    }

    async fn slice(&self, after: u64, max: usize) -> Result<Slice, Error> {
        match self.source {
            Source::Live(task) => task.slice(self.stream, after, max).await,
            Source::Kept(_) | Source::Growing(_) => self.facts.slice(after, max).await,
        }
    }

    /// Whether a character at the end of what was read may still become whole.
    const fn follows(&self, read: &Slice, max: usize) -> After {
        if read.bytes.len() >= max {
            return After::More;
        }
        match self.source {
            // What follows was not kept.
            _ if read.next_offset() < read.total_bytes => After::Nothing,
            Source::Live(_) | Source::Growing(_) => After::More,
            Source::Kept(_) => After::Nothing,
        }
    }

    /// Bytes as they are told, without the first `skip` of them.
    fn told(&self, read: &Slice, skip: usize, max: usize) -> StreamPart {
        let bytes = read.bytes.get(skip..).unwrap_or_default();
        let (text, used) = decode(bytes, max, self.follows(read, max));
        let at = read.at + skip as u64;
        StreamPart {
            head: text,
            at,
            next_offset: at + used as u64,
            total_bytes: read.total_bytes,
            ..self.bare()
        }
    }

    /// Nothing of the stream, and the file that keeps it.
    fn bare(&self) -> StreamPart {
        StreamPart {
            path: Some(self.facts.path.to_string_lossy().into_owned()),
            lacks: lacks(self.facts),
            ..StreamPart::default()
        }
    }
}

#[cfg(test)]
mod tests;
