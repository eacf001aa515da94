//! The list of tools, the tools of each profile, and the interpretation of calls.
//!
//! Owns the list and the families a profile grants; each tool's own rules are in its file. Invariant: a published tool
//! is interpreted by the same entry, so the catalog cannot offer a tool that `interpret` does not know.

use crate::emission::{SchemaMode, emit};
use crate::input::shown;
use crate::tool::{
    agent_get, apply_patch, cancel_external_trigger, cancel_timer, cancel_wait, complete_work_item,
    create_external_trigger, create_timer, create_work_item, enqueue, exec_command,
    exec_command_batch, get_work_item, list_timers, list_work_items, memory_get, memory_search,
    notify_operator, pick_work_item, sleep, spawn_agent, task_input, task_list, task_output,
    task_status, task_stop, update_work_item, use_workspace, view_image, wait_for, web_fetch,
    web_search,
};
use holon_domain::agent::ProfilePreset;
use holon_domain::intent::Intent;
use holon_domain::tool::{OfferedTool, ToolError, ToolErrorKind, ToolFamily, ToolSpec};
use holon_domain::tool_set::ToolSet;
use holon_domain::web::WebTools;
use serde_json::{Value, json};
use std::sync::OnceLock;

type Interpret = fn(&ToolSpec, &Value) -> Result<Intent, ToolError>;

/// The tools and their interpreters, sorted by name so that prompts stay the same.
fn entries() -> &'static (Vec<ToolSpec>, Vec<Interpret>) {
    static ENTRIES: OnceLock<(Vec<ToolSpec>, Vec<Interpret>)> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let entries: [(ToolSpec, Interpret); 32] = [
            (agent_get::spec(), agent_get::interpret),
            (apply_patch::spec(), apply_patch::interpret),
            (
                cancel_external_trigger::spec(),
                cancel_external_trigger::interpret,
            ),
            (cancel_timer::spec(), cancel_timer::interpret),
            (cancel_wait::spec(), cancel_wait::interpret),
            (complete_work_item::spec(), complete_work_item::interpret),
            (
                create_external_trigger::spec(),
                create_external_trigger::interpret,
            ),
            (create_timer::spec(), create_timer::interpret),
            (create_work_item::spec(), create_work_item::interpret),
            (enqueue::spec(), enqueue::interpret),
            (exec_command::spec(), exec_command::interpret),
            (exec_command_batch::spec(), exec_command_batch::interpret),
            (get_work_item::spec(), get_work_item::interpret),
            (list_timers::spec(), list_timers::interpret),
            (list_work_items::spec(), list_work_items::interpret),
            (memory_get::spec(), memory_get::interpret),
            (memory_search::spec(), memory_search::interpret),
            (notify_operator::spec(), notify_operator::interpret),
            (pick_work_item::spec(), pick_work_item::interpret),
            (sleep::spec(), sleep::interpret),
            (spawn_agent::spec(), spawn_agent::interpret),
            (task_input::spec(), task_input::interpret),
            (task_list::spec(), task_list::interpret),
            (task_output::spec(), task_output::interpret),
            (task_status::spec(), task_status::interpret),
            (task_stop::spec(), task_stop::interpret),
            (update_work_item::spec(), update_work_item::interpret),
            (use_workspace::spec(), use_workspace::interpret),
            (view_image::spec(), view_image::interpret),
            (wait_for::spec(), wait_for::interpret),
            (web_fetch::spec(), web_fetch::interpret),
            (web_search::spec(), web_search::interpret),
        ];
        entries.into_iter().unzip()
    })
}

/// Returns every tool of this build.
#[must_use]
pub fn all() -> &'static [ToolSpec] {
    &entries().0
}

/// Returns the tools an agent of this profile is offered.
#[must_use]
pub fn catalog(preset: ProfilePreset) -> Vec<ToolSpec> {
    all()
        .iter()
        .filter(|spec| grants(preset, spec.family))
        .cloned()
        .collect()
}

/// Tool sets by profile, kind of model and web tools. Each is emitted once.
struct EmittedSets([[[OnceLock<ToolSet>; 4]; 2]; 2]);

impl EmittedSets {
    const fn new() -> Self {
        Self([const { [const { [const { OnceLock::new() }; 4] }; 2] }; 2])
    }

    fn get(
        &self,
        preset: ProfilePreset,
        freeform: bool,
        web: WebTools,
        emit: impl FnOnce() -> ToolSet,
    ) -> ToolSet {
        let [[named, named_freeform], [child, child_freeform]] = &self.0;
        let sets = match (preset, freeform) {
            (ProfilePreset::PublicNamed, false) => named,
            (ProfilePreset::PublicNamed, true) => named_freeform,
            (ProfilePreset::PrivateChild, false) => child,
            (ProfilePreset::PrivateChild, true) => child_freeform,
        };
        let [neither, fetch, search, both] = sets;
        let set = match (web.fetch, web.search) {
            (false, false) => neither,
            (true, false) => fetch,
            (false, true) => search,
            (true, true) => both,
        };
        set.get_or_init(emit).clone()
    }
}

