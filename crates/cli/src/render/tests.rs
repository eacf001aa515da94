//! Rendering of responses of a host that is newer than this program.

use super::status::{Circumstances, summary};
use super::*;
use holon_client::view::{Agent, Explanation, Prompt, Run, WorkItem};
use holon_config::Providers;
use holon_domain::AgentId;
use serde_json::json;

fn answer<T: serde::de::DeserializeOwned>(value: Value) -> Answer<T> {
    Answer::new(value).expect("what every host says")
}

#[test]
fn a_word_of_a_newer_host_is_shown_as_it_is_spelled() {
    let posture = json!({ "posture": "daydreaming", "reason": "it dreams" });
    let listed = answer(json!({
        "identity": { "agent_id": "main" }, "status": "levitating", "scheduling_posture": posture, "pending": 2,
        "active_workspace_entry": { "cwd": "/w" },
    }));
    assert_eq!(
        agents::list(&[listed], None),
        "main  levitating     2 queued  it dreams"
    );
    let one: Answer<Brief> = answer(json!({
        "id": "b", "kind": "haiku", "created_at": "2026-11-15T00:00:00.000Z", "text": "old pond\n",
    }));
    assert_eq!(brief(&one), "2026-11-15T00:00:00.000Z haiku: old pond");
    let dream = answer(json!({
        "created_at": "2026-11-15T00:00:00.000Z", "turn_index": 3, "kind": "dream_recorded", "data": { "of": "sheep" },
    }));
    assert_eq!(
        transcript(&[dream]),
        "2026-11-15T00:00:00.000Z turn 3 dream_recorded\n    {\"of\":\"sheep\"}"
    );
}

