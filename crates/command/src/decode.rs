//! Bytes of a stream as text, so that no character is torn between one part and the next.

/// Whether more bytes follow those at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// More follow, now or later: a character that is not whole is left for the next part.
    More,
    /// These are the last.
    Nothing,
}

/// The text of as many bytes as make at most `max` bytes of it, and how many those were. Broken characters are
/// replaced, which makes them longer.
pub(crate) fn decode(bytes: &[u8], max: usize, after: After) -> (String, usize) {
    let (mut text, mut used) = (String::new(), 0);
    while let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty()) {
        let (valid, broken) = match std::str::from_utf8(rest) {
            Ok(valid) => (valid, 0),
            Err(error) => {
                let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
                let left = rest.len() - valid.len();
                let broken = match (error.error_len(), after) {
                    (Some(broken), _) => broken,
                    (None, After::Nothing) => left,
                    (None, After::More) => 0,
                };
                (std::str::from_utf8(valid).unwrap_or_default(), broken)
            }
        };
        let taken = holon_domain::text::prefix(valid, max - text.len());
        text.push_str(taken);
        used += taken.len();
        let room = max - text.len();
        if taken.len() < valid.len() || broken == 0 || room < REPLACED {
            break;
        }
        text.push(char::REPLACEMENT_CHARACTER);
        used += broken;
    }
    (text, used)
}

/// Bytes of what stands in for a broken character.
pub(crate) const REPLACED: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// How many bytes at the beginning are the end of a character that was cut.
pub(crate) fn torn(bytes: &[u8]) -> usize {
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    bytes.iter().take(3).take_while(is_inside).count()
}

/// Where the last so many lines begin. An end of line at the very end ends the last of them.
pub(crate) fn last_lines(bytes: &[u8], lines: usize) -> usize {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if lines == 0 {
        return bytes.len();
    }
    let mut ends = body
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, byte)| **byte == b'\n');
    ends.nth(lines - 1).map_or(0, |(place, _)| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_not_whole_yet_is_left_for_later() {
        let bytes = "aé".as_bytes();
        assert_eq!(decode(&bytes[..2], 100, After::More), ("a".to_owned(), 1));
        assert_eq!(
            decode(&bytes[..2], 100, After::Nothing),
            ("a\u{fffd}".to_owned(), 2)
        );
        assert_eq!(decode(&bytes[1..], 100, After::More), ("é".to_owned(), 2));
    }

    #[test]
    fn broken_characters_are_replaced_and_never_wait() {
        assert_eq!(
            decode(b"a\xffb\xe6\xbcc", 100, After::More),
            ("a\u{fffd}b\u{fffd}c".to_owned(), 6)
        );
    }

    #[test]
    fn parts_of_any_size_make_up_the_whole() {
        let stream = b"one \xe6\xbc\xa2\xe5\xad\x97 \xff\xff two \xf0\x9f\xa6\x80\xf0\x9f";
        let whole = String::from_utf8_lossy(stream);
        for step in 4..stream.len() {
            for max in 4..12 {
                let (mut said, mut offset) = (String::new(), 0);
                while offset < stream.len() {
                    let until = (offset + step).min(stream.len());
                    let after = if until < stream.len() {
                        After::More
                    } else {
                        After::Nothing
                    };
                    let (text, used) = decode(&stream[offset..until], max, after);
                    assert!(used > 0 && text.len() <= max, "{step} {max} at {offset}");
                    said += &text;
                    offset += used;
                }
                assert_eq!(said, whole, "{step} {max}");
            }
        }
    }

    #[test]
    fn a_cut_at_the_beginning_is_seen() {
        let crab = "🦀x".as_bytes();
        for cut in 1..4 {
            assert_eq!(torn(&crab[cut..]), 4 - cut);
        }
        assert_eq!(torn(crab), 0);
        assert_eq!(torn(b""), 0);
    }

    #[test]
    fn the_last_lines_are_counted_from_the_end() {
        for (text, lines, expected) in [
            ("a\nb\nc\n", 1, "c\n"),
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\nc", 9, "a\nb\nc"),
            ("a\n\n", 1, "\n"),
            ("", 3, ""),
            ("a\nb", 0, ""),
        ] {
            let from = last_lines(text.as_bytes(), lines);
            assert_eq!(&text.as_bytes()[from..], expected.as_bytes(), "{text:?}");
        }
    }
}
