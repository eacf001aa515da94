//! Tool specifications, result envelopes and errors in the form that is stored and sent to models.

use crate::{limits, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A group of tools that a profile grants or withholds together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFamily {
    /// Tools that every agent has.
    Core,
    LocalEnvironment,
    Web,
    AgentCreation,
    AuthorityExpansion,
    ExternalTrigger,
}

/// Tools whose results a turn needs to its end: changes of files and of work items, words to the operator, and handles
/// that no other call returns. A provider that clears old results by itself is told to keep them.
pub const LASTING_RESULTS: [&str; 10] = [
    "ApplyPatch",
    "NotifyOperator",
    "CreateWorkItem",
    "PickWorkItem",
    "UpdateWorkItem",
    "CompleteWorkItem",
    "UseWorkspace",
    "SpawnAgent",
    "CreateTimer",
    "CreateExternalTrigger",
];

/// Definition of a tool, independent of any provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    /// Text for the model.
    pub description: String,
    /// Schema of the arguments, derived from their Rust type.
    pub input_schema: Value,
    pub family: ToolFamily,
}

/// A tool as it is sent to a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    pub name: String,
    /// Text for the model.
    pub description: String,
    /// Schema of the arguments in the dialect that is sent.
    pub parameters: Value,
    /// True if the provider is asked to enforce the schema.
    pub strict: bool,
    /// Free-text form of the same arguments, for models that accept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeform: Option<FreeformGrammar>,
}

impl OfferedTool {
    /// Returns the tool for a model that accepts no free text.
    #[must_use]
    pub fn without_freeform(self) -> Self {
        Self {
            freeform: None,
            ..self
        }
    }
}

/// Grammar of a tool call that is written as free text instead of JSON. Only the wire format differs: the call has the
/// same arguments in both forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeformGrammar {
    pub syntax: GrammarSyntax,
    /// Grammar that the text follows.
    pub definition: String,
    /// Argument that the text becomes. The tool has no other.
    pub argument: String,
}

/// Notation of a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrammarSyntax {
    /// Notation of the Lark parser.
    Lark,
}

impl GrammarSyntax {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lark => "lark",
        }
    }
}

/// Amount of a tool's output that a model reads, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOutputBudget {
    /// Applies if a call names no amount.
    pub default_tokens: u32,
    /// Upper bound for the amount that a call names.
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
    /// Returns the amount for a call that asked for `asked`.
    #[must_use]
    pub fn allow(&self, asked: Option<u32>) -> u32 {
        asked.unwrap_or(self.default_tokens).min(self.max_tokens)
    }
}

/// A tool failure in the one shape that storage, audit and the model use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct ToolError {
    pub kind: ToolErrorKind,
    /// One sentence for the model.
    pub message: String,
    /// Structured context that is safe to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Next step for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_hint: Option<String>,
    /// True if the same call may work later.
    pub retryable: bool,
}

