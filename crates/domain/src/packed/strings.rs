//! Packs and unpacks one value as text, string by string. Everything between strings is copied, so that no tree of values
//! is built for a row that is read or written.

use super::{CODE_BYTES, MARK, SHARED, UnreadableText, times, words};

/// Spells the strings of JSON text in codes.
pub(super) fn pack(json: &str) -> Result<String, UnreadableText> {
    let mut packed = String::with_capacity(json.len());
    packed.push(MARK);
    map(json, packed, |raw, packed| {
        if let Some(code) = words::code(raw) {
            packed.push_str(code);
            return Ok(());
        }
        if let Some(time) = times::code(raw) {
            packed.push_str(&time);
            return Ok(());
        }
        let looks_coded = (1..=CODE_BYTES).contains(&decoded_bytes(raw));
        if looks_coded || raw.starts_with([MARK, SHARED]) {
            packed.push(MARK);
        }
        packed.push_str(raw);
        Ok(())
    })
}

/// Spells the strings of packed text, without its mark, as they were.
pub(super) fn unpack(packed: &str) -> Result<String, UnreadableText> {
    let json = String::with_capacity(packed.len() * 2);
    map(packed, json, |raw, json| {
        if let Some(literal) = raw.strip_prefix(MARK) {
            json.push_str(literal);
        } else if let Some(time) = times::time(raw) {
            json.push_str(&time);
        } else if raw.starts_with(SHARED) {
            return Err(UnreadableText("no such shared field".to_owned()));
        } else if (1..=CODE_BYTES).contains(&raw.len()) {
            let word = words::word(raw);
            json.push_str(word.ok_or_else(|| UnreadableText(format!("unknown code {raw:?}")))?);
        } else {
            json.push_str(raw);
        }
        Ok(())
    })
}

/// Copies JSON text to `to`. `each` writes what stands between the quotes of a string, which it gets as it is escaped.
fn map(
    json: &str,
    mut to: String,
    mut each: impl FnMut(&str, &mut String) -> Result<(), UnreadableText>,
) -> Result<String, UnreadableText> {
    let mut rest = json;
    while let Some((before, after)) = rest.split_once('"') {
        to.push_str(before);
        to.push('"');
        let end = end_of_string(after)?;
        let (raw, after) = after.split_at(end);
        each(raw, &mut to)?;
        to.push('"');
        rest = after.get(1..).unwrap_or_default();
    }
    to.push_str(rest);
    Ok(to)
}

/// Finds the quote that ends a string.
fn end_of_string(text: &str) -> Result<usize, UnreadableText> {
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Ok(at),
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    Err(UnreadableText("a string has no end".to_owned()))
}

/// Counts the bytes of an escaped string, as far as it takes to tell a short one. The writer escapes characters of one
/// byte only.
fn decoded_bytes(raw: &str) -> usize {
    let mut count = 0;
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        count += 1;
        if byte == b'\\' && bytes.next() == Some(b'u') {
            bytes.nth(3);
        }
        if count > CODE_BYTES {
            break;
        }
    }
    count
}
