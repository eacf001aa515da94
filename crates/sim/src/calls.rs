//! Calls about commands and tasks that a simulated model makes: long commands, batches, and calls on its own tasks and
//! those of others.

use crate::request::ModelQuery;
use crate::rng::Rng;
use crate::work_calls::wait_for;
use holon_domain::TaskId;
use holon_domain::model::{ReplyBlock, RequestedCall};
use serde_json::{Value, json};

/// Generates a round about tasks: a few calls, input to one, its stop, or a wait.
pub(crate) fn round(asked: ModelQuery<'_>, dice: &mut Rng) -> Vec<ReplyBlock> {
    match dice.below(8) {
        0..=2 if asked.active > 0 => stop_twice(asked, dice),
        3 | 4 if asked.active > 0 => send_and_read(asked, dice),
        5 | 6 if asked.active > 0 => vec![wait_for(asked, dice)],
        _ => {
            let some = (0..=dice.below(3)).map(|_| task_call(asked, dice));
            some.collect()
        }
    }
}

/// Generates a long command or a call about a task.
pub(crate) fn task_call(asked: ModelQuery<'_>, dice: &mut Rng) -> ReplyBlock {
    let tasks = asked.tasks;
    match dice.below(16) {
        _ if asked.active == 0 && dice.percent(70) => long_command(dice),
        0..=3 => long_command(dice),
        4 => call("TaskList", json!({})),
        5 => call("TaskStatus", json!({ "task_id": pick_task(tasks, dice) })),
        6..=8 => call("TaskStop", json!({ "task_id": pick_task(tasks, dice) })),
        9 | 10 => batch(dice),
        11..=13 => {
            let closes = dice.percent(20);
            let input = json!({
                "task_id": pick_task(tasks, dice),
                "input": "yes\n",
                "close_input": closes,
            });
            call("TaskInput", input)
        }
        _ => {
            let waits = dice.percent(60);
            let look = json!({ "task_id": pick_task(tasks, dice), "block": waits });
            call("TaskOutput", look)
        }
    }
}

/// Stops a task twice, without waiting for it to end.
fn stop_twice(asked: ModelQuery<'_>, dice: &mut Rng) -> Vec<ReplyBlock> {
    let id = pick_task(active(asked), dice);
    let stop = || call("TaskStop", json!({ "task_id": id }));
    vec![stop(), stop()]
}

/// Sends input to a task and reads its output.
fn send_and_read(asked: ModelQuery<'_>, dice: &mut Rng) -> Vec<ReplyBlock> {
    let id = pick_task(active(asked), dice);
    let say = |words: &str| call("TaskInput", json!({ "task_id": id, "input": words }));
    let hear = call("TaskOutput", json!({ "task_id": id, "tail_lines": 3 }));
    vec![say("who is there"), hear, say("and now")]
}

/// Generates calls about children: new ones, more than a tree may have, words to one, and stops.
pub(crate) fn about_children(asked: ModelQuery<'_>, dice: &mut Rng) -> Vec<ReplyBlock> {
    let spawn = |dice: &mut Rng| {
        let task = format!("part {}", dice.below(1_000));
        let mode = if dice.percent(40) {
            "worktree"
        } else {
            "inherit"
        };
        let child = json!({ "initial_message": task, "workspace_mode": mode });
        call("SpawnAgent", child)
    };
    let child = |dice: &mut Rng| {
        let found = asked.children.get(dice.index(asked.children.len()));
        found.map_or_else(|| "task_nowhere".to_owned(), ToString::to_string)
    };
    match dice.below(10) {
        0 => (0..12).map(|_| spawn(dice)).collect(),
        1 | 2 => vec![call("TaskStop", json!({ "task_id": child(dice) }))],
        3 | 4 => {
            let input = json!({ "task_id": child(dice), "input": "and then" });
            vec![call("TaskInput", input)]
        }
        5 => vec![
            call("TaskStatus", json!({ "task_id": child(dice) })),
            spawn(dice),
        ],
        6 => {
            let name = format!("named-{}", dice.below(3));
            let public =
                json!({ "preset": "public_named", "agent_id": name, "initial_message": "go on" });
            vec![call("SpawnAgent", public)]
        }
        // Only a parent in a project can give its children worktrees.
        7 | 8 => {
            let enter = call("UseWorkspace", json!({ "path": "/projects/delegated" }));
            let part = json!({ "initial_message": "a part of it", "workspace_mode": "worktree" });
            vec![enter, call("SpawnAgent", part)]
        }
        _ => (0..=dice.below(3)).map(|_| spawn(dice)).collect(),
    }
}

/// Generates a batch of commands.
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
    let twice = dice.pick(&["reuse_running", "reuse_running", "start_new"]);
    call(
        "ExecCommand",
        json!({
            "cmd": format!("serve {}", dice.below(2)),
            "yield_time_ms": patience,
            "accepts_input": dice.percent(80),
            "duplicate_policy": twice,
        }),
    )
}

/// Returns the active tasks of the asking agent.
pub(crate) fn active(asked: ModelQuery<'_>) -> &[TaskId] {
    asked.tasks.get(..asked.active).unwrap_or_default()
}

/// Picks a task id, mostly of a recent task, sometimes of one that does not exist.
fn pick_task(tasks: &[TaskId], dice: &mut Rng) -> String {
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

/// Builds a call as a model makes it.
pub(crate) fn call(name: &str, input: Value) -> ReplyBlock {
    ReplyBlock::Call(RequestedCall {
        provider_id: Some("theirs".to_owned()),
        name: name.to_owned(),
        input,
    })
}
