//! The output of a task that is followed: its end first, what is printed after it, and earlier parts on request.

use crate::msg::Question;
use holon_domain::text::{prefix, suffix};
use std::collections::VecDeque;

/// Most bytes of output that are kept while its end is shown; of a longer one, the end.
const OUTPUT_BYTES: usize = 256 << 10;
/// Most bytes of output that are kept when earlier parts were asked for.
const BACK_BYTES: usize = 1 << 20;
/// Bytes before the end of a stream with which the page opens, and bytes of an earlier part.
const PART_BYTES: u64 = 16 << 10;
/// An offset behind every end: the host answers with the offset of the end.
pub(crate) const END: u64 = i64::MAX as u64;

/// Offsets of one stream, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Span {
    /// First byte that is shown.
    first: u64,
    /// Byte after the last one that was read.
    next: u64,
    /// True once something of the stream was shown.
    is_begun: bool,
}

impl Span {
    /// Begins a part of the stream before this offset.
    const fn before(end: u64) -> Self {
        let first = end.saturating_sub(PART_BYTES);
        Self {
            first,
            next: first,
            is_begun: false,
        }
    }
}

/// Stream of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Error,
}

/// An earlier part that is being read. It may take several replies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Earlier {
    output: Span,
    stderr: Span,
    text: String,
    stderr_text: String,
}

/// Request that is to be made next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// The offset of the end is not known yet.
    Finding,
    Following,
    Back(Box<Earlier>),
}

/// A reply as far as it matters here. An absent offset leaves the stream as it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    pub(crate) stderr: &'a str,
    pub(crate) next: Option<u64>,
    pub(crate) next_stderr: Option<u64>,
}

/// What a reply brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    Nothing,
    /// There is more to read at once.
    More,
    /// Earlier output stands before the rest.
    Before,
}

/// Output of a task that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Follow {
    pub(crate) task: String,
    pub(crate) output: String,
    /// Sentence about the end of the task; absent while it runs.
    pub(crate) ended: Option<String>,
    pub(crate) is_over: bool,
    /// Ticket of the request that is under way.
    pub(crate) asked: Option<u64>,
    printed: Span,
    complained: Span,
    /// Bytes of the output, by the stream they came from.
    pieces: VecDeque<(Stream, usize)>,
    stage: Stage,
}

impl Follow {
    pub(crate) fn new(task: &str) -> Self {
        Self {
            task: task.to_owned(),
            output: String::new(),
            ended: None,
            is_over: false,
            asked: None,
            pieces: VecDeque::new(),
            printed: Span::default(),
            complained: Span::default(),
            stage: Stage::Finding,
        }
    }

    /// Bytes of the output that stand before what is shown.
    pub(crate) const fn bytes_before(&self) -> u64 {
        self.printed.first.saturating_add(self.complained.first)
    }

    /// Returns true if nothing is to be asked for now.
    pub(crate) const fn is_idle(&self) -> bool {
        self.is_over && !matches!(self.stage, Stage::Back(_))
    }

    pub(crate) fn question(&self) -> Question {
        let (after_byte, stderr_after_byte) = match &self.stage {
            Stage::Finding => (END, END),
            Stage::Following => (self.printed.next, self.complained.next),
            Stage::Back(earlier) => (earlier.output.next, earlier.stderr.next),
        };
        Question::TaskOutput {
            task: self.task.clone(),
            after_byte,
            stderr_after_byte,
        }
    }

    /// Asks for the part before what is shown. Returns false if there is none, or no room for it.
    pub(crate) fn go_back(&mut self) -> bool {
        let is_possible = self.stage == Stage::Following
            && self.bytes_before() > 0
            && self.output.len() + 2 * usize::try_from(PART_BYTES).unwrap_or(0) <= BACK_BYTES;
        if is_possible {
            self.stage = Stage::Back(Box::new(Earlier {
                output: Span::before(self.printed.first),
                stderr: Span::before(self.complained.first),
                ..Earlier::default()
            }));
        }
        is_possible
    }

