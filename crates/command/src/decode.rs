//! Decodes bytes of a stream as text without splitting a character between two parts.

/// Tells whether more bytes follow the ones being decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// More bytes follow, now or later. An incomplete character is left for the next part.
    More,
    Nothing,
}

/// Decodes as many bytes as fit into `max` bytes of text. Returns the text and the number of bytes used. Invalid
/// bytes are replaced, which makes them longer.
pub(crate) fn decode(bytes: &[u8], max: usize, continuation: Continuation) -> (String, usize) {
    let (mut text, mut used) = (String::new(), 0);
    while let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty()) {
        let (valid, broken) = match std::str::from_utf8(rest) {
            Ok(valid) => (valid, 0),
            Err(error) => {
                let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
                let left = rest.len() - valid.len();
                let broken = match (error.error_len(), continuation) {
                    (Some(broken), _) => broken,
                    (None, Continuation::Nothing) => left,
                    (None, Continuation::More) => 0,
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

/// Length of the replacement character in bytes.
pub(crate) const REPLACED: usize = char::REPLACEMENT_CHARACTER.len_utf8();

/// Counts the bytes at the beginning that belong to a character that was cut.
pub(crate) fn cut_bytes(bytes: &[u8]) -> usize {
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    bytes.iter().take(3).take_while(is_inside).count()
}

/// Returns the offset at which the last `lines` lines begin. A line end at the very end belongs to the last line.
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
    ends.nth(lines - 1).map_or(0, |(paths, _)| paths + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_not_whole_yet_is_left_for_later() {
        let bytes = "aé".as_bytes();
        assert_eq!(
            decode(&bytes[..2], 100, Continuation::More),
            ("a".to_owned(), 1)
        );
        assert_eq!(
            decode(&bytes[..2], 100, Continuation::Nothing),
            ("a\u{fffd}".to_owned(), 2)
        );
        assert_eq!(
            decode(&bytes[1..], 100, Continuation::More),
            ("é".to_owned(), 2)
        );
    }

    #[test]
    fn broken_characters_are_replaced_and_never_wait() {
        assert_eq!(
            decode(b"a\xffb\xe6\xbcc", 100, Continuation::More),
            ("a\u{fffd}b\u{fffd}c".to_owned(), 6)
        );
    }

    #[test]
    fn parts_of_any_size_make_up_the_whole() {
        let stream = b"one \xe6\xbc\xa2\xe5\xad\x97 \xff\xff two \xf0\x9f\xa6\x80\xf0\x9f";
        let whole = String::from_utf8_lossy(stream);
        for step in 4..stream.len() {
            for max in 4..12 {
                let (mut decoded, mut offset) = (String::new(), 0);
                while offset < stream.len() {
                    let until = (offset + step).min(stream.len());
                    let continuation = if until < stream.len() {
                        Continuation::More
                    } else {
                        Continuation::Nothing
                    };
                    let (text, used) = decode(&stream[offset..until], max, continuation);
                    assert!(used > 0 && text.len() <= max, "{step} {max} at {offset}");
                    decoded += &text;
                    offset += used;
                }
                assert_eq!(decoded, whole, "{step} {max}");
            }
        }
    }

    #[test]
    fn a_cut_at_the_beginning_is_seen() {
        let crab = "🦀x".as_bytes();
        for cut in 1..4 {
            assert_eq!(cut_bytes(&crab[cut..]), 4 - cut);
        }
        assert_eq!(cut_bytes(crab), 0);
        assert_eq!(cut_bytes(b""), 0);
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
