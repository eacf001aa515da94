//! Every refusal on the wire: code, status, hint, and the facts beside them.

use super::*;
use holon_domain::AgentId;
use holon_domain::refusal::RefusalText;
use std::collections::BTreeSet;

fn agent() -> AgentId {
    AgentId::parse("main").unwrap()
}

/// Converts a refusal to its response: status, `Retry-After`, body.
async fn on_the_wire(refusal: Refusal) -> (u16, Option<String>, serde_json::Value) {
    let response = refusal.into_response();
    let retry = response.headers().get(RETRY_AFTER);
    let retry = retry.map(|value| value.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20)
        .await
        .unwrap();
    (status, retry, serde_json::from_slice(&body).unwrap())
}

/// Code, status, `Retry-After` and hint of every refusal of the core and every error of the engine.
const ERRORS: [(&str, u16, Option<&str>, Option<&str>); 92] = [
    (
        "agent_stopped",
        409,
        None,
        Some("start it with: holon agent start main"),
    ),
    (
        "agent_home_missing",
        409,
        None,
        Some("mend what the message names, then: holon agent start main"),
    ),
    (
        "agent_archived",
        409,
        None,
        Some("make a copy that can be started: holon agent clone main NAME"),
    ),
    ("agent_deleting", 409, None, None),
    (
        "queue_full",
        429,
        Some("5"),
        Some("wait until the agent has worked some of it off, then try again"),
    ),
    (
        "queue_full_for_others",
        429,
        Some("5"),
        Some(
            "wait until the agent has worked some of it off, then try again; operators send to /control/agents/main/prompt",
        ),
    ),
    (
        "no_model",
        422,
        None,
        Some(
            "choose one with --model PROVIDER/MODEL or HOLON_MODEL; without a key try: holon demo",
        ),
    ),
    ("model_unavailable", 400, None, None),
    (
        "task_not_found",
        404,
        None,
        Some("look at the agent's tasks with: holon task list"),
    ),
    (
        "turn_not_found",
        404,
        None,
        Some("see its turns with: holon transcript --agent main"),
    ),
    (
        "turn_still_open",
        409,
        None,
        Some("wait until it is over, or abort it with: holon agent abort main"),
    ),
    (
        "turn_not_in_thread",
        409,
        None,
        Some("see what the thread shows with: holon context show --agent main"),
    ),
    (
        "pin_too_large",
        409,
        None,
        Some(
            "see their sizes with: holon context show --agent main; make room with: holon context unpin TURN",
        ),
    ),
    (
        "too_many_pins",
        409,
        None,
        Some(
            "see them with: holon context show --agent main; make room with: holon context unpin TURN",
        ),
    ),
    (
        "no_current_run",
        409,
        None,
        Some("see its state with: holon status --agent main"),
    ),
    (
        "stale_run_id",
        409,
        None,
        Some("abort the current one by its id, or leave the id out"),
    ),
    ("task_over", 409, None, None),
    (
        "too_many_tasks",
        409,
        None,
        Some("stop one of them, or wait until one is over: holon task list --agent main"),
    ),
    (
        "invalid_command",
        422,
        None,
        Some("give the command as one text for a shell, without NUL characters"),
    ),
    (
        "work_item_not_found",
        404,
        None,
        Some("see its work items with: holon work list --agent main"),
    ),
    (
        "work_item_completed",
        409,
        None,
        Some("make another with: holon work create --agent main OBJECTIVE"),
    ),
    (
        "wait_not_found",
        404,
        None,
        Some("see its waits with: holon wait list --agent main"),
    ),
    (
        "timer_not_found",
        404,
        None,
        Some("see its timers with: holon timer list --agent main"),
    ),
    (
        "external_trigger_not_found",
        404,
        None,
        Some("see its triggers with: holon trigger list --agent main"),
    ),
    (
        "external_trigger_mode_not_allowed",
        403,
        None,
        Some(
            "an operator allows it with: holon trigger create --agent main --mode enqueue_message",
        ),
    ),
    (
        "external_trigger_revoked",
        403,
        None,
        Some(
            "an operator allows it again with: holon trigger create --agent main --mode wake_hint",
        ),
    ),
    (
        "callback_not_found",
        404,
        None,
        Some("ask the owner of the agent for its current URL"),
    ),
    (
        "callback_mode_mismatch",
        403,
        None,
        Some("use the URL as it was given"),
    ),
    ("invalid_work", 400, None, None),
    (
        "workspace_not_attached",
        404,
        None,
        Some("see its workspaces with: holon workspace list"),
    ),
    (
        "workspace_active",
        409,
        None,
        Some("leave it first with: holon workspace exit"),
    ),
    ("workspace_is_home", 409, None, None),
    (
        "workspace_limit",
        409,
        None,
        Some("detach one with: holon workspace detach WORKSPACE_ID"),
    ),
    ("binding_not_found", 404, None, None),
    ("binding_inactive", 403, None, None),
    ("operator_mismatch", 403, None, None),
    (
        "operator_identity_missing",
        422,
        None,
        Some(
            "send `provider` and `provider_identity_ref` as the binding has them: holon binding list AGENT",
        ),
    ),
    ("binding_limit", 409, None, None),
    (
        "attach_forbidden",
        403,
        None,
        Some("use a workspace that is attached, or ask the supervisor of the agent"),
    ),
    ("execution_policy_denied", 403, None, None),
    ("empty_message", 400, None, None),
    (
        "too_large",
        413,
        None,
        Some("put large content into a file the agent can read and send its path"),
    ),
    ("too_many_images", 413, None, None),
    (
        "name_too_long",
        400,
        None,
        Some("send a short id, and put what is longer into the body or the metadata"),
    ),
    ("invalid_max_turns", 400, None, None),
    (
        "kind_origin_mismatch",
        400,
        None,
        Some(
            "send channel_event with a channel origin, webhook_event with a webhook origin, or only one of the two",
        ),
    ),
    (
        "kind_not_allowed",
        403,
        None,
        Some("use channel_event or webhook_event; operators send to the prompt route of the agent"),
    ),
    (
        "origin_not_accepted",
        403,
        None,
        Some("use a channel or a webhook origin; operators send to the prompt route of the agent"),
    ),
    (
        "priority_not_allowed",
        403,
        None,
        Some("use next, normal or background here, or send it to the prompt route of the agent"),
    ),
    ("body_not_allowed", 403, None, Some("send text or json")),
    (
        "agent_not_found",
        404,
        None,
        Some("create it with: holon agent create main; list agents with: holon agent list"),
    ),
    (
        "agent_aside",
        409,
        None,
        Some(
            "restore or mend the rows, then: holon agent start main; other agents are not affected",
        ),
    ),
    (
        "agent_unreadable",
        409,
        None,
        Some(
            "check the database with: holon doctor; what can be read of the agent: holon status --agent main",
        ),
    ),
    (
        "agent_conflict",
        409,
        None,
        Some("choose another name, or ask for the same workspace and model"),
    ),
    ("invalid_agent_id", 400, None, None),
    ("invalid_workspace", 400, None, None),
    ("invalid_template", 400, None, None),
    ("invalid_archive", 400, None, None),
    (
        "skill_already_installed",
        409,
        None,
        Some("uninstall it first"),
    ),
    (
        "skill_not_installed",
        404,
        None,
        Some("`holon skills list` shows the skills of an agent"),
    ),
    ("invalid_skill", 400, None, None),
    ("remote_skill_install_failed", 502, None, None),
    (
        "remote_skill_install_timeout",
        504,
        None,
        Some("try again, or clone the repository and install from its directory"),
    ),
    (
        "workspace_reserved",
        400,
        None,
        Some(
            "name a directory beside the host's home, such as the project itself; without one the agent works in its own home",
        ),
    ),
    ("task_takes_no_input", 409, None, None),
    (
        "memory_source_not_found",
        404,
        None,
        Some("copy the source_ref from a result of: holon memory search"),
    ),
    (
        "memory_index_locked",
        503,
        Some("1"),
        Some("end the process that has the file open, then try again"),
    ),
    (
        "memory_search_too_slow",
        504,
        None,
        Some("search for fewer and rarer words"),
    ),
    (
        "memory_source_unreadable",
        409,
        None,
        Some("put a text file of at most 1 MiB in its place; no link is followed"),
    ),
    (
        "memory_index_unavailable",
        500,
        None,
        Some(
            "check the disk and the directory .holon/indexes in the agent's home, then: holon memory rebuild",
        ),
    ),
    ("secret_not_stored", 409, None, None),
    (
        "no_capability_key",
        409,
        None,
        Some("see its fault in the log (holon daemon logs), mend the file, and restart the host"),
    ),
    (
        "idempotency_key_reused",
        422,
        None,
        Some("send a new key with a new request, and the same key only to repeat the same request"),
    ),
    (
        "run_not_repeated",
        409,
        None,
        Some("look at what it has done, and send the request with a new key to run it once more"),
    ),
    (
        "outcome_removed",
        410,
        None,
        Some(
            "read what came of it, for example with `holon transcript`; send the request with a new key to carry it out once more",
        ),
    ),
    (
        "outcome_unreadable",
        410,
        None,
        Some(
            "read what came of it, for example with `holon transcript`, and check the database with: holon doctor; send the request with a new key to carry it out once more",
        ),
    ),
    (
        "cursor_too_old",
        410,
        None,
        Some("read /status afresh, then continue with after_seq=4"),
    ),
    (
        "agent_replaced",
        410,
        None,
        Some(
            "forget what you know of the deleted agent, read /status afresh, then continue with after_seq=6",
        ),
    ),
    ("overloaded", 503, Some("1"), Some("try again in a moment")),
    (
        "disk_full",
        507,
        None,
        Some("free some space; the host goes on by itself"),
    ),
    (
        "commit_unknown",
        500,
        None,
        Some("it may have been taken: look at the transcript before you send it again"),
    ),
    (
        "store_lost",
        500,
        None,
        Some(
            "put the store back or restore a backup, start the host again, and look at the transcript before you send it again",
        ),
    ),
    (
        "shutting_down",
        503,
        Some("5"),
        Some("try again when the host is back"),
    ),
    ("storage_failed", 500, None, None),
    ("internal", 500, None, None),
    ("image_too_large", 413, None, None),
    ("image_too_wide", 422, None, None),
    ("invalid_image", 422, None, None),
    ("invalid_image_digest", 400, None, None),
    ("image_not_found", 422, None, None),
    ("images_full", 507, None, None),
    ("image_not_kept", 500, None, None),
];

