//! Rule: a call makes one child, the end of its task is told once, and nothing stays reserved in a budget.

use super::token::{calls, count, repeated};
use crate::job;
use crate::rows::{Rows, TaskRow};
use std::collections::BTreeMap;

const CHILD: &str = "child_agent_task";

pub(super) fn check(rows: &Rows) -> Vec<String> {
    let children = || rows.tasks.iter().filter(|row| row.record["kind"] == CHILD);
    let made = count(children().filter_map(token));
    let repeats = repeated(&made);
    let mut found: Vec<String> = repeats
        .iter()
        .map(|words| format!("child {words}"))
        .collect();
    for call in calls(rows).iter().filter(|call| call.has_succeeded()) {
        let text = call.input["initial_message"].as_str().unwrap_or_default();
        let lost = job::token_of_part(text).filter(|token| !made.contains_key(token));
        let source = &call.source;
        found.extend(
            lost.map(|token| format!("child {token} has no task, and {source} says it was made")),
        );
    }
    found.extend(untold(rows, children()));
    let reserved = rows.reserved.iter();
    found.extend(reserved.map(|agent| {
        let name = rows.name(*agent);
        format!("{name}: what a call reserved was not released")
    }));
    found
}

fn token(row: &TaskRow) -> Option<&str> {
    job::token_of_part(row.record["summary"].as_str()?)
}

/// The report of a child is told exactly once, and another end of its task at most once.
fn untold<'a>(rows: &Rows, children: impl Iterator<Item = &'a TaskRow>) -> Vec<String> {
    let results = rows.messages.iter().filter(|row| row.kind == "task_result");
    let mut told: BTreeMap<(i64, &str), u32> = BTreeMap::new();
    for row in results {
        if let Some(task) = &row.task_id {
            *told.entry((row.agent, task)).or_default() += 1;
        }
    }
    let mut found = Vec::new();
    for row in children {
        let times = told.get(&(row.agent, row.id.as_str())).copied();
        let times = times.unwrap_or_default();
        let owed = row.record["status"] == "completed";
        if times > 1 || (owed && times == 0) {
            let name = rows.name(row.agent);
            found.push(format!(
                "{name}: the end of {} was told {times} times",
                row.id
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{LogRow, MessageRow};
    use serde_json::json;

    fn task(id: &str, token: &str, status: &str) -> TaskRow {
        TaskRow {
            agent: 1,
            id: id.to_owned(),
            ended: true,
            record: json!({ "kind": CHILD, "summary": format!("Part {token}"), "status": status }),
        }
    }

    fn told(id: &str) -> MessageRow {
        MessageRow {
            agent: 1,
            kind: "task_result".to_owned(),
            task_id: Some(id.to_owned()),
            ..MessageRow::default()
        }
    }

    fn spawned(token: &str) -> Vec<LogRow> {
        let input = json!({ "initial_message": format!("Part {token}") });
        let block = json!({ "type": "tool_call", "id": "c1", "input": input });
        let result =
            json!({ "entry": "tool_result", "call_id": "c1", "envelope": { "status": "success" } });
        let entries = [json!({ "blocks": [block] }), result];
        let row = |(seq, entry)| LogRow {
            agent: 1,
            seq,
            entry,
        };
        (1..).zip(entries).map(row).collect()
    }

    /// A change that makes sound rows contradict each other.
    type Damage = fn(&mut Rows);

    #[test]
    fn a_child_that_is_doubled_lost_or_told_wrongly_is_found() {
        let sound = || Rows {
            log: spawned("t1.1"),
            tasks: vec![
                task("task_1", "t1.1", "completed"),
                task("task_2", "t1.2", "cancelled"),
            ],
            messages: vec![told("task_1")],
            ..Rows::default()
        };
        let found = |damage: Damage| {
            let mut rows = sound();
            damage(&mut rows);
            check(&rows).join("; ")
        };
        assert_eq!(found(|_| {}), "");
        let cases: [(Damage, &str); 5] = [
            (
                |rows| rows.tasks.push(task("task_3", "t1.2", "failed")),
                "child t1.2 happened 2 times",
            ),
            (
                |rows| rows.log = spawned("t1.9"),
                "child t1.9 has no task, and log entry 2 of an agent that is gone says it was made",
            ),
            (
                |rows| rows.messages.clear(),
                "an agent that is gone: the end of task_1 was told 0 times",
            ),
            (
                |rows| rows.messages.extend([told("task_2"), told("task_2")]),
                "an agent that is gone: the end of task_2 was told 2 times",
            ),
            (
                |rows| rows.reserved.push(1),
                "an agent that is gone: what a call reserved was not released",
            ),
        ];
        for (damage, expected) in cases {
            assert_eq!(found(damage), expected);
        }
    }
}
