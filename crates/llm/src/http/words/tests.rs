//! Each vendor's messages about sizes, with the expected result.

use super::*;

const fn prompt(window: u32) -> Option<Size> {
    Some(Size::Prompt {
        window: Some(window),
        counts_answer: false,
    })
}

/// The prompt and the answer together do not fit.
const fn sum(window: u32) -> Option<Size> {
    Some(Size::Prompt {
        window: Some(window),
        counts_answer: true,
    })
}

const fn output(most: u32) -> Option<Size> {
    Some(Size::Output { most, window: None })
}

#[test]
fn each_vendors_message_for_a_long_prompt_is_recognised() {
    let unknown = Some(Size::Prompt {
        window: None,
        counts_answer: false,
    });
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
            sum(200_000),
        ),
        (
            "input length and `max_tokens` exceed context limit: 210000 + 20000 > 200000, decrease input length",
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
            sum(4_096),
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
        assert_eq!(size(&ErrorBody::plain(sentence)), size_said, "{sentence}");
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
        assert_eq!(size(&ErrorBody::plain(sentence)), size_said, "{sentence}");
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
        assert_eq!(
            size(&ErrorBody::plain(sentence)),
            Some(learned),
            "{sentence}"
        );
    }
}

#[test]
fn a_window_in_a_member_of_the_error_is_learned() {
    let body = br#"{"error":{"code":400,"type":"exceed_context_size_error",
        "message":"the request exceeds the available context size","n_prompt_tokens":9000,"n_ctx":8192}}"#;
    assert_eq!(size(&ErrorBody::read(body)), prompt(8_192));
}
