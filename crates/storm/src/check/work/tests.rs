//! Each rule about lasting work detects the damage that breaks it, and undamaged evidence breaks none.

use super::*;
use crate::rows::{AgentRow, BriefRow, ItemRow, LogRow, MessageRow, SummaryRow, WorkRows};
use serde_json::{Value, json};

/// Evidence of one agent that completed an item, waited for a time, and had a timer fire twice.
fn sound() -> Evidence {
    let call = |id: &str, input: Value| json!({ "type": "tool_call", "id": id, "input": input });
    let result = |id: &str| json!({ "call_id": id, "envelope": { "status": "success" } });
    let log = [
        json!({ "blocks": [
            call("c1", json!({ "objective": "finish work:t1.1:" })),
            call("c2", json!({ "reason": "wait:t1.2:" })),
            call("c3", json!({ "summary": "timer:t1.3:" })),
        ]}),
        result("c1"),
        result("c2"),
        result("c3"),
        json!({ "blocks": [{ "type": "text", "text": "report:t1.1:" }] }),
    ];
    let log = (1..).zip(log).map(|(seq, entry)| LogRow {
        agent: 1,
        seq,
        entry,
    });
    let wait =
        json!({ "waiting_for": "wait:t1.2:", "status": "expired", "ended_by": "its time came" });
    let timer =
        json!({ "summary": "timer:t1.3:", "fire_count": 2, "schedule": { "kind": "every" } });
    let mut rows = Rows {
        agents: vec![AgentRow {
            no: 1,
            id: "a".to_owned(),
            ..AgentRow::default()
        }],
        ..Rows::default()
    };
    rows.log = log.collect();
    rows.briefs = vec![BriefRow {
        agent: 1,
        report: Some("dsum_1".to_owned()),
        ..BriefRow::default()
    }];
    rows.messages = vec![
        message("system_tick", "You waited for: wait:t1.2:"),
        message("timer_tick", "timer:t1.3:"),
        message("timer_tick", "timer:t1.3:"),
        message("system_tick", "You were woken (2 times): look"),
    ];
    rows.work = WorkRows {
        items: vec![ItemRow {
            agent: 1,
            id: "work_1".to_owned(),
            completed: true,
            runnable: false,
            record: json!({ "objective": "finish work:t1.1:", "delivery_summary_id": "dsum_1" }),
        }],
        summaries: vec![SummaryRow {
            agent: 1,
            id: "dsum_1".to_owned(),
            item: "work_1".to_owned(),
            round: Some(5),
            words: None,
        }],
        waits: vec![lasting_row("wait_1", wait)],
        timers: vec![lasting_row("timer_1", timer)],
        hints: Vec::new(),
        slots: vec![
            slot(None, Some("1")),
            slot(Some("1"), Some("2")),
            slot(Some("2"), Some("3")),
        ],
    };
    Evidence {
        rows,
        plans: [(("a".to_owned(), "work_1".to_owned()), lasting::plan("t1.1"))].into(),
        wakes: [(
            "a".to_owned(),
            WakeCounts {
                sent: 3,
                acknowledged: 2,
            },
        )]
        .into(),
        ..Evidence::default()
    }
}

fn message(kind: &str, text: &str) -> MessageRow {
    MessageRow {
        agent: 1,
        kind: kind.to_owned(),
        text: text.to_owned(),
        ..MessageRow::default()
    }
}

fn lasting_row(id: &str, record: Value) -> LastingRow {
    LastingRow {
        agent: 1,
        id: id.to_owned(),
        active: false,
        record,
    }
}

fn slot(planned_at: Option<&str>, next_fire_at: Option<&str>) -> SlotEvent {
    SlotEvent {
        agent: 1,
        timer: "timer_1".to_owned(),
        planned_at: planned_at.map(str::to_owned),
        next_fire_at: next_fire_at.map(str::to_owned),
        queued: planned_at.is_some(),
    }
}

/// Violations found in sound evidence after this damage, as one text.
fn found(damage: impl FnOnce(&mut Evidence)) -> String {
    let mut evidence = sound();
    damage(&mut evidence);
    check(&evidence).join("; ")
}

