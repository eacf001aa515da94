//! Reading in steps: every byte once with any budget, and it ends if the stream ends.
#![allow(clippy::expect_used, reason = "tests")]

use super::*;
use proptest::prelude::*;

/// Returns at most `max` bytes of a stream from an offset on, as a host does: a character that does not fit, or is
/// incomplete, is left for the next call.
fn part_of(stream: &[u8], offset: u64, max: usize) -> StreamPart {
    let from = usize::try_from(offset).expect("small").min(stream.len());
    let to = stream.len().min(from + max);
    let bytes = &stream[from..to];
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    };
    StreamPart {
        head: String::from_utf8_lossy(&bytes[..whole]).into_owned(),
        at: from as u64,
        next_offset: (from + whole) as u64,
        total_bytes: stream.len() as u64,
        ..StreamPart::default()
    }
}

fn part(text: &str) -> StreamPart {
    part_of(text.as_bytes(), 0, text.len())
}

#[test]
fn what_does_not_fit_is_left_for_the_next_look() {
    let result = show_part(&part("one\ntwo\n"), PartRequest::From(0), 5);
    assert_eq!(
        result,
        ShownPart {
            shown: ShownText {
                text: "one\nt".into(),
                cut: true
            },
            next_offset: 5,
        }
    );
    let rest = show_part(&part_of(b"one\ntwo\n", 5, 100), PartRequest::From(5), 5);
    assert_eq!(
        (rest.shown.text.as_str(), rest.shown.cut, rest.next_offset),
        ("wo\n", false, 8)
    );
}

#[test]
fn a_character_of_several_bytes_is_shown_whole_or_next_time() {
    let crab = "aé🦀z";
    for (budget, shown, next) in [
        (0, "a", 1),
        (2, "a", 1),
        (3, "aé", 3),
        (6, "aé", 3),
        (7, "aé🦀", 7),
    ] {
        let result = show_part(&part(crab), PartRequest::From(0), budget);
        assert_eq!(
            (result.shown.text.as_str(), result.next_offset),
            (shown, next),
            "{budget}"
        );
    }
    let alone = show_part(&part_of(crab.as_bytes(), 3, 100), PartRequest::From(3), 1);
    assert_eq!(
        (alone.shown.text.as_str(), alone.next_offset),
        ("🦀", 7),
        "one character is always shown"
    );
}

#[test]
fn bytes_that_were_not_kept_are_counted() {
    let late = StreamPart {
        at: 100,
        next_offset: 104,
        total_bytes: 104,
        ..part("tail")
    };
    let result = show_part(&late, PartRequest::From(40), 100);
    assert_eq!(result.shown.text, "[60 bytes were not kept]\ntail");
    assert!(result.shown.cut);
    let whole = show_part(&late, PartRequest::Whole, 100);
    assert_eq!(whole.shown.text, "[100 bytes before this left out]\ntail");
}

#[test]
fn the_last_lines_lack_nothing_when_they_are_as_many_as_asked_for() {
    let last = part_of(b"one\ntwo\nthree\n", 4, 100);
    let result = |lines| show_part(&last, PartRequest::Last(lines), 100);
    assert_eq!(
        (result(2).shown.text.as_str(), result(2).shown.cut),
        ("two\nthree\n", false)
    );
    assert!(result(3).shown.cut && result(3).shown.text.starts_with("[4 bytes before"));
    assert_eq!(result(3).next_offset, 14);
}

#[test]
fn what_the_host_left_out_is_counted_once_with_what_is_cut() {
    let holed = StreamPart {
        head: "a".repeat(20),
        tail: "z".repeat(20),
        left_out: 1_000,
        at: 0,
        next_offset: 1_040,
        total_bytes: 1_040,
        ..StreamPart::default()
    };
    for (budget, shown) in [
        (
            40,
            format!("{}\n[1000 bytes left out]\n{}", holed.head, holed.tail),
        ),
        (10, "aaaaa\n[1030 bytes left out]\nzzzzz".to_owned()),
    ] {
        let result = show_part(&holed, PartRequest::Whole, budget);
        assert_eq!((result.shown.text, result.shown.cut), (shown, true));
        assert_eq!(result.next_offset, 1_040);
    }
}

#[test]
fn of_a_stream_that_was_not_asked_for_nothing_is_shown_and_nothing_is_missed() {
    let result = show_part(&part("one\ntwo\n"), PartRequest::Nothing, 100);
    assert_eq!((result.shown.text.as_str(), result.shown.cut), ("", false));
    assert_eq!(result.next_offset, 8);
}

#[test]
fn an_offset_beyond_the_end_finds_nothing_and_says_where_the_end_is() {
    let result = show_part(&part_of(b"abc", 50, 100), PartRequest::From(50), 100);
    assert_eq!(
        (
            result.shown.text.as_str(),
            result.shown.cut,
            result.next_offset
        ),
        ("", false, 3)
    );
}

/// Reads a stream to its end and returns each step.
fn read_on(stream: &[u8], max: usize, budget: usize) -> Vec<(StreamPart, ShownPart)> {
    let (mut looks, mut offset) = (Vec::new(), 0);
    while offset < stream.len() as u64 {
        let part = part_of(stream, offset, max);
        let result = show_part(&part, PartRequest::From(offset), budget);
        assert!(
            result.next_offset > offset,
            "stuck at {offset} of {}",
            stream.len()
        );
        offset = result.next_offset;
        looks.push((part, result));
    }
    looks
}

/// Returns the offset after the first `shown` bytes of the lossy text of these bytes.
fn place_after(bytes: &[u8], shown: usize) -> usize {
    let (mut text, mut raw) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if text >= shown {
                return raw;
            }
            text += character.len_utf8();
            raw += character.len_utf8();
        }
        if text >= shown {
            return raw;
        }
        text += char::REPLACEMENT_CHARACTER.len_utf8();
        raw += chunk.invalid().len();
    }
    raw
}

proptest! {
    #[test]
    fn reading_on_shows_every_character_of_a_text_once(
        text in "(?s)[a-zé漢🦀\n]{0,80}", max in 4usize..40, budget in 0usize..40,
    ) {
        let shown: String = read_on(text.as_bytes(), max, budget)
            .into_iter()
            .map(|(_, result)| result.shown.text)
            .collect();
        prop_assert_eq!(shown, text);
    }

    #[test]
    fn reading_on_skips_nothing_also_where_bytes_are_no_text(
        stream in prop::collection::vec(prop_oneof![any::<u8>(), 97u8..123], 0..80),
        max in 4usize..40, budget in 0usize..40,
    ) {
        for (part, result) in read_on(&stream, max, budget) {
            let begin = usize::try_from(part.at).expect("small");
            let end = usize::try_from(part.next_offset).expect("small");
            let seen = begin + place_after(&stream[begin..end], result.shown.text.len());
            prop_assert!(result.next_offset <= seen as u64, "{part:?} was shown as {result:?}");
            prop_assert!(result.shown.text.len() <= budget.max(4));
        }
    }

    #[test]
    fn every_look_stays_within_its_budget_and_its_text(
        text in "(?s).{0,80}", budget in 0usize..100, lines in 1u32..5,
    ) {
        for request in [PartRequest::From(0), PartRequest::Last(lines), PartRequest::Whole] {
            let result = show_part(&part(&text), request, budget);
            let kept: usize = result.shown.text.lines().filter(|line| !line.contains("left out]")).map(str::len).sum();
            prop_assert!(kept <= budget.max(4), "{kept} of {budget}");
            prop_assert_eq!(result.shown.cut, result.shown.text != text);
        }
    }
}
