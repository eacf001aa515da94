//! Decodes bytes to text by the encoding that the answer or the document itself declares.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes at the beginning of a document in which it may declare its encoding, as the HTML standard says.
const DECLARATION_BYTES: usize = 1_024;

/// Decodes a body. A byte order mark wins over the header, the header over the document. Without any of them the text is
/// UTF-8 if it can be, else Windows-1252, as browsers do. Bytes that fit no character become U+FFFD.
pub(crate) fn decode(body: &[u8], content_type: Option<&str>) -> String {
    let declared = content_type
        .and_then(|value| label_in(value.as_bytes()))
        .or_else(|| document_label(body));
    let encoding = declared.unwrap_or_else(|| guess(body));
    let (text, _, _) = encoding.decode(body);
    text.into_owned()
}

/// Guesses an encoding. A text that ends inside of a character is UTF-8 if characters before it are.
fn guess(body: &[u8]) -> &'static Encoding {
    let Err(error) = std::str::from_utf8(body) else {
        return UTF_8;
    };
    let valid = body.get(..error.valid_up_to()).unwrap_or_default();
    if error.error_len().is_none() && !valid.is_ascii() {
        UTF_8
    } else {
        WINDOWS_1252
    }
}

/// Finds `charset=` in the first `meta` elements of a document.
fn document_label(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..DECLARATION_BYTES.min(body.len()))?;
    let lower = head.to_ascii_lowercase();
    let mut rest = lower.as_slice();
    while let Some(at) = find(rest, b"<meta") {
        rest = rest.get(at + 5..)?;
        let element = rest.split(|byte| *byte == b'>').next()?;
        if let Some(encoding) = label_in(element) {
            // A document that can declare itself in ASCII is not UTF-16.
            let is_wide = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
            return Some(if is_wide { UTF_8 } else { encoding });
        }
    }
    None
}

/// Returns the encoding after `charset=`.
fn label_in(text: &[u8]) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let at = find(&lower, b"charset=")?;
    let label = lower.get(at + 8..)?;
    let label = label.trim_ascii_start();
    let label = label.strip_prefix(b"\"").unwrap_or(label);
    let label = label.strip_prefix(b"'").unwrap_or(label);
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\'' | b';' | b' ' | b'/' | b'>');
    Encoding::for_label(label.split(is_end).next()?)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|found| found == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_that_of_the_mark_then_of_the_header_then_of_the_document() {
        let latin = b"caf\xe9";
        let html = |declaration: &str, text: &[u8]| {
            [format!("<head>{declaration}</head>").as_bytes(), text].concat()
        };
        for (body, header, expected) in [
            (
                latin.to_vec(),
                Some("text/html; charset=iso-8859-1"),
                "café",
            ),
            (latin.to_vec(), Some("text/html"), "café"),
            ("café".into(), None, "café"),
            ("é caf\u{e9}".as_bytes()[..6].to_vec(), None, "é caf"),
            (
                b"\xef\xbb\xbfcaf\xc3\xa9".to_vec(),
                Some("text/plain; charset=latin1"),
                "café",
            ),
            (b"\xff\xfec\x00a\x00".to_vec(), None, "ca"),
            (
                b"\x83\x65".to_vec(),
                Some("text/html; charset=\"Shift_JIS\""),
                "テ",
            ),
            (
                b"\x83\x65".to_vec(),
                Some("text/html;charset=no-such"),
                "ƒe",
            ),
        ] {
            assert_eq!(decode(&body, header), expected, "{header:?}");
        }
        for declaration in [
            "<meta charset=shift_jis>",
            "<META CHARSET='Shift_JIS' />",
            "<meta name=x><meta http-equiv=content-type content=\"text/html; charset=sjis\">",
        ] {
            let text = decode(&html(declaration, b"\x83\x65"), Some("text/html"));
            assert!(text.ends_with('テ'), "{declaration}: {text}");
        }
        assert!(decode(&html("<meta charset=utf-16>", "é".as_bytes()), None).ends_with('é'));
    }
}