#[test]
fn a_sound_story_breaks_no_rule() {
    assert_eq!(found(|_| {}), "");
}

#[test]
fn an_item_that_is_lost_doubled_or_without_its_plan_is_found() {
    let cases = [
        (
            found(|e| {
                e.rows.work.items.clear();
                e.plans.clear();
            }),
            "item t1.1 has no row, and log entry 2 of a says it was made",
        ),
        (
            found(|e| {
                let twin = e.rows.work.items[0].clone();
                e.rows.work.items.push(twin);
            }),
            "item t1.1 happened 2 times",
        ),
        (
            found(|e| e.rows.log[1].entry = json!({ "call_id": "c1", "envelope": {} })),
            "item t1.1 has a row, and no call made it",
        ),
        (found(|e| e.plans.clear()), "a: work_1 has no plan file"),
        (
            found(|e| {
                let key = ("a".to_owned(), "work_9".to_owned());
                e.plans.insert(key, String::new());
            }),
            "a: a plan is left of work_9, which is no item",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_completion_that_is_reported_twice_or_not_is_found() {
    let unreported = found(|e| e.rows.briefs.clear());
    assert_eq!(
        unreported,
        "a: the completion of work_1 is reported 0 times"
    );
    let twice = found(|e| {
        let brief = e.rows.briefs[0].clone();
        e.rows.briefs.push(brief);
    });
    assert_eq!(twice, "a: the completion of work_1 is reported 2 times");
    let without = found(|e| drop(e.rows.work.summaries.remove(0)));
    assert_eq!(
        without,
        "a: the completion of work_1 is reported 0 times; \
         a: work_1 has 0 delivery summaries, or one without its report"
    );
    let other = found(|e| e.rows.work.items[0].record["delivery_summary_id"] = json!("dsum_2"));
    assert_eq!(
        other,
        "a: work_1 has 1 delivery summaries, or one without its report"
    );
    let copied = found(|e| {
        let summary = &mut e.rows.work.summaries[0];
        (summary.round, summary.words) = (None, Some("report:t1.1:".to_owned()));
    });
    assert_eq!(copied, "", "retention has copied it");
}

#[test]
fn a_wait_that_was_not_told_or_a_slot_that_was_lost_or_repeated_is_found() {
    let cases = [
        (
            found(|e| drop(e.rows.messages.remove(0))),
            "a: wait_1 expired and was told 0 times",
        ),
        (
            found(|e| drop(e.rows.messages.remove(1))),
            "a: timer_1 fired 2 times and has 1 messages",
        ),
        (
            found(|e| drop(e.rows.work.slots.remove(1))),
            "a: timer_1 fired for Some(\"2\") and Some(\"1\") was next",
        ),
        (
            found(|e| e.rows.work.slots[2] = slot(Some("1"), Some("2"))),
            "a: timer_1 fired for Some(\"1\") and Some(\"2\") was next",
        ),
        (
            found(|e| e.rows.work.timers[0].record["schedule"]["kind"] = json!("once")),
            "a: timer_1 fires once and fired 2 times",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn work_that_sleeps_although_it_may_run_and_wakes_that_were_lost_are_found() {
    let cases = [
        (
            found(|e| e.rows.work.items[0].runnable = true),
            "a: work_1 may run and nothing came of it",
        ),
        (
            found(|e| e.rows.work.waits[0].active = true),
            "a: wait_1 is active and nothing came of it",
        ),
        (
            found(|e| e.rows.work.hints.push(1)),
            "a: a wake hint is pending and nothing came of it",
        ),
        (
            found(|e| drop(e.rows.messages.remove(3))),
            "a: 0 wakes were told, 2 acknowledged and 3 sent",
        ),
        (
            found(|e| {
                e.rows
                    .messages
                    .push(message("system_tick", "You were woken (4 times): x"))
            }),
            "a: 6 wakes were told, 2 acknowledged and 3 sent",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn merged_wakes_are_counted() {
    assert_eq!(wakes_in("You were woken: look"), 1);
    assert_eq!(wakes_in("You were woken (12 times): look"), 12);
    assert_eq!(wakes_in("Something changed"), 0);
}
