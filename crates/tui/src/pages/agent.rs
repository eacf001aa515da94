//! Agents with their private children, the status of one, and its workspaces.

use super::{Facts, nothing, page, plain, word};
use crate::overlay::{Entry, Tone};
use holon_client::Answer;
use holon_client::view::{Agent, AgentListEntry, Child, Explanation};

/// Before the id of a private child's task in the id of its entry. No route knows the child by its name: the task of its
/// parent stands for it.
pub(crate) const CHILD: &str = "child of task ";

/// Lists agents, children under their parents. Private children are in no list of the host, but in the status of their
/// parent, which the console has of the agent that it shows.
pub(crate) fn agents(
    list: &[Answer<AgentListEntry>],
    current: &str,
    private: &[Child],
) -> Vec<Entry> {
    let tree = Tree {
        list,
        current,
        private,
    };
    let mut entries = Vec::new();
    let is_listed = |id: &str| list.iter().any(|agent| agent.identity.agent_id == id);
    for agent in list {
        let parent = parent_of(agent);
        if parent.is_empty() || !is_listed(parent) {
            tree.add(agent, 0, &mut entries);
        }
    }
    if entries.is_empty() {
        return nothing("no agents; n makes one");
    }
    entries
}

fn parent_of(agent: &Answer<AgentListEntry>) -> &str {
    word(agent.raw(), "/identity/lineage_parent_agent_id")
}

/// The agents of a list, and the private children of the agent that is shown.
#[derive(Debug, Clone, Copy)]
struct Tree<'a> {
    list: &'a [Answer<AgentListEntry>],
    current: &'a str,
    private: &'a [Child],
}

impl Tree<'_> {
    fn add(self, agent: &Answer<AgentListEntry>, depth: usize, entries: &mut Vec<Entry>) {
        // An agent is its own ancestor in no reply of a sound host.
        if depth > 8 || entries.len() > self.list.len() + self.private.len() {
            return;
        }
        let id = &agent.identity.agent_id;
        entries.push(agent_entry(agent, self.current, depth));
        if id == self.current {
            let children = self.private.iter();
            entries.extend(children.map(|child| child_entry(child, id, depth + 1)));
        }
        let children = self.list.iter().filter(|child| parent_of(child) == id);
        for child in children {
            self.add(child, depth + 1, entries);
        }
    }
}

fn child_entry(child: &Child, parent: &str, depth: usize) -> Entry {
    let id = &child.identity.agent_id;
    let work = child.work_summary.as_ref().or(child.summary.as_ref());
    let work = work.map_or("", String::as_str);
    let mut facts = Facts::default();
    facts.add("agent", id);
    facts.add("state", plain(&child.status));
    facts.add("phase", plain(&child.phase));
    facts.add_some("why", child.reason().map(plain));
    facts.add("works on", work);
    facts.add("child of", parent);
    facts.add("visibility", "private");
    facts.add("task", &child.supervision_task_id);
    Entry {
        id: format!("{CHILD}{}", child.supervision_task_id),
        label: format!(
            "  {}{id}  private, {}  {work}",
            "  ".repeat(depth),
            plain(&child.phase)
        ),
        tone: match child.blocked_reason {
            Some(_) => Tone::Bad,
            None => Tone::Plain,
        },
        detail: facts.text(),
        ..Entry::default()
    }
}

