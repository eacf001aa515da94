//! Says what an agent needs from its operator, from its status and its newest briefs.
//!
//! A brief asks once and is never changed, so the status decides whether its action is still open.

use super::{LINE_BYTES, asks_for_answer, one_line, words_at};
use holon_client::Answer;
use holon_client::view::{Agent, Brief};
use holon_domain::text;
use serde_json::Value;

/// Returns the action that is open, newest first; `None` if the agent goes on without the operator.
pub(super) fn of_operator(agent: &Agent, briefs: &[Answer<Brief>]) -> Option<String> {
    let newest = briefs.iter().enumerate().rev();
    let mut open = newest.filter_map(|(place, brief)| {
        let action = brief.action_required.as_ref()?;
        let later = briefs.get(place + 1..).unwrap_or_default();
        is_open(agent, brief, action, later).then(|| request(agent, brief, action))
    });
    open.next()
        .or_else(|| unasked_wait(agent))
        .or_else(|| missing_model(agent))
}

/// Returns what an agent without a model needs. A host that says nothing about models is older than this question.
fn missing_model(agent: &Agent) -> Option<String> {
    let model = &agent.model;
    let is_missing = model.effective_model.is_none() && !model.source.is_empty();
    is_missing.then(|| {
        format!(
            "a model: holon init sets one for the host, holon agent model set PROVIDER/MODEL {} for this agent",
            agent.identity.agent_id
        )
    })
}

/// Returns true if nothing has happened since that did what the brief asks for.
fn is_open(agent: &Agent, brief: &Brief, action: &Value, later: &[Answer<Brief>]) -> bool {
    match action.get("code").and_then(Value::as_str) {
        Some("operator_input") => waits_for_operator(agent),
        Some("work_stalled") => agent.work.work_item_counts.stalled > 0,
        // The turn that could not go on is still the last one, and has no outcome since. A notice is none.
        Some(_) | None => {
            let is_outcome =
                |brief: &Answer<Brief>| brief.kind != "ack" && brief.action_required.is_none();
            brief.turn_index >= agent.agent.turn_index && !later.iter().any(is_outcome)
        }
    }
}

fn waits_for_operator(agent: &Agent) -> bool {
    agent.scheduling_posture.posture == "waiting_for_operator"
        || agent.work.work_item_counts.waiting_operator > 0
        || operator_waits(agent).next().is_some()
}

fn operator_waits(agent: &Agent) -> impl Iterator<Item = &str> {
    let waits = agent.work.waiting_intents.iter();
    let waits = waits.filter(|wait| wait.kind == "operator");
    waits.map(|wait| wait.waiting_for.as_str())
}

fn request(agent: &Agent, brief: &Brief, action: &Value) -> String {
    if asks_for_answer(action) {
        return answer_to(agent, &brief.text);
    }
    let step = words_at(action, "/next_step");
    match step.is_empty() {
        true => text::preview(&one_line(&brief.text), LINE_BYTES),
        false => one_line(&step),
    }
}

/// Returns the words of a wait for the operator that no brief of the page asks for.
fn unasked_wait(agent: &Agent) -> Option<String> {
    let waits = waits_for_operator(agent);
    let what = operator_waits(agent).next();
    waits.then(|| answer_to(agent, what.unwrap_or(&agent.scheduling_posture.reason)))
}

fn answer_to(agent: &Agent, question: &str) -> String {
    format!(
        "your answer to: {} (holon prompt --agent {} \"...\")",
        text::preview(&one_line(question.trim()), LINE_BYTES / 2),
        agent.identity.agent_id
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agent(fields: &Value) -> Answer<Agent> {
        let mut whole = json!({
            "identity": { "agent_id": "main" },
            "agent": { "status": "asleep", "pending": 0, "total_message_count": 3, "turn_index": 3 },
            "scheduling_posture": { "posture": "idle", "reason": "nothing to do" },
            "execution": { "cwd": "/w" }, "newest_seq": 9,
        });
        for (name, value) in fields.as_object().expect("an object") {
            whole[name] = value.clone();
        }
        Answer::new(whole).expect("a status")
    }

    fn brief(turn: u64, code: Option<&str>) -> Answer<Brief> {
        let action = code.map(|code| json!({ "code": code, "next_step": format!("do {code}") }));
        let brief = json!({
            "id": "b", "kind": if code.is_some() { "ack" } else { "result" }, "created_at": "then", "text": "Which\nbranch?", "turn_index": turn,
            "action_required": action,
        });
        Answer::new(brief).expect("a brief")
    }

    /// A brief that tells of a wait and asks for nothing.
    fn notice(turn: u64) -> Answer<Brief> {
        let notice = json!({
            "id": "n", "kind": "ack", "created_at": "then", "text": "It waits.", "turn_index": turn,
        });
        Answer::new(notice).expect("a brief")
    }

    #[test]
    fn an_action_is_open_until_the_status_shows_that_it_was_taken() {
        let asks = json!({ "waiting_intents": [
            { "id": "wait_1", "kind": "operator", "waiting_for": "the branch" },
        ]});
        let question = "your answer to: Which branch? (holon prompt --agent main \"...\")";
        let cases = [
            ("no briefs", json!({}), vec![], None),
            (
                "a model",
                json!({ "model": { "source": "runtime_default", "effective_model": "a/b" } }),
                vec![],
                None,
            ),
            (
                "no model",
                json!({ "model": { "source": "runtime_default" } }),
                vec![],
                Some(
                    "a model: holon init sets one for the host, holon agent model set PROVIDER/MODEL main for this agent",
                ),
            ),
            (
                "a question",
                asks.clone(),
                vec![brief(3, Some("operator_input"))],
                Some(question),
            ),
            (
                "a question of an earlier turn",
                asks.clone(),
                vec![brief(1, Some("operator_input")), brief(2, None)],
                Some(question),
            ),
            (
                "an answered question",
                json!({}),
                vec![brief(3, Some("operator_input"))],
                None,
            ),
            (
                "a wait without a brief",
                asks,
                vec![],
                Some("your answer to: the branch (holon prompt --agent main \"...\")"),
            ),
            (
                "a suspended turn",
                json!({}),
                vec![brief(3, Some("provider_auth"))],
                Some("do provider_auth"),
            ),
            (
                "a budget",
                json!({}),
                vec![brief(2, None), brief(3, Some("budget_reached"))],
                Some("do budget_reached"),
            ),
            (
                "a turn that went on",
                json!({}),
                vec![brief(3, Some("budget_reached")), brief(3, None)],
                None,
            ),
            (
                "a notice after it",
                json!({}),
                vec![brief(3, Some("provider_auth")), notice(3)],
                Some("do provider_auth"),
            ),
            (
                "a later turn",
                json!({}),
                vec![brief(2, Some("provider_auth"))],
                None,
            ),
            (
                "stalled work",
                json!({ "work_item_counts": { "stalled": 1 } }),
                vec![brief(1, Some("work_stalled")), brief(3, None)],
                Some("do work_stalled"),
            ),
            (
                "work that moved",
                json!({}),
                vec![brief(3, Some("work_stalled"))],
                None,
            ),
        ];
        for (name, fields, briefs, expected) in cases {
            let need = of_operator(&agent(&fields), &briefs);
            assert_eq!(need.as_deref(), expected, "{name}");
        }
    }
}
