//! Selects the part of a command's output that a model reads: head and tail of each stream under one budget.
//!
//! Owns the cut, the marker that states what was left out, and the division of a budget. A stream may arrive with a gap
//! that the capture made; the marker counts that too. Invariant: without the markers, the shown text stays within the
//! budget, and no character is split.

use holon_domain::command::{CapturedStream, StreamPart};
use holon_domain::text;

/// Characters that one estimated token stands for.
const CHARS_PER_TOKEN: usize = 4;

/// A text that may have been cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownText {
    pub(crate) text: String,
    /// True if anything was left out.
    pub(crate) cut: bool,
}

/// The available part of a text: all of it, or its two ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends<'a> {
    head: &'a str,
    tail: &'a str,
    /// Bytes missing between the two ends.
    between: u64,
}

impl<'a> From<&'a CapturedStream> for Ends<'a> {
    fn from(stream: &'a CapturedStream) -> Self {
        Self {
            head: &stream.head,
            tail: &stream.tail,
            between: stream.dropped_bytes,
        }
    }
}

impl<'a> From<&'a StreamPart> for Ends<'a> {
    fn from(part: &'a StreamPart) -> Self {
        Self {
            head: &part.head,
            tail: &part.tail,
            between: part.left_out,
        }
    }
}

impl Ends<'_> {
    /// Returns the number of available bytes.
    pub(crate) const fn held(self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Cuts the middle out, if the text is too long or already has a gap.
    pub(crate) fn fit(self, budget: usize) -> ShownText {
        if self.between == 0 {
            return cut_middle(&format!("{}{}", self.head, self.tail), budget);
        }
        let (head_share, tail_share) = shares(self.head.len(), self.tail.len(), budget);
        let (head, tail) = (
            text::prefix(self.head, head_share),
            text::suffix(self.tail, tail_share),
        );
        let cut_too = self.held() - head.len() - tail.len();
        // The number of lines in the gap is unknown, because the capture dropped it unread.
        let marker = format!("[{} bytes left out]", self.between + cut_too as u64);
        ShownText {
            text: join(head, &marker, tail),
            cut: true,
        }
    }
}

/// Both streams, cut to one budget.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Previews {
    pub(crate) stdout: ShownText,
    pub(crate) stderr: ShownText,
}

impl Previews {
    /// Returns true if anything was left out of either stream.
    pub(crate) const fn truncated(&self) -> bool {
        self.stdout.cut || self.stderr.cut
    }
}

/// Converts estimated tokens to a budget in bytes, which is never more than that many characters.
pub(crate) const fn budget(tokens: u32) -> usize {
    (tokens as usize).saturating_mul(CHARS_PER_TOKEN)
}

/// Divides a budget between two texts of these lengths: each may have half, and the unused rest of one goes to the
/// other.
pub(crate) fn divide(first: usize, second: usize, budget: usize) -> (usize, usize) {
    let for_first = budget.saturating_sub(second.min(budget / 2));
    let for_second = budget.saturating_sub(first.min(for_first));
    (for_first, for_second)
}

/// Divides a budget among texts of these lengths: each may have the same share, and unused shares go to the rest.
pub(crate) fn divide_evenly(needs: &[usize], budget: usize) -> Vec<usize> {
    let mut by_need: Vec<usize> = (0..needs.len()).collect();
    by_need.sort_by_key(|place| needs[*place]);
    let mut shares = vec![0; needs.len()];
    let mut left = budget;
    for (served, place) in by_need.into_iter().enumerate() {
        shares[place] = needs[place].min(left / (needs.len() - served));
        left -= shares[place];
    }
    shares
}

/// Cuts both streams to one budget.
pub(crate) fn cut_streams(
    stdout: &CapturedStream,
    stderr: &CapturedStream,
    budget: usize,
) -> Previews {
    let (stdout, stderr) = (Ends::from(stdout), Ends::from(stderr));
    let (for_stdout, for_stderr) = divide(stdout.held(), stderr.held(), budget);
    Previews {
        stdout: stdout.fit(for_stdout),
        stderr: stderr.fit(for_stderr),
    }
}

/// Cuts the middle out of a complete text, if it is too long.
fn cut_middle(text: &str, budget: usize) -> ShownText {
    let cut = text.len() > budget;
    ShownText {
        text: if cut {
            without_middle(text, budget)
        } else {
            text.to_owned()
        },
        cut,
    }
}

/// Replaces the middle of a complete text by a marker.
fn without_middle(whole: &str, budget: usize) -> String {
    let head = text::prefix(whole, budget / 2);
    let tail = text::suffix(whole, budget - budget / 2);
    let middle = whole
        .get(head.len()..whole.len() - tail.len())
        .unwrap_or_default();
    let lines = match middle.lines().count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    join(
        head,
        &format!("[{} bytes, {lines} left out]", middle.len()),
        tail,
    )
}

/// Divides the budget between head and tail: half each, and the unused rest of one goes to the other.
fn shares(head: usize, tail: usize, budget: usize) -> (usize, usize) {
    let for_head = budget.saturating_sub(tail.min(budget - budget / 2));
    (head.min(for_head), budget - head.min(for_head))
}

/// Joins head and tail with the marker on a line of its own.
fn join(head: &str, marker: &str, tail: &str) -> String {
    let above = if head.is_empty() || head.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let below = if tail.starts_with('\n') { "" } else { "\n" };
    format!("{head}{above}{marker}{below}{tail}")
}

#[cfg(test)]
mod tests;
