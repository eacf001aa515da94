//! Bounds how deep one line can nest: a parser looks at every open list and quote for each line that follows.

use std::borrow::Cow;

/// Marks of lists and quotes that count at the beginning of a line.
const MARKS: usize = 32;

/// Takes the meaning of the marks beyond the bound, so that they are shown as they are written.
pub(super) fn bounded(text: &str) -> Cow<'_, str> {
    if text.split('\n').all(|line| surplus(line).is_none()) {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| {
        let parts = surplus(line).and_then(|at| line.split_at_checked(at));
        parts.map_or_else(
            || line.to_owned(),
            |(before, mark)| format!("{before}\\{mark}"),
        )
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Finds the character by which the first mark beyond the bound is told from a text.
fn surplus(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut at = 0;
    for _ in 0..MARKS {
        at = mark(bytes, at)? + 1;
    }
    let first = mark(bytes, at)?;
    // A line of such signs alone is a rule.
    let is_rule = |sign: u8| bytes.iter().all(|byte| [sign, b' '].contains(byte));
    (!is_rule(b'-') && !is_rule(b'*')).then_some(first)
}

/// Finds the last byte of the mark that follows after spaces.
fn mark(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let at = from + rest.iter().position(|byte| *byte != b' ')?;
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    let last = at + digits;
    let is_apart = bytes.get(last + 1).is_none_or(|byte| *byte == b' ');
    let is_mark = match bytes.get(last)? {
        b'>' => digits == 0,
        b'-' | b'+' | b'*' => digits == 0 && is_apart,
        b'.' | b')' => digits > 0 && is_apart,
        _ => false,
    };
    is_mark.then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_beyond_the_bound_lose_their_meaning() {
        for (mark, escaped) in [
            ("> ", "\\> "),
            (">", "\\>"),
            ("- ", "\\- "),
            ("  + ", "  \\+ "),
            ("* ", "\\* "),
            ("12. ", "12\\. "),
            ("1) ", "1\\) "),
        ] {
            let fits = format!("a\n{}x\n", mark.repeat(MARKS));
            assert_eq!(bounded(&fits), fits, "{mark}");
            let more = format!("a\n{}x\n> b", mark.repeat(MARKS + 2));
            let expected = format!("a\n{}{escaped}{mark}x\n> b", mark.repeat(MARKS));
            assert_eq!(bounded(&more), expected, "{mark}");
        }
        for same in [
            "- ".repeat(200),
            "-".repeat(200),
            "*".repeat(200),
            "1".repeat(200),
        ] {
            assert_eq!(bounded(&same), same);
        }
    }
}
