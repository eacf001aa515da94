//! The script format: parse and validate, on text alone.
//!
//! Owns the shape of a script file and which round a request gets. Reading the file and answering with a
//! round are the player's business. A `Script` that exists has at least one round and no unknown placeholder.
//! The format is described in `docs/guide/scripted-provider.md`.

use crate::error::Error;
use crate::placeholder;
use holon_domain::model::{ModelFailureKind, StopReason};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Longest pause of a round; a longer one is refused, because a forgotten call should not hang for days.
const DELAY_MAX_MS: u64 = 60 * 60 * 1_000;

/// A whole script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// For people.
    #[serde(default)]
    pub name: Option<String>,
    /// The answers, in order.
    pub rounds: Vec<Round>,
    /// What happens after the last one.
    #[serde(default)]
    pub on_end: EndPolicy,
}

/// What a script does when it has no more rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndPolicy {
    /// The call fails.
    #[default]
    Fail,
    /// The last round answers for ever.
    RepeatLast,
    /// It starts over.
    Loop,
}

/// One scripted answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// What the model says; may hold placeholders.
    #[serde(default)]
    pub text: Option<String>,
    /// What it thinks; may hold placeholders.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// The tools it calls.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// Its cost; estimated when absent.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// A pause before the answer or the error.
    #[serde(default)]
    pub delay_ms: u64,
    /// Why it stops; by default whatever fits its calls.
    #[serde(default)]
    pub stop: Option<Stop>,
    /// A failure that comes before the answer.
    #[serde(default)]
    pub error: Option<ScriptedError>,
    /// What the request must look like.
    #[serde(default)]
    pub expect: Option<Expectation>,
}

/// One scripted tool call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, passed on as they are but for the name of a task.
    #[serde(default = "no_arguments")]
    pub input: Value,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Scripted token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
}

/// Why a scripted model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It is done.
    EndTurn,
    /// It wants tools.
    ToolUse,
    /// It ran out of room.
    MaxOutputTokens,
    /// It will not.
    Refusal,
}

impl From<Stop> for StopReason {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::EndTurn => Self::EndTurn,
            Stop::ToolUse => Self::ToolUse,
            Stop::MaxOutputTokens => Self::MaxOutputTokens,
            Stop::Refusal => Self::Refusal,
        }
    }
}

/// A scripted failure.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// Its class.
    pub kind: ErrorKind,
    /// Its words; a stock sentence when absent.
    #[serde(default)]
    pub message: Option<String>,
    /// How long the provider asks to wait.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// How often the round fails before it answers. When absent: once, or every time if the round has no answer.
    #[serde(default)]
    pub times: Option<u32>,
}

/// The failures a script may play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// As HTTP 429.
    RateLimited,
    /// As HTTP 5xx.
    ServerError,
    /// No answer in time.
    Timeout,
    /// A broken connection.
    Connection,
    /// No network at all.
    Network,
    /// The allowance is used up, until `retry_after_ms` have passed.
    Quota,
    /// As HTTP 401 or 403.
    Auth,
    /// As another HTTP 4xx.
    InvalidRequest,
    /// The prompt does not fit.
    ContextLengthExceeded,
    /// An answer that is not one.
    InvalidResponse,
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
        }
    }
}

/// What a round expects of the request it answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The last tool result has these words.
    #[serde(default)]
    pub tool_result_contains: Option<String>,
    /// The current input, or words put in after it, have these.
    #[serde(default)]
    pub input_contains: Option<String>,
}

impl Script {
    /// Parses and checks a script; `path` only serves the error's words.
    ///
    /// # Errors
    /// Names the place and the rule the text breaks.
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

    /// The round that answers the request numbered `asked` (from 0), and its place in the script.
    /// `None` when the script has run out.
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
    /// Whether there is anything to answer with.
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
    // The parser appends the place, which the path already carries in the form editors understand.
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
#[path = "script/tests.rs"]
mod tests;