    /// Takes a reply. `is_end_shown` says that nothing but the end needs to be kept.
    pub(crate) fn add(&mut self, part: Part<'_>, is_end_shown: bool) -> Added {
        match std::mem::replace(&mut self.stage, Stage::Following) {
            Stage::Finding => {
                self.printed = Span::before(part.next.unwrap_or(0));
                self.complained = Span::before(part.next_stderr.unwrap_or(0));
                Added::More
            }
            Stage::Following => self.add_news(part, is_end_shown),
            Stage::Back(earlier) => self.add_earlier(*earlier, part),
        }
    }

    fn add_news(&mut self, part: Part<'_>, is_end_shown: bool) -> Added {
        let before = (self.printed.next, self.complained.next);
        self.printed.next = part.next.unwrap_or(before.0);
        self.complained.next = part.next_stderr.unwrap_or(before.1);
        for (stream, text) in [(Stream::Output, part.text), (Stream::Error, part.stderr)] {
            let span = self.span(stream);
            let text = if span.is_begun {
                text
            } else {
                skip_cut_line(text, span)
            };
            span.is_begun |= !text.is_empty();
            self.pieces.push_back((stream, text.len()));
            self.output.push_str(text);
        }
        let most = if is_end_shown {
            OUTPUT_BYTES
        } else {
            BACK_BYTES
        };
        if self.output.len() > 2 * most {
            let kept = suffix(&self.output, most);
            let whole = kept.split_once('\n').map(|(_, rest)| rest);
            let kept = whole.filter(|rest| !rest.is_empty()).unwrap_or(kept);
            let dropped = self.output.len() - kept.len();
            self.output = kept.to_owned();
            self.drop_pieces(dropped);
        }
        if before == (self.printed.next, self.complained.next) {
            Added::Nothing
        } else {
            Added::More
        }
    }

    const fn span(&mut self, stream: Stream) -> &mut Span {
        match stream {
            Stream::Output => &mut self.printed,
            Stream::Error => &mut self.complained,
        }
    }

    /// Notes that bytes at the beginning of the output are not shown any more.
    fn drop_pieces(&mut self, bytes: usize) {
        let mut left = bytes;
        while left > 0
            && let Some((stream, length)) = self.pieces.pop_front()
        {
            let dropped = length.min(left);
            left -= dropped;
            let span = self.span(stream);
            span.first = span.first.saturating_add(dropped as u64);
            if dropped < length {
                self.pieces.push_front((stream, length - dropped));
            }
        }
    }

    fn add_earlier(&mut self, mut earlier: Earlier, part: Part<'_>) -> Added {
        let text = take(
            &mut earlier.output,
            part.next,
            part.text,
            self.printed.first,
        );
        earlier.text.push_str(text);
        let text = take(
            &mut earlier.stderr,
            part.next_stderr,
            part.stderr,
            self.complained.first,
        );
        earlier.stderr_text.push_str(text);
        let is_whole = earlier.output.next >= self.printed.first
            && earlier.stderr.next >= self.complained.first;
        if !is_whole {
            self.stage = Stage::Back(Box::new(earlier));
            return Added::More;
        }
        let text = skip_cut_line(&earlier.text, &mut earlier.output);
        let stderr = skip_cut_line(&earlier.stderr_text, &mut earlier.stderr);
        self.pieces.push_front((Stream::Error, stderr.len()));
        self.pieces.push_front((Stream::Output, text.len()));
        self.output = format!("{text}{stderr}{}", self.output);
        self.printed.first = earlier.output.first;
        self.complained.first = earlier.stderr.first;
        Added::Before
    }
}

/// Takes the part of a reply before `until`, and moves on. A reply that does not move on ends the part.
fn take<'a>(span: &mut Span, next: Option<u64>, text: &'a str, until: u64) -> &'a str {
    let at = span.next;
    let next = next.filter(|next| *next > at).unwrap_or(until).max(at);
    span.next = next;
    if next <= until {
        return text;
    }
    prefix(
        text,
        usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX),
    )
}