/// Returns the tools an agent of this profile is offered, in the form that is sent. `freeform` is true for a model that
/// accepts free text. Of the web tools only those that the host has on are offered.
#[must_use]
pub fn offered(preset: ProfilePreset, freeform: bool, web: WebTools) -> ToolSet {
    static SETS: EmittedSets = EmittedSets::new();
    SETS.get(preset, freeform, web, || emit_all(preset, freeform, web))
}

/// Returns the same tools with the first sentence of their descriptions and without those of their arguments, for a
/// model with a small window. Each tool says in its error what an argument must be. The tools of memory are left out: such a window has no room for what they find.
#[must_use]
pub fn offered_briefly(preset: ProfilePreset, freeform: bool, web: WebTools) -> ToolSet {
    static SETS: EmittedSets = EmittedSets::new();
    SETS.get(preset, freeform, web, || {
        let whole = offered(preset, freeform, web);
        let fits = |tool: &&OfferedTool| {
            !matches!(tool.name.as_str(), memory_get::NAME | memory_search::NAME)
        };
        let fitting = whole.iter().filter(fits).cloned();
        fitting.map(briefly_described).collect()
    })
}

fn briefly_described(mut tool: OfferedTool) -> OfferedTool {
    if let Some(end) = tool.description.find(". ") {
        tool.description.truncate(end + 1);
    }
    remove_descriptions(&mut tool.parameters);
    tool
}

