//! `UseWorkspace`: makes a workspace active. The shell looks at the directory and makes the worktree; the commit of its
//! outcome changes the entry.

use crate::input::{self, Subject};
use crate::schema;
use holon_domain::WorkspaceId;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::limits::MESSAGE_LINK_CHARACTERS;
use holon_domain::tool::{
    ToolEnvelope, ToolError, ToolErrorKind, ToolFamily, ToolOutcome, ToolSpec,
};
use holon_domain::workspace::{
    AGENT_HOME, SelectedWorkspace, UseMode, UseWorkspace, WorkspaceErrorKind, WorkspaceFailure,
    WorkspaceSelector,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAME: &str = "UseWorkspace";
/// Longest path that a call may name, in bytes. Linux takes no longer one.
const PATH_BYTES: usize = 4_096;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ModeArg {
    Direct,
    Isolated,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Absolute path of any existing directory.
    #[serde(default)]
    #[schemars(with = "String")]
    path: Option<String>,
    /// Id of a known workspace, `ws-...`, or agent_home.
    #[serde(default)]
    #[schemars(with = "String")]
    workspace_id: Option<String>,
    /// direct (default), or isolated: a git worktree with its own branch, to spare the user's checkout.
    #[serde(default)]
    #[schemars(with = "ModeArg")]
    mode: Option<ModeArg>,
    /// Directory to start in, inside the execution root.
    #[serde(default)]
    #[schemars(with = "String")]
    cwd: Option<String>,
    /// Short name for an isolated worktree and its branch.
    #[serde(default)]
    #[schemars(with = "String")]
    isolation_label: Option<String>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Run later commands and patches elsewhere: give exactly one of path, workspace_id. \
                      Leaving removes nothing. Returns the instructions of that workspace."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::LocalEnvironment,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let selector = match (args.path, args.workspace_id) {
        (Some(path), None) => WorkspaceSelector::Path(checked(path, "path", PATH_BYTES)?),
        (None, Some(id)) => {
            let id = checked(id, "workspace_id", MESSAGE_LINK_CHARACTERS)?;
            WorkspaceSelector::WorkspaceId(WorkspaceId::from_stored(id))
        }
        (Some(_), Some(_)) => return Err(not_one("both path and workspace_id are given")),
        (None, None) => return Err(not_one("neither path nor workspace_id is given")),
    };
    let cwd = args
        .cwd
        .map(|cwd| checked(cwd, "cwd", PATH_BYTES))
        .transpose()?;
    Ok(Intent::Host(HostAction::UseWorkspace(UseWorkspace {
        selector,
        mode: match args.mode {
            Some(ModeArg::Isolated) => UseMode::Isolated,
            Some(ModeArg::Direct) | None => UseMode::Direct,
        },
        cwd,
        // Only some of it gets into a name, so that a long one is cut and not refused.
        isolation_label: args
            .isolation_label
            .map(|label| label.chars().take(200).collect()),
    })))
}

fn checked(text: String, field: &str, max: usize) -> Result<String, ToolError> {
    let problem = if text.trim().is_empty() {
        "is empty".to_owned()
    } else if text.len() > max {
        format!("is longer than {max} bytes")
    } else if text.contains('\0') {
        "contains a NUL character".to_owned()
    } else {
        return Ok(text);
    };
    Err(Subject::call(NAME)
        .invalid(Some(field), &problem)
        .hint("name a directory by its absolute path, or an attached workspace by its id"))
}

fn not_one(problem: &str) -> ToolError {
    Subject::call(NAME).invalid(None, problem).hint(format!(
        "give exactly one of path and workspace_id; {AGENT_HOME} is your own home"
    ))
}

/// Builds the result of a call whose workspace became active.
#[must_use]
pub fn entered(selected: &SelectedWorkspace) -> ToolEnvelope {
    let entry = &selected.entry;
    let mut result = json!({
        "workspace_id": entry.workspace_id,
        "workspace_anchor": entry.workspace_anchor,
        "execution_root": entry.execution_root,
        "execution_root_id": entry.execution_root_id(),
        "cwd": entry.cwd,
        "mode": selected.mode,
        "projection_kind": entry.projection_kind,
        "detected_kind": selected.detected_kind,
        "ownership": entry.ownership,
        "notes": selected.notes,
    });
    if let (Some(session), Some(fields)) = (&selected.worktree, result.as_object_mut()) {
        fields.insert("worktree_path".to_owned(), json!(session.worktree_path));
        fields.insert("worktree_branch".to_owned(), json!(session.worktree_branch));
        fields.insert("base_commit".to_owned(), json!(session.base_commit));
    }
    let summary = format!("commands now start in {}", entry.cwd);
    ToolEnvelope::success(NAME, summary, result)
}

/// Member of a result that holds the guidance of the workspace as text.
const GUIDANCE: &str = "guidance";

/// Adds the guidance of the workspace to the result of a call that entered it. The receipt shows it below the result.
#[must_use]
pub fn with_guidance(mut entered: ToolEnvelope, guidance: String) -> ToolEnvelope {
    if let ToolOutcome::Success { result } = &mut entered.outcome
        && let Some(fields) = result.as_object_mut()
    {
        fields.insert(GUIDANCE.to_owned(), Value::String(guidance));
    }
    entered
}

/// Returns the guidance of the workspace that a call entered; `None` for other calls, and if the result holds none.
#[must_use]
pub fn entered_guidance(envelope: &ToolEnvelope) -> Option<&str> {
    match &envelope.outcome {
        ToolOutcome::Success { result } if envelope.tool_name == NAME => {
            result.get(GUIDANCE).and_then(Value::as_str)
        }
        ToolOutcome::Success { .. } | ToolOutcome::Error { .. } => None,
    }
}

/// Separates the guidance from the rest of a result; `None` if there is none.
pub(crate) fn split_guidance(result: &Value) -> Option<(Value, String)> {
    let mut rest = result.as_object()?.clone();
    match rest.remove(GUIDANCE) {
        Some(Value::String(guidance)) => Some((Value::Object(rest), guidance)),
        Some(_) | None => None,
    }
}

/// Builds the result of a call whose workspace cannot be used.
#[must_use]
pub fn refused(failure: &WorkspaceFailure) -> ToolEnvelope {
    let kind = match failure.kind {
        WorkspaceErrorKind::AttachForbidden => ToolErrorKind::UnsupportedAgentProfileCapability,
        WorkspaceErrorKind::TooManyAttached => ToolErrorKind::LimitReached,
        WorkspaceErrorKind::InvalidPath | WorkspaceErrorKind::NotAttached => {
            ToolErrorKind::InvalidToolInput
        }
        WorkspaceErrorKind::Reserved | WorkspaceErrorKind::MissingRoot => {
            ToolErrorKind::ExecutionRootViolation
        }
        WorkspaceErrorKind::UnverifiedRepository
        | WorkspaceErrorKind::IsolationUnsupported
        | WorkspaceErrorKind::Git => ToolErrorKind::ToolExecutionFailed,
    };
    let mut details = json!({ "tool_name": NAME, "reason": failure.kind });
    if failure.kind == WorkspaceErrorKind::AttachForbidden
        && let Some(fields) = details.as_object_mut()
    {
        let family = json!(ToolFamily::AuthorityExpansion);
        fields.insert("family".to_owned(), family);
    }
    let error = ToolError::new(kind, failure.message.clone()).details(details);
    ToolEnvelope::failure(NAME, error)
}
