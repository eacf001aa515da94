//! What of a command's output a model reads: head and tail of each stream under one budget.
//!
//! Owns the cut and the marker that names what was left out. Does not capture: a stream may come with a hole of its
//! own, made while it was drained, and the marker counts that too.
//! Invariant: without the markers, both previews together stay within the budget, and no character is split.

use holon_domain::command::CapturedStream;
use holon_domain::text;

/// Characters an estimated token stands for.
const CHARS_PER_TOKEN: usize = 4;

/// Both streams, cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Previews {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Whether anything was left out of either.
    pub(crate) truncated: bool,
}

/// The budget for a number of estimated tokens. Counted in bytes, so it is never more than that many characters.
pub(crate) const fn budget(tokens: u32) -> usize {
    (tokens as usize).saturating_mul(CHARS_PER_TOKEN)
}

/// Cuts both streams to one budget: each may have half, and what one does not need goes to the other.
pub(crate) fn streams(stdout: &CapturedStream, stderr: &CapturedStream, budget: usize) -> Previews {
    let half = budget / 2;
    let for_stdout = budget.saturating_sub(held(stderr).min(half));
    let for_stderr = budget.saturating_sub(held(stdout).min(for_stdout));
    let (stdout, stdout_cut) = fit(stdout, for_stdout);
    let (stderr, stderr_cut) = fit(stderr, for_stderr);
    Previews {
        stdout,
        stderr,
        truncated: stdout_cut || stderr_cut,
    }
}

/// Bytes of a stream that are at hand.
fn held(stream: &CapturedStream) -> usize {
    stream.head.len() + stream.tail.len()
}

fn fit(stream: &CapturedStream, budget: usize) -> (String, bool) {
    let whole = stream.dropped_bytes == 0;
    if whole && held(stream) <= budget {
        return (format!("{}{}", stream.head, stream.tail), false);
    }
    if whole {
        return (
            cut(&format!("{}{}", stream.head, stream.tail), budget),
            true,
        );
    }
    let (head_share, tail_share) = shares(stream.head.len(), stream.tail.len(), budget);
    let (head, tail) = (
        text::prefix(&stream.head, head_share),
        text::suffix(&stream.tail, tail_share),
    );
    let cut_too = held(stream) - head.len() - tail.len();
    // How many lines the hole had is not known: it was never looked at.
    let marker = format!("[{} bytes left out]", stream.dropped_bytes + cut_too as u64);
    (join(head, &marker, tail), true)
}

/// The middle cut out of a text that is all at hand.
fn cut(whole: &str, budget: usize) -> String {
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
#[allow(clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(text: &str) -> CapturedStream {
        CapturedStream {
            head: text.into(),
            total_bytes: text.len() as u64,
            ..CapturedStream::default()
        }
    }

    #[test]
    fn output_within_the_budget_is_shown_whole() {
        let shown = streams(&stream("one\n"), &stream("two\n"), 8);
        assert_eq!(
            shown,
            Previews {
                stdout: "one\n".into(),
                stderr: "two\n".into(),
                truncated: false
            }
        );
    }

    #[test]
    fn a_long_stream_keeps_its_ends_and_says_what_is_gone() {
        let long: String = (0..100).map(|n| format!("line {n:02}\n")).collect();
        let shown = streams(&stream(&long), &stream(""), 32);
        assert_eq!(
            shown.stdout,
            "line 00\nline 01\n[768 bytes, 96 lines left out]\nline 98\nline 99\n"
        );
        assert!(shown.truncated);
    }

    #[test]
    fn a_quiet_stream_leaves_its_share_to_the_loud_one() {
        let loud = "x".repeat(90);
        let shown = streams(&stream(&loud), &stream("0123456789"), 100);
        assert_eq!(
            (shown.stdout.len(), shown.stderr.len(), shown.truncated),
            (90, 10, false)
        );
        let shown = streams(&stream("0123456789"), &stream(&loud), 100);
        assert_eq!(
            (shown.stdout.len(), shown.stderr.len(), shown.truncated),
            (10, 90, false)
        );
    }

    #[test]
    fn a_hole_made_by_the_capture_is_counted_with_what_the_cut_adds() {
        let holed = CapturedStream {
            head: "a".repeat(20),
            tail: "z".repeat(20),
            total_bytes: 1_040,
            dropped_bytes: 1_000,
        };
        assert_eq!(
            streams(&holed, &stream(""), 100).stdout,
            format!("{0}\n[1000 bytes left out]\n{1}", holed.head, holed.tail)
        );
        assert_eq!(
            streams(&holed, &stream(""), 10).stdout,
            "aaaaa\n[1030 bytes left out]\nzzzzz"
        );
    }

    proptest! {
        #[test]
        fn no_output_passes_the_budget_or_loses_count(
            out in "(?s).{0,200}", err in "(?s).{0,200}", budget in 0usize..300,
        ) {
            let shown = streams(&stream(&out), &stream(&err), budget);
            prop_assert_eq!(shown.truncated, out.len() + err.len() > budget);
            let kept: usize = [(&out, &shown.stdout), (&err, &shown.stderr)]
                .map(|(text, preview)| text.len() - left_out(preview, text))
                .iter()
                .sum();
            prop_assert!(kept <= budget, "{kept} kept of {budget}");
        }
    }

    /// What the preview says is gone of `text`.
    fn left_out(preview: &str, text: &str) -> usize {
        if preview == text {
            return 0;
        }
        (0..=text.len())
            .find(|gone| preview.contains(&format!("[{gone} bytes, ")))
            .expect("a cut preview carries its marker")
    }
}
