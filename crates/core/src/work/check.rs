//! Limits on the texts of an operator's command. A call of the agent meets the same limits when it is interpreted.

use crate::input::WorkCommand;
use crate::rejection::Rejection;
use holon_domain::intent::{NewTimer, WorkItemChange};
use holon_domain::limits;
use holon_domain::timer::{NO_ZONE, TimerSchedule};
use holon_domain::work_item::TodoItem;

/// Maximum length of a cron expression or a time zone name, in bytes.
const CRON_BYTES: usize = 256;

/// Refuses a command with empty or overlong texts.
pub(super) fn command(command: &WorkCommand) -> Result<(), Rejection> {
    match command {
        WorkCommand::Create(new) => {
            check_words("objective", &new.objective, limits::OBJECTIVE_CHARACTERS)?;
            check_todos(&new.todo_list)
        }
        WorkCommand::Update { change, .. } => check_change(change),
        WorkCommand::CreateTimer(NewTimer {
            schedule, summary, ..
        }) => {
            check_schedule(schedule)?;
            check_summary(summary.as_deref())
        }
        WorkCommand::CreateTimerAfter { summary, .. } => check_summary(summary.as_deref()),
        WorkCommand::Complete { .. }
        | WorkCommand::Resume { .. }
        | WorkCommand::CancelWait { .. }
        | WorkCommand::CancelTimer { .. } => Ok(()),
    }
}

fn check_change(change: &WorkItemChange) -> Result<(), Rejection> {
    if *change == WorkItemChange::default() {
        return Err(invalid(
            "nothing to change; name at least one of objective, plan_status, todo_list and blocked_by",
        ));
    }
    if let Some(objective) = &change.objective {
        check_words("objective", objective, limits::OBJECTIVE_CHARACTERS)?;
    }
    if let Some(todos) = &change.todo_list {
        check_todos(todos)?;
    }
    Ok(())
}

/// Checks the texts of a schedule. `timer` checks whether it has a slot.
pub(crate) fn check_schedule(schedule: &TimerSchedule) -> Result<(), Rejection> {
    match schedule {
        TimerSchedule::Cron {
            expression,
            time_zone,
        } => {
            check_text("cron expression", expression, CRON_BYTES)?;
            match time_zone.as_str() {
                NO_ZONE => Ok(()),
                named => check_text("time zone", named, CRON_BYTES),
            }
        }
        TimerSchedule::Once { .. } | TimerSchedule::Every { .. } => Ok(()),
    }
}

pub(crate) fn check_summary(summary: Option<&str>) -> Result<(), Rejection> {
    match summary {
        Some(summary) => check_words("summary", summary, limits::TIMER_SUMMARY_CHARACTERS),
        None => Ok(()),
    }
}

pub(crate) fn check_todos(todos: &[TodoItem]) -> Result<(), Rejection> {
    if todos.len() > limits::TODO_ITEMS {
        let (count, max) = (todos.len(), limits::TODO_ITEMS);
        return Err(invalid(format!(
            "the checklist has {count} entries and the limit is {max}; fold some of them together"
        )));
    }
    for todo in todos {
        check_words("todo text", &todo.text, limits::TODO_TEXT_CHARACTERS)?;
    }
    Ok(())
}

/// Refuses an empty text, and one of more characters than allowed. For texts whose bound a schema says too: schemas count
/// characters.
pub(crate) fn check_words(what: &str, text: &str, max: usize) -> Result<(), Rejection> {
    let characters = text.chars().count();
    if characters > max {
        return Err(invalid(format!(
            "the {what} has {characters} characters and the limit is {max}; shorten it"
        )));
    }
    check_text(what, text, usize::MAX)
}

/// Refuses an empty text, and one of more bytes than allowed.
pub(crate) fn check_text(what: &str, text: &str, max: usize) -> Result<(), Rejection> {
    if text.trim().is_empty() {
        return Err(invalid(format!("the {what} is empty; say it in words")));
    }
    let bytes = text.len();
    if bytes > max {
        return Err(invalid(format!(
            "the {what} has {bytes} bytes and the limit is {max}; shorten it"
        )));
    }
    Ok(())
}

fn invalid(reason: impl Into<String>) -> Rejection {
    Rejection::InvalidWork {
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::WorkItemId;
    use holon_domain::intent::{BlockerChange, NewWorkItem};
    use holon_domain::timer::MissedSlotPolicy;
    use holon_domain::work_item::{PlanStatus, TodoState};

    fn create(objective: &str, todo_list: Vec<TodoItem>) -> WorkCommand {
        WorkCommand::Create(NewWorkItem {
            objective: objective.to_owned(),
            plan_status: PlanStatus::Draft,
            todo_list,
        })
    }

    fn update(change: WorkItemChange) -> WorkCommand {
        WorkCommand::Update {
            work_item_id: WorkItemId::from_stored("work_1"),
            change,
        }
    }

    fn todo(text: &str) -> TodoItem {
        TodoItem {
            text: text.to_owned(),
            state: TodoState::Pending,
        }
    }

    #[test]
    fn what_has_words_within_the_bounds_is_taken() {
        for fine in [
            create("tidy up", vec![todo("sweep")]),
            update(WorkItemChange {
                blocker: Some(BlockerChange::Clear),
                ..WorkItemChange::default()
            }),
        ] {
            assert_eq!(command(&fine), Ok(()), "{fine:?}");
        }
    }

    #[test]
    fn what_is_empty_or_too_long_is_refused_with_the_name_of_the_part() {
        let long = "x".repeat(limits::OBJECTIVE_CHARACTERS + 1);
        for (refused, part) in [
            (create(" \n", Vec::new()), "objective is empty"),
            (create(&long, Vec::new()), "objective has"),
            (create("tidy", vec![todo("")]), "todo text is empty"),
            (
                create("tidy", vec![todo("x"); limits::TODO_ITEMS + 1]),
                "the checklist has",
            ),
            (update(WorkItemChange::default()), "nothing to change"),
            (
                WorkCommand::CreateTimer(NewTimer {
                    schedule: TimerSchedule::Cron {
                        expression: long,
                        time_zone: "UTC".to_owned(),
                    },
                    missed: MissedSlotPolicy::Once,
                    summary: None,
                }),
                "cron expression has",
            ),
        ] {
            let reason = command(&refused).expect_err("refused").to_string();
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }
}
