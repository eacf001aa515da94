//! The estimate against true counts, and its behaviour on any text.

use super::{estimate, prefix};
use proptest::prelude::*;

/// True counts of the samples; `checks/tokens/count.py` writes them.
const COUNTS: &str = include_str!("../samples/counts.tsv");

macro_rules! samples {
    ($($name:literal)+) => {
        [$(($name, include_str!(concat!("../samples/", $name, ".txt")))),+]
    };
}

/// Sample texts by name. None of them was used to measure the costs.
const SAMPLES: [(&str, &str); 27] = samples![
    "arabic" "chinese" "chinese_technical" "chinese_traditional" "diff" "emoji" "english" "english_mail" "french"
    "german" "hebrew" "hindi" "identifiers" "japanese" "json_compact" "json_pretty" "korean" "log" "markdown" "python"
    "russian" "rust" "shell" "table" "thai" "toml_config" "typescript"
];

/// Largest error of an estimate, in percent.
const LARGEST_ERROR: i64 = 15;

fn true_count(name: &str) -> i64 {
    let line = COUNTS
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    let line = line.unwrap_or_else(|| panic!("{name} has no count"));
    line.parse().expect("a number")
}

#[test]
fn an_estimate_is_within_fifteen_percent_for_every_kind_of_text() {
    let mut report = String::new();
    let mut is_wrong = false;
    for (name, text) in SAMPLES {
        let counted = true_count(name);
        let estimated = i64::try_from(estimate(text)).expect("fits");
        let error = (estimated - counted) * 100;
        is_wrong |= error.abs() > counted * LARGEST_ERROR;
        report += &format!("{name}: {estimated} instead of {counted}\n");
    }
    assert!(!is_wrong, "{report}");
}

#[test]
fn every_sample_is_counted() {
    assert_eq!(COUNTS.lines().count(), SAMPLES.len());
}

#[test]
fn pieces_are_those_of_the_reference() {
    for (text, tokens) in [
        ("", 0),
        ("\u{0}", 1),
        ("hello world", 2),
        ("don't they've it's", 3),
        ("1234567", 3),
        ("a  b", 3),
        ("    return x;\n", 4),
        ("x.lock()", 3),
        ("helloWorld", 2),
        ("fn main() {\n    let x = 1;\n}\n", 12),
        ("<!-- -->", 2),
        ("x)\n\ny", 3),
    ] {
        assert_eq!(estimate(text), tokens, "{text:?}");
    }
}

#[test]
fn long_runs_of_one_character_are_neither_free_nor_overflow() {
    for one in [" ", "\n", "-", "a", "A", "é", "漢", "🦀", "\u{e0041}"] {
        let many = one.repeat(100_000);
        assert!(estimate(&many) > 500, "{one:?}: {}", estimate(&many));
        assert!(estimate(&many) <= many.len(), "{one:?}");
    }
}

/// Text made of fragments of many kinds, so that each boundary between them occurs.
fn mixed() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        "[a-z]{1,20}",
        "[A-Z]{1,12}",
        "[A-Z][a-z]{1,9}",
        "[0-9]{1,7}",
        "[ \t]{1,4}",
        "[\r\n]{1,3}",
        "[!-/:-@\\[-`{-~]{1,5}",
        "'(s|t|re|ve|ll|x)?",
        "[à-ü]{1,4}",
        "[α-ω]{1,6}",
        "[а-я]{1,8}",
        "[א-ת]{1,6}",
        "[ا-ي]{1,6}",
        "[अ-ा]{1,6}",
        "[ก-ฮ]{1,6}",
        "[가-힣]{1,5}",
        "[一-龥]{1,6}",
        "[ぁ-ん]{1,5}",
        "[ァ-ン]{1,5}",
        "[、。「」！]{1,2}",
        "[─│→“”…]{1,5}",
        "[😀-😿]{1,2}",
        "\\PC{1,3}",
        "(?s).{1,2}",
    ];
    prop::collection::vec(fragment, 0..12).prop_map(|fragments| fragments.concat())
}

proptest! {
    #[test]
    fn joined_texts_have_about_the_tokens_of_their_parts(left in mixed(), right in mixed()) {
        let joined = estimate(&format!("{left}{right}"));
        let (left_tokens, right_tokens) = (estimate(&left), estimate(&right));
        prop_assert!(joined <= left_tokens + right_tokens + 2, "{left:?} {right:?}");
        prop_assert!(joined + 1 >= left_tokens.max(right_tokens), "{left:?} {right:?}");
    }

    #[test]
    fn a_text_has_tokens_and_no_more_than_bytes(text in mixed()) {
        let tokens = estimate(&text);
        prop_assert_eq!(tokens == 0, text.is_empty());
        prop_assert!(tokens <= text.len());
    }

    #[test]
    fn a_prefix_fits_and_is_the_longest(text in mixed(), max_tokens in 0_usize..20) {
        let kept = prefix(&text, max_tokens);
        prop_assert!(text.starts_with(kept));
        prop_assert!(estimate(kept) <= max_tokens);
        let longer = text.char_indices().map(|(at, c)| at + c.len_utf8());
        for end in longer.filter(|end| *end > kept.len()) {
            prop_assert!(estimate(text.get(..end).expect("a boundary")) > max_tokens);
        }
    }
}