fn agent_entry(agent: &Answer<AgentListEntry>, current: &str, depth: usize) -> Entry {
    let raw = agent.raw();
    let id = &agent.identity.agent_id;
    let mark = if id == current { "▸" } else { " " };
    let posture = agent.scheduling_posture.posture.as_str();
    // These postures do not say that the agent may not run. That it is archived says more than that it is stopped.
    let state = match (agent.status.as_str(), posture) {
        (status @ "stopped", "idle" | "has_queued_input" | "unknown") => status,
        _ => posture,
    };
    let mut facts = Facts::default();
    facts.add("agent", id);
    facts.add("state", plain(&agent.status));
    facts.add("why", &agent.scheduling_posture.reason);
    facts.add_some("wakes", agent.scheduling_posture.wakes_at.as_deref());
    facts.add("queued", agent.pending.to_string());
    facts.add("model", word(raw, "/model/effective_model"));
    facts.add("works in", &agent.active_workspace_entry.cwd);
    facts.add(
        "projection",
        plain(word(raw, "/active_workspace_entry/projection_kind")),
    );
    facts.add(
        "access",
        plain(word(raw, "/active_workspace_entry/access_mode")),
    );
    facts.add("child of", parent_of(agent));
    facts.add("kind", plain(word(raw, "/identity/kind")));
    facts.add("visibility", plain(word(raw, "/identity/visibility")));
    facts.add("next", word(raw, "/lifecycle/resume_cli_hint"));
    Entry {
        id: id.clone(),
        label: format!(
            "{mark} {}{id}  {}{}  {}",
            "  ".repeat(depth),
            plain(state),
            match agent.pending {
                0 => String::new(),
                pending => format!(", {pending} queued"),
            },
            agent.scheduling_posture.reason,
        ),
        tone: tone_of(state),
        detail: facts.text(),
        ..Entry::default()
    }
}

fn tone_of(posture: &str) -> Tone {
    match posture {
        "active_turn" => Tone::Good,
        "waiting_for_operator" | "put_aside" | "blocked" => Tone::Bad,
        "stopped" | "archived" => Tone::Faint,
        _ => Tone::Plain,
    }
}

/// Says how the work of an agent stands. A word of a newer host is spelled as it is.
fn outcome_words(outcome: &str) -> String {
    match outcome {
        "completed" => "nothing is left to do".to_owned(),
        "continuable" => "work is left, and it goes on by itself".to_owned(),
        "failed" => "the last turn failed".to_owned(),
        "waiting" => "it waits".to_owned(),
        other => plain(other),
    }
}

fn wait_words(reason: &str) -> String {
    match reason {
        "awaiting_operator_input" => "your answer".to_owned(),
        "awaiting_external_change" => "something outside".to_owned(),
        "awaiting_task_result" => "the end of a task".to_owned(),
        "awaiting_timer" => "a planned time".to_owned(),
        other => plain(other),
    }
}

fn root_words(projection: &str) -> String {
    match projection {
        "canonical_root" => "the workspace's own directory".to_owned(),
        "git_worktree_root" => "a git worktree of the workspace".to_owned(),
        other => plain(other),
    }
}

fn confinement_words(confinement: &str) -> String {
    match confinement {
        "not_enforced" => "no: its commands run as the user of the host".to_owned(),
        other => plain(other),
    }
}

/// Explains what an agent does, waits for and needs.
pub(crate) fn status(explained: &Explanation, agent: Option<&Answer<Agent>>) -> Vec<Entry> {
    let mut facts = Facts::default();
    facts.add("agent", &explained.agent_id);
    facts.add("state", plain(&explained.status));
    facts.add("why", &explained.scheduling_posture.reason);
    facts.add_some("wakes", explained.scheduling_posture.wakes_at.as_deref());
    if let Some(closure) = &explained.closure {
        facts.add("outcome", outcome_words(&closure.outcome));
        facts.add_some(
            "waits for",
            closure.waiting_reason.as_deref().map(wait_words),
        );
    }
    facts.add("queued", explained.pending.to_string());
    facts.add_some(
        "oldest",
        explained
            .oldest_unserved
            .as_ref()
            .map(|input| &input.preview),
    );
    facts.add_some(
        "work item",
        explained
            .current_work_item
            .as_ref()
            .map(|item| &item.objective),
    );
    if let Some(agent) = agent {
        agent_facts(agent, &mut facts);
    }
    facts.list("Woken by", explained.woken_by.iter().cloned());
    let planned = explained.planned.iter();
    facts.list(
        "Planned",
        planned.map(|wake| format!("{}  {}", wake.at, wake.what)),
    );
    let waits = explained.waiting_intents.iter();
    facts.list(
        "Waits",
        waits.map(|wait| format!("{}: {}", plain(&wait.kind), wait.waiting_for)),
    );
    let hints = explained.pending_wake_hints.iter();
    facts.list(
        "Wake hints that were not delivered yet",
        hints.map(|hint| hint.key.clone()),
    );
    let decisions = explained.decisions.iter();
    facts.list(
        "Last decisions",
        decisions.map(|one| format!("{}  {}", one.at, one.what)),
    );
    page(facts.text())
}

