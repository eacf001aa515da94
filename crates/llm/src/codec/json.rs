//! Parses a provider's JSON within a memory budget.
//!
//! A list of zeros takes sixteen times its length once parsed, and a list of small objects almost a hundred times, so a
//! limit on the bytes of an answer does not bound memory. The count is an estimate and never far below the real size.
//!
//! JSON bounds no number, but a `Value` does. An answer is read although it holds a number beyond the largest float, such
//! as an absurd count of tokens; the largest float then stands for it.

use holon_domain::limits::PROVIDER_PARSED_BYTES;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::fmt;

/// Bytes counted for one value.
const VALUE: usize = size_of::<Value>();
/// Bytes counted for an object that is not empty: a map node has room for eleven members.
const OBJECT: usize = 11 * (VALUE + size_of::<String>());

/// Parses a document within the memory limit for one document.
///
/// # Errors
/// Fails if the text is not JSON. An error of category `Data` means that the value would take too much memory.
pub(crate) fn parse(document: &[u8]) -> serde_json::Result<Value> {
    within(PROVIDER_PARSED_BYTES, document)
}

/// Parses an answer of a provider like [`parse`], also if it holds numbers beyond the largest float.
///
/// # Errors
/// As for [`parse`].
pub(crate) fn parse_answer(document: &[u8]) -> serde_json::Result<Value> {
    match parse(document) {
        Err(error) if error.is_syntax() => match bound_numbers(document) {
            Some(bounded) => parse(&bounded),
            None => Err(error),
        },
        parsed => parsed,
    }
}

/// Reads a count that a provider reports. A server may write it as a float, and one beyond `u64` as the largest count.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    number.as_u64().or_else(|| {
        let whole = number.as_f64().filter(|float| *float >= 0.0)?.trunc();
        // A float without a fraction is written in digits alone.
        Some(format!("{whole:.0}").parse().unwrap_or(u64::MAX))
    })
}

/// Replaces the numbers of a document that are beyond the largest float by it. `None` if there are none.
fn bound_numbers(document: &[u8]) -> Option<Vec<u8>> {
    let mut bounded = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(&byte) = document.get(at) {
        let rest = document.get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &&u8| matches!(**byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                rest.iter().take_while(is_part).count()
            }
            _ => 1,
        };
        let number = rest
            .get(..length)
            .and_then(|part| std::str::from_utf8(part).ok());
        if byte != b'"'
            && number
                .and_then(|part| part.parse::<f64>().ok())
                .is_some_and(f64::is_infinite)
        {
            bounded.extend_from_slice(document.get(copied..at)?);
            let sign = if byte == b'-' { "-" } else { "" };
            bounded.extend_from_slice(format!("{sign}{:e}", f64::MAX).as_bytes());
            copied = at + length;
        }
        at += length;
    }
    if copied == 0 {
        return None;
    }
    bounded.extend_from_slice(document.get(copied..)?);
    Some(bounded)
}

/// Returns the length of the string that begins here, with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let ends = |byte: &u8| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    let inside = text.iter().skip(1).position(ends);
    inside.map_or(text.len(), |inside| inside + 2)
}

fn within(bytes: usize, document: &[u8]) -> serde_json::Result<Value> {
    let left = Cell::new(bytes);
    let mut parser = serde_json::Deserializer::from_slice(document);
    let value = BudgetedValue(&left).deserialize(&mut parser)?;
    parser.end()?;
    Ok(value)
}

/// Deserializes a value and subtracts its size from the remaining budget.
#[derive(Clone, Copy)]
struct BudgetedValue<'a>(&'a Cell<usize>);

impl BudgetedValue<'_> {
    fn take<E: serde::de::Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.0.get().checked_sub(bytes);
        self.0
            .set(left.ok_or_else(|| E::custom("it has too many parts"))?);
        Ok(())
    }

    fn leaf<E: serde::de::Error>(self, value: Value) -> Result<Value, E> {
        self.take(VALUE)?;
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for BudgetedValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BudgetedValue<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.leaf(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.leaf(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.leaf(Value::from(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.leaf(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.leaf(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len())?;
        self.leaf(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.take(VALUE)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.take(VALUE)?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let room = if object.is_empty() { OBJECT } else { VALUE };
            self.take::<A::Error>(room + name.len())?;
            let value = members.next_value_seed(self)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_document_of_countless_small_values_is_refused_before_it_is_built() {
        for (open, piece, close) in [
            ("[", "0,", "0]"),
            ("[", "{},", "0]"),
            ("[", "[],", "0]"),
            ("[", r#"{"":0},"#, "0]"),
            ("{\"a\":[", "null,", "0]}"),
        ] {
            let document = format!("{open}{}{close}", piece.repeat(4 << 20 >> 1));
            let error = parse(document.as_bytes()).expect_err(piece);
            assert!(error.is_data(), "{piece}: {error}");
        }
    }

    #[test]
    fn a_large_answer_of_a_model_is_read() {
        let block = format!(r#"{{"type":"text","text":"{}"}},"#, "word ".repeat(20));
        let document = format!(r#"{{"content":[{}null]}}"#, block.repeat(10_000));
        assert!(document.len() > 1 << 20);
        let parsed = parse(document.as_bytes()).unwrap();
        assert_eq!(parsed["content"].as_array().unwrap().len(), 10_001);
    }

    #[test]
    fn a_number_beyond_the_largest_float_does_not_spoil_the_answer() {
        let document =
            r#"{"a":"1e400 \\\" 1e400","usage":{"in":1e400,"out":-1E+999,"n":7},"b":[1e5,9e999]}"#;
        assert!(parse(document.as_bytes()).is_err());
        let parsed = parse_answer(document.as_bytes()).unwrap();
        let max = f64::MAX;
        assert_eq!(
            parsed,
            serde_json::json!({
                "a": "1e400 \\\" 1e400", "usage": {"in": max, "out": -max, "n": 7}, "b": [1e5, max],
            })
        );
        for document in ["{", "1e400 1e400", "1e400e", "{\"a\":1e400", "\"1e400", "-"] {
            assert!(parse_answer(document.as_bytes()).is_err(), "{document}");
        }
    }

    #[test]
    fn a_count_is_read_however_its_number_is_written() {
        for (text, counted) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("1.2e3", Some(1_200)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("1e400", Some(u64::MAX)),
            ("-1", None),
            ("-1e400", None),
            ("\"7\"", None),
            ("null", None),
        ] {
            let parsed = parse_answer(text.as_bytes()).unwrap();
            assert_eq!(count(&parsed), counted, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_an_error_of_syntax_or_of_its_end() {
        for document in ["", "{", "[1,]", "{} {}", "nul", "\"a", "<html>"] {
            let error = parse(document.as_bytes()).expect_err(document);
            assert!(!error.is_data(), "{document}: {error}");
        }
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map("\\PC{0,4}", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_document_within_the_bound_parses_like_serde_json(value in any_json()) {
            let document = value.to_string();
            let read: Value = serde_json::from_str(&document).unwrap();
            prop_assert_eq!(parse(document.as_bytes()).unwrap(), read);
        }
    }
}
