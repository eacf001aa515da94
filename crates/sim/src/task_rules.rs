//! Rules for the row of one task: its beginning, its transitions and the truth of its reported end.

use crate::command::State;
use crate::coverage::Coverage;
use crate::keys::{key_of, keys_of};
use crate::tool_world::ToolWorld;
use crate::violation::{Verdict, ensure, violation};
use holon_domain::command::CommandEnd;
use holon_domain::task::{CommandTaskSpec, TaskRecord, TaskStatus};

/// The way in which a task's row begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// Its command outlasted its call and was promoted.
    Promoted,
    /// Its call was cancelled while the command ran.
    TakenOver,
    /// An operator asked for its command.
    Queued,
}

/// Checks that a row begins as a promoted command, as one that is being stopped because its call was cancelled, or
/// queued.
pub(crate) fn check_beginning(row: &TaskRecord, as_what: Beginning) -> Verdict<()> {
    let expected = match as_what {
        Beginning::Promoted => (TaskStatus::Running, true),
        Beginning::TakenOver => (TaskStatus::Cancelling, false),
        Beginning::Queued => (TaskStatus::Queued, true),
    };
    ensure(
        (row.status, row.terminal_reentry) == expected,
        "a task begins as a promoted command, being stopped, or queued",
        || format!("{row:?}"),
    )
}

/// Checks that an ended row never changes and an active one only moves forward.
pub(crate) fn check_transition(before: &TaskRecord, row: &TaskRecord) -> Verdict<()> {
    if before.status.is_terminal() {
        return ensure(before == row, "a task that is over never changes", || {
            format!("{before:?} became {row:?}")
        });
    }
    let back = match row.status {
        TaskStatus::Queued => before.status != TaskStatus::Queued,
        TaskStatus::Running => before.status == TaskStatus::Cancelling,
        _ => false,
    };
    let same_command = if before.command().is_some_and(is_queued) {
        // A start, or an end that shows it, adds what is known of it, and the command stays.
        let text = |task: &TaskRecord| task.command().map(|spec| spec.cmd_digest.clone());
        let runs = row.status == TaskStatus::Running;
        !(runs && row.command().is_some_and(is_queued)) && text(before) == text(row)
    } else {
        before.recovery == row.recovery
    };
    let same = same_command && before.created_at == row.created_at;
    ensure(!back && same, "a task moves forward only", || {
        format!("{before:?} became {row:?}")
    })
}

/// Checks that the reported end of a task agrees with the simulated world.
pub(crate) fn check_end(row: &TaskRecord, tool_world: &ToolWorld, home: &str) -> Verdict<()> {
    let key = key_of(home, row);
    let keys = keys_of(row, &key);
    let states: Vec<Option<State>> = keys
        .iter()
        .map(|key| tool_world.commands.get(key).map(|command| command.state))
        .collect();
    let runs = states.contains(&Some(State::Runs));
    ensure(
        !runs,
        "a task that is over has no command that runs",
        || row.id.to_string(),
    )?;
    let [state] = states.as_slice() else {
        return Ok(());
    };
    let seen = match (row.status, state) {
        (TaskStatus::Completed, Some(State::Over { end, stopped, .. })) => {
            !stopped && *end == CommandEnd::Exited { status: 0 }
        }
        (TaskStatus::Failed, Some(State::Over { end, stopped, .. })) => {
            !stopped && *end != CommandEnd::Exited { status: 0 }
        }
        (TaskStatus::Failed, Some(State::NotStarted)) => row.command().is_some_and(is_queued),
        (TaskStatus::Cancelled, Some(State::Over { stopped, .. })) => *stopped,
        (TaskStatus::Interrupted, None | Some(State::Lost | State::NotStarted | State::Barred)) => {
            true
        }
        (_, _) => false,
    };
    // An ended command may be reported as interrupted only after three processes died before they could report it.
    let unread = row.status == TaskStatus::Interrupted && row.ends_unread >= 3;
    if !seen && !unread {
        return violation(
            "what is said of a task's end is what the world saw",
            format!("{} is {:?}, seen {state:?}", row.id, row.status),
        );
    }
    Ok(())
}

/// Returns true if the command of a row was never reported as started.
const fn is_queued(spec: &CommandTaskSpec) -> bool {
    spec.starts_in.is_some()
}

pub(crate) fn count_end(
    row: &TaskRecord,
    tool_world: &ToolWorld,
    home: &str,
    coverage: &mut Coverage,
) {
    coverage.count(format!("task_ended:{:?}", row.status));
    let command = tool_world.commands.get(&key_of(home, row));
    if command.is_some_and(|command| command.state == State::Lost) {
        coverage.count("task:lost");
    }
}
