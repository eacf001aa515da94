//! Reads the output of a command by a query: from an offset on, the last lines, or both ends.
//!
//! This file turns a query into parts of streams; the tools decide how the parts are shown. Offsets count bytes of
//! the stream, not of the file. Invariants: a part has at most the requested number of bytes, and the offset it names
//! for the next read never falls inside a character.

use crate::decode::{Continuation, REPLACED, cut_bytes, decode, last_lines};
use crate::facts::{lacks, unreadable};
use crate::off_thread::off_thread;
use crate::paths::find_combined;
use holon_domain::command::{StreamPart, TaskStreams};
use holon_domain::intent::TaskOutput;
use holon_process::{Error, OutputRecord, ShimmedCommand, Slice, Stream, StreamRecord};
use std::path::PathBuf;
use std::sync::Arc;

/// Most bytes of one UTF-8 character. A smaller limit for a part could block on one character for ever.
const CHARACTER: usize = 4;

/// The source from which the output of a command is read.
#[derive(Debug)]
pub(crate) enum Source {
    /// The shim of a running command.
    Live(Arc<ShimmedCommand>),
    /// The files of an ended command, which are complete.
    Kept(OutputRecord),
    /// The files of a command whose shim does not answer and may still write to them.
    Growing(OutputRecord),
}

/// The part of one stream that a query asks for.
#[derive(Debug, Clone, Copy)]
enum PartRequest {
    From(u64),
    /// The last lines, without bytes before the offset `after`.
    Lines {
        after: u64,
        lines: usize,
    },
    Ends,
    Size,
}

impl Source {
    /// Answers a query with at most `max` bytes of each stream.
    ///
    /// # Errors
    /// Fails if the shim does not answer or no requested file can be read.
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
        let request = |after: Option<u64>, is_wanted: bool| match (after, lines) {
            _ if !is_wanted => PartRequest::Size,
            (after, Some(lines)) => PartRequest::Lines {
                after: after.unwrap_or(0),
                lines,
            },
            (Some(after), None) => PartRequest::From(after),
            (None, None) => PartRequest::Ends,
        };
        let (asks_output, asks_stderr) = (query.wants_output(), query.wants_stderr());
        let output = Reader::new(self, Stream::Output, &facts.output);
        let read_output = output
            .part(request(query.after_byte, asks_output), max)
            .await;
        let stderr = match &facts.errors {
            Some(errors) => {
                let reader = Reader::new(self, Stream::Errors, errors);
                let request = request(query.stderr_after_byte, asks_stderr);
                let read = reader.part(request, max).await;
                Some((reader, read))
            }
            None => None,
        };
        // If no requested stream can be shown, the error itself is the answer.
        let shows =
            |read: &Result<StreamPart, Error>| matches!(read, Ok(part) if part.total_bytes > 0);
        let shown = (asks_output && shows(&read_output))
            || (asks_stderr && stderr.as_ref().is_some_and(|(_, read)| shows(read)));
        let or_lost = |reader: &Reader<'_>, read: Result<StreamPart, Error>| match read {
            Err(error) if shown => reader.without_file(error),
            read => read,
        };
        Ok(TaskStreams {
            output: or_lost(&output, read_output)?,
            stderr: match stderr {
                Some((reader, read)) => Some(or_lost(&reader, read)?),
                None => None,
            },
            combined: match &facts.errors {
                Some(_) => combined_file(facts.output.path.clone()).await,
                None => None,
            },
        })
    }

    async fn facts(&self) -> Result<OutputRecord, Error> {
        match self {
            Self::Live(task) => task.output().await,
            Self::Kept(facts) | Self::Growing(facts) => Ok(facts.clone()),
        }
    }
}

/// Names the file of both streams beside the file of the output, if there is one.
async fn combined_file(output: PathBuf) -> Option<String> {
    let found = off_thread(move || Ok(find_combined(&output))).await;
    let path = found.ok().flatten()?;
    Some(path.to_string_lossy().into_owned())
}

/// Reads one stream of a command from its source.
struct Reader<'a> {
    source: &'a Source,
    stream: Stream,
    facts: &'a StreamRecord,
}

impl<'a> Reader<'a> {
    const fn new(source: &'a Source, stream: Stream, facts: &'a StreamRecord) -> Self {
        Self {
            source,
            stream,
            facts,
        }
    }

