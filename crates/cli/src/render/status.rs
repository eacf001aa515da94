//! Renders the status of an agent: what it does, what it waits for, and what needs the operator.

use super::{
    LINE_BYTES, budget, join_lines, model, needs, posture_words, spent_words, status_word, work,
};
use crate::addressing::hint;
use holon_api::BudgetView;
use holon_client::Answer;
use holon_client::view::{Agent, Brief, Child, LoadedInstructions, Task};
use holon_domain::attempt::TokenUsage;
use holon_domain::text;

/// What is shown of an agent beside its own status. Empty parts were not asked for, or the host did not answer.
#[derive(Debug, Default)]
pub(crate) struct Circumstances {
    /// Newest briefs, in ascending order.
    pub(crate) briefs: Option<Vec<Answer<Brief>>>,
    /// Budgets of the host.
    pub(crate) budgets: Vec<BudgetView>,
}

/// Renders an agent's state in a few lines, the most urgent fact first.
pub(crate) fn summary(summary: &Agent, around: &Circumstances) -> String {
    let Agent {
        identity,
        agent,
        scheduling_posture,
        lifecycle,
        model,
        token_usage,
        execution,
        active_tasks,
        active_children,
        newest_seq: _,
        work: _,
        loaded_agents_md,
        operator_time_zone: _,
    } = summary;
    let status = status_word(&agent.status, &scheduling_posture.posture);
    let mut lines = vec![
        format!("agent      {} ({status})", identity.agent_id),
        format!("why        {}", posture_words(&scheduling_posture.reason)),
    ];
    if let Some(briefs) = &around.briefs {
        let need = needs::of_operator(summary, briefs);
        lines.push(format!(
            "needs you  {}",
            need.as_deref().unwrap_or("nothing")
        ));
    }
    if let Some(at) = &scheduling_posture.wakes_at {
        lines.push(format!("wakes      {at}"));
    }
    lines.extend(model::lines(model));
    lines.push(format!("works in   {}", execution.cwd));
    if let Some(warning) = &execution.workspace_warning {
        lines.push(hint(format!("warning    {warning}")));
    }
    if execution.policy.process_execution.path_confinement == "not_enforced" {
        lines.push("confined   no: its commands run as you (not_enforced)".to_owned());
    }
    lines.extend(instruction_lines(loaded_agents_md));
    lines.push(format!(
        "messages   {} queued, {} in all, {}",
        agent.pending,
        agent.total_message_count,
        text::pluralize(agent.turn_index, "turn")
    ));
    lines.extend(work::lines(agent, &summary.work));
    lines.extend(active_tasks.iter().map(task));
    lines.extend(active_children.iter().map(child));
    if let Some(last) = &agent.last_turn_terminal {
        lines.push(format!(
            "last turn  {} ({}) at {}, {}",
            last.kind,
            last.reason,
            last.completed_at,
            text::pluralize(last.rounds, "round")
        ));
    }
    if let Some(last) = &agent.last_notification {
        lines.push(format!("notified   {} ({})", last.summary, last.created_at));
    }
    if agent.pending_deliveries > 0 {
        lines.push(hint(format!(
            "delivers   {} pending; see: holon delivery list, holon binding list {}",
            agent.pending_deliveries, identity.agent_id
        )));
    }
    let total = token_usage.total;
    lines.push(format!("tokens     {}", tokens(&total)));
    if let Some(cost) = spent_words(&token_usage.usage) {
        lines.push(format!("cost       {cost}"));
    }
    let budgets = around.budgets.iter();
    let budgets = budgets.filter(|budget| is_limited_by(summary, budget));
    lines.extend(budgets.map(|budget| format!("budget     {}", budget::one(budget))));
    if let Some(note) = &lifecycle.operator_hint {
        lines.push(format!("note       {note}"));
    }
    if let Some(command) = &lifecycle.resume_cli_hint {
        lines.push(format!("next       {}", hint(command)));
    }
    join_lines(lines)
}

/// Renders the instruction files that the agent loads, and those that it does not load.
pub(super) fn instruction_lines(loaded: &LoadedInstructions) -> Vec<String> {
    let sources = loaded.sources();
    let loaded_lines = sources.map(|source| format!("guided by  {}", source.path));
    let notes = loaded.notes.iter();
    let note_lines = notes.map(|note| format!("warning    {}: {}", note.path, note.note));
    loaded_lines.chain(note_lines).collect()
}

/// Renders the tokens of one or many rounds, with the part that a cache served.
fn tokens(usage: &TokenUsage) -> String {
    let cached = usage
        .cached_percent()
        .filter(|_| usage.cache_read_tokens > 0)
        .map(|percent| {
            format!(
                " ({} of them from the cache, {percent} %)",
                usage.cache_read_tokens
            )
        });
    format!(
        "{} read{}, {} written",
        usage.input_tokens,
        cached.unwrap_or_default(),
        usage.output_tokens
    )
}

/// Renders an active task in one line.
fn task(task: &Task) -> String {
    let what = task.summary.as_deref().unwrap_or_default();
    format!(
        "task       {} ({}) since {}: {}",
        task.id,
        task.status,
        task.created_at,
        text::preview(what, LINE_BYTES / 4)
    )
}

/// Returns true if the budget limits the agent: its own, that of its tree as far as the status tells, that of its current
/// work item, or that of the host.
fn is_limited_by(agent: &Agent, budget: &BudgetView) -> bool {
    let id = &agent.identity.agent_id;
    let parent = agent.identity.lineage_parent_agent_id.as_ref();
    match budget.scope.as_str() {
        "agent" => budget.key == *id,
        "tree" => budget.key == *id || Some(&budget.key) == parent,
        "item" => Some(&budget.key) == agent.agent.current_work_item_id.as_ref(),
        "host" => true,
        _ => false,
    }
}

/// Renders a private child in one line.
fn child(child: &Child) -> String {
    let reason = child.reason().map(|reason| format!(" ({reason})"));
    let reason = reason.unwrap_or_default();
    let work = child.work_summary.as_ref().or(child.summary.as_ref());
    format!(
        "child      {} {}{reason}: {}",
        child.identity.agent_id,
        child.phase,
        work.map_or("", String::as_str)
    )
}
