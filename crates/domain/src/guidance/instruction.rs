//! Instruction files: `AGENTS.md`, and `CLAUDE.md` where a workspace has no `AGENTS.md`.

use crate::limits::INSTRUCTION_FILE_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Root that an instruction file belongs to. The order is that of the prompt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InstructionScope {
    /// `~/.agents`, for the default agent and named agents.
    UserGlobal,
    Agent,
    Workspace,
}

/// Name of an instruction file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstructionKind {
    AgentsMd,
    /// Read in a workspace only, and only if it has no `AGENTS.md`.
    ClaudeMd,
}

impl InstructionKind {
    /// Returns the file name.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::AgentsMd => "AGENTS.md",
            Self::ClaudeMd => "CLAUDE.md",
        }
    }
}

/// Origin of an instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionSource {
    pub scope: InstructionScope,
    pub kind: InstructionKind,
    pub path: String,
}

/// Reason for which an instruction file that exists is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum InstructionRefusal {
    /// A link could lead to any file of the operator.
    SymbolicLink,
    /// A directory, pipe, socket or device.
    NotRegularFile,
    /// It exceeds [`INSTRUCTION_FILE_BYTES`]; `bytes` is its size.
    TooLarge { bytes: u64 },
    /// It is not UTF-8.
    NotText,
    /// It has a NUL byte.
    NulByte,
    /// The filesystem refused to open or read it.
    Unreadable { message: String },
}

impl InstructionRefusal {
    /// Describes the reason for people and models.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::SymbolicLink => "it is a symbolic link that is absolute or leads to no file in its own directory; put a regular file or such a relative \
                 link there"
                .to_owned(),
            Self::NotRegularFile => "it is not a regular file".to_owned(),
            Self::TooLarge { bytes } => {
                format!("it has {bytes} bytes, and at most {INSTRUCTION_FILE_BYTES} are loaded")
            }
            Self::NotText => "it is not UTF-8 text".to_owned(),
            Self::NulByte => "it contains a NUL byte, which no text has".to_owned(),
            Self::Unreadable { message } => format!("it cannot be read: {message}"),
        }
    }
}

/// Content of an instruction file that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstructionContent {
    Text(Arc<str>),
    Refused(InstructionRefusal),
}

/// One instruction file that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    pub source: InstructionSource,
    pub content: InstructionContent,
}

/// The instruction files of an agent: at most one per scope, in the order of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    pub files: Vec<InstructionFile>,
}

impl Instructions {
    /// Returns the sources without their content.
    #[must_use]
    pub fn sources(&self) -> LoadedAgentsMd {
        let mut loaded = LoadedAgentsMd::default();
        for file in &self.files {
            match &file.content {
                InstructionContent::Text(_) => loaded.add(file.source.clone()),
                InstructionContent::Refused(refusal) => loaded.notes.push(InstructionNote {
                    source: file.source.clone(),
                    refusal: refusal.clone(),
                    note: format!("not loaded: {}", refusal.describe()),
                }),
            }
        }
        loaded
    }
}

/// Sources of the loaded instruction files, without their content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadedAgentsMd {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_global_source: Option<InstructionSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_source: Option<InstructionSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_source: Option<InstructionSource>,
    /// Files that exist and are not loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<InstructionNote>,
}

impl LoadedAgentsMd {
    /// Adds a loaded file. Of each scope there is one.
    pub fn add(&mut self, source: InstructionSource) {
        let place = match source.scope {
            InstructionScope::UserGlobal => &mut self.user_global_source,
            InstructionScope::Agent => &mut self.agent_source,
            InstructionScope::Workspace => &mut self.workspace_source,
        };
        *place = Some(source);
    }
}

/// An instruction file that exists and is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionNote {
    #[serde(flatten)]
    pub source: InstructionSource,
    #[serde(flatten)]
    pub refusal: InstructionRefusal,
    /// The reason in words.
    pub note: String,
}
