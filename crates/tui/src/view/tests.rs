//! Screens of the main situations, and what holds for every screen.

use crate::model::Model;
use crate::msg::{Msg, News, Question, Reply};
use crate::testing::*;
use crate::update::update;
use holon_api::SkillsResponse;
use holon_client::Answer;
use holon_presentation::DisplayMode;
use ratatui::crossterm::event::KeyCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const REPORT: &str = "## What I did\n\n- fixed `build.rs`\n- ran the **tests**: 214 passed\n\n```diff\n-let x = 1;\n+let x = 2;\n```\n\n| crate | tests |\n|---|---|\n| core | 120 |\n| 漢字 | 94 |\n";

fn read<T: DeserializeOwned>(value: Value) -> Answer<T> {
    Answer::new(value).unwrap()
}

/// A conversation with everything in it.
fn busy(columns: u16, rows: u16) -> Model {
    let mut events = turn(1, 1, "msg_1", "It is green.");
    events.push(admitted(8, "msg_2"));
    events.push(started(9, 2, "msg_2"));
    events.push(round(10, 2, "I mend it first.", &["ApplyPatch"]));
    events.push(executed(11, 2, "ApplyPatch", "M build.rs"));
    events.push(brief(12, 2, "result", "## What I did"));
    events.push(terminal(13, 2));
    let mut model = with_history(columns, rows, events);
    model
        .conversation
        .learn_message("msg_2", "そしてドキュメントも更新してください 🦀");
    model.conversation.learn_brief("brief_2", REPORT);
    model
}

fn open(model: &mut Model, command: &str, question: &Question, content: Reply) {
    let commands = enter(model, command);
    reply(model, &commands, question, content);
}

fn explained(words: &str) -> Reply {
    Reply::Explained(Box::new(read(json!({
        "agent_id": "main", "status": "asleep",
        "scheduling_posture": {"posture": "idle", "reason": words, "wakes_at": "2026-11-16T12:00:00.000Z"},
        "closure": {"outcome": "waiting", "waiting_reason": "timer"},
        "woken_by": ["a message of the operator", words], "pending": 0,
        "planned": [{"at": "2026-11-16T12:00:00.000Z", "what": "the timer fires"}],
        "decisions": [{"at": "2026-11-16T11:00:00.000Z", "what": words}],
    }))))
}

fn listed_agents(words: &str) -> Reply {
    let agent = |id: &str, parent: Option<&str>, posture: &str| {
        read(json!({
            "identity": {"agent_id": id, "lineage_parent_agent_id": parent, "kind": "named", "visibility": "public"},
            "status": "asleep", "pending": 1, "scheduling_posture": {"posture": posture, "reason": words},
            "active_workspace_entry": {"cwd": "/src", "access_mode": "exclusive_write", "projection_kind": "git_worktree_root"},
            "model": {"effective_model": "a/b"},
        }))
    };
    Reply::Agents(vec![
        agent("main", None, "idle"),
        agent("scout", None, "waiting_for_operator"),
        agent("helper", Some("main"), "active_turn"),
    ])
}

fn work(words: &str) -> Reply {
    let item = json!({
        "id": "work_1", "agent_id": "main", "objective": format!("mend the build {words}"), "state": "open",
        "focus": "current", "scheduling_state": "runnable", "plan_status": "ready",
        "plan_artifact": {"path": "/data/work-items/work_1/plan.md", "preview": format!("1. read\n2. mend {words}")},
        "todo_list": [{"text": "read the log", "state": "completed"}, {"text": words, "state": "in_progress"}],
        "blocked_by": null, "recheck_at": null, "completion_report": null, "revision": 3,
        "updated_at": "2026-11-16T10:00:00.000Z",
    });
    Reply::WorkItems(vec![serde_json::from_value(item).unwrap()])
}

fn timers(words: &str) -> Reply {
    Reply::Timers {
        timers: vec![read(json!({
            "id": "timer_1", "status": "active", "cron": "0 9 * * 1-5", "summary": words,
            "next_fire_at": "2026-11-17T09:00:00.000Z", "fire_count": 4,
        }))],
        waits: vec![read(json!({
            "id": "wait_1", "kind": "external", "status": "active", "waiting_for": words,
        }))],
    }
}

fn triggers(words: &str) -> Reply {
    Reply::Triggers(vec![read(json!({
        "id": "trigger_1", "delivery_mode": words, "status": "active", "generation": 2, "trigger_count": 4,
        "last_triggered_at": "2026-11-16T10:00:00.000Z",
    }))])
}

fn tasks(words: &str) -> Reply {
    Reply::Tasks(vec![read(json!({
        "id": "task_1", "kind": "command_task", "status": "running", "summary": words,
        "created_at": "2026-11-16T10:00:00.000Z",
    }))])
}

