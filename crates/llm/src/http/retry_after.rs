//! Reads the wait that a provider requests, from its headers and its error body.
//!
//! Points in time are converted to waits with the provider's own `Date`, so the local clock is not used; without a
//! `Date` they are ignored. A wait is never longer than `PROVIDER_WAIT_MAX_MS`.

use super::error_body::ErrorBody;
use holon_domain::Timestamp;
use holon_domain::limits::PROVIDER_WAIT_MAX_MS;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// From this value on, a number is Unix time in seconds (year 2001), not a wait.
const SECONDS_ARE_A_MOMENT: f64 = 1e9;
/// From this value on, a number is Unix time in milliseconds (year 2001).
const MILLIS_ARE_A_MOMENT: f64 = 1e12;
/// Header pairs of a provider's separate limits: what remains, and when it is reset.
const LIMITS: [(&str, &str); 6] = [
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ),
];

/// Limits whose reset headers count as a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitResets {
    /// All of them: the request was refused because of a limit.
    Any,
    /// Only limits of which nothing remains. Providers send these headers with every response, so beside another
    /// failure they say nothing about when to ask again.
    Exhausted,
}

impl LimitResets {
    /// Chooses by the status of the response.
    pub(super) const fn of(status: u16) -> Self {
        match status {
            429 => Self::Any,
            _ => Self::Exhausted,
        }
    }
}

/// Returns the wait before a retry, in milliseconds. A gateway passes the headers of its upstream provider on with a
/// prefix (`llm_provider-`); its own headers count first.
pub(super) fn wait_ms(
    headers: &HeaderMap,
    error_body: &ErrorBody,
    resets: LimitResets,
) -> Option<u64> {
    let now = date(headers);
    let exact = |name| bounded_millis(text(headers, name)?.parse::<f64>().ok()?);
    let after = |name| millis_until(text(headers, name)?, now);
    exact("retry-after-ms")
        .or_else(|| after(RETRY_AFTER.as_str()))
        .or_else(|| exact("llm_provider-retry-after-ms"))
        .or_else(|| after("llm_provider-retry-after"))
        .or_else(|| stated_wait_ms(error_body))
        .or_else(|| body_reset(error_body, now))
        .or_else(|| limit_reset(headers, now, resets))
}

/// Returns the time until an exhausted quota is renewed, in milliseconds.
pub(super) fn renewal_ms(
    headers: &HeaderMap,
    error_body: &ErrorBody,
    resets: LimitResets,
) -> Option<u64> {
    let now = date(headers);
    body_reset(error_body, now)
        .or_else(|| millis_until(text(headers, "anthropic-ratelimit-unified-reset")?, now))
        .or_else(|| wait_ms(headers, error_body, resets))
}

/// Reads a reset time from a member of the body.
fn body_reset(error_body: &ErrorBody, now: Option<i64>) -> Option<u64> {
    let seconds = |name| error_body.field(name).and_then(Value::as_f64);
    seconds("resets_in_seconds")
        .and_then(|wait| bounded_millis(wait * 1_000.0))
        .or_else(|| millis_until(&seconds("resets_at")?.to_string(), now))
}

/// Reads a wait from the message (`try again in 20s`) or from Google's `retryDelay`.
pub(super) fn stated_wait_ms(error_body: &ErrorBody) -> Option<u64> {
    if let Some(Value::String(delay)) = error_body.field("retryDelay") {
        return millis_until(delay, None);
    }
    let (_, after) = error_body.words().split_once("try again in ")?;
    let mut parts = after.split_whitespace();
    let first = parts.next()?.trim_end_matches(['.', ',']);
    let unit = parts.next().unwrap_or_default();
    match (first.parse::<f64>().ok(), unit) {
        (Some(number), unit) if unit.starts_with("ms") || unit.starts_with("milli") => {
            bounded_millis(number)
        }
        (Some(number), unit) if unit.starts_with("min") => bounded_millis(number * 60_000.0),
        (Some(number), unit) if unit.starts_with("hour") => bounded_millis(number * 3_600_000.0),
        (Some(number), unit) if unit.starts_with("day") => bounded_millis(number * 86_400_000.0),
        (Some(number), _) => bounded_millis(number * 1_000.0),
        (None, _) => parse_span(first),
    }
}

/// Returns the reset of the exhausted limits; if none is marked as exhausted, the soonest reset of those that count.
fn limit_reset(headers: &HeaderMap, now: Option<i64>, counted: LimitResets) -> Option<u64> {
    let resets = || {
        LIMITS.iter().filter_map(|(remaining, reset)| {
            let wait = millis_until(text(headers, reset)?, now)?;
            Some((text(headers, remaining) == Some("0"), wait))
        })
    };
    let spent = resets().filter(|(spent, _)| *spent);
    let latest = spent.map(|(_, wait)| wait).max();
    match counted {
        LimitResets::Any => latest.or_else(|| resets().map(|(_, wait)| wait).min()),
        LimitResets::Exhausted => latest,
    }
}

/// Returns the provider's own time, in milliseconds since the epoch.
fn date(headers: &HeaderMap) -> Option<i64> {
    parse_moment(text(headers, DATE.as_str())?)
}

/// Returns the milliseconds until a written time: RFC 3339, an HTTP date, Unix time, a number of seconds, or `1h2m3s`.
fn millis_until(written: &str, now: Option<i64>) -> Option<u64> {
    let written = written.trim();
    let from_now = |at: f64| {
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds of our century are exact in f64"
        )]
        let now = now? as f64;
        bounded_millis((at - now).max(0.0))
    };
    if let Ok(number) = written.parse::<f64>() {
        return match number {
            at if at >= MILLIS_ARE_A_MOMENT => from_now(at),
            at if at >= SECONDS_ARE_A_MOMENT => from_now(at * 1_000.0),
            seconds => bounded_millis(seconds * 1_000.0),
        };
    }
    if let Some(at) = parse_moment(written) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds of our century are exact in f64"
        )]
        return from_now(at as f64);
    }
    parse_span(written)
}

/// Parses a point in time, in milliseconds since the epoch.
fn parse_moment(written: &str) -> Option<i64> {
    let stamp = written.parse::<jiff::Timestamp>().ok();
    let stamp = stamp.map(jiff::Timestamp::as_millisecond);
    stamp.or_else(|| Some(Timestamp::from_http_date(written)?.as_millis()))
}

/// Parses consecutive numbers with units: `6m0s`, `1.5s`, `20ms`.
fn parse_span(written: &str) -> Option<u64> {
    let mut rest = written;
    let mut total = 0.0;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let unit_at = rest.find(|c| !is_number(c))?;
        let (number, tail) = rest.split_at_checked(unit_at)?;
        let unit_end = tail.find(is_number).unwrap_or(tail.len());
        let (unit, after) = tail.split_at_checked(unit_end)?;
        let millis = match unit {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * millis;
        rest = after;
    }
    if written.is_empty() {
        None
    } else {
        bounded_millis(total)
    }
}

/// Rounds up to whole milliseconds within the limit; `None` for values that are not a wait.
fn bounded_millis(millis: f64) -> Option<u64> {
    if millis.is_nan() || millis < 0.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is not negative saturates at the largest integer"
    )]
    let millis = millis.ceil() as u64;
    Some(millis.min(PROVIDER_WAIT_MAX_MS))
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests;
