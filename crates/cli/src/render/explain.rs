//! Renders the explanation of an agent's state.

use super::run::waiting_words;
use super::{join_lines, posture_words, work};
use crate::addressing::hint;
use holon_client::view::{Closure, ExplainedDecision, Explanation, UnservedInput};

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
        format!("why        {}", posture_words(&scheduling_posture.reason)),
    ];
    if let Some(closure) = closure {
        let waiting = closure
            .waiting_reason
            .as_ref()
            .map_or_else(String::new, |reason| {
                let words = waiting_words(reason).unwrap_or(reason);
                match is_suspended(closure) {
                    // The evidence says until when; an answer does not end it.
                    true => String::new(),
                    false => format!(", {words}"),
                }
            });
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
    lines.extend(
        woken_by
            .iter()
            .map(|cause| format!("woken by   {}", cause_words(cause))),
    );
    lines.push(queue(*pending, oldest_unserved.as_ref()));
    if let Some(item) = current_work_item {
        lines.push(format!("current    {}", work::entry(item)));
    }
    let waits = waiting_intents.iter();
    lines.extend(waits.map(|waiting| format!("waits for  {}", work::wait(waiting))));
    for wake in pending_wake_hints {
        let why = wake.reason.as_deref().unwrap_or("something changed");
        lines.push(format!(
            "hint       {} ({} times): {why}",
            wake.key, wake.count
        ));
    }
    for told in decisions {
        lines.extend(decision(told));
    }
    join_lines(lines)
}

/// Returns what would wake the agent. The words of a wait are the agent's own and stay as they are.
fn cause_words(cause: &str) -> String {
    match cause.contains("(the wait wait_") {
        true => cause.to_owned(),
        false => hint(cause),
    }
}

/// Returns true if the agent waits because its turn is suspended.
fn is_suspended(closure: &Closure) -> bool {
    let mut evidence = closure.evidence.iter();
    evidence.any(|words| words.starts_with("suspended until "))
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
    let mut lines = vec![format!("decided    {} {}", told.at, in_words(&told.what))];
    let because = told.evidence.iter();
    lines.extend(because.map(|evidence| format!("           because {}", in_words(evidence))));
    lines
}

/// Names of the runtime in decisions, and their meaning.
const NAMES: [(&str, &str); 9] = [
    ("resume_expected_wait", "what the agent waited for"),
    (
        "resume_override",
        "an operator's message, which comes before the wait",
    ),
    ("local_continuation", "new work that no wait asked for"),
    ("liveness_only", "a notice that needs no model"),
    ("backs_off", "its pauses grow while nothing changes"),
    ("awaiting_operator_input", "waiting for your answer"),
    ("awaiting_external_change", "waiting for something outside"),
    ("awaiting_task_result", "waiting for a task to end"),
    ("awaiting_timer", "waiting for a time to come"),
];

/// Replaces names of the runtime by words. A name that this program does not know stays as the host spelled it.
fn in_words(told: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word = |piece: &str| {
        let name = piece.trim_end_matches(|c| !is_part(c));
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map_or_else(
            || piece.to_owned(),
            |(name, words)| piece.replace(*name, words),
        )
    };
    // The separator stays with the piece before it, so that only whole names are replaced.
    told.split_inclusive(|c| !is_part(c)).map(word).collect()
}
