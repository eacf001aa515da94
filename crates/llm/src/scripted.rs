//! The scripted provider: answers a request with a round of a script.
//!
//! The round depends on the request alone (`prior_rounds + round - 1`), so an agent continues at the same round after a
//! restart. The only state in memory is how often a round with an `error` has failed; after a restart such a round may
//! fail again.

use crate::error::Error;
use crate::placeholder::{self, IdKind, Placeholder};
use crate::request_view::{
    current_input, estimate_tokens, input_texts, last_tool_result, newest_id,
};
use crate::script::{Expectation, Round, Script, ScriptedError};
use holon_domain::attempt::{TokenUsage, TransportDiagnostics};
use holon_domain::delta::TextSink;
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, SCRIPT_BYTES};
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelReply, ModelRequest, ReplyBlock, RequestedCall, StopReason,
};
use holon_domain::text;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Number of rounds whose failures are counted. When it is reached, all counts restart, and some rounds fail more often
/// than scripted. Scripted failures are a means of testing, and memory must be bounded.
const COUNTED_ROUNDS: usize = 4_096;
/// Bytes shown of each side of a failed expectation; both and the path fit a failure summary.
const EXPECT_BYTES: usize = 160;
/// Largest answer after placeholders are filled in; equal to the largest script.
const ANSWER_BYTES: usize = SCRIPT_BYTES as usize;

/// Key of a failure count: one agent's request for one round of one script.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RoundKey {
    agent_id: String,
    script: String,
    index: u64,
}

/// Plays scripts from files under `base`.
#[derive(Debug)]
pub(crate) struct Scripted {
    base: PathBuf,
    failures: Mutex<HashMap<RoundKey, u32>>,
}

impl Scripted {
    pub(crate) fn new(base: PathBuf) -> Self {
        Self {
            base,
            failures: Mutex::new(HashMap::new()),
        }
    }

    /// Checks that the script can be loaded.
    pub(crate) async fn check(&self, script: &str) -> Result<(), Error> {
        load_off_thread(self.base.join(script)).await.map(drop)
    }

    /// Answers one request. The text of the answer goes to `text` word by word.
    pub(crate) async fn play(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
    ) -> Result<ModelReply, ModelFailure> {
        let path = self.base.join(request.model.model());
        let script = load_off_thread(path.clone()).await?;
        let asked = request
            .prior_rounds
            .saturating_add(u64::from(request.round.saturating_sub(1)));
        let Some((index, round)) = script.round(asked) else {
            return Err(Error::RanOut {
                path,
                have: script.rounds.len(),
                asked: asked.saturating_add(1),
            }
            .into());
        };
        if round.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(round.delay_ms)).await;
        }
        let key = RoundKey {
            agent_id: request.frame.cache.agent_id.clone(),
            script: request.model.model().to_owned(),
            index: asked,
        };
        if let Some(failure) = self.due_failure(round, &key) {
            return Err(failure);
        }
        let reply = RoundPlayer {
            path: &path,
            number: index + 1,
            round,
            request,
        }
        .answer()?;
        // The count is removed with the answer, so the same round starts from zero for a later agent of that name.
        self.failures().remove(&key);
        for block in &reply.blocks {
            if let ReplyBlock::Text { text: words } = block {
                words.split_inclusive(' ').for_each(text);
            }
        }
        Ok(reply)
    }

    fn due_failure(&self, round: &Round, key: &RoundKey) -> Option<ModelFailure> {
        let error = round.error.as_ref()?;
        let times = match error.times {
            Some(times) => times,
            None if round.has_answer() => 1,
            None => return Some(scripted_failure(error)),
        };
        let mut failures = self.failures();
        if failures.len() >= COUNTED_ROUNDS && !failures.contains_key(key) {
            failures.clear();
        }
        let failed = failures.entry(key.clone()).or_insert(0);
        if *failed >= times {
            return None;
        }
        *failed += 1;
        Some(scripted_failure(error))
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<RoundKey, u32>> {
        // A panic cannot leave the counts half-written, so a poisoned lock is safe to use.
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn scripted_failure(error: &ScriptedError) -> ModelFailure {
    let kind = ModelFailureKind::from(error.kind);
    let stock = || format!("the script plays a {} failure here", kind.as_str());
    ModelFailure {
        kind,
        message: text::preview(
            &error.message.clone().unwrap_or_else(stock),
            FAILURE_SUMMARY_BYTES,
        ),
        retry_after_ms: error.retry_after_ms,
        usage: None,
        learned: None,
        counts_answer: false,
        diagnostics: Some(Box::new(TransportDiagnostics {
            stage: "script".to_owned(),
            ..TransportDiagnostics::default()
        })),
    }
}

async fn load_off_thread(path: PathBuf) -> Result<Script, Error> {
    let shown = path.clone();
    match tokio::task::spawn_blocking(move || load(&path)).await {
        Ok(script) => script,
        Err(stopped) => Err(Error::Unreadable {
            path: shown,
            source: std::io::Error::other(stopped),
        }),
    }
}

/// Loads and validates a script. It is loaded for each round, so an edit takes effect with the next one.
fn load(path: &Path) -> Result<Script, Error> {
    let unreadable = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Error::Missing {
            path: path.to_owned(),
        },
        _ => Error::Unreadable {
            path: path.to_owned(),
            source,
        },
    };
    // Checked before opening, because opening a pipe would block until a writer opens it.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Error::NotAFile {
            path: path.to_owned(),
        });
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(SCRIPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > SCRIPT_BYTES) {
        return Err(Error::TooLarge {
            path: path.to_owned(),
        });
    }
    let words = String::from_utf8(bytes).map_err(|error| Error::NotUtf8 {
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    Script::parse(&words, path)
}

/// Answers one request with one round.
struct RoundPlayer<'a> {
    path: &'a Path,
    /// The first round is 1.
    number: usize,
    round: &'a Round,
    request: &'a ModelRequest,
}