    async fn part(&self, request: PartRequest, max: usize) -> Result<StreamPart, Error> {
        match request {
            PartRequest::From(after) => self.from(after, max).await,
            PartRequest::Lines { after, lines } => self.tail(after, lines, max).await,
            PartRequest::Ends if self.facts.total_bytes <= max as u64 => self.from(0, max).await,
            PartRequest::Ends => self.ends(max).await,
            PartRequest::Size => Ok(self.size().await),
        }
    }

    /// Returns an empty part that says what is lost, if the file is the cause of the error.
    fn without_file(&self, error: Error) -> Result<StreamPart, Error> {
        let lacks = unreadable(self.facts, &error).ok_or(error)?;
        let total = self.facts.total_bytes;
        Ok(StreamPart {
            at: total,
            next_offset: total,
            total_bytes: total,
            lacks,
            ..self.empty_part()
        })
    }

    async fn from(&self, after: u64, max: usize) -> Result<StreamPart, Error> {
        let read = self.read(after, max).await?;
        Ok(self.decode_part(&read, 0, max))
    }

    /// Reads the last lines after an offset.
    async fn tail(&self, after: u64, lines: usize, max: usize) -> Result<StreamPart, Error> {
        let total = self.facts.total_bytes;
        let from = total.saturating_sub(max as u64).max(after);
        let read = self.read_to(from, total, max).await?;
        let mut skip = last_lines(&read.bytes, lines);
        if skip == 0 && read.at > after {
            skip = cut_bytes(&read.bytes);
        }
        Ok(self.decode_part(&read, skip, max))
    }

    /// Reads the beginning and the end, `max / 2` bytes each.
    async fn ends(&self, max: usize) -> Result<StreamPart, Error> {
        let total = self.facts.total_bytes;
        let half = (max / 2).max(CHARACTER);
        let read = self.read(0, half).await?;
        let (head, used) = decode(&read.bytes, half, Continuation::More);
        let head_ends = read.at + used as u64;
        let tail_from = total.saturating_sub(half as u64).max(head_ends);
        let tail = self.read_to(tail_from, total, half).await?;
        let skip = if tail.at > head_ends {
            cut_bytes(&tail.bytes)
        } else {
            0
        };
        let part = self.decode_part(&tail, skip, half);
        Ok(StreamPart {
            head,
            tail: part.head,
            left_out: part.at.saturating_sub(head_ends),
            at: read.at,
            ..part
        })
    }

    /// Reads only the size of the stream and the offset of its end.
    async fn size(&self) -> StreamPart {
        let total = self.facts.total_bytes;
        let from = total.saturating_sub(CHARACTER as u64);
        let end = match self.read_to(from, total, CHARACTER).await {
            // Each byte may be replaced by a replacement character of its own.
            Ok(read) => {
                self.decode_part(&read, cut_bytes(&read.bytes), REPLACED * CHARACTER)
                    .next_offset
            }
            // The caller did not ask for the content, so the error does not matter.
            Err(_) => total,
        };
        StreamPart {
            at: end,
            next_offset: end,
            total_bytes: total.max(end),
            ..self.empty_part()
        }
    }

    /// Reads at most `max` bytes from an offset on and stops at a gap.
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

    /// Reads the bytes up to `until`, from `from` on or from the end of the last gap.
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

    /// Tells whether an incomplete character at the end of `read` may still be completed.
    const fn continuation(&self, read: &Slice, max: usize) -> Continuation {
        if read.bytes.len() >= max {
            return Continuation::More;
        }
        match self.source {
            // The bytes that follow were not kept.
            _ if read.next_offset() < read.total_bytes => Continuation::Nothing,
            Source::Live(_) | Source::Growing(_) => Continuation::More,
            Source::Kept(_) => Continuation::Nothing,
        }
    }

    /// Decodes the bytes after the first `skip` into a part.
    fn decode_part(&self, read: &Slice, skip: usize, max: usize) -> StreamPart {
        let bytes = read.bytes.get(skip..).unwrap_or_default();
        let (text, used) = decode(bytes, max, self.continuation(read, max));
        let at = read.at + skip as u64;
        StreamPart {
            head: text,
            at,
            next_offset: at + used as u64,
            total_bytes: read.total_bytes,
            ..self.empty_part()
        }
    }

    /// Returns a part without content that names the file.
    fn empty_part(&self) -> StreamPart {
        StreamPart {
            path: Some(self.facts.path.to_string_lossy().into_owned()),
            lacks: lacks(self.facts),
            ..StreamPart::default()
        }
    }
}

#[cfg(test)]
mod tests;
