//! What of a command's output a model reads: head and tail of each stream under one budget.
//!
//! Owns the cut, the marker that names what was left out, and how a budget is divided. Does not capture: a stream may
//! come with a hole of its own, made while it was drained, and the marker counts that too.
//! Invariant: without the markers, what is shown stays within the budget, and no character is split.

use holon_domain::command::{CapturedStream, StreamPart};
use holon_domain::text;

/// Characters an estimated token stands for.
const CHARS_PER_TOKEN: usize = 4;

/// A text as far as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Whether anything was left out.
    pub(crate) cut: bool,
}

/// What is at hand of a text: all of it, or its two ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends<'a> {
    head: &'a str,
    tail: &'a str,
    /// Bytes between them.
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
    /// Bytes at hand.
    pub(crate) const fn held(self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Cuts the middle out, if it is too long or has a hole already.
    pub(crate) fn fit(self, budget: usize) -> Shown {
        if self.between == 0 {
            return whole(&format!("{}{}", self.head, self.tail), budget);
        }
        let (head_share, tail_share) = shares(self.head.len(), self.tail.len(), budget);
        let (head, tail) = (
            text::prefix(self.head, head_share),
            text::suffix(self.tail, tail_share),
        );
        let cut_too = self.held() - head.len() - tail.len();
        // How many lines the hole had is not known: it was never looked at.
        let marker = format!("[{} bytes left out]", self.between + cut_too as u64);
        Shown {
            text: join(head, &marker, tail),
            cut: true,
        }
    }
}

/// Both streams, cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Previews {
    pub(crate) stdout: Shown,
    pub(crate) stderr: Shown,
}

impl Previews {
    /// Whether anything was left out of either.
    pub(crate) const fn truncated(&self) -> bool {
        self.stdout.cut || self.stderr.cut
    }
}

/// The budget for a number of estimated tokens. Counted in bytes, so it is never more than that many characters.
pub(crate) const fn budget(tokens: u32) -> usize {
    (tokens as usize).saturating_mul(CHARS_PER_TOKEN)
}

/// Divides a budget between two texts of these lengths: each may have half, and what one does not need goes to the
/// other.
pub(crate) fn divide(first: usize, second: usize, budget: usize) -> (usize, usize) {
    let for_first = budget.saturating_sub(second.min(budget / 2));
    let for_second = budget.saturating_sub(first.min(for_first));
    (for_first, for_second)
}

/// Divides a budget among texts of these lengths: all may have the same, and what some do not need goes to the rest.
pub(crate) fn fair(needs: &[usize], budget: usize) -> Vec<usize> {
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
pub(crate) fn streams(stdout: &CapturedStream, stderr: &CapturedStream, budget: usize) -> Previews {
    let (stdout, stderr) = (Ends::from(stdout), Ends::from(stderr));
    let (for_stdout, for_stderr) = divide(stdout.held(), stderr.held(), budget);
    Previews {
        stdout: stdout.fit(for_stdout),
        stderr: stderr.fit(for_stderr),
    }
}

/// Cuts the middle out of a text that is all at hand, if it is too long.
fn whole(text: &str, budget: usize) -> Shown {
    let cut = text.len() > budget;
    Shown {
        text: if cut {
            without_middle(text, budget)
        } else {
            text.to_owned()
        },
        cut,
    }
}

/// The middle cut out of a text that is all at hand.
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

/// How much of the budget the head and the tail get: half each, and what one does not need goes to the other.
fn shares(head: usize, tail: usize, budget: usize) -> (usize, usize) {
    let for_head = budget.saturating_sub(tail.min(budget - budget / 2));
    (head.min(for_head), budget - head.min(for_head))
}

/// The marker on a line of its own.
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