/// Closed list of tool failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrorKind {
    /// The arguments do not fit the schema or a stated rule.
    InvalidToolInput,
    /// There is no tool with this name.
    UnknownTool,
    /// The tool itself failed.
    ToolExecutionFailed,
    /// The profile of the agent withholds the tool.
    UnsupportedAgentProfileCapability,
    /// The answer was cut off inside a call, so the call was not run.
    TruncatedToolCall,
    /// The agent has no such task.
    UnknownTask,
    /// The agent has no such work item.
    UnknownWorkItem,
    /// No memory has this source reference.
    MemorySourceNotFound,
    /// The memory index cannot be used now.
    MemoryUnavailable,
    /// The work item is completed and cannot change any more.
    WorkItemCompleted,
    /// The agent has no such active wait.
    UnknownWait,
    /// The agent has no such active timer.
    UnknownTimer,
    /// The agent has no such active external trigger.
    UnknownExternalTrigger,
    /// No operator has allowed external systems to enqueue messages for the agent.
    ExternalTriggerModeNotAllowed,
    /// An argument that a command of a batch does not accept.
    UnsupportedBatchCommandField,
    /// The command could not be started.
    CommandSpawnFailed,
    /// The command ran out of time and was stopped.
    CommandTimedOut,
    /// The working directory lies outside the execution root, or the root was replaced.
    ExecutionRootViolation,
    /// The runtime ended while the call ran. It is not known whether the call took effect.
    OutcomeUnknown,
    /// The runtime ended before the call began. The call had no effect.
    NotStarted,
    /// The run was aborted before or while the call ran.
    RunAborted,
    /// `Sleep` or `WaitFor` was not the last call of an answer, or a call before it has a result that the model reads
    /// first.
    SleepNotAlone,
    /// A durable limit would be exceeded.
    LimitReached,
    /// The execution policy of the host does not offer what the call asks for.
    ExecutionPolicyDenied,
    /// A patch lacks a `---` and `+++` pair where one is needed.
    MissingFileHeader,
    /// A patch has a `@@` line that cannot be parsed.
    InvalidHunkHeader,
    /// The lines of a patch do not fit its operation.
    InvalidHunk,
    /// A patch uses a feature of git that is not supported: binary content, copies, submodules or special modes.
    UnsupportedGitPatchFeature,
    /// A path leaves the execution root, directly or through a link, or names a protected place.
    PathEscape,
    /// The headers of a patch name different paths for one file.
    RenamePathMismatch,
    /// Lines that a patch expects are not in the file.
    ContextNotFound,
    /// Lines that a patch expects are in the file more than once.
    AmbiguousContext,
    /// A patch has two sections for one path.
    DuplicateFilePatch,
    /// A file that the patch creates exists already.
    TargetExists,
    /// A file that the patch changes does not exist.
    FileMissing,
    /// The path is not a regular file.
    NotAFile,
    /// A file or the patch itself is not text.
    NotText,
    /// A file or the patch exceeds a size limit.
    TooLarge,
    /// The patch is not a unified diff.
    UnsupportedDialect,
    /// The patch contains no change.
    EmptyPatch,
    /// Another process changed a file while the patch was applied.
    FileChanged,
    /// The address of a page is no address of the web.
    InvalidUrl,
    /// The address is not public, or the settings exclude its host.
    NetworkDenied,
    /// The network or the server failed, or no answer came in time.
    NetworkFailed,
    TooManyRedirects,
    /// A redirect leads to something that is no address of the web.
    InvalidRedirectLocation,
    /// The content of an answer or a file is of a type that cannot be shown.
    UnsupportedContentType,
    /// An answer that was complete could not be understood.
    ParseFailed,
    /// An answer or an output exceeds its bound and is of no use in part.
    ResponseTooLarge,
    /// The settings switch `WebFetch` off.
    WebFetchDisabled,
    /// No search provider is configured, or none of them could be asked.
    ProviderUnavailable,
    /// A search provider refuses requests for a while.
    RateLimited,
    /// The host or the model lacks an ability that the call needs.
    UnsupportedRuntimeCapability,
}

impl std::fmt::Display for ToolErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl ToolError {
    /// Creates an error without details that is not worth a retry.
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

    /// Adds a next step to the error.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.recovery_hint = Some(hint.into());
        self
    }

    /// Adds structured context to the error.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Cuts the error to the size that an event may carry. Details beyond [`limits::TOOL_ERROR_DETAIL_BYTES`] become
    /// their size, a digest and a preview.
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

    /// Marks the error as worth a retry.
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

/// Outcome of a call: either a result or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolOutcome {
    Success {
        /// Payload whose shape depends on the tool.
        result: Value,
    },
    Error {
        error: ToolError,
    },
}

/// Record of a finished call, as the log stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEnvelope {
    pub tool_name: String,
    /// Short and always present. Never bulk output.
    pub summary_text: String,
    #[serde(flatten)]
    pub outcome: ToolOutcome,
    /// Random number, in hex, from which the codes around a program's output are made. The host draws it for each call and
    /// stores it with the result, so that the program cannot know it. Absent in results of earlier builds and of calls that
    /// ran nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence_key: Option<String>,
}

impl ToolEnvelope {
    /// Creates the record of a call that worked.
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
            fence_key: None,
        }
    }

    /// Creates the record of a call that failed. Its summary is the error itself.
    #[must_use]
    pub fn failure(tool_name: impl Into<String>, error: ToolError) -> Self {
        Self {
            tool_name: tool_name.into(),
            summary_text: error.to_string(),
            outcome: ToolOutcome::Error { error },
            fence_key: None,
        }
    }

    /// Returns the error if the call failed.
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
}
