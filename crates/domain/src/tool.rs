//! Tool specifications, result envelopes and errors: the canonical form that is stored, audited and rendered.

use crate::provider::ModelPolicy;
use crate::{limits, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A group of tools a profile grants or withholds as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFamily {
    /// What every agent has.
    Core,
    /// Commands, patches, workspaces.
    LocalEnvironment,
    /// Fetching and searching.
    Web,
    /// Making agents.
    AgentCreation,
    /// Gaining reach.
    AuthorityExpansion,
    /// Capability URLs.
    ExternalTrigger,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// PascalCase.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// Source schema of its arguments, derived from the typed arguments.
    pub input_schema: Value,
    /// Its family.
    pub family: ToolFamily,
}

/// A tool as a provider is sent it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// PascalCase.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// Schema of its arguments, as emitted.
    pub parameters: Value,
    /// Whether the provider is asked to hold the model to the schema.
    pub strict: bool,
    /// The same arguments as free text, for models that take a tool in that form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeform: Option<FreeformGrammar>,
}

impl OfferedTool {
    /// The tool as a model of this policy takes it: only one that takes free text is told of that form.
    #[must_use]
    pub fn for_policy(mut self, policy: ModelPolicy) -> Self {
        self.freeform = self.freeform.filter(|_| policy.freeform_tools);
        self
    }
}

/// How a call of a tool is written as free text instead of JSON. Only the wire differs: a call that came as text has
/// the same arguments as one that came as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeformGrammar {
    /// What the grammar is written in.
    pub syntax: GrammarSyntax,
    /// The grammar that the text follows.
    pub definition: String,
    /// The argument that the text becomes; the tool has no other.
    pub argument: String,
}

/// What a grammar is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrammarSyntax {
    /// The notation of the Lark parser.
    Lark,
}

impl GrammarSyntax {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lark => "lark",
        }
    }
}

/// How much of a tool's output a model reads, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOutputBudget {
    /// When a call does not say.
    pub default_tokens: u32,
    /// Whatever a call says.
    pub max_tokens: u32,
}

impl Default for ToolOutputBudget {
    fn default() -> Self {
        Self {
            default_tokens: limits::TOOL_OUTPUT_TOKENS,
            max_tokens: limits::TOOL_OUTPUT_TOKENS_MAX,
        }
    }
}

impl ToolOutputBudget {
    /// What a call that asked for this much gets.
    #[must_use]
    pub fn allow(&self, asked: Option<u32>) -> u32 {
        asked.unwrap_or(self.default_tokens).min(self.max_tokens)
    }
}

/// A tool failure: one shape for storage, audit and the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct ToolError {
    /// Stable and machine-readable.
    pub kind: ToolErrorKind,
    /// One sentence.
    pub message: String,
    /// Structured context that is safe to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_hint: Option<String>,
    /// Whether the same call may work later.
    pub retryable: bool,
}

/// The closed list of tool failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrorKind {
    /// The arguments do not fit the schema or a stated rule.
    InvalidToolInput,
    /// No such tool.
    UnknownTool,
    /// The tool itself failed.
    ToolExecutionFailed,
    /// The profile withholds it.
    UnsupportedAgentProfileCapability,
    /// The answer was cut off inside a call, which was therefore not run.
    TruncatedToolCall,
    /// The agent has no such task.
    UnknownTask,
    /// The agent has no such work item.
    UnknownWorkItem,
    /// The work item is completed and does not change any more.
    WorkItemCompleted,
    /// No such wait of the agent is active.
    UnknownWait,
    /// No such timer of the agent is active.
    UnknownTimer,
    /// An argument a command of a batch does not take.
    UnsupportedBatchCommandField,
    /// The command could not be started.
    CommandSpawnFailed,
    /// The command ran out of time and was stopped.
    CommandTimedOut,
    /// The working directory lies outside the execution root, or that root is no longer the directory it was.
    ExecutionRootViolation,
    /// The runtime ended while the call ran: whether it took effect is not known.
    OutcomeUnknown,
    /// The runtime ended before the call began: it had no effect.
    NotStarted,
    /// The run was aborted before or while the call ran.
    RunAborted,
    /// `Sleep` stood beside other calls whose results the model has yet to read.
    SleepNotAlone,
    /// A durable limit would be passed.
    LimitReached,
    /// A patch without a `---` and `+++` pair where one is needed.
    MissingFileHeader,
    /// A patch with a `@@` line that cannot be read.
    InvalidHunkHeader,
    /// A patch whose lines do not fit its operation.
    InvalidHunk,
    /// A patch that asks for what only git does: binary content, copies, submodules, special modes.
    UnsupportedGitPatchFeature,
    /// A path that leaves the execution root, by its words or through a link, or names a protected place.
    PathEscape,
    /// A patch whose headers name different paths for one file.
    RenamePathMismatch,
    /// Lines a patch expects are not in the file.
    ContextNotFound,
    /// Lines a patch expects are in the file more than once.
    AmbiguousContext,
    /// A patch with two sections for one path.
    DuplicateFilePatch,
    /// A file that is to be new is there already.
    TargetExists,
    /// A file that is to be changed is not there.
    FileMissing,
    /// Not a regular file.
    NotAFile,
    /// Not text.
    NotText,
    /// Over a limit of size.
    TooLarge,
    /// A patch in another notation than a unified diff.
    UnsupportedDialect,
    /// A patch with nothing in it.
    EmptyPatch,
    /// A file was changed by somebody else while the patch was applied.
    FileChanged,
}