impl RoundPlayer<'_> {
    fn answer(&self) -> Result<ModelReply, Error> {
        if let Some(expect) = &self.round.expect {
            self.check_expectation(expect)?;
        }
        let mut blocks = Vec::new();
        if let Some(reasoning) = &self.round.reasoning {
            blocks.push(ReplyBlock::Reasoning {
                text: self.fill(reasoning)?,
                opaque: None,
            });
        }
        if let Some(words) = &self.round.text {
            blocks.push(ReplyBlock::Text {
                text: self.fill(words)?,
            });
        }
        for (index, call) in self.round.calls.iter().enumerate() {
            self.check_offered(&call.tool)?;
            blocks.push(ReplyBlock::Call(RequestedCall {
                provider_id: Some(format!("round{}_call{}", self.number, index + 1)),
                name: call.tool.clone(),
                input: self.fill_argument(&call.input)?,
            }));
        }
        let natural = if self.round.calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        let stop_reason = self.round.stop.map_or(natural, StopReason::from);
        let usage = self.round.usage.map_or_else(
            || TokenUsage::new(self.request.estimated_tokens(), estimate_tokens(&blocks)),
            |usage| TokenUsage::new(usage.input_tokens, usage.output_tokens),
        );
        Ok(ModelReply {
            blocks,
            stop_reason,
            usage,
            context_management: None,
        })
    }

    fn check_expectation(&self, expect: &Expectation) -> Result<(), Error> {
        if let Some(words) = &expect.tool_result_contains {
            self.require_text(
                "the last tool result",
                last_tool_result(self.request),
                words,
            )?;
        }
        if let Some(words) = &expect.input_contains {
            self.require_text("the input", &input_texts(self.request), words)?;
        }
        Ok(())
    }

    fn require_text(&self, side: &'static str, actual: &str, expected: &str) -> Result<(), Error> {
        if actual.contains(expected) {
            return Ok(());
        }
        Err(Error::Unexpected {
            path: self.path.to_owned(),
            round: self.number,
            side,
            expected: text::preview(expected, EXPECT_BYTES),
            actual: text::preview(actual, EXPECT_BYTES),
        })
    }

    fn check_offered(&self, tool: &str) -> Result<(), Error> {
        if self.request.tools.iter().any(|spec| spec.name == tool) {
            return Ok(());
        }
        let names: Vec<&str> = self
            .request
            .tools
            .iter()
            .map(|spec| spec.name.as_str())
            .collect();
        let offered = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        Err(Error::ToolNotOffered {
            path: self.path.to_owned(),
            round: self.number,
            tool: tool.to_owned(),
            offered,
        })
    }

    /// Copies an argument and replaces placeholders of runtime ids by the newest id.
    fn fill_argument(&self, value: &Value) -> Result<Value, Error> {
        match value {
            Value::String(words) => match IdKind::of_argument(words) {
                None => Ok(value.clone()),
                Some(kind) => match newest_id(self.request, kind) {
                    "" => Err(Error::NothingNamed {
                        path: self.path.to_owned(),
                        round: self.number,
                        placeholder: kind.placeholder(),
                    }),
                    id => Ok(Value::from(id)),
                },
            },
            Value::Array(values) => values
                .iter()
                .map(|value| self.fill_argument(value))
                .collect(),
            Value::Object(members) => {
                let members = members.iter();
                members
                    .map(|(name, value)| Ok((name.clone(), self.fill_argument(value)?)))
                    .collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn fill(&self, words: &str) -> Result<String, Error> {
        let pieces = placeholder::pieces(words).map_err(|what| Error::Invalid {
            path: self.path.to_owned(),
            what: format!("round {}: {what}", self.number),
        })?;
        let value = |placeholder| match placeholder {
            Placeholder::Input => current_input(self.request),
            Placeholder::ToolResult => last_tool_result(self.request),
            Placeholder::Newest(kind) => newest_id(self.request, kind),
            Placeholder::AgentId => self.request.frame.cache.agent_id.as_str(),
        };
        placeholder::fill(&pieces, value, ANSWER_BYTES).ok_or_else(|| Error::AnswerTooLarge {
            path: self.path.to_owned(),
            round: self.number,
        })
    }
}
