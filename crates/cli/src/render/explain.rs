//! Renders the explanation of an agent's state.

use super::work;
use holon_client::view::{ExplainedDecision, Explanation, UnservedInput};

/// Renders the whole explanation, most urgent fact first.
pub(crate) fn explanation(explanation: &Explanation) -> String {
    let Explanation {
        agent_id,
        status: stands,
        scheduling_posture,
        closure,
        woken_by,
        planned,
        pending,
        oldest_unserved,
        current_work_item,
        waiting_intents,
        pending_wake_hints,
        decisions,
    } = explanation;
    let mut lines = vec![
        format!("agent      {agent_id} ({stands})"),
        format!("why        {}", scheduling_posture.reason),
    ];
    if let Some(closure) = closure {
        let waiting = closure
            .waiting_reason
            .as_ref()
            .map_or_else(String::new, |reason| format!(", {reason}"));
        let evidence = closure.evidence.join("; ");
        lines.push(format!(
            "stands     {}{waiting} ({evidence})",
            closure.outcome
        ));
    }
    if let Some(at) = &scheduling_posture.wakes_at {
        lines.push(format!("wakes      {at}"));
    }
    lines.extend(
        planned
            .iter()
            .map(|wake| format!("planned    {}: {}", wake.at, wake.what)),
    );
    lines.extend(woken_by.iter().map(|cause| format!("woken by   {cause}")));
    lines.push(queue(*pending, oldest_unserved.as_ref()));
    if let Some(item) = current_work_item {
        lines.push(format!("current    {}", work::entry(item)));
    }
    let waits = waiting_intents.iter();
    lines.extend(waits.map(|waiting| format!("waits for  {}", work::wait(waiting))));
    for hint in pending_wake_hints {
        let why = hint.reason.as_deref().unwrap_or("something changed");
        lines.push(format!(
            "hint       {} ({} times): {why}",
            hint.key, hint.count
        ));
    }
    for told in decisions {
        lines.extend(decision(told));
    }
    lines.join("\n")
}

fn queue(pending: u64, oldest: Option<&UnservedInput>) -> String {
    match oldest {
        Some(oldest) => format!(
            "queue      {pending} waiting; oldest {} ({}) since {}: {}",
            oldest.message_id, oldest.kind, oldest.created_at, oldest.preview
        ),
        None => "queue      nothing waits".to_owned(),
    }
}

/// Renders a decision, followed by its evidence.
fn decision(told: &ExplainedDecision) -> Vec<String> {
    let mut lines = vec![format!("decided    {} {}", told.at, told.what)];
    let because = told.evidence.iter();
    lines.extend(because.map(|evidence| format!("           because {evidence}")));
    lines
}
