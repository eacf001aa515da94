//! Says what an agent needs from its operator, from its status and its newest briefs.
//!
//! A brief asks once and is never changed, so the status decides whether its action is still open.

use super::{LINE_BYTES, asks_for_answer, one_line, words_at};
use crate::addressing::hint;
use holon_client::Answer;
use holon_client::view::{Agent, Brief, Wait};
use holon_domain::delegation::PUT_ASIDE;
use holon_domain::text;
use serde_json::Value;

/// Bytes of the text of a round that are repeated with the wait it ended with. The question stands at its end.
const ASKING_TEXT_BYTES: usize = 1_200;

/// Returns the action that is open, questions first; `None` if the agent goes on without the operator.
pub(super) fn of_operator(agent: &Agent, briefs: &[Answer<Brief>]) -> Option<String> {
    let questions: Vec<String> = operator_waits(agent)
        .map(|wait| question(agent, wait, briefs))
        .collect();
    if !questions.is_empty() {
        return Some(questions.join("\n           "));
    }
    let newest = briefs.iter().enumerate().rev();
    let mut open = newest.filter_map(|(place, brief)| {
        let action = brief.action_required.as_ref()?;
        let later = briefs.get(place + 1..).unwrap_or_default();
        is_open(agent, brief, action, later).then(|| request(agent, brief, action))
    });
    open.next()
        .or_else(|| unasked_wait(agent))
        .or_else(|| missing_model(agent))
        .or_else(|| children_aside(agent))
}

/// Renders what a wait asks the operator, whole: its question, or else the end of the text with which the agent asked and
/// its reason.
fn question(agent: &Agent, wait: &Wait, briefs: &[Answer<Brief>]) -> String {
    let id = &agent.identity.agent_id;
    if let Some(question) = &wait.question {
        let choices = match question.choices.as_slice() {
            [] => String::new(),
            choices => format!(" ({})", choices.join(" / ")),
        };
        let name = match question.any_message {
            true => String::new(),
            false => format!("{}: ", wait.id),
        };
        let asked = one_line(question.text.trim());
        let answer = hint(format!("(holon prompt --agent {id} \"{name}...\")"));
        return format!("your answer to: {asked}{choices} {answer}");
    }
    let reason = one_line(wait.waiting_for.trim());
    let asked_with = |brief: &&Answer<Brief>| {
        brief.created_at == wait.created_at
            && brief.action_required.as_ref().is_some_and(asks_for_answer)
    };
    let text = briefs.iter().find(asked_with);
    let text = text.map(|brief| end_of(&one_line(brief.text.trim())));
    let asked = match text {
        Some(text) if text.is_empty() || text.contains(&reason) || reason.contains(&text) => {
            if text.len() > reason.len() {
                text
            } else {
                reason
            }
        }
        Some(text) => format!("{text} (waits for: {reason})"),
        None => reason,
    };
    let answer = hint(format!("(holon prompt --agent {id} \"...\")"));
    format!("your answer to: {asked} {answer}")
}

/// Cuts the beginning off a long text: the question stands at its end.
fn end_of(words: &str) -> String {
    let cut = words.len().saturating_sub(ASKING_TEXT_BYTES);
    if cut == 0 {
        return words.to_owned();
    }
    let mut starts = words.char_indices().map(|(place, _)| place);
    let start = starts.find(|place| *place >= cut).unwrap_or_default();
    format!("…{}", words.get(start..).unwrap_or_default())
}

/// Returns what an agent without a model needs. A host that says nothing about models is older than this question.
fn missing_model(agent: &Agent) -> Option<String> {
    let model = &agent.model;
    let is_missing = model.effective_model.is_none() && !model.source.is_empty();
    is_missing.then(|| {
        hint(format!(
            "a model: holon init sets one for the host, holon agent model set PROVIDER/MODEL {} for this agent",
            agent.identity.agent_id
        ))
    })
}

