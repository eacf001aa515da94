//! The `@@` line of a hunk: where it says it belongs and how long it says it is.
//!
//! Owns the reading of that line only. All of it is a hint; the hunk's own lines decide.

/// The line numbers and counts of a `@@` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// First old line, counted from 1; 0 where there is none.
    pub(crate) old_start: u32,
    /// Number of old lines.
    pub(crate) old_count: u32,
    pub(crate) new_start: u32,
    /// Number of new lines.
    pub(crate) new_count: u32,
}

impl Range {
    /// The range as it stands in a patch.
    pub(crate) fn shown(&self) -> String {
        format!(
            "-{},{} +{},{}",
            self.old_start, self.old_count, self.new_start, self.new_count
        )
    }
}

/// A line that begins with `@@`, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HunkHeader {
    Numbered(Range),
    /// Without numbers: only the context says where.
    Bare,
    /// `@@@`: a combined diff of several parents.
    Combined,
    /// Numbers that cannot be read.
    Broken,
}

/// Reads a line that begins with `@@`.
pub(crate) fn parse_hunk_header(line: &str) -> HunkHeader {
    let Some(rest) = line.strip_prefix("@@") else {
        return HunkHeader::Broken;
    };
    if rest.starts_with('@') {
        return HunkHeader::Combined;
    }
    let rest = rest.trim_start();
    // Some models name a function there instead of numbers; that is a comment.
    if !rest.starts_with(|c: char| c == '-' || c == '+' || c.is_ascii_digit()) {
        return HunkHeader::Bare;
    }
    parse_range(rest).map_or(HunkHeader::Broken, HunkHeader::Numbered)
}

fn parse_range(rest: &str) -> Option<Range> {
    let mut words = rest.split_ascii_whitespace();
    let (old_start, old_count) = parse_side(words.next()?.strip_prefix('-')?)?;
    let new = words.next()?.strip_prefix('+')?;
    let (new, closed) = new
        .strip_suffix("@@")
        .map_or((new, false), |new| (new, true));
    let (new_start, new_count) = parse_side(new)?;
    let ends = closed || words.next().is_none_or(|word| word.starts_with("@@"));
    ends.then_some(Range {
        old_start,
        old_count,
        new_start,
        new_count,
    })
}

fn parse_side(text: &str) -> Option<(u32, u32)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((parse_number(start)?, parse_number(count)?))
}

/// Digits only: the standard parser would also take a sign.
fn parse_number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(old: (u32, u32), new: (u32, u32)) -> HunkHeader {
        HunkHeader::Numbered(Range {
            old_start: old.0,
            old_count: old.1,
            new_start: new.0,
            new_count: new.1,
        })
    }

    #[test]
    fn headers_are_read_with_and_without_numbers() {
        for (line, expected) in [
            ("@@ -1,2 +3,4 @@", numbered((1, 2), (3, 4))),
            ("@@ -1 +3 @@ fn main() {", numbered((1, 1), (3, 1))),
            ("@@ -0,0 +1,9 @@", numbered((0, 0), (1, 9))),
            ("@@ -1,2 +3,4", numbered((1, 2), (3, 4))),
            ("@@ -1,2 +3,4@@", numbered((1, 2), (3, 4))),
            ("@@-1,2 +3,4 @@", numbered((1, 2), (3, 4))),
            ("@@", HunkHeader::Bare),
            ("@@ @@", HunkHeader::Bare),
            ("@@ ... @@", HunkHeader::Bare),
            ("@@ fn main() {", HunkHeader::Bare),
            ("@@@ -1 -1 +1 @@@", HunkHeader::Combined),
            ("@@ -1,2 @@", HunkHeader::Broken),
            ("@@ -x +1 @@", HunkHeader::Broken),
            ("@@ -1,2,3 +1 @@", HunkHeader::Broken),
            ("@@ -1, +1 @@", HunkHeader::Broken),
            ("@@ --1 +1 @@", HunkHeader::Broken),
            ("@@ -1 ++1 @@", HunkHeader::Broken),
            ("@@ +1 -1 @@", HunkHeader::Broken),
            ("@@ 1,2 3,4 @@", HunkHeader::Broken),
            ("@@ -1 +1 junk @@", HunkHeader::Broken),
            ("@@ -99999999999 +1 @@", HunkHeader::Broken),
        ] {
            assert_eq!(parse_hunk_header(line), expected, "{line}");
        }
    }
}
