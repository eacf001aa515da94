//! The script format: parsing and validation of its text.
//!
//! Owns the structure of a script file and the choice of the round for a request; `scripted` reads the file and
//! answers. A `Script` value has at least one round and no unknown placeholder. The format is described in
//! `docs/guide/scripted-provider.md`.

use crate::error::Error;
use crate::placeholder;
use holon_domain::model::{ModelFailureKind, StopReason};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Longest delay of a round. A longer one is refused, because a forgotten call should not hang for days.
const DELAY_MAX_MS: u64 = 60 * 60 * 1_000;

/// A parsed and validated script file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// For people; never interpreted.
    #[serde(default)]
    pub name: Option<String>,
    pub rounds: Vec<Round>,
    #[serde(default)]
    pub on_end: EndPolicy,
}

/// Behaviour of a script after its last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndPolicy {
    #[default]
    Fail,
    RepeatLast,
    /// The script starts over.
    Loop,
}

/// One scripted answer, or a failure, or a failure followed by an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// Text that may hold placeholders.
    #[serde(default)]
    pub text: Option<String>,
    /// Text that may hold placeholders.
    #[serde(default)]
    pub reasoning: Option<String>,
    #[serde(default)]
    pub calls: Vec<Call>,
    /// Token counts; estimated if absent.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Delay before the answer or the failure.
    #[serde(default)]
    pub delay_ms: u64,
    /// If absent, derived from the presence of calls.
    #[serde(default)]
    pub stop: Option<Stop>,
    /// A failure that comes before the answer.
    #[serde(default)]
    pub error: Option<ScriptedError>,
    /// Conditions on the request; the call fails if one is not met.
    #[serde(default)]
    pub expect: Option<Expectation>,
}

/// One scripted tool call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub tool: String,
    /// Arguments, passed on unchanged except for placeholders of runtime ids.
    #[serde(default = "no_arguments")]
    pub input: Value,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Token counts that a round reports instead of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
}

/// The stop reasons a script may play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    EndTurn,
    ToolUse,
    MaxOutputTokens,
    Refusal,
    ContentFilter,
}

impl From<Stop> for StopReason {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::EndTurn => Self::EndTurn,
            Stop::ToolUse => Self::ToolUse,
            Stop::MaxOutputTokens => Self::MaxOutputTokens,
            Stop::Refusal => Self::Refusal,
            Stop::ContentFilter => Self::ContentFilter,
        }
    }
}

/// A failure that a round plays before its answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    pub kind: ErrorKind,
    /// A stock sentence is used if absent.
    #[serde(default)]
    pub message: Option<String>,
    /// Wait that the provider requests before a retry.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// Number of failures before the round answers. If absent: one, or no limit if the round has no answer.
    #[serde(default)]
    pub times: Option<u32>,
}

/// The failures a script may play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Stands for HTTP 429.
    RateLimited,
    /// Stands for HTTP 5xx.
    ServerError,
    Timeout,
    Connection,
    /// The network is down.
    Network,
    /// The quota is exhausted until `retry_after_ms` have passed.
    Quota,
    /// Stands for HTTP 401 or 403.
    Auth,
    /// Stands for any other HTTP 4xx.
    InvalidRequest,
    ContextLengthExceeded,
    /// The answer is none of the protocol.
    InvalidResponse,
    /// The answer is no JSON, such as the page of a gateway.
    NotJson,
}

impl From<ErrorKind> for ModelFailureKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::RateLimited => Self::RateLimited,
            ErrorKind::ServerError => Self::ServerError,
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Connection => Self::Connection,
            ErrorKind::Network => Self::Network,
            ErrorKind::Quota => Self::Quota,
            ErrorKind::Auth => Self::Auth,
            ErrorKind::InvalidRequest => Self::InvalidRequest,
            ErrorKind::ContextLengthExceeded => Self::ContextLengthExceeded,
            ErrorKind::InvalidResponse => Self::InvalidResponse,
            ErrorKind::NotJson => Self::NotJson,
        }
    }
}

/// Conditions of a round on the request it answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Text that the last tool result must contain.
    #[serde(default)]
    pub tool_result_contains: Option<String>,
    /// Text that the current input, or user text inserted after it, must contain.
    #[serde(default)]
    pub input_contains: Option<String>,
}

impl Script {
    /// Parses and validates a script; `path` is only used in error messages.
    ///
    /// # Errors
    /// Names the position and the rule that the text breaks.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let script: Self = serde_json::from_str(text).map_err(|error| malformed(&error, path))?;
        script.validate().map_err(|what| Error::Invalid {
            path: path.to_owned(),
            what,
        })?;
        Ok(script)
    }

    fn validate(&self) -> Result<(), String> {
        if self.rounds.is_empty() {
            return Err("it has no rounds; add at least one to \"rounds\"".to_owned());
        }
        for (index, round) in self.rounds.iter().enumerate() {
            round
                .validate()
                .map_err(|what| format!("round {}: {what}", index + 1))?;
        }
        Ok(())
    }

    /// Returns the round for the request with number `asked` (from 0), and its index in the script. Returns `None` if
    /// the script has run out.
    #[must_use]
    pub fn round(&self, asked: u64) -> Option<(usize, &Round)> {
        let have = self.rounds.len();
        let index = match (usize::try_from(asked), self.on_end) {
            (Ok(index), _) if index < have => index,
            (_, EndPolicy::Fail) => return None,
            (_, EndPolicy::RepeatLast) => have.checked_sub(1)?,
            (_, EndPolicy::Loop) => {
                usize::try_from(asked.checked_rem(u64::try_from(have).ok()?)?).ok()?
            }
        };
        self.rounds.get(index).map(|round| (index, round))
    }
}

impl Round {
    /// Returns true if the round has something to answer with.
    #[must_use]
    pub const fn has_answer(&self) -> bool {
        self.text.is_some()
            || self.reasoning.is_some()
            || !self.calls.is_empty()
            || self.stop.is_some()
    }

    fn validate(&self) -> Result<(), String> {
        if !self.has_answer() && self.error.is_none() {
            return Err("it says nothing; give it text, calls or an error (\"text\": \"\" for an empty answer)".into());
        }
        if self.delay_ms > DELAY_MAX_MS {
            return Err(format!(
                "delay_ms is {}; the most is {DELAY_MAX_MS}",
                self.delay_ms
            ));
        }
        if self
            .error
            .as_ref()
            .is_some_and(|error| error.times == Some(0))
        {
            return Err(
                "error.times is 0; leave the error out or let it fail at least once".into(),
            );
        }
        if self.calls.iter().any(|call| call.tool.trim().is_empty()) {
            return Err("a call names no tool; write its name in \"tool\"".into());
        }
        for words in [&self.text, &self.reasoning].into_iter().flatten() {
            placeholder::pieces(words)?;
        }
        Ok(())
    }
}

fn malformed(error: &serde_json::Error, path: &Path) -> Error {
    let (line, column) = (error.line(), error.column());
    let words = error.to_string();
    // The parser appends the position, which the path already carries in the form editors understand.
    let what = words
        .strip_suffix(&format!(" at line {line} column {column}"))
        .unwrap_or(&words)
        .to_owned();
    Error::Malformed {
        path: path.to_owned(),
        line,
        column,
        what,
    }
}

#[cfg(test)]
mod tests;
