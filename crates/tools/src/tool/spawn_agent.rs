//! `SpawnAgent`: makes another agent, a private child for one task or a public agent that owns itself. The kernel checks
//! the limits of the tree and makes the agent.

use crate::input::{self, Subject};
use crate::schema;
use holon_domain::AgentId;
use holon_domain::delegation::{SpawnAgent, SpawnPreset};
use holon_domain::intent::Intent;
use holon_domain::limits::{MESSAGE_BODY_BYTES, MESSAGE_LINK_CHARACTERS};
use holon_domain::task::WorkspaceMode;
use holon_domain::tool::{ToolError, ToolFamily, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const NAME: &str = "SpawnAgent";

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum PresetArg {
    PrivateChild,
    PublicNamed,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ModeArg {
    Inherit,
    Worktree,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The whole task; it sees nothing else of yours. A private child needs it.
    #[serde(default)]
    #[schemars(with = "String")]
    initial_message: Option<String>,
    /// private_child (default) works for you until it has reported; public_named lasts and works for itself.
    #[serde(default)]
    #[schemars(with = "PresetArg")]
    preset: Option<PresetArg>,
    /// Name of a public_named agent; a child gets one.
    #[serde(default)]
    #[schemars(with = "String")]
    agent_id: Option<String>,
    /// Name of a template for its home.
    #[serde(default)]
    #[schemars(with = "String")]
    template: Option<String>,
    /// inherit (default) is your workspace; worktree gives a child a git worktree.
    #[serde(default)]
    #[schemars(with = "ModeArg")]
    workspace_mode: Option<ModeArg>,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description:
            "Make another agent for separable work. A private child is a task, its report the \
                      result of the task."
                .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::AgentCreation,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let preset = match args.preset {
        Some(PresetArg::PublicNamed) => SpawnPreset::PublicNamed,
        Some(PresetArg::PrivateChild) | None => SpawnPreset::PrivateChild,
    };
    let workspace_mode = match args.workspace_mode {
        Some(ModeArg::Worktree) => WorkspaceMode::Worktree,
        Some(ModeArg::Inherit) | None => WorkspaceMode::Inherit,
    };
    let invalid = |field: &str, problem: &str| Subject::call(NAME).invalid(Some(field), problem);
    let initial_message = args.initial_message.filter(|text| !text.trim().is_empty());
    if let Some(text) = &initial_message
        && text.len() > MESSAGE_BODY_BYTES
    {
        let problem = format!("it is longer than {MESSAGE_BODY_BYTES} bytes");
        return Err(invalid("initial_message", &problem)
            .hint("put the material into a file and name its path"));
    }
    let template = args.template.filter(|name| !name.trim().is_empty());
    if template
        .as_ref()
        .is_some_and(|name| name.chars().count() > MESSAGE_LINK_CHARACTERS)
    {
        let problem = format!("it is longer than {MESSAGE_LINK_CHARACTERS} characters");
        return Err(invalid("template", &problem).hint("name a template of this host"));
    }
    let agent_id = match (preset, args.agent_id) {
        (SpawnPreset::PrivateChild, Some(_)) => {
            return Err(
                invalid("agent_id", "a private child is named by the runtime")
                    .hint("leave it out, or use preset public_named"),
            );
        }
        (SpawnPreset::PublicNamed, None) => {
            return Err(invalid("agent_id", "a public agent needs a name")
                .hint("give agent_id, or leave out preset for a private child"));
        }
        (SpawnPreset::PublicNamed, Some(name)) => {
            let parsed = AgentId::parse(name.trim());
            Some(parsed.map_err(|error| {
                invalid("agent_id", &error.to_string()).hint("choose another name")
            })?)
        }
        (SpawnPreset::PrivateChild, None) => None,
    };
    if preset == SpawnPreset::PrivateChild && initial_message.is_none() {
        return Err(invalid("initial_message", "a private child needs its task")
            .hint("write down the whole task, with everything the child has to know"));
    }
    if preset == SpawnPreset::PublicNamed && workspace_mode == WorkspaceMode::Worktree {
        return Err(invalid("workspace_mode", "a public agent gets no worktree")
            .hint("leave it out; the agent can call UseWorkspace itself"));
    }
    Ok(Intent::SpawnAgent(SpawnAgent {
        preset,
        initial_message,
        agent_id,
        template,
        workspace_mode,
    }))
}
