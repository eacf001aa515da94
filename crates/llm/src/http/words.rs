//! What error sentences say about limits, as tables of the vendors' phrases.
//!
//! Pure searches in lower-case text. A number is learned only where it stands in a known phrase and is one a model
//! could have; everything else teaches nothing.

use super::said::Said;
use holon_domain::limits::{PROVIDER_LEARNED_MAX_TOKENS, PROVIDER_LEARNED_MIN_TOKENS};
use serde_json::Value;

/// Any of these says that the prompt does not fit.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "request_too_large",
    "string_above_max_length",
    "maximum context length",
    "exceeds the context window",
    "exceed context window",
    "exceeds the context length",
    "exceeds maximum context length",
    "exceeds the available context size",
    "exceed context limit",
    "exceeds context",
    "context length of only",
    "context window exceeds",
    "context overflow",
    "greater than the context length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "prompt exceeds max length",
    "maximum prompt length",
    "maximum number of tokens allowed",
    "exceeded model token limit",
    "range of input length",
    "tokens + `max_new_tokens` must be",
    "too many tokens",
    "request too large for model",
    "reduce the length of the messages",
    "reduce the length of the prompt",
];

/// The window's size stands right after one of these.
const WINDOW_AFTER: &[&str] = &[
    "maximum context length is ",
    "maximum context length of ",
    "maximum context length: ",
    "context length of only ",
    "context window of ",
    "available context size (",
    "maximum prompt length is ",
    "maximum number of tokens allowed (",
    "exceeded model token limit: ",
    "range of input length should be [1, ",
    "`max_new_tokens` must be <= ",
];
/// Or right before one of these.
const WINDOW_BEFORE: &[&str] = &[" maximum context length", " maximum"];

/// The prompt's own size stands right after one of these.
const PROMPT_AFTER: &[&str] = &["your request has ", "exceed context limit: ", "given: "];
/// Or right before one of these.
const PROMPT_BEFORE: &[&str] = &[" in the messages", " of text input"];

/// How the bound on an answer's length is called.
const OUTPUT_NAMES: &[&str] = &[
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "maxoutputtokens",
];
/// Its largest value stands right after one of these.
const OUTPUT_AFTER: &[&str] = &[
    "supports at most ",
    "expected a value <= ",
    "range of max_tokens is [1, ",
    "range of max_tokens should be [1, ",
    "must be less than or equal to ",
    "should be less than or equal to ",
];
/// Or right before one of these.
const OUTPUT_BEFORE: &[&str] = &[", which is the maximum allowed"];
/// Or after the first of these, and is then one too many.
const OUTPUT_EXCLUSIVE: &[&str] = &["(inclusive) to "];

/// What a sentence says about size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// The prompt does not fit.
    Prompt {
        /// The window, if it was said.
        window: Option<u32>,
    },
    /// Only the room asked for the answer is too large.
    Output {
        /// The most that may be asked for.
        most: u32,
        /// The window, if it was said.
        window: Option<u32>,
    },
}

/// What a sentence says about size, if it does.
pub(super) fn size(said: &Said) -> Option<Size> {
    let words = said.words();
    if let Some(most) = most_output(words) {
        return Some(Size::Output { most, window: None });
    }
    if !said.mentions(TOO_LONG) {
        return None;
    }
    let Some(window) = window(said) else {
        return Some(Size::Prompt { window: None });
    };
    let prompt = first(words, PROMPT_AFTER, after).or_else(|| first(words, PROMPT_BEFORE, before));
    // Asking for less helps if the prompt leaves a fair share. A share of the window is learned, not what happened to
    // be left this time: the lesson is kept for good.
    let share = (window / 4).max(PROVIDER_LEARNED_MIN_TOKENS);
    let leaves_room = prompt.is_some_and(|prompt| prompt <= u64::from(window - share));
    Some(if leaves_room && said.mentions(OUTPUT_ASKED) {
        Size::Output {
            most: share,
            window: Some(window),
        }
    } else {
        Size::Prompt {
            window: Some(window),
        }
    })
}

/// How a sentence about the window says that the answer's share of it is counted too.
const OUTPUT_ASKED: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_new_tokens",
    "in the completion",
    "in the output",
];

fn most_output(words: &str) -> Option<u32> {
    if !OUTPUT_NAMES.iter().any(|name| words.contains(name)) {
        return None;
    }
    let exclusive = || first(words, OUTPUT_EXCLUSIVE, after).map(|past| past.saturating_sub(1));
    first(words, OUTPUT_AFTER, after)
        .or_else(|| first(words, OUTPUT_BEFORE, before))
        .or_else(exclusive)
        .and_then(plausible)
}

fn window(said: &Said) -> Option<u32> {
    let stated = || first(said.words(), WINDOW_AFTER, after);
    // "exceed context limit: A + B > C"
    let compared = || {
        let (_, sum) = said.words().split_once("exceed context limit: ")?;
        after(sum, "> ")
    };
    said.field("n_ctx")
        .and_then(Value::as_u64)
        .or_else(stated)
        .or_else(compared)
        .or_else(|| first(said.words(), WINDOW_BEFORE, before))
        .and_then(plausible)
}