/// Returns what the children need that were put aside: their tasks cannot end before.
fn children_aside(agent: &Agent) -> Option<String> {
    let needs = agent.active_children.iter().filter_map(|child| {
        let id = &child.identity.agent_id;
        let fault = child.blocked_reason.as_ref()?.strip_prefix(PUT_ASIDE)?;
        let fault = fault.strip_prefix(": ")?;
        Some(hint(format!(
            "its child {id}, which was put aside ({fault}): mend its stored rows, then: holon agent start {id}"
        )))
    });
    let needs: Vec<String> = needs.collect();
    (!needs.is_empty()).then(|| needs.join("\n           "))
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

fn operator_waits(agent: &Agent) -> impl Iterator<Item = &Wait> {
    let waits = agent.work.waiting_intents.iter();
    waits.filter(|wait| wait.kind == "operator" || wait.question.is_some())
}

fn request(agent: &Agent, brief: &Brief, action: &Value) -> String {
    if asks_for_answer(action) {
        return answer_to(agent, &brief.text);
    }
    let step = words_at(action, "/next_step");
    match step.is_empty() {
        true => text::preview(&one_line(&brief.text), LINE_BYTES),
        false => hint(one_line(&step)),
    }
}

/// Returns what an item needs whose plan waits for the operator, if no brief of the page asks for it.
fn unasked_wait(agent: &Agent) -> Option<String> {
    waits_for_operator(agent).then(|| answer_to(agent, &agent.scheduling_posture.reason))
}

fn answer_to(agent: &Agent, question: &str) -> String {
    let id = &agent.identity.agent_id;
    let answer = hint(format!("(holon prompt --agent {id} \"...\")"));
    format!(
        "your answer to: {} {answer}",
        end_of(&one_line(question.trim()))
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
    fn a_question_is_shown_whole_and_a_long_text_by_its_end() {
        let asks = |more: &Value| {
            let mut wait = json!({ "id": "wait_1", "kind": "operator", "waiting_for": "a word", "created_at": "then" });
            for (name, value) in more.as_object().expect("an object") {
                wait[name] = value.clone();
            }
            agent(&json!({ "waiting_intents": [wait] }))
        };
        let long = "why ".repeat(120) + "so?";
        let question = json!({ "question": { "text": long, "choices": ["yes", "no"] } });
        assert_eq!(
            of_operator(&asks(&question), &[]).as_deref(),
            Some(&*format!(
                "your answer to: {long} (yes / no) (holon prompt --agent main \"wait_1: ...\")"
            ))
        );
        let mut told = json!({ "id": "b", "kind": "result", "created_at": "then", "turn_index": 3,
            "action_required": { "code": "operator_input", "next_step": "answer" } });
        told["text"] = json!("done ".repeat(400) + "Shall I go on with step 2?");
        let told = Answer::new(told).expect("a brief");
        let need = of_operator(&asks(&json!({})), &[told]).expect("a need");
        assert!(
            need.contains("Shall I go on with step 2? (waits for: a word)"),
            "{need}"
        );
        assert!(need.starts_with("your answer to: …"), "{need}");
        let two = agent(&json!({ "waiting_intents": [
            { "id": "wait_1", "kind": "operator", "waiting_for": "one" },
            { "id": "wait_2", "kind": "operator", "waiting_for": "two" },
        ] }));
        let need = of_operator(&two, &[]).expect("a need");
        assert!(
            need.contains("to: one ") && need.contains("to: two "),
            "{need}"
        );
    }

    #[test]
    fn a_child_that_was_put_aside_needs_its_rows_mended_and_a_start() {
        let child = |id: &str, reason: Option<&str>| {
            json!({
                "identity": { "agent_id": id }, "status": "stopped", "supervision_task_id": "task_1",
                "phase": "blocked", "blocked_reason": reason,
            })
        };
        let children = [
            child("tmp_a", Some("put_aside: messages 2: cut off")),
            child("tmp_b", Some("managed_task_running")),
        ];
        let parent = agent(&json!({ "active_children": children }));
        assert_eq!(
            of_operator(&parent, &[]).as_deref(),
            Some(
                "its child tmp_a, which was put aside (messages 2: cut off): mend its stored rows, then: holon agent start tmp_a"
            )
        );
    }

    #[test]
    fn an_action_is_open_until_the_status_shows_that_it_was_taken() {
        let asks = json!({ "waiting_intents": [
            { "id": "wait_1", "kind": "operator", "waiting_for": "the branch", "created_at": "then" },
        ]});
        let question = "your answer to: Which branch? (waits for: the branch) (holon prompt --agent main \"...\")";
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