#[tokio::test]
async fn every_refusal_of_the_engine_keeps_its_code_status_and_hint_on_the_wire() {
    let errors = Error::examples(&agent());
    assert_eq!(errors.len(), ERRORS.len());
    for (error, (code, status, retry, hint)) in errors.into_iter().zip(ERRORS) {
        let message = error.to_string();
        let step = error.text().next_step.text();
        let (sent, after, body) = on_the_wire(Refusal::from(error)).await;
        assert_eq!(body["ok"], false, "{code}");
        assert_eq!(body["code"], code);
        assert_eq!(body["error"], message.as_str(), "{code}");
        assert_eq!(sent, status, "{code}");
        assert_eq!(after.as_deref(), retry, "{code}");
        let hint = hint.unwrap_or(step);
        assert_eq!(body["hint"].as_str(), Some(hint), "{code}");
        assert!(!hint.contains('{'), "{code}: {hint}");
    }
}

#[tokio::test]
async fn every_fault_of_a_request_is_sent_with_what_the_reference_says_of_it() {
    for fault in RequestFault::ALL {
        let text = fault.text;
        let (status, _, body) = on_the_wire(fault.refuse("in words")).await;
        assert_eq!(
            (status, &body["code"]),
            (fault.status.as_u16(), &text.code.into())
        );
        assert_eq!(body["error"], "in words");
        assert_eq!(
            body["hint"].as_str(),
            Some(text.next_step.text()),
            "{}",
            text.code
        );
    }
}

