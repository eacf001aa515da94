//! How deeply JSON is nested: the bound on what is stored, and a reader of rows that earlier builds stored without it.
//!
//! A parser gives up at a depth of 128, and a row nests a value in fields of its own. So a value near that depth could be
//! written and not be read again; the bound at the door leaves a wide margin.

use crate::limits::JSON_DEPTH;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Deepest row that is read. No earlier build stored one that is much deeper than its parser allowed.
const STORED_DEPTH: usize = 512;

/// Returns true if a JSON text is nested more deeply than a value that is stored may be.
#[must_use]
pub fn is_too_deep(text: &[u8]) -> bool {
    depth_of_text(text) > JSON_DEPTH
}

/// Returns true if a value is nested more deeply than a value that is stored may be.
#[must_use]
pub fn is_value_too_deep(value: &Value) -> bool {
    exceeds(value, JSON_DEPTH)
}

fn exceeds(value: &Value, left: usize) -> bool {
    let beyond = |inner: &Value| left == 0 || exceeds(inner, left - 1);
    match value {
        Value::Array(values) => left == 0 || values.iter().any(beyond),
        Value::Object(fields) => left == 0 || fields.values().any(beyond),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Counts the brackets that are open at the deepest place of a text. Text that is no JSON may get any number.
fn depth_of_text(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in text {
        match (in_text, is_escaped, byte) {
            (true, true, _) => is_escaped = false,
            (true, false, b'\\') => is_escaped = true,
            (true, false, b'"') => in_text = false,
            (true, false, _) => {}
            (false, _, b'"') => in_text = true,
            (false, _, b'[' | b'{') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, _, b']' | b'}') => depth = depth.saturating_sub(1),
            (false, ..) => {}
        }
    }
    deepest
}

/// Parses the JSON of a stored row, also one that is nested more deeply than a parser takes by itself.
///
/// # Errors
/// Fails if the text is not JSON of that shape.
pub fn parse_stored<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        let is_deep = error.is_syntax() && depth_of_text(text.as_bytes()) > JSON_DEPTH;
        if !is_deep || depth_of_text(text.as_bytes()) > STORED_DEPTH {
            return Err(error);
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        parser.disable_recursion_limit();
        let value = T::deserialize(&mut parser)?;
        parser.end()?;
        Ok(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn brackets_count_and_those_in_texts_do_not() {
        assert_eq!(depth_of_text(br#"{"a":[1,{"b":[]}],"c":"[[[\"[["}"#), 4);
        assert!(!is_too_deep(nested(JSON_DEPTH).as_bytes()));
        assert!(is_too_deep(nested(JSON_DEPTH + 1).as_bytes()));
        for depth in [0, 1, JSON_DEPTH, JSON_DEPTH + 1] {
            let value: Value = serde_json::from_str(&nested(depth)).expect("a value");
            assert_eq!(is_value_too_deep(&value), depth > JSON_DEPTH, "{depth}");
        }
    }

    #[test]
    fn a_row_that_an_earlier_build_nested_too_deeply_is_read_and_a_damaged_one_is_not() {
        for depth in [1, 127, 128, 200] {
            let value: Value = parse_stored(&nested(depth)).expect("a row");
            assert_eq!(value.to_string(), nested(depth));
        }
        assert!(parse_stored::<Value>(&nested(STORED_DEPTH + 1)).is_err());
        assert!(parse_stored::<Value>(&nested(200).replace('1', "x")).is_err());
        assert!(parse_stored::<Value>(&format!("{} 2", nested(200))).is_err());
    }
}
