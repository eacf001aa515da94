//! `Timestamp`: a wall-clock time in milliseconds, stored as an integer and spelled as RFC 3339 UTC.
//!
//! The current time cannot be read here: callers pass it in.

pub mod rfc3339;

use jiff::fmt::strtime::BrokenDownTime;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::borrow::Cow;

/// A point in time as milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns a later time. Saturates at the largest value.
    #[must_use]
    pub const fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add_unsigned(millis))
    }

    /// Returns an earlier time. Saturates at the smallest value.
    #[must_use]
    pub const fn minus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_sub_unsigned(millis))
    }

    /// Returns the time this many days of 24 hours before. Saturates at the smallest value.
    #[must_use]
    pub const fn minus_days(self, days: u64) -> Self {
        self.minus_millis(days.saturating_mul(86_400_000))
    }

    /// Returns the milliseconds from `earlier` to this time. Zero if the clock went backwards.
    #[must_use]
    pub const fn millis_since(self, earlier: Self) -> u64 {
        let delta = self.0.saturating_sub(earlier.0);
        if delta > 0 { delta.unsigned_abs() } else { 0 }
    }
}

/// Forms of dates in HTTP: today's, that of RFC 850, and that of `asctime`.
const HTTP_DATES: [&str; 3] = [
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %e %H:%M:%S %Y",
];

impl Timestamp {
    /// Reads the date of an HTTP header, in any of the three forms of RFC 9110, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    /// A date that is later than any time of this type is the last one. `None` if the text is no such date.
    #[must_use]
    pub fn from_http_date(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(at) = jiff::fmt::rfc2822::parse(text) {
            return Some(Self(at.timestamp().as_millisecond()));
        }
        let read = |form: &&str| BrokenDownTime::parse(form, text).ok()?.to_datetime().ok();
        let at = HTTP_DATES.iter().find_map(read)?;
        let at = at.to_zoned(jiff::tz::TimeZone::UTC);
        let at = at.map_or(jiff::Timestamp::MAX, |at| at.timestamp());
        Some(Self(at.as_millisecond()))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<jiff::Timestamp>()
            .map(|at| Self(at.as_millisecond()))
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_spelled_as_rfc_3339_with_milliseconds_and_read_back() {
        let at = Timestamp::from_millis(1_794_700_000_123);
        let text = serde_json::to_string(&at).expect("serialises");
        assert_eq!(text, "\"2026-11-14T23:46:40.123Z\"");
        assert_eq!(
            serde_json::from_str::<Timestamp>(&text).expect("parses"),
            at
        );
    }

    #[test]
    fn a_clock_that_went_backwards_counts_as_no_time_passed() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(late.millis_since(early), 4);
        assert_eq!(early.millis_since(late), 0);
    }
}
