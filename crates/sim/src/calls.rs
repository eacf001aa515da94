//! Calls about commands and tasks that a simulated model makes: long ones, several in a row, and what it does with
//! tasks, its own and those of others.

use crate::request::Asked;
use crate::rng::Rng;
use holon_domain::TaskId;
use holon_domain::model::{ReplyBlock, RequestedCall};
use serde_json::{Value, json};

/// A round about tasks: a few calls, a talk with one, or its end.
pub(crate) fn round(asked: Asked<'_>, dice: &mut Rng) -> Vec<ReplyBlock> {
    match dice.below(8) {
        0 | 1 if asked.active > 0 => insist(asked.tasks, dice),
        2 | 3 if asked.active > 0 => converse(asked.tasks, dice),
        _ => {
            let some = (0..=dice.below(3)).map(|_| about_tasks(asked, dice));
            some.collect()
        }
    }
}

/// A command that may take long, or something about a task.
pub(crate) fn about_tasks(asked: Asked<'_>, dice: &mut Rng) -> ReplyBlock {
    let tasks = asked.tasks;
    match dice.below(16) {
        _ if asked.active == 0 && dice.percent(70) => long_command(dice),
        0..=3 => long_command(dice),
        4 => call("TaskList", json!({})),
        5 => call("TaskStatus", json!({ "task_id": named(tasks, dice) })),
        6..=8 => call("TaskStop", json!({ "task_id": named(tasks, dice) })),
        9 | 10 => batch(dice),
        11..=13 => {
            let closes = dice.percent(20);
            let input = json!({
                "task_id": named(tasks, dice),
                "input": "yes\n",
                "close_input": closes,
            });
            call("TaskInput", input)
        }
        _ => {
            let waits = dice.percent(60);
            let look = json!({ "task_id": named(tasks, dice), "block": waits });
            call("TaskOutput", look)
        }
    }
}

/// Stops a task, and does not wait to see whether it listens.
fn insist(tasks: &[TaskId], dice: &mut Rng) -> Vec<ReplyBlock> {
    let id = named(tasks, dice);
    let stop = || call("TaskStop", json!({ "task_id": id }));
    vec![stop(), stop()]
}

/// Talks to a task.
fn converse(tasks: &[TaskId], dice: &mut Rng) -> Vec<ReplyBlock> {
    let id = named(tasks, dice);
    let say = |words: &str| call("TaskInput", json!({ "task_id": id, "input": words }));
    let hear = call("TaskOutput", json!({ "task_id": id, "tail_lines": 3 }));
    vec![say("who is there"), hear, say("and now")]
}

/// Several commands one after the other.
pub(crate) fn batch(dice: &mut Rng) -> ReplyBlock {
    let items: Vec<_> = (0..=dice.below(4))
        .map(|number| {
            let timeout = 100 + dice.below(60_000);
            json!({ "cmd": format!("look {number}"), "timeout_ms": timeout })
        })
        .collect();
    let stops = dice.percent(50);
    call(
        "ExecCommandBatch",
        json!({ "items": items, "stop_on_error": stops }),
    )
}

fn long_command(dice: &mut Rng) -> ReplyBlock {
    let patience = dice.pick(&[0_u64, 0, 500, 3_000]);
    let twice = dice.pick(&["reuse_running", "start_new"]);
    call(
        "ExecCommand",
        json!({
            "cmd": format!("serve {}", dice.below(4)),
            "yield_time_ms": patience,
            "accepts_input": dice.percent(80),
            "duplicate_policy": twice,
        }),
    )
}

/// A task, mostly one of those that began last; sometimes one there is not.
fn named(tasks: &[TaskId], dice: &mut Rng) -> String {
    let none = "task_nowhere".to_owned();
    if dice.percent(8) {
        return none;
    }
    let among = if dice.percent(85) {
        tasks.len().min(3)
    } else {
        tasks.len()
    };
    let found = tasks.get(dice.index(among));
    found.map_or(none, ToString::to_string)
}

/// A call as a model makes it.
pub(crate) fn call(name: &str, input: Value) -> ReplyBlock {
    ReplyBlock::Call(RequestedCall {
        provider_id: Some("theirs".to_owned()),
        name: name.to_owned(),
        input,
    })
}