fn remove_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            // An argument may have this name; its schema is an object.
            if members.get("description").is_some_and(Value::is_string) {
                members.remove("description");
            }
            members.values_mut().for_each(remove_descriptions);
        }
        Value::Array(members) => members.iter_mut().for_each(remove_descriptions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn emit_all(preset: ProfilePreset, freeform: bool, web: WebTools) -> ToolSet {
    let is_on = |spec: &ToolSpec| match spec.name.as_str() {
        web_fetch::NAME => web.fetch,
        web_search::NAME => web.search,
        _ => true,
    };
    let emitted = catalog(preset)
        .into_iter()
        .filter(is_on)
        .map(|spec| emit(&spec, SchemaMode::Relaxed));
    if freeform {
        emitted.collect()
    } else {
        emitted.map(OfferedTool::without_freeform).collect()
    }
}

/// Returns true if a profile grants a family.
const fn grants(preset: ProfilePreset, family: ToolFamily) -> bool {
    preset.grants(family)
}

/// Turns a call into an intent: checks the name, the profile and the arguments.
///
/// # Errors
/// `unknown_tool`, `unsupported_agent_profile_capability`, `unsupported_batch_command_field` or `invalid_tool_input`, each with a next step.
pub fn interpret(name: &str, input: &Value, preset: ProfilePreset) -> Result<Intent, ToolError> {
    let (specs, interpreters) = entries();
    let Some((spec, interpret)) = specs
        .iter()
        .zip(interpreters)
        .find(|(spec, _)| spec.name == name)
    else {
        return Err(unknown(name, preset));
    };
    permit(spec, preset)?;
    interpret(spec, input)
}

fn permit(spec: &ToolSpec, preset: ProfilePreset) -> Result<(), ToolError> {
    if grants(preset, spec.family) {
        return Ok(());
    }
    let message = format!("this agent's profile does not grant {}", spec.name);
    let details = json!({"tool_name": spec.name, "family": spec.family, "profile_preset": preset});
    let error =
        ToolError::new(ToolErrorKind::UnsupportedAgentProfileCapability, message).details(details);
    Err(error.hint("do without it, or report to your supervisor what it is needed for"))
}

fn unknown(name: &str, preset: ProfilePreset) -> ToolError {
    let granted = all().iter().filter(|spec| grants(preset, spec.family));
    let offered: Vec<&str> = granted.map(|spec| spec.name.as_str()).collect();
    let hint = nearest_way(name, &offered);
    ToolError::new(
        ToolErrorKind::UnknownTool,
        format!("there is no tool {:?}", shown(name)),
    )
    .details(json!({"tool_name": shown(name)}))
    .hint(hint)
}

/// What models look for under other names, with the way that is offered here. The first word that the name holds counts.
const OTHER_WAYS: [(&[&str], &str); 8] = [
    (
        &["askuser", "question", "askoperator"],
        "ask your operator with WaitFor: wake_on [\"operator\"] and a question",
    ),
    (
        &["todo", "plan"],
        "keep the checklist of a work item with UpdateWorkItem",
    ),
    (
        &["grep", "search", "glob", "find"],
        "search with ExecCommand: grep -rn WORDS DIR",
    ),
    (
        &["edit", "write", "patch", "replace", "create", "insert"],
        "change files with ApplyPatch",
    ),
    (
        &["read", "view", "open", "cat", "getfile"],
        "read files with ExecCommand: sed -n 1,200p FILE",
    ),
    (
        &["list", "ls", "dir", "tree"],
        "list files with ExecCommand: ls DIR",
    ),
    (
        &["fetch", "browse", "http", "curl"],
        "fetch with ExecCommand: curl -sS URL",
    ),
    (
        &[
            "bash", "shell", "run", "exec", "terminal", "command", "python",
        ],
        "run commands with ExecCommand",
    ),
];

/// Splits a name into its words: at signs, and where a capital follows a small letter.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let begins = !c.is_ascii_alphanumeric() || (was_small && c.is_ascii_uppercase());
        if begins {
            words.push(String::new());
        }
        was_small = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

/// Says which offered tool does what an unknown one was probably called for.
fn nearest_way(name: &str, offered: &[&str]) -> String {
    let plain = |name: &str| {
        let letters = name.chars().filter(|c| c.is_ascii_alphanumeric());
        letters.collect::<String>().to_ascii_lowercase()
    };
    let asked = plain(name);
    if let Some(tool) = offered.iter().find(|tool| plain(tool) == asked) {
        return format!("call it {tool}");
    }
    let mut ways = OTHER_WAYS.iter();
    let parts = words_of(name);
    let is_named = |word: &&str| asked == **word || parts.iter().any(|part| part == *word);
    let way = ways.find(|(words, _)| words.iter().any(is_named));
    way.map_or_else(
        || "call a tool that this request offers, by its exact name".to_owned(),
        |(_, way)| (*way).to_owned(),
    )
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_private_child_neither_makes_agents_nor_gains_reach() {
        let families = [
            ToolFamily::Core,
            ToolFamily::LocalEnvironment,
            ToolFamily::Web,
            ToolFamily::AgentCreation,
            ToolFamily::AuthorityExpansion,
            ToolFamily::ExternalTrigger,
        ];
        let granted = |preset| families.map(|family| grants(preset, family));
        assert_eq!(granted(ProfilePreset::PublicNamed), [true; 6]);
        assert_eq!(
            granted(ProfilePreset::PrivateChild),
            [true, true, true, false, false, true]
        );
    }

    #[test]
    fn a_withheld_tool_is_refused_by_name_of_its_family() {
        let spec = ToolSpec {
            name: "SpawnAgent".into(),
            family: ToolFamily::AgentCreation,
            ..agent_get::spec()
        };
        assert_eq!(permit(&spec, ProfilePreset::PublicNamed), Ok(()));
        let error = permit(&spec, ProfilePreset::PrivateChild).expect_err("withheld");
        assert_eq!(error.kind, ToolErrorKind::UnsupportedAgentProfileCapability);
        assert_eq!(
            error.details,
            Some(
                json!({"tool_name": "SpawnAgent", "family": "agent_creation", "profile_preset": "private_child"})
            )
        );
    }

    #[test]
    fn tools_are_emitted_once_and_only_a_model_that_takes_free_text_is_told_of_that_form() {
        for preset in [ProfilePreset::PublicNamed, ProfilePreset::PrivateChild] {
            let all = WebTools::ALL;
            let [plain, freeform] = [false, true].map(|freeform| offered(preset, freeform, all));
            assert!(plain.is_shared_with(&offered(preset, false, all)));
            assert!(freeform.is_shared_with(&offered(preset, true, all)));
            assert!(plain.iter().all(|tool| tool.freeform.is_none()));
            assert!(freeform.iter().any(|tool| tool.freeform.is_some()));
            let offered: Vec<&str> = plain.iter().map(|tool| tool.name.as_str()).collect();
            let granted = catalog(preset);
            let granted: Vec<&str> = granted.iter().map(|spec| spec.name.as_str()).collect();
            assert_eq!(offered, granted);
        }
    }

    #[test]
    fn a_web_tool_that_is_off_is_not_offered() {
        for fetch in [false, true] {
            for search in [false, true] {
                let set = offered(
                    ProfilePreset::PublicNamed,
                    false,
                    WebTools { fetch, search },
                );
                let has = |name: &str| set.iter().any(|tool| tool.name == name);
                assert_eq!([has("WebFetch"), has("WebSearch")], [fetch, search]);
                assert_eq!(
                    set.len() + usize::from(!fetch) + usize::from(!search),
                    all().len()
                );
            }
        }
    }

    #[test]
    fn tools_are_published_in_the_order_of_their_names() {
        let names: Vec<&str> = all().iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "AgentGet",
                "ApplyPatch",
                "CancelExternalTrigger",
                "CancelTimer",
                "CancelWait",
                "CompleteWorkItem",
                "CreateExternalTrigger",
                "CreateTimer",
                "CreateWorkItem",
                "Enqueue",
                "ExecCommand",
                "ExecCommandBatch",
                "GetWorkItem",
                "ListTimers",
                "ListWorkItems",
                "MemoryGet",
                "MemorySearch",
                "NotifyOperator",
                "PickWorkItem",
                "Sleep",
                "SpawnAgent",
                "TaskInput",
                "TaskList",
                "TaskOutput",
                "TaskStatus",
                "TaskStop",
                "UpdateWorkItem",
                "UseWorkspace",
                "ViewImage",
                "WaitFor",
                "WebFetch",
                "WebSearch"
            ]
        );
    }
}
