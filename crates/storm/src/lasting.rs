//! Jobs that outlast their turn: work items, waits and timers, as tool calls.
//!
//! The runtime comes back to them with messages of its own. The text of such a message is all that the model needs to
//! continue: it names the item or the timer, and the token of the job.

use crate::job::{NewCall, tokens_after};
use serde_json::json;

const OBJECTIVE: &str = "work:";
const PLAN: &str = "plan:";
const REPORT: &str = "report:";
const REASON: &str = "wait:";
const SUMMARY: &str = "timer:";
/// Text in the summary of a repeating timer, whose first tick cancels it.
const REPEATS: &str = "again and again";

/// A message of the runtime about something that outlasted its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reminder {
    /// A work item without focus may be taken up.
    Offered { item: String, token: String },
    /// The current work item may be continued.
    Focused { item: String, token: String },
    /// A repeating timer fired.
    Repeating { timer: String },
}

/// Creates a work item with a plan.
pub(crate) fn create_item(token: &str) -> NewCall {
    NewCall {
        tool: "CreateWorkItem",
        input: json!({ "objective": format!("finish {OBJECTIVE}{token}:"), "plan": plan(token) }),
    }
}

/// Text of the plan file of the item with this token.
pub(crate) fn plan(token: &str) -> String {
    format!("{PLAN}{token}:\n")
}

/// Ends the turn until this time has passed.
pub(crate) fn wait_for_time(token: &str, after_ms: u64) -> NewCall {
    NewCall {
        tool: "WaitFor",
        input: json!({ "reason": format!("{REASON}{token}:"), "wake_on": [{ "after_ms": after_ms }] }),
    }
}

/// Ends the turn until this task has ended.
pub(crate) fn wait_for_task(token: &str, task_id: &str) -> NewCall {
    NewCall {
        tool: "WaitFor",
        input: json!({ "reason": format!("{REASON}{token}:"), "wake_on": [{ "task": task_id }] }),
    }
}

/// Shortest interval that the runtime accepts.
const SHORTEST_INTERVAL_MS: u64 = 1_000;

/// Creates a timer that fires once after `ms`, or every `ms` (at least the shortest interval) until its first tick was
/// read.
pub(crate) fn create_timer(token: &str, ms: u64, repeats: bool) -> NewCall {
    let (field, ms, more) = if repeats {
        (
            "every_ms",
            ms.max(SHORTEST_INTERVAL_MS),
            format!(" {REPEATS}"),
        )
    } else {
        ("after_ms", ms, String::new())
    };
    NewCall {
        tool: "CreateTimer",
        input: json!({ field: ms, "summary": format!("{SUMMARY}{token}:{more}") }),
    }
}

impl Reminder {
    /// Reads a message of the runtime.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.contains(REPEATS) {
            let timer = id_after(text, "timer_")?;
            return Some(Self::Repeating { timer });
        }
        let is_focused = text.contains("Go on with your current work item");
        let is_offered = text.contains("can be taken up");
        let token = (*tokens_after(OBJECTIVE, text).first()?).to_owned();
        let item = id_after(text, "work_")?;
        match (is_focused, is_offered) {
            (true, _) => Some(Self::Focused { item, token }),
            (false, true) => Some(Self::Offered { item, token }),
            (false, false) => None,
        }
    }

    /// Returns the next call and the text of its round. `is_made` tells whether the turn already made this call for
    /// this id.
    pub(crate) fn next_call(
        &self,
        is_made: impl Fn(&str, &str) -> bool,
    ) -> Option<(NewCall, String)> {
        let call = |tool: &'static str, field: &str, id: &String| NewCall {
            tool,
            input: json!({ field: id }),
        };
        match self {
            Self::Repeating { timer } => (!is_made("CancelTimer", timer))
                .then(|| (call("CancelTimer", "timer_id", timer), String::new())),
            Self::Offered { item, .. } if !is_made("PickWorkItem", item) => {
                Some((call("PickWorkItem", "work_item_id", item), String::new()))
            }
            Self::Offered { item, token } | Self::Focused { item, token } => {
                let complete = call("CompleteWorkItem", "work_item_id", item);
                (!is_made("CompleteWorkItem", item))
                    .then(|| (complete, format!("{REPORT}{token}:")))
            }
        }
    }
}