/// Leaves out the rest of a line whose beginning is not shown; it belongs to the part before.
fn skip_cut_line<'a>(text: &'a str, span: &mut Span) -> &'a str {
    match text.split_once('\n') {
        Some((cut, rest)) if span.first > 0 && !rest.is_empty() => {
            span.first = span.first.saturating_add(cut.len() as u64 + 1);
            rest
        }
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with this output, which answers with at most 10,000 bytes.
    fn answer(follow: &mut Follow, printed: &str) -> Added {
        let Question::TaskOutput { after_byte, .. } = follow.question() else {
            panic!("another question");
        };
        let end = printed.len() as u64;
        let at = usize::try_from(after_byte.min(end)).unwrap();
        let text = prefix(printed.get(at..).unwrap(), 10_000);
        let part = Part {
            text,
            next: Some((at + text.len()) as u64),
            next_stderr: Some(0),
            ..Part::default()
        };
        follow.add(part, true)
    }

    fn numbers(count: u32) -> String {
        (1..=count).map(|n| format!("{n}\n")).collect()
    }

    #[test]
    fn a_long_output_opens_at_its_end_and_goes_back_part_by_part() {
        let printed = numbers(20_000);
        let mut follow = Follow::new("task_1");
        let mut replies = 0;
        while answer(&mut follow, &printed) == Added::More {
            replies += 1;
        }
        assert!(replies <= 4, "{replies} replies for the end alone");
        assert!(follow.output.ends_with("19999\n20000\n"));
        assert!(printed.ends_with(&follow.output) && !follow.output.starts_with("1\n"));
        while follow.go_back() {
            while answer(&mut follow, &printed) == Added::More {}
            let before = usize::try_from(follow.bytes_before()).unwrap();
            assert_eq!(
                printed.get(before..),
                Some(follow.output.as_str()),
                "no byte twice, none lost"
            );
        }
        assert_eq!(follow.output, printed);
    }

    /// A host with these outputs, which answers with whole lines of each, at most 10,000 bytes.
    fn answer_both(follow: &mut Follow, printed: &str, complained: &str) -> Added {
        let Question::TaskOutput {
            after_byte,
            stderr_after_byte,
            ..
        } = follow.question()
        else {
            panic!("another question");
        };
        fn cut(all: &str, after: u64) -> (&str, Option<u64>) {
            let at = usize::try_from(after).unwrap().min(all.len());
            let text = prefix(all.get(at..).unwrap(), 10_000);
            let end = text.rfind('\n').map_or(0, |end| end + 1);
            let text = text.get(..end).unwrap();
            (text, Some((at + text.len()) as u64))
        }
        let (text, next) = cut(printed, after_byte);
        let (stderr, next_stderr) = cut(complained, stderr_after_byte);
        let part = Part {
            text,
            stderr,
            next,
            next_stderr,
        };
        follow.add(part, true)
    }

    #[test]
    fn going_back_loses_nothing_of_either_stream() {
        let lines = |sign: &str, count: u32| -> String {
            (1..=count).map(|n| format!("{sign}{n}\n")).collect()
        };
        // The second one is longer than what is kept, so its beginning is dropped while it is followed.
        for (at_first, printed, complained) in [(4_000, 4_000, 4_000), (10, 10_000, 80_000)] {
            let first = (lines("o", at_first), lines("e", at_first));
            let all = (lines("o", printed), lines("e", complained));
            let mut follow = Follow::new("task_1");
            while answer_both(&mut follow, &first.0, &first.1) == Added::More {}
            while answer_both(&mut follow, &all.0, &all.1) == Added::More {}
            while follow.go_back() {
                while answer_both(&mut follow, &all.0, &all.1) == Added::More {}
            }
            let of = |sign: char| -> String {
                let shown = follow.output.lines().filter(|line| line.starts_with(sign));
                shown.map(|line| format!("{line}\n")).collect()
            };
            assert!(of('o') == all.0, "a line of stdout is lost or cut");
            assert!(of('e') == all.1, "a line of stderr is lost or cut");
        }
    }

    #[test]
    fn followed_output_is_bounded() {
        let mut follow = Follow::new("task_1");
        follow.add(Part::default(), true);
        for n in 0..200 {
            let part = Part {
                text: &"漢".repeat(3_000),
                next: Some((n + 1) * 9_000),
                ..Part::default()
            };
            follow.add(part, true);
        }
        assert!(follow.output.len() <= 2 * OUTPUT_BYTES);
        assert_eq!(
            follow.bytes_before() + follow.output.len() as u64,
            200 * 9_000
        );
    }
}