fn plausible(tokens: u64) -> Option<u32> {
    let tokens = u32::try_from(tokens).ok()?;
    (PROVIDER_LEARNED_MIN_TOKENS..=PROVIDER_LEARNED_MAX_TOKENS)
        .contains(&tokens)
        .then_some(tokens)
}

fn first(words: &str, phrases: &[&str], find: fn(&str, &str) -> Option<u64>) -> Option<u64> {
    phrases.iter().find_map(|phrase| find(words, phrase))
}

/// The number right after the first occurrence of a phrase.
fn after(words: &str, phrase: &str) -> Option<u64> {
    let (_, rest) = words.split_once(phrase)?;
    let digits = rest.trim_start_matches(['`', '\'', '"', ' ']);
    let end = digits.find(|c: char| !is_digit(c)).unwrap_or(digits.len());
    number(digits.split_at_checked(end)?.0)
}

/// The number right before an occurrence of a phrase.
fn before(words: &str, phrase: &str) -> Option<u64> {
    words.match_indices(phrase).find_map(|(at, _)| {
        let (head, _) = words.split_at_checked(at)?;
        let start = head
            .char_indices()
            .rev()
            .take_while(|(_, c)| is_digit(*c))
            .last()?
            .0;
        number(head.split_at_checked(start)?.1)
    })
}

/// Digits, with the marks people put between thousands.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | '_')
}

fn number(digits: &str) -> Option<u64> {
    let plain: String = digits.chars().filter(char::is_ascii_digit).collect();
    plain.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(window: u32) -> Option<Size> {
        Some(Size::Prompt {
            window: Some(window),
        })
    }

    const fn output(most: u32) -> Option<Size> {
        Some(Size::Output { most, window: None })
    }

    #[test]
    fn each_vendors_way_to_say_too_long_is_understood() {
        let unknown = Some(Size::Prompt { window: None });
        for (sentence, size_said) in [
            (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens.",
                prompt(128_000),
            ),
            (
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                unknown,
            ),
            (
                "prompt is too long: 210,034 tokens > 200,000 maximum",
                prompt(200_000),
            ),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
                prompt(200_000),
            ),
            (
                "Requested tokens (5012) exceed context window of 4096",
                prompt(4_096),
            ),
            (
                "request (5012 tokens) exceeds the available context size (4096 tokens), try increasing it",
                prompt(4_096),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                prompt(131_072),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                prompt(1_048_576),
            ),
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                prompt(32_768),
            ),
            (
                "The prompt is too long: 140000, model maximum context length: 131071",
                prompt(131_071),
            ),
            (
                "the model is loaded with context length of only 4096 tokens, which is not enough",
                prompt(4_096),
            ),
            (
                "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
                prompt(262_144),
            ),
            (
                "Range of input length should be [1, 129024]",
                prompt(129_024),
            ),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`",
                prompt(4_096),
            ),
            ("input length exceeds the context length", unknown),
            (
                "Please reduce the length of the messages or completion.",
                unknown,
            ),
            ("Input is too long for requested model.", unknown),
            ("maximum context length is 0 tokens", unknown),
            (
                "maximum context length is 99999999999999999999 tokens",
                unknown,
            ),
            ("the model is busy", None),
            ("", None),
        ] {
            assert_eq!(size(&Said::plain(sentence)), size_said, "{sentence}");
        }
    }

    #[test]
    fn the_largest_answer_is_learned_from_each_vendors_refusal() {
        for (sentence, size_said) in [
            (
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
                output(16_384),
            ),
            (
                "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 200000 instead.",
                output(128_000),
            ),
            (
                "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for this model",
                output(64_000),
            ),
            (
                "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
                output(8_192),
            ),
            (
                "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
                output(8_192),
            ),
            (
                "Unable to submit request because it has a maxOutputTokens value of 99999 but the supported range is from 1 (inclusive) to 65537 (exclusive).",
                output(65_536),
            ),
            ("max_tokens must be less than or equal to 1", None),
            ("temperature should be less than or equal to 1000", None),
        ] {
            assert_eq!(size(&Said::plain(sentence)), size_said, "{sentence}");
        }
    }

    #[test]
    fn a_prompt_that_leaves_room_teaches_to_ask_for_a_shorter_answer() {
        for sentence in [
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 100 input tokens (8192 > 4096 - 100).",
            "This model's maximum context length is 4096 tokens. However, you requested 8292 tokens (100 in the messages, 8192 in the completion).",
            "This endpoint's maximum context length is 4096 tokens. However, you requested about 8292 tokens (100 of text input, 8192 in the output).",
            "input length and `max_tokens` exceed context limit: 100 + 8192 > 4096",
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 100 `inputs` tokens and 8192 `max_new_tokens`",
        ] {
            let learned = Size::Output {
                most: 1_024,
                window: Some(4_096),
            };
            assert_eq!(size(&Said::plain(sentence)), Some(learned), "{sentence}");
        }
    }

    #[test]
    fn a_window_beside_the_words_counts() {
        let body = br#"{"error":{"code":400,"type":"exceed_context_size_error",
            "message":"the request exceeds the available context size","n_prompt_tokens":9000,"n_ctx":8192}}"#;
        assert_eq!(size(&Said::read(body)), prompt(8_192));
    }
}