/// Reads the first id with this prefix. The word after the prefix of an id has only digits and small letters.
fn id_after(text: &str, prefix: &str) -> Option<String> {
    let mut starts = text.match_indices(prefix).map(|(at, _)| at);
    starts.find_map(|at| {
        let rest = text.get(at + prefix.len()..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && !c.is_ascii_lowercase());
        let id = rest.get(..end.unwrap_or(rest.len()))?;
        // An id has at least this many characters; `work_item` has not.
        (id.len() >= 10).then(|| format!("{prefix}{id}"))
    })
}

/// Parses the token of a work item from its objective.
pub(crate) fn token_of_objective(text: &str) -> Option<&str> {
    tokens_after(OBJECTIVE, text).first().copied()
}

/// Parses the token of a wait from its reason, or from the message that reports its end.
pub(crate) fn token_of_wait(text: &str) -> Option<&str> {
    tokens_after(REASON, text).first().copied()
}

/// Parses the token of a timer from its summary, which is also the text of its ticks.
pub(crate) fn token_of_timer(text: &str) -> Option<&str> {
    tokens_after(SUMMARY, text).first().copied()
}

/// Tokens of all items whose completion is reported in this text.
pub(crate) fn reports_in(text: &str) -> Vec<&str> {
    tokens_after(REPORT, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: &str = "work_0123456789ab";

    fn never(_: &str, _: &str) -> bool {
        false
    }

    #[test]
    fn an_offered_item_is_picked_and_then_completed_with_its_report() {
        let text =
            format!("Work item {ITEM} can be taken up: finish work:t3.1:. Give it the focus.");
        let offered = Reminder::read(&text).expect("a reminder");
        let (pick, said) = offered.next_call(never).expect("a call");
        assert_eq!((pick.tool, said.as_str()), ("PickWorkItem", ""));
        let picked = |tool: &str, id: &str| tool == "PickWorkItem" && id == ITEM;
        let (complete, said) = offered.next_call(picked).expect("a call");
        assert_eq!(complete.tool, "CompleteWorkItem");
        assert_eq!(reports_in(&said), ["t3.1"]);
        assert_eq!(offered.next_call(|_, _| true), None);
    }

    #[test]
    fn the_current_item_is_completed_and_a_repeating_timer_is_cancelled() {
        let text = format!("Go on with your current work item {ITEM}: finish work:t3.1:");
        let focused = Reminder::read(&text).expect("a reminder");
        let complete = focused.next_call(never).map(|(call, _)| call.tool);
        assert_eq!(complete, Some("CompleteWorkItem"));
        let summary = create_timer("t3.2", 5, true).input["summary"].to_string();
        let text = format!("[origin=timer:timer_0123456789ab] {summary}");
        let (cancel, _) = Reminder::read(&text)
            .and_then(|timer| timer.next_call(never))
            .expect("a call");
        assert_eq!(cancel.input, json!({ "timer_id": "timer_0123456789ab" }));
        assert_eq!(token_of_timer(&text), Some("t3.2"));
    }

    #[test]
    fn other_messages_are_no_reminders_and_tokens_are_read_back() {
        let once = create_timer("t3.2", 5, false);
        let summary = once.input["summary"].as_str().unwrap();
        assert_eq!(Reminder::read(summary), None);
        assert_eq!(token_of_timer(summary), Some("t3.2"));
        let wait = wait_for_time("t3.3", 5);
        assert_eq!(
            token_of_wait(wait.input["reason"].as_str().unwrap()),
            Some("t3.3")
        );
        let item = create_item("t3.4");
        let objective = item.input["objective"].as_str().unwrap();
        assert_eq!(token_of_objective(objective), Some("t3.4"));
        assert_eq!(item.input["plan"], plan("t3.4"));
    }
}
