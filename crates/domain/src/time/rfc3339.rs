//! Times in requests: RFC 3339 as its pattern says, so that a schema and the host accept the same texts. Stored rows and
//! arguments of tools are read more liberally, by `Timestamp` itself.

use super::Timestamp;
use serde::{Deserialize, Deserializer, de::Error as _};

/// The texts that are read as times. The days of each month are checked beside it.
pub const RFC3339_PATTERN: &str = concat!(
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?",
    "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
);

/// Digits of a fraction of a second that a time keeps.
const FRACTION_DIGITS: usize = 3;

impl Timestamp {
    /// Reads a time in RFC 3339 with an offset, such as `2026-03-01T09:00:00.5+01:00`. A fraction may have any number of
    /// digits; those after the milliseconds are dropped. `None` if the text is no such time.
    #[must_use]
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let (seconds, rest) = text.split_at_checked("2026-03-01T09:00:00".len())?;
        let shape = |shape: &str, text: &str| {
            let fits = |(expected, found): (u8, u8)| match expected {
                b'0' => found.is_ascii_digit(),
                expected => found == expected,
            };
            shape.len() == text.len() && shape.bytes().zip(text.bytes()).all(fits)
        };
        // A second of 60 has no time of its own.
        if !shape("0000-00-00T00:00:00", seconds) || seconds.ends_with("60") {
            return None;
        }
        let (fraction, offset) = match rest.strip_prefix('.') {
            Some(rest) => {
                let end = rest.find(|sign: char| !sign.is_ascii_digit())?;
                rest.split_at_checked(end)
                    .filter(|(digits, _)| !digits.is_empty())?
            }
            None => ("0", rest),
        };
        let is_offset = offset == "Z"
            || (shape("+00:00", offset) || shape("-00:00", offset))
                && offset.get(1..3)? < "24"
                && offset.get(4..6)? < "60";
        let kept = fraction.get(..FRACTION_DIGITS).unwrap_or(fraction);
        let read = is_offset.then(|| format!("{seconds}.{kept}{offset}"))?;
        let at: jiff::Timestamp = read.parse().ok()?;
        Some(Self(at.as_millisecond()))
    }
}

/// Reads an optional time of a request.
///
/// # Errors
/// When the text is no time in RFC 3339.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let refused = || D::Error::custom("not a time with an offset, such as 2026-03-01T09:00:00Z");
    Timestamp::from_rfc3339(&text).ok_or_else(refused).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_if_the_pattern_says_so() {
        let nine = 1_772_355_600_000;
        for (text, millis) in [
            ("2026-03-01T09:00:00Z", Some(nine)),
            ("2026-03-01T09:00:00.5Z", Some(nine + 500)),
            ("2026-03-01T09:00:00.1239999999999999Z", Some(nine + 123)),
            ("2026-03-01T10:00:00+01:00", Some(nine)),
            ("2026-03-01T08:30:00-00:30", Some(nine)),
            ("2026-03-01T09:00:00.Z", None),
            ("2026-03-01T09:00:00", None),
            ("2026-03-01T09:00Z", None),
            ("2026-03-01T09:00:60Z", None),
            ("2026-03-01t09:00:00z", None),
            ("2026-03-01 09:00:00Z", None),
            ("2026-02-30T09:00:00Z", None),
            ("2026-03-01T24:00:00Z", None),
            ("2026-03-01T09:00:00+24:00", None),
            ("2026-03-01T09:00:00+0100", None),
            ("2026-03-01T09:00:00,5Z", None),
            ("2026-03-01T09:00:00Z[UTC]", None),
            ("+002026-03-01T09:00:00Z", None),
            ("2026-03-01T09:00:0\u{fc}Z", None),
            ("", None),
        ] {
            let read = Timestamp::from_rfc3339(text);
            assert_eq!(read.map(Timestamp::as_millis), millis, "{text}");
        }
    }
}