#[test]
fn a_code_stands_for_one_refusal_and_every_row_says_something() {
    let entries = refusals();
    let codes: BTreeSet<&str> = entries.iter().map(|entry| entry.text.code).collect();
    assert_eq!(codes.len(), entries.len(), "{entries:#?}");
    for entry in &entries {
        let RefusalText {
            code,
            meaning,
            next_step,
        } = entry.text;
        assert!((400..600).contains(&entry.status), "{code}");
        assert!(meaning.len() > 20 && next_step.text().len() > 10, "{code}");
    }
}

#[test]
fn the_reference_lists_every_fault() {
    let named = include_str!("fault.rs")
        .matches(": Self = Self::new(")
        .count();
    assert_eq!(RequestFault::ALL.len(), named);
}

#[test]
fn facts_of_an_error_stand_in_its_body() {
    let stopped = Rejection::Stopped { agent_id: agent() };
    let stopped = Refusal::from(Error::from(stopped)).into_body();
    assert_eq!(stopped.extra["agent_id"], "main");
    let old = Refusal::from(Error::CursorTooOld {
        oldest_seq: 5,
        newest_seq: 9,
    });
    let old = old.into_body();
    assert_eq!(
        (&old.extra["oldest_seq"], &old.extra["newest_seq"]),
        (&5.into(), &9.into())
    );
}
