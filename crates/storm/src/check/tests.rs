//! Each rule detects the damage that breaks it, and undamaged evidence breaks none.

use super::*;
use crate::rows::{
    AgentRow, BriefRow, Counters, EffectRow, EventsRow, LogRow, MessageRow, PauseEvent, TaskRow,
    WorkRows,
};
use serde_json::{Value, json};

/// Evidence of one agent that got a prompt, ran a command, applied a patch, and answered.
fn sound() -> Evidence {
    let call = |id: &str, input: Value| json!({ "type": "tool_call", "id": id, "input": input });
    let result = |id: &str, result: &str| {
        let envelope = json!({ "status": "success", "result": result });
        json!({ "entry": "tool_result", "call_id": id, "envelope": envelope })
    };
    let log = [
        json!({ "entry": "assistant_round", "blocks": [
            { "type": "text", "text": "I run it." },
            call("c1", json!({ "cmd": "T=t1.1; x" })),
            call("c2", json!({ "patch": "--- /dev/null\n+++ b/patched/t1.2+0\n" })),
            call("c3", json!({ "task_id": "task_1", "input": "i\n" })),
            call("c4", json!({ "text": "Later: t1.6" })),
        ]}),
        result("c1", "ran:t1.1:"),
        result("c2", ""),
        result("c3", ""),
        result("c4", ""),
    ];
    Evidence {
        rows: Rows {
            agents: vec![AgentRow {
                no: 1,
                id: "a".to_owned(),
                oldest_event: 1,
                counters: Counters {
                    messages: 2,
                    events: 3,
                    log: 5,
                    briefs: 1,
                },
                ..AgentRow::default()
            }],
            messages: vec![prompt(1, "m1", Some(1)), follow_up(2, "t1.6")],
            briefs: vec![brief(1, "b1", &["m1"])],
            log: (1..)
                .zip(log)
                .map(|(seq, entry)| log_row(seq, entry))
                .collect(),
            events: vec![events(1, 1), events(3, 2)],
            pauses: vec![
                pause(1, "turn_suspended"),
                pause(1, "turn_suspension_ended"),
            ],
            effects: Vec::new(),
            tasks: vec![task("T=t1.3; x", true)],
            reserved: Vec::new(),
            budgets: Vec::new(),
            work: WorkRows::default(),
            deliveries: Vec::new(),
        },
        plans: BTreeMap::new(),
        wakes: BTreeMap::new(),
        acknowledged: vec![AcknowledgedPrompt {
            agent: "a".to_owned(),
            message_id: "m1".to_owned(),
            job: 1,
        }],
        runs: vec![CompletedRun {
            job: 2,
            text: "Done. ran:t2.4: patched:t2.5:".to_owned(),
        }],
        failed_runs: vec![FailedRun {
            job: 3,
            status: "failed".to_owned(),
            kind: "quota".to_owned(),
        }],
        failures: FailureCounts {
            jobs: [(3, "server_error"), (3, "quota")].into(),
            ..FailureCounts::default()
        },
        delivered: Vec::new(),
        marks: words("t1.1.b t1.1.e t1.3.b t1.3.i t1.3.e t2.4.b t2.4.e"),
        workspaces: [("a", "t1.2"), ("run-2", "t2.5")]
            .map(|(name, token)| {
                let left = PatchTraces {
                    lines: vec![(token.to_owned(), 2)],
                    files: vec![format!("{token}+0"), format!("{token}+1")],
                };
                (name.to_owned(), left)
            })
            .into(),
        deliveries: BTreeMap::new(),
        views: vec![AgentView {
            agent: "a".to_owned(),
            events: vec![1, 2, 3],
            briefs: words("b1"),
        }],
        processes: Vec::new(),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn prompt(seq: i64, id: &str, outcome: Option<i64>) -> MessageRow {
    MessageRow {
        agent: 1,
        seq,
        queued: false,
        outcome,
        id: id.to_owned(),
        kind: "operator_prompt".to_owned(),
        text: String::new(),
        task_id: None,
        delivery_id: None,
    }
}

fn follow_up(seq: i64, token: &str) -> MessageRow {
    MessageRow {
        kind: "internal_followup".to_owned(),
        text: format!("Later: {token}"),
        ..prompt(seq, "m7", None)
    }
}

fn brief(seq: i64, id: &str, settles: &[&str]) -> BriefRow {
    BriefRow {
        agent: 1,
        seq,
        id: id.to_owned(),
        kind: "result".to_owned(),
        settles: settles.iter().map(|id| (*id).to_owned()).collect(),
        report: None,
    }
}

fn log_row(seq: i64, entry: Value) -> LogRow {
    LogRow {
        agent: 1,
        seq,
        entry,
    }
}

fn events(last_seq: i64, count: i64) -> EventsRow {
    EventsRow {
        agent: 1,
        last_seq,
        count,
    }
}

fn pause(turn: u64, kind: &str) -> PauseEvent {
    PauseEvent {
        agent: 1,
        turn,
        kind: kind.to_owned(),
        reason: String::new(),
    }
}

fn task(cmd: &str, ended: bool) -> TaskRow {
    TaskRow {
        agent: 1,
        id: "task_1".to_owned(),
        ended,
        record: json!({ "status": "completed", "recovery": { "spec": { "cmd": cmd } }, "end": { "exit_status": 0 } }),
    }
}

/// Violations found in sound evidence after this damage, as one text.
fn found(damage: impl FnOnce(&mut Evidence)) -> String {
    let mut evidence = sound();
    damage(&mut evidence);
    violations(&evidence).join("; ")
}

#[test]
fn a_sound_story_breaks_no_rule() {
    assert_eq!(found(|_| {}), "");
}

#[test]
fn a_prompt_without_an_outcome_with_two_or_lost_is_found() {
    let cases = [
        (
            found(|e| e.rows.briefs[0].settles.clear()),
            "a: m1 has no outcome",
        ),
        (
            found(|e| {
                e.rows.briefs.push(brief(2, "b2", &["m1"]));
                e.rows.agents[0].counters.briefs = 2;
                e.views[0].briefs = words("b1 b2");
            }),
            "a: m1 has outcomes [1, 2]",
        ),
        (
            found(|e| e.rows.messages[0].outcome = Some(7)),
            "a: m1 was settled by brief 1 and its row names Some(7)",
        ),
        (
            found(|e| e.acknowledged[0].message_id = "m9".to_owned()),
            "a: m9 (job 1) was acknowledged and is lost",
        ),
        (
            found(|e| e.rows.briefs[0].settles.push("m9".to_owned())),
            "briefs [1] settle m9, which is no operator's message",
        ),
        (
            found(|e| {
                e.rows.messages.push(prompt(3, "m1", Some(1)));
                e.rows.agents[0].counters.messages = 3;
            }),
            "a: m1 was admitted twice; a: m1 has no outcome",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_turn_that_its_provider_ended_or_that_stays_suspended_is_found() {
    let fails = |reason: &str| {
        let entry = json!({ "entry": "runtime_failure", "reason": reason, "text": "x" });
        found(|e| {
            e.rows.log.push(log_row(6, entry));
            e.rows.agents[0].counters.log = 6;
        })
    };
    assert_eq!(fails("agent_stopped"), "");
    assert_eq!(
        fails("provider_failed"),
        "a: a turn was given up (provider_failed): \"x\""
    );
    let suspended = found(|e| e.rows.pauses.push(pause(1, "turn_suspended")));
    assert_eq!(suspended, "a: turn 1 was suspended and never went on");
    let stopped = found(|e| {
        e.rows.pauses.push(pause(1, "turn_suspended"));
        e.rows.pauses.push(pause(1, "turn_terminal"));
    });
    assert_eq!(stopped, "");
}

#[test]
fn a_run_that_failed_otherwise_than_its_provider_did_is_found() {
    let cases = [
        (
            found(|e| e.failed_runs[0].kind = "connection".to_owned()),
            "the run of job 3 was answered as failed (\"connection\"), and no request of it failed so",
        ),
        (
            found(|e| e.failed_runs[0].job = 4),
            "the run of job 4 was answered as failed (\"quota\"), and no request of it failed so",
        ),
        (
            found(|e| e.failed_runs[0].status = "waiting".to_owned()),
            "the run of job 3 was answered as waiting (\"quota\"), and no request of it failed so",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn an_effect_that_happened_twice_or_not_although_reported_is_found() {
    let cases = [
        (
            found(|e| e.marks.push("t1.1.b".to_owned())),
            "t1.1.b happened 2 times",
        ),
        (
            found(|e| e.marks.retain(|mark| mark != "t1.1.e")),
            "t1.1.e left no mark, and log entry 2 of a says it ran",
        ),
        (
            found(|e| e.marks.retain(|mark| mark != "t1.3.b")),
            "t1.3.b left no mark, and task_1 says it ran",
        ),
        (
            found(|e| e.marks.retain(|mark| mark != "t2.4.e")),
            "t2.4.e left no mark, and the run of job 2 says it ran",
        ),
        (
            found(|e| drop(e.workspaces.remove("a"))),
            "patch t1.2 left nothing, and log entry 3 of a says it was applied",
        ),
        (
            found(|e| drop(e.workspaces.remove("run-2"))),
            "patch t2.5 left nothing, and the run of job 2 says it was applied",
        ),
        (
            found(|e| e.marks.retain(|mark| mark != "t1.3.i")),
            "t1.3.i left no mark, and log entry 4 of a says it was written",
        ),
        (
            found(|e| e.rows.messages[1].text.clear()),
            "follow-up t1.6 is no message, and log entry 5 of a says it was queued",
        ),
        (
            found(|e| {
                e.rows.messages.push(follow_up(3, "t1.6"));
                e.rows.agents[0].counters.messages = 3;
            }),
            "t1.6 happened 2 times",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn an_effect_of_a_call_that_was_reported_as_never_started_is_found() {
    let not_started = json!({ "status": "error", "error": { "kind": "not_started" } });
    let command = found(|e| e.rows.log[1].entry["envelope"] = not_started.clone());
    assert_eq!(
        command,
        "t1.1 took effect, and log entry 2 of a says it was not started"
    );
    let patch = found(|e| e.rows.log[2].entry["envelope"] = not_started.clone());
    assert_eq!(
        patch,
        "t1.2 took effect, and log entry 3 of a says it was not started"
    );
    let true_words = found(|e| {
        e.rows.log[1].entry["envelope"] = not_started;
        e.marks.retain(|mark| !mark.starts_with("t1.1."));
    });
    assert_eq!(true_words, "");
}

#[test]
fn a_patch_that_is_half_there_or_there_twice_is_found() {
    let damaged = |damage: fn(&mut PatchTraces)| {
        found(|e| e.workspaces.get_mut("a").into_iter().for_each(damage))
    };
    let cases = [
        (
            damaged(|left| left.lines.clear()),
            "a: patch t1.2+0 and 1 more files are there, and no line for them",
        ),
        (
            damaged(|left| left.lines.push(("t1.2".to_owned(), 2))),
            "a: patch t1.2 happened 2 times",
        ),
        (
            damaged(|left| drop(left.files.pop())),
            "a: patch t1.2 has its line and 1 of 2 files",
        ),
        (
            damaged(|left| left.lines.push(("half a li".to_owned(), 0))),
            "a: patch half a li has its line and 0 of 0 files",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_gap_in_a_sequence_is_found() {
    let cases = [
        (
            found(|e| e.rows.messages[0].seq = 3),
            "a: message 1 is missing: there is 3",
        ),
        (
            found(|e| e.rows.agents[0].counters.log = 6),
            "a: log entry 6 is missing: the last given out was 6",
        ),
        (
            found(|e| e.rows.agents[0].counters.briefs = 2),
            "a: brief 2 is missing: the last given out was 2",
        ),
        (
            found(|e| e.rows.events[1].count = 1),
            "a: event 2 is missing: there is 3; a: the pages told 3 events and 2 are stored, or others",
        ),
        (
            found(|e| e.views[0].events = vec![1, 3]),
            "a: the pages told 2 events and 3 are stored, or others",
        ),
        (
            found(|e| e.views[0].briefs = words("b7")),
            "a: the briefs that were told are not the stored ones",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn events_may_lack_a_prefix_that_retention_removed_and_no_more() {
    let prefix = found(|e| {
        e.rows.events.remove(0);
        e.rows.agents[0].oldest_event = 2;
        e.views[0].events = vec![2, 3];
    });
    assert_eq!(prefix, "");
    let more = found(|e| {
        e.rows.events.remove(0);
        e.views[0].events = vec![2, 3];
    });
    assert_eq!(more, "a: event 1 is missing: there is 2");
}

#[test]
fn a_call_without_a_result_or_with_two_is_found() {
    let cases = [
        (
            found(|e| e.rows.log[1].entry = json!({ "entry": "frame" })),
            "a: c1 was called 1 times and has 0 results",
        ),
        (
            found(|e| e.rows.log[1].entry["call_id"] = json!("c2")),
            "a: c1 was called 1 times and has 0 results; a: c2 was called 1 times and has 2 results",
        ),
        (
            found(|e| e.rows.log[0].entry["blocks"][1]["type"] = json!("text")),
            "a: c1 was called 0 times and has 1 results",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

/// Violations with a message in the queue of an archived child whose task ended with this status.
fn archived_child(status: &str) -> String {
    found(|e| {
        let child = &mut e.rows.agents[0];
        (child.archived, child.parent_task) = (true, Some("task_1".to_owned()));
        e.rows.tasks[0].record["status"] = json!(status);
        e.rows.messages[0].queued = true;
    })
}

#[test]
fn unfinished_work_and_running_processes_are_found() {
    let open = EffectRow {
        agent: 1,
        id: 4,
        effect: json!("x"),
    };
    let cases = [
        (
            found(|e| e.rows.effects.push(open)),
            "a: effect 4 is open: \"x\"",
        ),
        (
            found(|e| e.rows.tasks[0].ended = false),
            "a: task_1 is not over: \"completed\"",
        ),
        (
            found(|e| e.rows.agents[0].open_turn = true),
            "a: its turn is open",
        ),
        (
            found(|e| e.rows.agents[0].temporary = true),
            "a: a temporary agent is left",
        ),
        (
            found(|e| e.rows.messages[0].queued = true),
            "a: m1 (operator_prompt) is still queued",
        ),
        (archived_child("cancelled"), ""),
        (
            archived_child("completed"),
            "a: m1 (operator_prompt) is still queued",
        ),
        (
            found(|e| e.processes = vec!["7 sleep".to_owned()]),
            "a process is left: 7 sleep",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}