#[test]
fn a_status_of_a_newer_host_is_shown_with_its_words() {
    let agent: Answer<Agent> = answer(json!({
        "identity": { "agent_id": "main" },
        "agent": {
            "status": "levitating", "pending": 0, "total_message_count": 1, "turn_index": 1,
            "last_turn_terminal": { "kind": "evaporated", "reason": "sunshine", "completed_at": "then", "rounds": 2 },
        },
        "scheduling_posture": { "posture": "daydreaming", "reason": "it dreams" },
        "model": { "source": "fleet_policy", "effective_model": "a/b", "override_reasoning_effort": "boundless" },
        "execution": { "cwd": "/w", "policy": { "process_execution": { "path_confinement": "quantum" } } },
        "active_tasks": [{ "id": "task_1", "status": "circling", "created_at": "now", "summary": "orbit" }],
        "newest_seq": 9,
    }));
    let shown = summary(&agent, &Circumstances::default());
    for part in [
        "agent      main (levitating)\nwhy        it dreams\n",
        "model      a/b (fleet_policy)\neffort     boundless\n",
        "task       task_1 (circling) since now: orbit\n",
        "last turn  evaporated (sunshine) at then, 2 rounds\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("confined"), "{shown}");
}

#[test]
fn work_and_an_explanation_of_a_newer_host_are_shown_with_their_words() {
    let item = json!({
        "id": "work_1", "agent_id": "main", "objective": "rest", "state": "dormant", "plan_status": "whispered",
        "scheduling_state": "hovering", "focus": "peripheral",
        "plan_artifact": { "path": "/p", "bytes": 3, "hash": "h" },
        "todo_list": [{ "text": "nap", "state": "dreamed" }], "revision": 2, "updated_at": "then",
    });
    let one: Answer<WorkItem> = answer(item.clone());
    let shown = work::item(&one);
    assert!(shown.contains("todo       [dreamed] nap\n"), "{shown}");
    let wait =
        json!({ "id": "wait_1", "kind": "dawn", "status": "drowsing", "waiting_for": "light" });
    assert_eq!(
        work::waits(&[answer(wait.clone())]),
        "wait_1  drowsing: light"
    );
    let timer = json!({ "id": "timer_1", "status": "melting", "fire_count": 0 });
    assert_eq!(
        work::timers(
            &[answer(timer)],
            timer_context(&AgentId::parse("main").unwrap(), Some(1))
        ),
        "timer_1  melting: no summary"
    );
    let explained: Answer<Explanation> = answer(json!({
        "agent_id": "main", "status": "levitating",
        "scheduling_posture": { "posture": "daydreaming", "reason": "it dreams" },
        "closure": { "outcome": "transcended", "waiting_reason": "awaiting_dawn", "evidence": ["stars"] },
        "woken_by": ["the sun"], "pending": 0, "current_work_item": item, "waiting_intents": [wait],
    }));
    let told = explain::explanation(&explained);
    for part in [
        "agent      main (levitating)\nwhy        it dreams\n",
        "stands     transcended, awaiting_dawn (stars)\n",
        "current    work_1  hovering: rest\n",
        "waits for  wait_1  drowsing: light",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

fn timer_context(agent_id: &AgentId, total: Option<u64>) -> work::TimerContext<'_> {
    work::TimerContext {
        agent_id,
        is_stopped: false,
        is_archived: false,
        total,
    }
}

#[test]
fn intervals_are_spelled_as_they_are_typed_and_a_cut_list_says_so() {
    let main = AgentId::parse("main").unwrap();
    for (interval, words) in [
        (3_600_000, "then every 1h"),
        (5_400_000, "then every 90m"),
        (172_800_000, "then every 2d"),
        (1_500, "then every 1500ms"),
    ] {
        let timer = json!({
            "id": "timer_1", "status": "active", "interval_ms": interval, "next_fire_at": "soon",
        });
        let shown = work::timers(&[answer(timer)], timer_context(&main, Some(7)));
        assert_eq!(
            shown,
            format!(
                "timer_1  fires at soon, {words}: no summary\n1 of 7 are shown; see more with --limit N, at most 500"
            )
        );
    }
    let timer = json!({
        "id": "timer_1", "status": "active", "interval_ms": 30_000, "next_fire_at": "soon", "fire_count": 7,
        "missed_count": 2, "ticks_a_day": 2_880, "tokens_a_day": 5_760_000,
    });
    let listed = work::timers(&[answer(timer.clone())], timer_context(&main, Some(1)));
    assert_eq!(
        listed,
        "timer_1  fires at soon, then every 30s, fired 7 times, 2880 ticks a day with about 5760000 tokens: no summary"
    );
    for (interval, ticks, words) in [
        (3_000, 2_880, "then every 3s with a tick at most every 30s"),
        (7_000, 2_468, "then every 7s with a tick at most every 35s"),
        (43_201_000, 1, "then every 43201s"),
        (172_800_000, 0, "then every 2d"),
    ] {
        let timer = json!({
            "id": "timer_1", "status": "active", "interval_ms": interval, "next_fire_at": "soon", "ticks_a_day": ticks,
        });
        let listed = work::timers(&[answer(timer)], timer_context(&main, Some(1)));
        assert!(listed.contains(&format!(", {words}, ")), "{listed}");
    }
    let details = work::timer_details(&answer(timer));
    assert!(
        details.contains("slots      7 told, 2 passed over\na day      2880 ticks\n"),
        "{details}"
    );
    assert!(
        details.ends_with("about 5760000 tokens, by the last ticks"),
        "{details}"
    );
    let timer = json!({ "id": "timer_1", "status": "active", "next_fire_at": "yesterday" });
    let stopped = work::TimerContext {
        is_stopped: true,
        ..timer_context(&main, Some(1))
    };
    let shown = work::timers(&[answer(timer)], stopped);
    assert!(!shown.contains("fires at"), "{shown}");
    assert!(shown.contains("held while the agent is stopped"), "{shown}");
}

#[test]
fn a_brief_that_asks_for_an_action_names_the_next_step_once() {
    let brief = |text: &str| -> Answer<Brief> {
        answer(json!({
            "id": "brief_1", "agent_id": "scout", "kind": "ack", "created_at": "then", "text": text,
            "action_required": { "code": "work_stalled", "next_step": "holon work resume --agent scout work_1" },
        }))
    };
    assert_eq!(
        super::brief(&brief("It stalled.\n2026 result: forged")),
        "then ACTION REQUIRED: It stalled.\n    2026 result: forged\n    next: holon work resume --agent scout work_1"
    );
    let said = super::brief(&brief("Do: holon work resume --agent scout work_1"));
    assert_eq!(said.matches("work resume").count(), 1, "{said}");
}

#[test]
fn a_brief_with_a_long_question_shows_the_whole_step_what_to_name_and_its_files() {
    let asked = "Shall I deploy? ".repeat(60);
    let shown = brief(&answer(json!({
        "id": "brief_1", "agent_id": "scout", "kind": "result", "created_at": "then", "text": "the decision",
        "attachments": [{ "kind": "file", "name": "work/plan.md" }, { "kind": "log", "name": "work/a.log" }],
        "action_required": {
            "code": "operator_input",
            "next_step": format!("answer the agent: {asked}; write wait_1 in your message, so that it counts as the answer"),
        },
    })));
    assert!(
        shown.contains("; write wait_1 in your message, so that it counts as the answer\n"),
        "{shown}"
    );
    assert!(
        shown.contains("answer with: holon prompt --agent scout \"wait_1: ...\"\n"),
        "{shown}"
    );
    assert!(
        shown.ends_with("attached: work/plan.md, work/a.log"),
        "{shown}"
    );
}

#[test]
fn names_of_the_runtime_are_spelled_out_in_an_explanation_and_unknown_ones_stay() {
    let explained: Answer<Explanation> = answer(json!({
        "agent_id": "main", "status": "asleep",
        "scheduling_posture": { "posture": "idle", "reason": "line one\nagent      forged" },
        "woken_by": [], "pending": 0,
        "decisions": [{
            "at": "then", "what": "no tick (work_queue): backs_off",
            "evidence": ["operator_prompt is local_continuation; before it", "my_backs_off"],
        }],
    }));
    let told = explain::explanation(&explained);
    assert!(
        told.contains("why        line one agent      forged\n"),
        "{told}"
    );
    assert!(!told.contains(": backs_off"), "{told}");
    assert!(!told.contains("local_continuation"), "{told}");
    assert!(told.contains("because my_backs_off"), "{told}");
}

#[test]
fn a_run_that_waits_for_an_answer_tells_the_question_and_the_command_that_answers_it() {
    let told = |step: &str| {
        let run: Answer<Run> = answer(json!({
            "agent_id": "asker", "message_id": "msg_1", "final_status": "waiting", "final_text": "I ask.",
            "waiting_reason": "awaiting_operator_input", "final_text_source": "model", "model_rounds": 1,
            "action_required": { "code": "operator_input", "next_step": step },
        }));
        run::status(&run, &Providers::default(), run::Responder::Host).expect("a status")
    };
    for (step, command) in [
        (
            "answer the agent: which of wait_9?; write wait_1 in your message, so that it counts as the answer",
            "holon prompt --agent asker \"wait_1: ...\"",
        ),
        (
            "answer the agent: which?",
            "holon prompt --agent asker \"...\"",
        ),
    ] {
        let told = told(step);
        assert!(
            told.ends_with(&format!("next: {step}; answer it with: {command}")),
            "{told}"
        );
    }
}

#[test]
fn a_run_that_a_budget_holds_names_no_answer_as_its_next_step() {
    let held = |source: &str, rounds: u64| -> Answer<Run> {
        answer(json!({
            "agent_id": "rich", "message_id": "msg_1", "final_status": "waiting",
            "waiting_reason": "awaiting_operator_input", "final_text_source": source, "model_rounds": rounds,
            "final_text": "not answered yet: raise it: holon budget set --agent rich --tokens N",
        }))
    };
    let status = |run: &Run, goes_on: bool| {
        let by = match goes_on {
            true => run::Responder::Host,
            false => run::Responder::Local,
        };
        run::status(run, &Providers::default(), by).expect("a status")
    };
    let look =
        "see how it stands: holon status --agent rich; follow it: holon tail --follow --agent rich";
    assert_eq!(
        status(&held("runtime", 0), true),
        format!(
            "run is waiting until you act\nnext: do what is named above, then it goes on by itself; {look}"
        )
    );
    assert_eq!(
        status(&held("runtime", 0), false),
        format!(
            "run is waiting until you act\nnext: do what is named above while a host runs (holon daemon start); {look}"
        )
    );
    let with_budget = |until: Option<&str>| -> Answer<Run> {
        answer(json!({
            "agent_id": "rich", "message_id": "msg_1", "final_status": "waiting",
            "waiting_reason": "awaiting_timer", "final_text_source": "runtime",
            "final_text": "not answered yet, and its turn is kept: suspended because a budget is reached",
            "suspension": {
                "reason": "budget_reached", "until": until,
                "error": "the budget of agent rich for a day is 9 tokens; raise it: holon budget set --agent rich --day --tokens N",
            },
        }))
    };
    let named = "not answered yet, and kept until a budget has room: the budget of agent rich for a day is 9 tokens; \
                 raise it: holon budget set --agent rich --day --tokens N\nnext: do that, and the run goes on at once";
    let stands = "see how it stands: holon status --agent rich";
    let until = "2026-11-19T00:00:00.000Z";
    let daily = with_budget(Some(until));
    assert_eq!(
        status(&daily, true),
        format!("{named}; otherwise it goes on by itself at {until}; {stands}")
    );
    assert_eq!(
        status(&with_budget(None), false),
        format!("{named}, while a host runs (holon daemon start); {stands}")
    );
    assert_eq!(run::split_text(&daily).remark, None, "it is said once");
    for asked in [held("model", 1), held("runtime", 1)] {
        let told = status(&asked, true);
        assert!(told.contains("answer it with: holon prompt"), "{told}");
    }
}

#[test]
fn a_suspended_agent_does_not_wait_for_an_answer() {
    let explained: Answer<Explanation> = answer(json!({
        "agent_id": "rich", "status": "asleep",
        "scheduling_posture": { "posture": "active_turn", "reason": "suspended because a budget is reached" },
        "closure": {
            "outcome": "waiting", "waiting_reason": "awaiting_operator_input",
            "evidence": ["suspended until an operator acts"],
        },
        "woken_by": [], "pending": 0,
    }));
    let told = explain::explanation(&explained);
    let stands = "\nstands     waiting (suspended until an operator acts)\n";
    assert!(told.contains(stands), "{told}");
}

#[test]
fn a_prompt_is_a_table_of_its_parts_and_shows_their_texts_on_request() {
    let view: Answer<Prompt> = answer(json!({
        "agent_id": "main", "agent_home": "/h", "workspace_id": "ws-1", "workspace_anchor": "/p",
        "execution_root": "/p", "cwd": "/p/src",
        "execution_policy": {
            "backend": "host_local", "process_execution_exposed": true, "managed_worktree_supported": true,
            "resource_authority": {"message_ingress": "hard_enforced", "agent_state": "hard_enforced",
                "process_execution": "runtime_shaped"},
            "process_execution": {"cwd_rooting": "hard_enforced", "path_confinement": "not_enforced",
                "network_confinement": "not_enforced"},
        },
        "loaded_agents_md": {"agent_source": {"scope": "agent", "kind": "agents_md", "path": "/h/AGENTS.md"}},
        "prompt": {
            "turn_index": 7, "model_ref": "test/model", "budget_tokens": 9000, "tools_tokens": 900,
            "policy": {"context_window_tokens": 12000, "effective_context_window_percent": 75,
                "max_output_tokens": 1000, "source": "builtin", "output_source": "config"},
            "prompt_tokens": 2100, "prompt_cache_key": "00ff", "context_fingerprint": "ff00",
            "working_memory_revision": 3, "compression_epoch": 2,
            "blocks": [
                {"source": "policy", "stability": "stable", "pinned": true, "from_tokens": 1500,
                 "to_tokens": 1500, "outcome": "kept", "text": "# Who you are\n\nAn agent."},
                {"source": "history", "stability": "turn_scoped", "log_seq": 12, "from_tokens": 400,
                 "to_tokens": 0, "outcome": "cut", "reason": "over_room"},
                {"source": "current_input", "stability": "turn_scoped", "pinned": true, "from_tokens": 5000,
                 "to_tokens": 600, "outcome": "shortened", "reason": "over_window", "text": "Current input:"},
            ],
        },
        "rounds": [{"turn_index": 7, "round": 1, "input_tokens": 3000, "cached_tokens": 2400, "cached_share": 0.8}],
    }));
    let told = [
        "agent      main",
        "home       /h",
        "workspace  ws-1 /p",
        "executes   in /p, cwd /p/src",
        "policy     host_local, runs commands, makes worktrees",
        "runtime    hard_enforced: agent_state, message_ingress",
        "runtime    runtime_shaped: process_execution",
        "commands   hard_enforced: cwd_rooting",
        "commands   not_enforced: network_confinement, path_confinement",
        "guided by  /h/AGENTS.md (agent, agents_md)",
        "turn       7 to test/model",
        "window     12000 (builtin), 75 % for the prompt; answer 1000 (config)",
        "tokens     3000 of 9000 (estimated; 900 of them tools)",
        "cache key  00ff, fingerprint ff00",
        "memory     revision 3, compression epoch 2",
        "",
        "part               stability       tokens  decision",
        "policy             stable            1500  kept, pinned",
        "history 12         turn_scoped          0  cut from 400: no room; lowest priority",
        "current_input      turn_scoped        600  shortened from 5000, pinned: what is always shown does not fit the model's window",
        "",
        "round      7.1: 3000 tokens read, 2400 from the cache (80 %)",
    ];
    assert_eq!(prompt::prompt(&view, false), told.join("\n"));
    let full = prompt::prompt(&view, true);
    assert!(full.starts_with(&prompt::prompt(&view, false)), "{full}");
    assert!(full.ends_with(
        "--- policy (stable)\n# Who you are\n\nAn agent.\n\n--- current_input (turn_scoped)\nCurrent input:"
    ), "{full}");
}

#[test]
fn a_status_says_what_needs_the_operator_and_how_far_its_budgets_are_used() {
    let agent: Answer<Agent> = answer(json!({
        "identity": { "agent_id": "main" },
        "agent": {
            "status": "awake_running", "pending": 0, "total_message_count": 1, "turn_index": 1,
            "current_work_item_id": "work_1",
        },
        "scheduling_posture": { "posture": "active_turn", "reason": "suspended because a budget is reached" },
        "execution": { "cwd": "/w" }, "newest_seq": 9,
    }));
    let budget = |scope: &str, key: &str| {
        serde_json::from_value(json!({
            "scope": scope, "key": key, "period": "total", "limit_tokens": 100, "spent_tokens": 90,
            "spent_usd": "0.000000", "reserved_tokens": 0, "reserved_usd": "0.000000",
            "set_at": "2026-11-15T00:00:00.000Z",
        }))
        .expect("a budget")
    };
    let around = Circumstances {
        briefs: Some(vec![answer(json!({
            "id": "b", "kind": "ack", "created_at": "then", "text": "It stops.", "turn_index": 1,
            "action_required": { "code": "budget_reached", "next_step": "raise it" },
        }))]),
        budgets: vec![
            budget("agent", "main"),
            budget("agent", "other"),
            budget("item", "work_1"),
            budget("host", ""),
        ],
    };
    let shown = summary(&agent, &around);
    for part in [
        "\nneeds you  raise it\n",
        "\nbudget     agent main: 90 of 100 tokens used\n",
        "\nbudget     item work_1: 90 of 100 tokens used\n",
        "\nbudget     host: 90 of 100 tokens used",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("other"), "{shown}");
    let calm = Circumstances {
        briefs: Some(Vec::new()),
        budgets: Vec::new(),
    };
    let shown = summary(&agent, &calm);
    assert!(shown.contains("\nneeds you  nothing\n"), "{shown}");
    assert!(!summary(&agent, &Circumstances::default()).contains("needs you"));
}
