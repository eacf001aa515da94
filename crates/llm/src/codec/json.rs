//! Parses a provider's JSON within a memory budget.
//!
//! A list of zeros takes sixteen times its length once parsed, and a list of small objects almost a hundred times, so a
//! limit on the bytes of an answer does not bound memory. The count is an estimate and never far below the real size.

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
