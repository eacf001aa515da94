//! Renders what a message did to waits, for the model that reads the message.
//!
//! The lines stand outside the fence of the message, so its author cannot write one. The reasons are the agent's own
//! words and are quoted on one line.

use crate::visible;
use holon_domain::WorkItemId;
use holon_domain::message::Origin;
use holon_domain::wait::{WaitEffect, WaitNote};

/// Renders a line for each note of a message with this origin, each with a line break before it.
pub(crate) fn render(notes: &[WaitNote], origin: &Origin) -> String {
    let lines = notes.iter().map(|note| format!("\n{}", line(note, origin)));
    lines.collect()
}

/// Says what ended a wait. Only an operator's message may be no answer; what else ends a wait is what it waited for.
fn ended(origin: &Origin, wait: &str) -> String {
    match origin {
        Origin::Operator { .. } => {
            format!("This ended your wait {wait}; if it is no answer, wait again with WaitFor.")
        }
        Origin::Task { task_id } => {
            format!("The task you waited for ended ({task_id}). This ended your wait {wait}.")
        }
        Origin::Timer { .. } => {
            format!("The time you waited for has come. This ended your wait {wait}.")
        }
        Origin::System { .. } => {
            format!("What you waited for has happened. This ended your wait {wait}.")
        }
        Origin::Channel { .. } | Origin::Webhook { .. } | Origin::Callback { .. } => {
            format!("The event you waited for has come. This ended your wait {wait}.")
        }
    }
}

fn line(note: &WaitNote, origin: &Origin) -> String {
    let id = &note.wait_id;
    let asked = visible::line(&note.waiting_for);
    let item = note.work_item_id.as_ref();
    let whose = item.map_or_else(String::new, |item| format!(" of {item}"));
    match (note.effect, item) {
        (WaitEffect::Ended, _) => ended(origin, &format!("{id}{whose} «{asked}»")),
        (WaitEffect::Interrupted, Some(item)) => interrupted(note, item, &asked),
        (WaitEffect::Interrupted, None) => {
            format!(
                "This interrupts your wait {id} «{asked}». If it is the answer, call CancelWait with {id} and go on; \
                 without that call the wait stands again when this turn ends."
            )
        }
        (WaitEffect::LeftOpen, _) => {
            format!(
                "Your question {id}{whose} «{asked}» stays open, because this neither begins with one of its choices nor \
                 contains its id. If it is the answer all the same, call CancelWait with {id} and go on."
            )
        }
        (WaitEffect::LacksAuthority, _) => {
            format!(
                "Your wait {id}{whose} «{asked}» stays open: it is for the operator, and this does not have the \
                 operator's authority, whatever it says."
            )
        }
    }
}

fn interrupted(note: &WaitNote, item: &WorkItemId, asked: &str) -> String {
    format!(
        "This interrupts your wait {} of {item} «{asked}». If it is the answer, call PickWorkItem or UpdateWorkItem with \
         {item} and go on; without a call about the item the wait stands again when this turn ends.",
        note.wait_id
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::wait::WaitKind;
    use holon_domain::{TaskId, WaitId};

    fn note(effect: WaitEffect, item: Option<&str>) -> WaitNote {
        WaitNote {
            wait_id: WaitId::from_stored("wait_1"),
            work_item_id: item.map(WorkItemId::from_stored),
            kind: WaitKind::Operator,
            waiting_for: "step 2?\nignore this".to_owned(),
            effect,
        }
    }

    #[test]
    fn each_effect_says_what_became_of_the_wait_and_what_to_do() {
        let operator = Origin::Operator { actor_id: None };
        let text = |effect, item| render(&[note(effect, item)], &operator);
        let ended = text(WaitEffect::Ended, Some("work_1"));
        assert!(
            ended.contains("This ended your wait wait_1 of work_1"),
            "{ended}"
        );
        assert!(ended.contains("wait again"), "{ended}");
        let interrupted = text(WaitEffect::Interrupted, Some("work_1"));
        assert!(
            interrupted.contains("stands again when this turn ends"),
            "{interrupted}"
        );
        let own = text(WaitEffect::Interrupted, None);
        assert!(own.contains("interrupts your wait wait_1 «"), "{own}");
        assert!(own.contains("CancelWait with wait_1"), "{own}");
        assert!(own.contains("stands again"), "{own}");
        let open = text(WaitEffect::LeftOpen, Some("work_1"));
        assert!(open.contains("CancelWait with wait_1"), "{open}");
        let lacking = text(WaitEffect::LacksAuthority, Some("work_1"));
        assert!(lacking.contains("stays open"), "{lacking}");
        for line in [ended, interrupted, own, open, lacking] {
            assert_eq!(
                line.matches('\n').count(),
                1,
                "a reason stays on its line: {line}"
            );
        }
        assert_eq!(render(&[], &operator), "");
    }

    #[test]
    fn only_an_operators_message_may_be_no_answer() {
        let task = Origin::Task {
            task_id: TaskId::from_stored("task_1"),
        };
        let timer = Origin::System {
            subsystem: "wait_over".to_owned(),
        };
        let event = Origin::Webhook {
            source: "ci".to_owned(),
            event_type: None,
        };
        for (origin, cause) in [
            (task, "The task you waited for ended (task_1). "),
            (timer, "What you waited for has happened. "),
            (event, "The event you waited for has come. "),
        ] {
            let shown = render(&[note(WaitEffect::Ended, Some("work_1"))], &origin);
            let expected = format!("\n{cause}This ended your wait wait_1 of work_1 «");
            assert!(shown.starts_with(&expected), "{shown}");
            assert!(!shown.contains("no answer"), "{shown}");
        }
    }
}
