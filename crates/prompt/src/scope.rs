//! Facts about the agent and the host: the execution contract, which all agents share, and the agent's name, home,
//! workspace, host and model.
//!
//! The facts of one agent end the system text, so that agents with equal instructions share everything before them: a
//! temporary agent has a name and a home of its own in every run. Instruction files are in `instructions`.

use crate::provenance::spelled;
use crate::visible;
use holon_domain::agent::AgentRecord;
use holon_domain::model::ModelRef;
use holon_domain::place::Place;
use holon_domain::summary::{Enforcement, ExecutionPolicy};

/// Describes the agent's surroundings.
pub(crate) fn surroundings(
    agent: &AgentRecord,
    model: &ModelRef,
    answer_tokens: u32,
    place: &Place,
) -> String {
    [
        identity(agent),
        home(agent),
        workspace(agent, place),
        host(place),
        runtime(model, answer_tokens),
    ]
    .join("\n\n")
}

fn identity(agent: &AgentRecord) -> String {
    let identity = &agent.identity;
    format!(
        "# This agent\n\nagent_id: {}\nkind: {}",
        identity.agent_id,
        spelled(identity.kind),
    )
}

fn home(agent: &AgentRecord) -> String {
    let home = visible::line(&agent.agent_home);
    format!(
        "# Agent home\n\nagent_home: {home}\n`ApplyPatch` takes the absolute paths of its files, for example \
         {home}/memory/self.md.",
    )
}

fn workspace(agent: &AgentRecord, place: &Place) -> String {
    let workspace = &agent.workspace;
    let repository = place.repository.as_ref().map_or_else(String::new, |state| {
        format!("\nrepository_root: {}", visible::line(&state.root))
    });
    format!(
        "# Active workspace\n\nworkspace_id: {}\nworkspace_anchor: {}\nexecution_root: {}\ncwd: {}{repository}",
        visible::line(workspace.workspace_id.as_str()),
        visible::line(&workspace.workspace_anchor),
        visible::line(&workspace.execution_root),
        visible::line(&workspace.cwd),
    )
}

fn host(place: &Place) -> String {
    let facts = place.host.as_ref().map_or_else(String::new, |host| {
        let search = if host.has_ripgrep {
            "`rg` is installed."
        } else {
            "`rg` is not installed: search with `grep -rn` and `find`."
        };
        format!(
            "system: {}\nhost_name: {}\nshell: {}\n{search}\n",
            visible::line(&host.system),
            visible::line(&host.name),
            visible::line(&host.shell),
        )
    });
    format!(
        "# This host\n\n{facts}operator_time_zone: {} (times that end in `Z` are in UTC)",
        visible::line(&place.zone)
    )
}

/// Describes the home, the workspace and the rules under which commands run, as far as they are the same for all agents.
pub(crate) fn execution() -> String {
    let policy = ExecutionPolicy::host_local();
    let commands = &policy.process_execution;
    let facts = [
        ("cwd", commands.cwd_rooting),
        ("projection", commands.projection_rooting),
        ("paths", commands.path_confinement),
        ("writes", commands.write_confinement),
        ("network", commands.network_confinement),
        ("secrets", commands.secret_isolation),
        ("child processes", commands.child_process_containment),
    ];
    format!(
        "# Home and execution\n\n\
         Your home outlives workspaces. Keep lasting notes in memory/self.md (how you work) and memory/operator.md \
         (what your operator prefers), other writing in notes/, own files in work/; never write to .holon/.\n\
         Commands start in cwd, inside the execution root, with the \
         operator's rights on this host (backend {}).\n\
         {}\n\
         Nothing limits what is not_enforced: stay inside what was asked.",
        policy.backend,
        by_level(&facts).join("\n"),
    )
}

/// Lists the facts of each level of enforcement on one line, in the order in which the levels first occur.
fn by_level(facts: &[(&str, Enforcement)]) -> Vec<String> {
    let mut levels: Vec<(Enforcement, Vec<&str>)> = Vec::new();
    for (name, level) in facts {
        match levels.iter_mut().find(|(known, _)| known == level) {
            Some((_, names)) => names.push(name),
            None => levels.push((*level, vec![name])),
        }
    }
    let lines = levels.iter();
    lines
        .map(|(level, names)| format!("{}: {}", spelled(level), names.join(", ")))
        .collect()
}

fn runtime(model: &ModelRef, answer_tokens: u32) -> String {
    format!(
        "# Model\n\nactive_model: {}\nOne answer, its tool calls included, is cut off after {answer_tokens} \
         tokens; write longer texts in several calls.",
        visible::line(&model.to_string())
    )
}
