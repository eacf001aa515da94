//! Fixed words for everything that another run prints otherwise: directories, ids, secrets, times, numbers of processes
//! and ports.
//!
//! Where a replacement can stand in a picture it is as long as the original, so that columns stay where they are.

use super::stage::NAMED_ROOT;
use crate::Failure;
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::path::Path;

/// What is replaced by the same words wherever it stands; in this order. No pattern begins with the bound of a word,
/// because the sequence of a colour ends with a letter.
const FIXED: &[(&str, &str)] = &[
    (r"hct_[0-9a-z]{40,}", "hct_SECRET"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:40000"),
    (r"(pid|process) \d+", "$1 4000"),
    (r"(after|in) \d+(\.\d+)? m?s\b", "$1 5 ms"),
];

/// A time of the host, with its day and its fractions if they are shown.
const TIME: &str = r"(\d{4}-\d\d-\d\dT)?(\d\d):(\d\d):(\d\d)(\.\d{3})?Z";
/// An id as the runtime mints it: the word of its kind and twenty letters.
const ID: &str = r"([a-z]+)_([0-9a-hjkmnp-tv-z]{20})\b";

const DAY: &str = "2026-01-31T";
/// The minute of the day at which every page begins.
const BEGIN: u32 = 9 * 60;
const MINUTES_PER_DAY: u32 = 24 * 60;
/// A page takes less than half of this, so that only times that it plans differ from the time of its beginning.
const STEP: u32 = 10;

/// Replaces what varies. An id gets a number when it is first seen and keeps it.
pub(super) struct Replacer {
    root: String,
    fixed: Vec<(Regex, &'static str)>,
    time: Regex,
    id: Regex,
    numbers: BTreeMap<String, usize>,
    /// Minute of the day of the first time that was seen.
    first_minute: Option<u32>,
}

impl Replacer {
    pub(super) fn new(root: &Path) -> Result<Self, Failure> {
        let compile = |pattern: &str| Regex::new(pattern).map_err(|error| error.to_string());
        let mut fixed = Vec::new();
        for (pattern, words) in FIXED {
            fixed.push((compile(pattern)?, *words));
        }
        Ok(Self {
            root: root.display().to_string(),
            fixed,
            time: compile(TIME)?,
            id: compile(ID)?,
            numbers: BTreeMap::new(),
            first_minute: None,
        })
    }

    pub(super) fn replace(&mut self, text: &str) -> String {
        let mut text = text.replace(&self.root, NAMED_ROOT);
        for (pattern, words) in &self.fixed {
            text = pattern.replace_all(&text, *words).into_owned();
        }
        let first = &mut self.first_minute;
        let text = self.time.replace_all(&text, |found: &Captures<'_>| {
            let number = |group: usize| found[group].parse::<u32>().unwrap_or(0);
            let minute = number(2) * 60 + number(3);
            let first = *first.get_or_insert(minute);
            let (day, fractions) = (found.get(1), found.get(5));
            format!(
                "{}{}:00{}Z",
                day.map_or("", |_| DAY),
                shown_time(minute, first),
                fractions.map_or("", |_| ".000")
            )
        });
        let numbers = &mut self.numbers;
        let numbered = self.id.replace_all(&text, |found: &Captures<'_>| {
            let next = numbers.len() + 1;
            let number = numbers.entry(found[2].to_owned()).or_insert(next);
            format!("{}_{number:020}", &found[1])
        });
        numbered.into_owned()
    }
}

/// The hour and minute that stand for a minute of the day, as far after the beginning as it is after the first.
fn shown_time(minute: u32, first: u32) -> String {
    let after = (minute + MINUTES_PER_DAY - first + STEP / 2) % MINUTES_PER_DAY;
    let shown = (BEGIN + after / STEP * STEP) % MINUTES_PER_DAY;
    format!("{:02}:{:02}", shown / 60, shown % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_gets_fixed_words_and_ids_keep_their_numbers() {
        let mut replacer = Replacer::new(Path::new("/tmp/hr-0000001")).expect("compiles");
        for (text, expected) in [
            ("in /tmp/hr-0000001/home", "in /tmp/first-hour/home"),
            (
                "msg_2ftxzdzvs2t1a30vay92 of trig_eybwyr4j0w8a8w2zm8pb",
                "msg_00000000000000000001 of trig_00000000000000000002",
            ),
            ("trig_eybwyr4j0w8a8w2zm8pb", "trig_00000000000000000002"),
            (
                "http://127.0.0.1:43993/callbacks/wake/hct_eybwyr4j0w8a8w2zm8pb000000019e21eee39e4a72",
                "http://127.0.0.1:40000/callbacks/wake/hct_SECRET",
            ),
            ("process 11332, since", "process 4000, since"),
            ("answered in 15 ms", "answered in 5 ms"),
            ("exit 0 after 1.2 s", "exit 0 after 5 ms"),
            (
                "\u{1b}[2mtmp_run_77dkten14qz2x00vtznr",
                "\u{1b}[2mtmp_run_00000000000000000003",
            ),
            ("work_item 3 of 120", "work_item 3 of 120"),
        ] {
            assert_eq!(replacer.replace(text), expected);
        }
    }

    #[test]
    fn times_are_as_far_from_the_beginning_as_they_were_also_over_midnight() {
        let mut replacer = Replacer::new(Path::new("/x")).expect("compiles");
        for (text, expected) in [
            ("2026-11-17T23:16:51.372Z x", "2026-01-31T09:00:00.000Z x"),
            (
                "\u{1b}[2m2026-11-17T23:16:52.000Z\u{1b}[0m",
                "\u{1b}[2m2026-01-31T09:00:00.000Z\u{1b}[0m",
            ),
            ("You · 23:17:01Z", "You · 09:00:00Z"),
            (
                "until 2026-11-18T01:17:03.418Z",
                "until 2026-01-31T11:00:00.000Z",
            ),
            ("2026-11-17T23:16:00Z", "2026-01-31T09:00:00Z"),
        ] {
            assert_eq!(replacer.replace(text), expected);
        }
    }
}
