//! Reads token limits from error messages, with tables of the vendors' phrases.
//!
//! Pure searches in lower-case text. A number is learned only if it stands in a known phrase and is plausible for a
//! model; all other numbers are ignored.

use super::error_body::ErrorBody;
use holon_domain::limits::{PROVIDER_LEARNED_MAX_TOKENS, PROVIDER_LEARNED_MIN_TOKENS};
use serde_json::Value;

/// Phrases for a prompt that does not fit.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "request_too_large",
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

/// The size of the context window follows one of these.
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
/// The size of the context window precedes one of these.
const WINDOW_BEFORE: &[&str] = &[" maximum context length", " maximum"];

/// The size of the prompt follows one of these.
const PROMPT_AFTER: &[&str] = &["your request has ", "exceed context limit: ", "given: "];
/// The size of the prompt precedes one of these.
const PROMPT_BEFORE: &[&str] = &[" in the messages", " of text input"];

/// Names of the limit on an answer's length.
const OUTPUT_NAMES: &[&str] = &[
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "maxoutputtokens",
];
/// The largest allowed length of an answer follows one of these.
const OUTPUT_AFTER: &[&str] = &[
    "supports at most ",
    "expected a value <= ",
    "range of max_tokens is [1, ",
    "range of max_tokens should be [1, ",
    "must be less than or equal to ",
    "should be less than or equal to ",
];
/// The largest allowed length of an answer precedes one of these.
const OUTPUT_BEFORE: &[&str] = &[", which is the maximum allowed"];
/// An exclusive upper bound of the length follows one of these.
const OUTPUT_EXCLUSIVE: &[&str] = &["(inclusive) to "];

/// Statement of an error message about sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// The prompt does not fit the context window.
    Prompt {
        /// Tokens; absent if the message does not state it.
        window: Option<u32>,
        /// True if the answer that was asked for is counted with the prompt, and the prompt alone may fit.
        counts_answer: bool,
    },
    /// The prompt fits, and the requested length of the answer is too large.
    Output {
        /// Largest length that may be requested, in tokens.
        most: u32,
        /// Tokens; absent if the message does not state it.
        window: Option<u32>,
    },
}

/// Reads what an error message says about sizes; `None` if it says nothing.
pub(super) fn size(error_body: &ErrorBody) -> Option<Size> {
    let words = error_body.words();
    if let Some(most) = most_output(words) {
        return Some(Size::Output { most, window: None });
    }
    if !error_body.mentions(TOO_LONG) && !is_long_input(error_body) {
        return None;
    }
    let Some(window) = window(error_body) else {
        return Some(Size::Prompt {
            window: None,
            counts_answer: false,
        });
    };
    let prompt = first_number(words, PROMPT_AFTER, number_after)
        .or_else(|| first_number(words, PROMPT_BEFORE, number_before));
    // A shorter answer helps if the prompt leaves enough room. The learned value is a share of the window and not the
    // room left this time, because it is stored permanently.
    let share = (window / 4).max(PROVIDER_LEARNED_MIN_TOKENS);
    let leaves_room = prompt.is_some_and(|prompt| prompt <= u64::from(window - share));
    let counts_answer = error_body.mentions(OUTPUT_ASKED);
    Some(if leaves_room && counts_answer {
        Size::Output {
            most: share,
            window: Some(window),
        }
    } else {
        Size::Prompt {
            window: Some(window),
            counts_answer: counts_answer && prompt.is_none_or(|prompt| prompt <= u64::from(window)),
        }
    })
}

/// Returns true if a text that is too long is part of the conversation, and not a name, an id or a description.
fn is_long_input(error_body: &ErrorBody) -> bool {
    if !error_body.mentions(&["string_above_max_length"]) {
        return false;
    }
    let param = error_body.field("param").and_then(Value::as_str);
    // Example: "Invalid 'messages[1].content': string too long."
    let quoted = || error_body.words().split('\'').nth(1);
    let Some(path) = param.or_else(quoted) else {
        return false;
    };
    let plain = |part: &str| part.split('[').next().unwrap_or_default().to_lowercase();
    let mut parts = path.split('.').map(plain);
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or_else(|| first.clone());
    matches!(first.as_str(), "input" | "messages" | "prompt")
        && matches!(
            last.as_str(),
            "input" | "messages" | "prompt" | "content" | "text" | "output" | "arguments"
        )
}

