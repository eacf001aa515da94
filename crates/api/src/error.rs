//! The JSON body of every error response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Error response: a message, a stable code, and the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    pub ok: bool,
    /// Message for people; its wording may change between releases.
    pub error: String,
    /// Stable, machine-readable name of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The next step for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Facts that belong to the code: an agent id, sequence numbers, a position in the request.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ErrorBody {
    /// Creates an error without hint and facts.
    #[must_use]
    pub fn new(code: impl Into<String>, error: impl Into<String>) -> Self {
        Self {
            ok: false,
            error: error.into(),
            code: Some(code.into()),
            hint: None,
            extra: Map::new(),
        }
    }

    /// Adds the next step for the caller.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a fact under a key of its own.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stand_beside_the_code_and_are_read_back() {
        let body = ErrorBody::new("cursor_too_old", "gone")
            .hint("read afresh")
            .with("oldest_seq", 7);
        let text = serde_json::to_string(&body).expect("serialises");
        assert_eq!(
            text,
            r#"{"ok":false,"error":"gone","code":"cursor_too_old","hint":"read afresh","oldest_seq":7}"#
        );
        assert_eq!(
            serde_json::from_str::<ErrorBody>(&text).expect("parses"),
            body
        );
    }
}
