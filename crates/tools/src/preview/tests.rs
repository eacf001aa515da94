//! Budgets, markers and the division of a budget.
#![allow(clippy::expect_used, reason = "tests")]

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
    let shown = cut_streams(&stream("one\n"), &stream("two\n"), 8);
    assert_eq!(
        shown,
        Previews {
            stdout: ShownText {
                text: "one\n".into(),
                cut: false
            },
            stderr: ShownText {
                text: "two\n".into(),
                cut: false
            },
        }
    );
}

#[test]
fn a_long_stream_keeps_its_ends_and_says_what_is_gone() {
    let long: String = (0..100).map(|n| format!("line {n:02}\n")).collect();
    let shown = cut_streams(&stream(&long), &stream(""), 32);
    assert_eq!(
        shown.stdout.text,
        "line 00\nline 01\n[768 bytes, 96 lines left out]\nline 98\nline 99\n"
    );
    assert!(shown.truncated());
}

#[test]
fn a_quiet_stream_leaves_its_share_to_the_loud_one() {
    let loud = "x".repeat(90);
    let shown = cut_streams(&stream(&loud), &stream("0123456789"), 100);
    assert_eq!(
        (
            shown.stdout.text.len(),
            shown.stderr.text.len(),
            shown.truncated()
        ),
        (90, 10, false)
    );
    let shown = cut_streams(&stream("0123456789"), &stream(&loud), 100);
    assert_eq!(
        (
            shown.stdout.text.len(),
            shown.stderr.text.len(),
            shown.truncated()
        ),
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
        ..CapturedStream::default()
    };
    assert_eq!(
        cut_streams(&holed, &stream(""), 100).stdout.text,
        format!("{0}\n[1000 bytes left out]\n{1}", holed.head, holed.tail)
    );
    assert_eq!(
        cut_streams(&holed, &stream(""), 10).stdout.text,
        "aaaaa\n[1030 bytes left out]\nzzzzz"
    );
}

proptest! {
    #[test]
    fn no_output_passes_the_budget_or_loses_count(
        out in "(?s).{0,200}", err in "(?s).{0,200}", budget in 0usize..300,
    ) {
        let shown = cut_streams(&stream(&out), &stream(&err), budget);
        prop_assert_eq!(shown.truncated(), out.len() + err.len() > budget);
        let kept: usize = [(&out, &shown.stdout.text), (&err, &shown.stderr.text)]
            .map(|(text, preview)| text.len() - left_out(preview, text))
            .iter()
            .sum();
        prop_assert!(kept <= budget, "{kept} kept of {budget}");
    }
}

/// Reads the number of bytes that the preview reports as left out of `text`.
fn left_out(preview: &str, text: &str) -> usize {
    if preview == text {
        return 0;
    }
    (0..=text.len())
        .find(|gone| preview.contains(&format!("[{gone} bytes, ")))
        .expect("a cut preview carries its marker")
}

#[test]
fn what_quiet_texts_do_not_need_goes_to_the_loud_ones() {
    assert_eq!(divide_evenly(&[10, 1_000, 5, 1_000], 100), [10, 42, 5, 43]);
    assert_eq!(divide_evenly(&[1, 2, 3], 100), [1, 2, 3]);
    assert_eq!(divide_evenly(&[50, 50], 0), [0, 0]);
    assert_eq!(divide_evenly(&[], 100), Vec::<usize>::new());
}

proptest! {
    #[test]
    fn a_divided_budget_is_used_up_before_anybody_goes_without(
        needs in prop::collection::vec(0usize..500, 0..13), budget in 0usize..3_000,
    ) {
        let shares = divide_evenly(&needs, budget);
        let (given, needed) = (shares.iter().sum::<usize>(), needs.iter().sum::<usize>());
        prop_assert_eq!(given, needed.min(budget));
        let most = shares.iter().max().copied().unwrap_or_default();
        for (share, need) in shares.iter().zip(&needs) {
            prop_assert!(share == need || share + 1 >= most, "{shares:?} of {needs:?}");
        }
    }

    #[test]
    fn a_cut_text_begins_and_ends_as_the_whole_one(text in "(?s)[a-zé漢🦀\n]{0,60}", budget in 0usize..80) {
        let shown = cut_middle(&text, budget);
        prop_assert_eq!(shown.cut, text.len() > budget);
        let kept = text.len() - left_out(&shown.text, &text);
        let meets = |head: usize| match (text.get(..head), text.get(text.len() - (kept - head)..)) {
            (Some(head), Some(tail)) => shown.text.starts_with(head) && shown.text.ends_with(tail),
            _ => false,
        };
        prop_assert!((0..=kept).any(meets), "{shown:?}");
    }
}