/// Phrases that follow a model's name, or the word "model", if there is no such model.
const GONE: &[&str] = &[
    "does not exist",
    "doesn't exist",
    "not found",
    "is not found",
    "was not found",
    "could not be found",
    "is not available",
    "is no longer available",
    "is not supported",
    "has been decommissioned",
    "has been deprecated",
    "has been retired",
    "is deprecated",
];

/// Returns true if a message says that a model does not exist: the word "model", at most its name, then one of the
/// phrases. The word alone occurs in many URLs and server names.
pub(super) fn lacks_model(error_body: &ErrorBody) -> bool {
    let gone = |rest: &str| GONE.iter().any(|phrase| rest.starts_with(phrase));
    let mut rest = error_body.words();
    while let Some((word, behind)) = next_word(rest) {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let named = word
            .trim_start_matches(['`', '\'', '"'])
            .starts_with("models/");
        let behind_name = || next_word(behind).is_some_and(|(_, rest)| gone(rest));
        if (named && gone(behind)) || (bare == "model" && (gone(behind) || behind_name())) {
            return true;
        }
        rest = behind;
    }
    false
}

/// Splits a text into its first word and the rest.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (!word.is_empty()).then_some((word, rest.trim_start()))
}

/// Phrases of a message about the window that includes the requested length of the answer.
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
    let exclusive =
        || first_number(words, OUTPUT_EXCLUSIVE, number_after).map(|past| past.saturating_sub(1));
    first_number(words, OUTPUT_AFTER, number_after)
        .or_else(|| first_number(words, OUTPUT_BEFORE, number_before))
        .or_else(exclusive)
        .and_then(plausible)
}

fn window(error_body: &ErrorBody) -> Option<u32> {
    let stated = || first_number(error_body.words(), WINDOW_AFTER, number_after);
    // Example: "exceed context limit: A + B > C"
    let compared = || {
        let (_, sum) = error_body.words().split_once("exceed context limit: ")?;
        number_after(sum, "> ")
    };
    error_body
        .field("n_ctx")
        .and_then(Value::as_u64)
        .or_else(stated)
        .or_else(compared)
        .or_else(|| first_number(error_body.words(), WINDOW_BEFORE, number_before))
        .and_then(plausible)
}

fn plausible(tokens: u64) -> Option<u32> {
    let tokens = u32::try_from(tokens).ok()?;
    (PROVIDER_LEARNED_MIN_TOKENS..=PROVIDER_LEARNED_MAX_TOKENS)
        .contains(&tokens)
        .then_some(tokens)
}

fn first_number(words: &str, phrases: &[&str], find: fn(&str, &str) -> Option<u64>) -> Option<u64> {
    phrases.iter().find_map(|phrase| find(words, phrase))
}

/// Returns the number right after the first occurrence of a phrase.
fn number_after(words: &str, phrase: &str) -> Option<u64> {
    let (_, rest) = words.split_once(phrase)?;
    let digits = rest.trim_start_matches(['`', '\'', '"', ' ']);
    let end = digits.find(|c: char| !is_digit(c)).unwrap_or(digits.len());
    number(digits.split_at_checked(end)?.0)
}

/// Returns the number right before an occurrence of a phrase.
fn number_before(words: &str, phrase: &str) -> Option<u64> {
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

/// Returns true for digits and for thousands separators.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | '_')
}

fn number(digits: &str) -> Option<u64> {
    let plain: String = digits.chars().filter(char::is_ascii_digit).collect();
    plain.parse().ok()
}

#[cfg(test)]
mod tests;
