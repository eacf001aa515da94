//! Times in packed text: the milliseconds in base 36 behind a mark, ten characters instead of 24.

use super::words::DIGITS;
use crate::time::Timestamp;

/// Begin of a packed time. No earlier build wrote it: a string that begins with the first of these characters was marked,
/// or a number followed.
const TIME: &str = "=t";
/// Characters of a time as it is spelled in JSON.
const SPELLED: usize = "2026-11-14T23:46:40.123Z".len();

/// Returns the packed spelling of a time; `None` if the text is no time or is spelled in another way.
pub(super) fn code(text: &str) -> Option<String> {
    if text.len() != SPELLED || !text.ends_with('Z') {
        return None;
    }
    let at: jiff::Timestamp = text.parse().ok()?;
    let millis = at.as_millisecond();
    let mut left = u64::try_from(millis).ok()?;
    if Timestamp::from_millis(millis).to_string() != text {
        return None;
    }
    let base = DIGITS.len() as u64;
    let mut digits = Vec::new();
    while left > 0 {
        let digit = usize::try_from(left % base).ok()?;
        digits.push(char::from(*DIGITS.get(digit)?));
        left /= base;
    }
    Some(TIME.chars().chain(digits.into_iter().rev()).collect())
}

/// Returns the time with this packed spelling; `None` if the text is none.
pub(super) fn time(code: &str) -> Option<String> {
    let digits = code.strip_prefix(TIME)?;
    let millis = match digits {
        "" => 0,
        digits => i64::from_str_radix(digits, 36).ok()?,
    };
    Some(Timestamp::from_millis(millis).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_packed_if_it_is_spelled_as_the_host_spells_it() {
        for (text, packed) in [
            ("2026-11-14T23:46:40.123Z", Some("=tmwh21it7")),
            ("1970-01-01T00:00:00.000Z", Some("=t")),
            ("2026-11-14T23:46:40.12Z", None),
            ("2026-11-14T23:46:40+00Z", None),
            ("2026-11-14t23:46:40.123Z", None),
            ("1969-12-31T23:59:59.999Z", None),
            ("2026-13-14T23:46:40.123Z", None),
            ("not a time and it ends Z", None),
        ] {
            assert_eq!(code(text).as_deref(), packed, "{text}");
            if let Some(packed) = packed {
                assert_eq!(time(packed).as_deref(), Some(text));
            }
        }
        assert_eq!(time("=t-1").as_deref(), Some("1969-12-31T23:59:59.999Z"));
        assert_eq!(time("=1"), None);
        assert_eq!(time("=tzzzzzzzzzzzzzzzz"), None);
    }
}