fn transcript(words: &str) -> Reply {
    Reply::Transcript(vec![
        read(json!({
            "created_at": "2026-11-16T10:00:00.000Z", "turn_index": 1, "kind": "incoming_message",
            "data": {"message": {"body": {"text": words}}},
        })),
        read(json!({
            "created_at": "2026-11-16T10:00:01.000Z", "turn_index": 1, "kind": "assistant_round", "round": 1,
            "data": {"blocks": [{"text": words}, {"name": "ExecCommand", "input": {"cmd": words}}]},
        })),
        read(json!({
            "created_at": "2026-11-16T10:00:02.000Z", "turn_index": 1, "kind": "tool_results", "round": 1,
            "data": {"results": [{"tool_name": "ExecCommand", "summary_text": words}]},
        })),
    ])
}

fn skills(words: &str) -> Reply {
    let listed: SkillsResponse = serde_json::from_value(json!({
        "ok": true, "agent_id": "main", "skills": [],
        "discoverable_skills": [{
            "skill_id": "agent:review", "name": "review", "description": words, "path": "/s/SKILL.md", "scope": "agent",
        }],
    }))
    .unwrap();
    Reply::Skills(Box::new(listed))
}

fn context(words: &str) -> Reply {
    Reply::Context(Box::new(read(json!({
        "agent_id": "main", "model_ref": "a/b", "window_tokens": 200_000, "thread_tokens": 30_000,
        "base_tokens": 5_000, "tools_tokens": 4_000, "high_tokens": 100_000, "low_tokens": 40_000,
        "pin_tokens": 20_000, "pinned_tokens": 700, "asked": words,
        "cold": {"is_cold": true, "after_ms": 300_000, "fold_above_tokens": 16_000},
        "fold": {"cause": words, "turn_index": 9, "last_turn": 6, "tokens_before": 100_400, "tokens_after": 39_000},
        "turns": [
            {"turn_index": 6, "tokens": 40, "folded": true},
            {"turn_index": 7, "tokens": 700, "pinned": true, "kind": words, "began_at": words},
            {"turn_index": 8, "tokens": 90, "kind": "timer_tick", "began_at": "2026-01-01T00:00:00Z"},
        ],
    }))))
}

fn models(words: &str) -> Reply {
    Reply::Models(Box::new(read(json!({"model_availability": [
        {"model": "a/ok", "available": true},
        {"model": "b/none", "available": false, "unavailable_reason": words},
    ]}))))
}

fn prompt(words: &str) -> Reply {
    Reply::DebugPrompt(Box::new(read(json!({
        "agent_id": "main", "agent_home": "/h", "workspace_id": "w", "workspace_anchor": "/w",
        "execution_root": "/w", "cwd": "/w",
        "prompt": {
            "turn_index": 2, "model_ref": "a/b", "budget_tokens": 100, "tools_tokens": 10, "prompt_tokens": 20,
            "prompt_cache_key": "k", "context_fingerprint": "f",
            "blocks": [{
                "source": "system", "stability": "stable", "from_tokens": 9, "to_tokens": 9, "outcome": "kept",
                "text": words,
            }],
        },
    }))))
}

fn usage(words: &str) -> Reply {
    let figures = |tokens: u64, cost: u64, unpriced: u64| {
        json!({
            "calls": 3, "input_tokens": tokens, "cache_read_tokens": 1_000, "cache_write_tokens": 0,
            "output_tokens": 200, "total_tokens": tokens + 200, "estimated_calls": 1, "estimated_tokens": 50,
            "cost": "0.100000", "known_cost_micro_usd": cost, "unpriced_calls": unpriced,
        })
    };
    let row = |key: &str, tokens: u64, cost: u64, unpriced: u64| {
        let mut row = figures(tokens, cost, unpriced);
        row["key"] = key.into();
        row
    };
    let answer = |by: &str, rows: Vec<Value>| {
        let answer = json!({
            "by": by, "rows": rows, "total": figures(182_000, 1_204_000, 1), "time_zone": words,
        });
        serde_json::from_value(answer).unwrap()
    };
    let by_agent = vec![
        row("main", 120_000, 1_000_000, 0),
        row(words, 60_000, 204_000, 1),
        row("夜間ビルド", 12, 0, 1),
    ];
    Reply::Usage(vec![
        answer("agent", by_agent),
        answer("item", vec![row("", 60_000, 100_000, 0)]),
        answer("day", vec![row("2026-11-16", 182_000, 1_204_000, 1)]),
        answer("model", Vec::new()),
    ])
}

