//! Every way in which providers request a wait, with the expected result.

use super::*;
use reqwest::header::{HeaderName, HeaderValue};

const TODAY: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
/// 2026-01-01T00:00:00Z, a date far from small numbers of seconds.
const LATER: (&str, &str) = ("date", "Thu, 01 Jan 2026 00:00:00 GMT");

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

fn nothing() -> ErrorBody {
    ErrorBody::plain("")
}

#[test]
fn every_form_of_a_requested_wait_is_read() {
    for (given, wait) in [
        (&[("retry-after", "2")][..], Some(2_000)),
        (&[("retry-after", "0.5")], Some(500)),
        (
            &[("retry-after-ms", "120"), ("retry-after", "9")],
            Some(120),
        ),
        (
            &[TODAY, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")],
            Some(30_000),
        ),
        (
            &[TODAY, ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")],
            Some(0),
        ),
        (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None),
        (&[("retry-after", "-3")], None),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "999999999")], Some(PROVIDER_WAIT_MAX_MS)),
        (&[("x-ratelimit-reset-requests", "6m0s")], Some(360_000)),
        (
            &[
                ("x-ratelimit-reset-tokens", "20ms"),
                ("x-ratelimit-reset-requests", "1s"),
            ],
            Some(20),
        ),
        (
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "1m1.5s"),
                ("x-ratelimit-remaining-tokens", "400"),
                ("x-ratelimit-reset-tokens", "20ms"),
            ],
            Some(61_500),
        ),
        (
            &[LATER, ("x-ratelimit-reset", "1767225607000")],
            Some(7_000),
        ),
        (&[LATER, ("x-ratelimit-reset", "1767225607")], Some(7_000)),
        (
            &[
                LATER,
                ("anthropic-ratelimit-requests-reset", "2026-01-01T00:01:00Z"),
            ],
            Some(60_000),
        ),
        (&[("x-ratelimit-reset", "7x")], None),
        (&[("llm_provider-retry-after", "4")], Some(4_000)),
        (
            &[("llm_provider-retry-after", "4"), ("retry-after", "9")],
            Some(9_000),
        ),
        (&[("llm_provider-retry-after-ms", "40")], Some(40)),
        (&[], None),
    ] {
        assert_eq!(
            wait_ms(&headers(given), &nothing(), LimitResets::Any),
            wait,
            "{given:?}"
        );
    }
}

#[test]
fn words_are_read_where_headers_are_silent() {
    for (body, wait) in [
        (
            r#"{"error":{"message":"Rate limit. Please try again in 1.25s. See docs."}}"#,
            Some(1_250),
        ),
        (r#"{"error":{"message":"try again in 898ms."}}"#, Some(898)),
        (
            r#"{"error":{"message":"try again in 6m0s."}}"#,
            Some(360_000),
        ),
        (
            r#"{"error":{"message":"Try again in 20 seconds"}}"#,
            Some(20_000),
        ),
        (
            r#"{"error":{"message":"try again in 5 minutes"}}"#,
            Some(300_000),
        ),
        (r#"{"error":{"message":"try again in a while"}}"#, None),
        (
            r#"{"error":{"details":[{"x":1},{"retryDelay":"34s"}]}}"#,
            Some(34_000),
        ),
    ] {
        assert_eq!(
            wait_ms(
                &headers(&[]),
                &ErrorBody::read(body.as_bytes()),
                LimitResets::Any
            ),
            wait,
            "{body}"
        );
    }
}

#[test]
fn a_renewal_is_read_from_the_body_then_from_headers() {
    let error_body = |body: &str| ErrorBody::read(body.as_bytes());
    let in_body =
        error_body(r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}"#);
    assert_eq!(
        renewal_ms(
            &headers(&[("retry-after", "5")]),
            &in_body,
            LimitResets::Any
        ),
        Some(3_600_000)
    );
    let at = error_body(r#"{"error":{"type":"usage_limit_reached","resets_at":1767225610}}"#);
    assert_eq!(
        renewal_ms(&headers(&[LATER]), &at, LimitResets::Any),
        Some(10_000)
    );
    assert_eq!(
        renewal_ms(&headers(&[]), &at, LimitResets::Any),
        None,
        "a moment needs a clock to be a wait"
    );
    let unified = headers(&[LATER, ("anthropic-ratelimit-unified-reset", "1767229200")]);
    assert_eq!(
        renewal_ms(&unified, &nothing(), LimitResets::Any),
        Some(3_600_000)
    );
    assert_eq!(
        renewal_ms(
            &headers(&[("retry-after", "5")]),
            &nothing(),
            LimitResets::Any
        ),
        Some(5_000)
    );
}

#[test]
fn outside_429_a_reset_counts_only_if_nothing_of_its_limit_remains() {
    let left = headers(&[
        ("x-ratelimit-remaining-requests", "99"),
        ("x-ratelimit-reset-requests", "50m"),
    ]);
    let unknown = headers(&[("x-ratelimit-reset-requests", "50m")]);
    let spent = headers(&[
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "50m"),
    ]);
    let wait = |given: &HeaderMap, status| wait_ms(given, &nothing(), LimitResets::of(status));
    for status in [500, 503, 408] {
        assert_eq!(wait(&left, status), None, "{status}");
        assert_eq!(wait(&unknown, status), None, "{status}");
        assert_eq!(wait(&spent, status), Some(3_000_000), "{status}");
    }
    assert_eq!(wait(&left, 429), Some(3_000_000));
}

#[test]
fn days_are_days() {
    for (words, wait) in [
        ("Please try again in 3 days.", 3 * 86_400_000),
        ("try again in 1 day", 86_400_000),
        ("try again in 2d", 2 * 86_400_000),
    ] {
        assert_eq!(
            stated_wait_ms(&ErrorBody::plain(words)),
            Some(wait),
            "{words}"
        );
    }
}