fn agent_facts(agent: &Answer<Agent>, facts: &mut Facts) {
    let raw = agent.raw();
    facts.add_some("model", agent.model.effective_model.as_deref());
    facts.add(
        "fallbacks",
        agent.model.effective_fallback_models.join(", "),
    );
    facts.add("works in", &agent.execution.cwd);
    facts.add(
        "which is",
        root_words(word(raw, "/execution/projection_kind")),
    );
    facts.add("access", plain(word(raw, "/execution/access_mode")));
    let confinement = &agent.execution.policy.process_execution.path_confinement;
    facts.add("confined", confinement_words(confinement));
    let total = &agent.token_usage.total;
    facts.add(
        "tokens",
        format!(
            "{} read, {} written",
            total.input_tokens, total.output_tokens
        ),
    );
    facts.add("turns", agent.agent.turn_index.to_string());
    facts.add("timers", agent.work.active_timer_count.to_string());
    facts.add_some("note", agent.lifecycle.operator_hint.as_deref());
    facts.add_some("next", agent.lifecycle.resume_cli_hint.as_deref());
}

/// Lists the workspaces that an agent may use.
pub(crate) fn workspaces(agent: &Answer<Agent>) -> Vec<Entry> {
    let raw = agent.raw();
    let execution = &agent.execution;
    let attached = execution.attached_workspaces.iter();
    let entries: Vec<Entry> = attached
        .map(|(id, path)| {
            let is_active = *id == execution.workspace_id;
            let mut facts = Facts::default();
            facts.add("workspace", id);
            facts.add("directory", path);
            if is_active {
                facts.add("works in", &execution.cwd);
                facts.add("projection", plain(word(raw, "/execution/projection_kind")));
                facts.add("access", plain(word(raw, "/execution/access_mode")));
                facts.add("root", word(raw, "/execution/execution_root"));
                facts.add_some("warning", execution.workspace_warning.as_deref());
            }
            Entry {
                id: id.clone(),
                label: format!("{} {path}", if is_active { "▸" } else { " " }),
                tone: if is_active { Tone::Good } else { Tone::Plain },
                detail: facts.text(),
                ..Entry::default()
            }
        })
        .collect();
    if entries.is_empty() {
        return nothing("no workspaces; a attaches a directory");
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listed(status: &str, posture: &str) -> Entry {
        let agent = Answer::new(json!({
            "identity": {"agent_id": "scout", "kind": "named", "visibility": "public"},
            "status": status, "pending": 0, "scheduling_posture": {"posture": posture, "reason": "why"},
            "active_workspace_entry": {"cwd": "/src"},
        }));
        agent_entry(&agent.unwrap(), "main", 0)
    }

    #[test]
    fn an_agent_that_may_not_run_is_listed_as_such() {
        for (status, posture, expected, tone) in [
            ("booting", "idle", "idle", Tone::Plain),
            ("asleep", "idle", "idle", Tone::Plain),
            (
                "asleep",
                "waiting_for_operator",
                "waiting for operator",
                Tone::Bad,
            ),
            (
                "awake_idle",
                "has_queued_input",
                "has queued input",
                Tone::Plain,
            ),
            ("awake_running", "active_turn", "active turn", Tone::Good),
            ("stopped", "idle", "stopped", Tone::Faint),
            ("stopped", "has_queued_input", "stopped", Tone::Faint),
            // It was put aside, which the reason says.
            ("stopped", "unknown", "stopped", Tone::Faint),
            // Archived, or being removed.
            ("stopped", "archived", "archived", Tone::Faint),
        ] {
            let entry = listed(status, posture);
            assert_eq!(entry.label, format!("  scout  {expected}  why"));
            assert_eq!(entry.tone, tone, "{status}");
        }
    }

    #[test]
    fn known_words_of_a_status_are_plain_and_others_stay() {
        for (shown, expected) in [
            (outcome_words("completed"), "nothing is left to do"),
            (outcome_words("of_a_newer_host"), "of a newer host"),
            (wait_words("awaiting_operator_input"), "your answer"),
            (
                root_words("canonical_root"),
                "the workspace's own directory",
            ),
            (confinement_words("hard_enforced"), "hard enforced"),
        ] {
            assert_eq!(shown, expected);
        }
    }
}