fn budgets(words: &str) -> Reply {
    let all = json!({
        "budgets": [
            {
                "scope": "agent", "key": "main", "period": "day", "limit_tokens": 200_000, "spent_tokens": 120_200,
                "spent_usd": "1.000000", "reserved_tokens": 900, "reserved_usd": "0.010000",
                "set_at": "2026-11-16T10:00:00.000Z",
            },
            {
                "scope": "host", "key": "", "period": "total", "limit_usd": "1.000000", "spent_tokens": 182_000,
                "spent_usd": "1.204000", "reserved_tokens": 0, "reserved_usd": "0.000000",
                "set_at": "2026-11-16T10:00:00.000Z",
            },
            {
                "scope": words, "key": words, "period": "total", "limit_usd": "1.000000", "spent_tokens": 1,
                "spent_usd": "unknown", "reserved_tokens": 0, "reserved_usd": "unknown",
                "set_at": "2026-11-16T10:00:00.000Z",
            },
        ],
        "time_zone": words, "agent_day_tokens": 500_000,
    });
    Reply::Budgets(Box::new(serde_json::from_value(all).unwrap()))
}

/// A console whose agent has private children.
fn with_children(columns: u16, rows: u16, words: &str) -> Model {
    let mut model = busy(columns, rows);
    let child = |id: &str, blocked: Option<&str>| {
        json!({
            "identity": {"agent_id": id}, "status": "awake_running", "supervision_task_id": format!("task_{id}"),
            "summary": words, "phase": "running", "blocked_reason": blocked, "work_summary": words,
        })
    };
    let mut agent = agent_json("waiting_for_task", words);
    agent["active_children"] = json!([child("c1", None), child("c2", Some(words))]);
    model.status = Some(Box::new(read(agent)));
    model
}

/// Every page that asks the host, with these words in each of its texts.
fn pages(words: &str) -> Vec<(&'static str, Question, Reply)> {
    vec![
        ("/status", Question::Explain, explained(words)),
        ("/agents", Question::Agents, listed_agents(words)),
        ("/work", Question::WorkItems, work(words)),
        ("/timers", Question::Timers, timers(words)),
        ("/triggers", Question::Triggers, triggers(words)),
        ("/tasks", Question::Tasks, tasks(words)),
        ("/transcript", Question::Transcript, transcript(words)),
        ("/skills", Question::Skills, skills(words)),
        ("/context", Question::Context, context(words)),
        ("/model", Question::Models, models(words)),
        ("/debug-prompt", Question::DebugPrompt, prompt(words)),
        ("/workspace", Question::Status, status("idle", words)),
        ("/usage", Question::Usage, usage(words)),
        ("/budget", Question::Budgets, budgets(words)),
    ]
}

#[test]
fn a_console_that_opens() {
    insta::assert_snapshot!(screen(&model(80, 24)));
}

#[test]
fn a_conversation_on_a_common_terminal() {
    insta::assert_snapshot!(screen(&busy(80, 24)));
}