impl std::fmt::Display for ToolErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl ToolError {
    /// An error with no details.
    #[must_use]
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: None,
            recovery_hint: None,
            retryable: false,
        }
    }

    /// The same error with a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.recovery_hint = Some(hint.into());
        self
    }

    /// The same error with structured context.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same error with nothing larger than an event may carry. Details beyond [`limits::TOOL_ERROR_DETAIL_BYTES`]
    /// become their size, a digest and a preview.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let cut = |text: &String| text::preview(text, limits::FAILURE_SUMMARY_BYTES);
        Self {
            kind: self.kind,
            message: cut(&self.message),
            details: self.details.as_ref().map(bounded_details),
            recovery_hint: self.recovery_hint.as_ref().map(cut),
            retryable: self.retryable,
        }
    }

    /// The same error, worth trying again.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}

fn bounded_details(details: &Value) -> Value {
    let whole = details.to_string();
    if whole.len() <= limits::TOOL_ERROR_DETAIL_BYTES {
        return details.clone();
    }
    serde_json::json!({
        "omitted": true,
        "char_count": whole.chars().count(),
        "sha256": text::sha256_hex(&whole),
        "preview": text::preview(&whole, limits::TOOL_ERROR_DETAIL_BYTES / 2),
    })
}

/// What a call came to: exactly one of a result and an error, by construction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It worked.
    Success {
        /// Family-specific payload.
        result: Value,
    },
    /// It did not.
    Error {
        /// Why.
        error: ToolError,
    },
}

/// The canonical record of a finished call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEnvelope {
    /// The tool.
    pub tool_name: String,
    /// Short, always present, never bulk output.
    pub summary_text: String,
    /// What it came to.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

impl ToolEnvelope {
    /// A success.
    #[must_use]
    pub fn success(
        tool_name: impl Into<String>,
        summary_text: impl Into<String>,
        result: Value,
    ) -> Self {
        Self {
            tool_name: tool_name.into(),
            summary_text: summary_text.into(),
            outcome: ToolOutcome::Success { result },
        }
    }

    /// A failure; its summary is the error itself.
    #[must_use]
    pub fn failure(tool_name: impl Into<String>, error: ToolError) -> Self {
        Self {
            tool_name: tool_name.into(),
            summary_text: error.to_string(),
            outcome: ToolOutcome::Error { error },
        }
    }

    /// The error, if it is one.
    #[must_use]
    pub const fn error(&self) -> Option<&ToolError> {
        match &self.outcome {
            ToolOutcome::Success { .. } => None,
            ToolOutcome::Error { error } => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::PolicySource;

    #[test]
    fn an_error_keeps_its_details_within_the_bound_of_an_event() {
        let error = |details: Value| {
            ToolError::new(ToolErrorKind::ContextNotFound, "no")
                .hint("look")
                .details(details)
        };
        let small = error(serde_json::json!({ "path": "a.rs" }));
        assert_eq!(small.bounded(), small);
        let large = error(serde_json::json!({ "nearest": "x".repeat(5_000) })).bounded();
        let details = large.details.expect("are kept");
        assert_eq!(details["omitted"], true);
        assert!(details.to_string().len() <= limits::TOOL_ERROR_DETAIL_BYTES);
    }

    #[test]
    fn only_a_model_that_takes_free_text_is_told_of_that_form() {
        let tool = OfferedTool {
            name: "ApplyPatch".to_owned(),
            description: "Changes files.".to_owned(),
            parameters: Value::Null,
            strict: false,
            freeform: Some(FreeformGrammar {
                syntax: GrammarSyntax::Lark,
                definition: "start: /x/".to_owned(),
                argument: "patch".to_owned(),
            }),
        };
        let policy = |freeform_tools| ModelPolicy {
            context_window_tokens: 32_000,
            effective_context_window_percent: 90,
            max_output_tokens: 4_096,
            source: PolicySource::UnknownFallback,
            output_source: PolicySource::UnknownFallback,
            freeform_tools,
        };
        assert_eq!(tool.clone().for_policy(policy(true)), tool);
        assert_eq!(tool.for_policy(policy(false)).freeform, None);
    }
}