#[test]
fn a_conversation_on_a_large_terminal_with_all_activity() {
    let mut model = busy(200, 60);
    enter(&mut model, "/display verbose");
    model.notice = None;
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn a_conversation_on_a_small_terminal() {
    insta::assert_snapshot!(screen(&busy(40, 10)));
}

#[test]
fn details_in_the_mode_debug() {
    let mut model = busy(80, 40);
    enter(&mut model, "/display 5");
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn a_turn_that_runs_and_an_answer_that_arrives() {
    let mut model = busy(80, 24);
    push(&mut model, admitted(14, "msg_3"));
    push(&mut model, started(15, 3, "msg_3"));
    model.conversation.learn_message("msg_3", "and now?");
    feed(&mut model, delta(3, 0, "I **think** about"));
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn a_message_that_is_written_with_completions() {
    let mut model = busy(80, 24);
    type_text(&mut model, "/t");
    press(&mut model, KeyCode::Down);
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn a_connection_that_is_lost_and_a_message_of_several_lines() {
    let mut model = busy(80, 24);
    feed(
        &mut model,
        News::Lost("the host at holon.sock did not answer".to_owned()),
    );
    update(&mut model, Msg::Paste("one\n漢字\nthree".to_owned()));
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn each_overlay() {
    for (command, question, content) in pages("some words") {
        let mut model = busy(80, 24);
        open(&mut model, command, &question, content);
        let name = command.trim_start_matches('/').replace('-', "_");
        insta::assert_snapshot!(format!("overlay_{name}"), screen(&model));
    }
    for command in ["/help", "/events"] {
        let mut model = busy(100, 40);
        enter(&mut model, command);
        insta::assert_snapshot!(
            format!("overlay_{}", command.trim_start_matches('/')),
            screen(&model)
        );
    }
}

#[test]
fn the_chart_of_usage_follows_the_width_of_the_screen() {
    let mut model = busy(80, 24);
    open(&mut model, "/usage", &Question::Usage, usage("UTC"));
    for (columns, rows) in [(40, 20), (200, 60)] {
        update(&mut model, Msg::Resize { columns, rows });
        insta::assert_snapshot!(format!("usage_{columns}x{rows}"), screen(&model));
    }
    press(&mut model, KeyCode::Down);
    assert!(
        screen(&model).contains("without a work item"),
        "{}",
        screen(&model)
    );
}

#[test]
fn private_children_stand_under_their_parent() {
    for (columns, rows) in [(80, 24), (40, 20)] {
        let mut model = with_children(columns, rows, "mends the build");
        open(
            &mut model,
            "/agents",
            &Question::Agents,
            listed_agents("words"),
        );
        press(&mut model, KeyCode::Down);
        insta::assert_snapshot!(format!("children_{columns}x{rows}"), screen(&model));
    }
    let mut model = with_children(120, 40, STEERING);
    open(
        &mut model,
        "/agents",
        &Question::Agents,
        listed_agents(STEERING),
    );
    press(&mut model, KeyCode::Down);
    check_safe(&model);
}

#[test]
fn no_size_is_too_small_also_on_the_way_back() {
    for (command, question, content) in pages("漢字 words that are longer than a small line") {
        let mut model = busy(80, 24);
        open(&mut model, command, &question, content);
        for (columns, rows) in (1..14).flat_map(|n| [(n, 1), (1, n), (n, n), (3 * n, n)]) {
            update(&mut model, Msg::Resize { columns, rows });
            screen(&model);
            press(&mut model, KeyCode::PageDown);
        }
    }
    let mut model = busy(80, 24);
    type_text(&mut model, "/");
    let before = screen(&model);
    for (columns, rows) in (1..14).flat_map(|n| [(n, 1), (1, n), (n, n), (3 * n, n), (200, n)]) {
        update(&mut model, Msg::Resize { columns, rows });
        screen(&model);
        press(&mut model, KeyCode::PageUp);
        screen(&model);
    }
    update(
        &mut model,
        Msg::Resize {
            columns: 80,
            rows: 24,
        },
    );
    model.scroll = crate::model::Scroll::Bottom;
    assert_eq!(screen(&model), before);
}

#[test]
fn nothing_that_a_host_says_steers_the_terminal() {
    for (command, question, content) in pages(STEERING) {
        let mut model = busy(120, 40);
        open(&mut model, command, &question, content);
        check_safe(&model);
        press(&mut model, KeyCode::End);
        check_safe(&model);
    }
    let mut model = model(120, 40);
    let mut events = turn(1, 1, "msg_1", STEERING);
    events.push(admitted(8, "msg_2"));
    events.push(started(9, 2, "msg_2"));
    events.push(requested(10, 2, STEERING));
    feed(
        &mut model,
        News::History {
            events,
            has_older: false,
        },
    );
    model.conversation.learn_message("msg_1", STEERING);
    model.conversation.learn_brief("brief_1", STEERING);
    answer(&mut model, &Question::Status, status(STEERING, STEERING));
    for mode in DisplayMode::ALL {
        enter(&mut model, &format!("/display {mode}"));
        check_safe(&model);
    }
    feed(&mut model, delta(2, 0, STEERING));
    update(&mut model, Msg::Paste(STEERING.to_owned()));
    check_safe(&model);
    feed(&mut model, News::Lost(STEERING.to_owned()));
    check_safe(&model);
    feed(&mut model, News::Ended(STEERING.to_owned()));
    check_safe(&model);
    press(&mut model, KeyCode::Esc);
    enter(&mut model, "/events");
    check_safe(&model);
}

#[test]
fn a_work_item_that_is_cut_says_where_all_of_it_is() {
    let mut model = busy(120, 40);
    let plan = "- step\n".repeat(3_000);
    open(&mut model, "/work", &Question::WorkItems, work(&plan));
    press(&mut model, KeyCode::End);
    let shown = screen(&model);
    assert!(
        shown.contains("(more lines are not shown; holon work show work_1 --json has all of it)"),
        "{shown}"
    );
}

#[test]
fn a_flood_of_events_is_shown_in_one_screen() {
    let mut model = with_history(80, 24, Vec::new());
    enter(&mut model, "/display debug");
    for seq in 1..=20_000 {
        push(
            &mut model,
            round(seq, 1, &format!("step {seq}"), &["ExecCommand"]),
        );
    }
    assert!(screen(&model).contains("step 19999"), "{}", screen(&model));
    press(&mut model, KeyCode::PageUp);
    assert!(!screen(&model).contains("step 19999"));
}
