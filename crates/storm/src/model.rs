//! The model that all agents use: it finds the jobs of the open turn in a request and makes the next call of each.
//!
//! It keeps no state about turns. Earlier calls are in the request, so an answer that was lost with the host is given
//! again, with new tokens.

use crate::job::{self, Job, NewCall};
use crate::lasting::Reminder;
use serde_json::Value;

/// Line above the message that a turn answers.
const CURRENT_INPUT: &str = "Current input:\n";

/// The open turn, read from a Chat Completions request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Turn {
    /// Jobs of its message and of the messages that joined it.
    pub(crate) jobs: Vec<u64>,
    /// Messages of the runtime about work items and timers.
    pub(crate) reminders: Vec<Reminder>,
    pub(crate) calls: Vec<EarlierCall>,
}

/// A call of an earlier round of the turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EarlierCall {
    pub(crate) tool: String,
    pub(crate) arguments: String,
    /// Result of the call as the model saw it.
    pub(crate) result: String,
}

/// The answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Calls {
        /// Text of the same round; empty unless it is the report of completed work.
        text: String,
        calls: Vec<NewCall>,
    },
    /// Text that ends the turn.
    Text(String),
}

impl Turn {
    /// Reads a request. Each turn begins with a user message that names its current input, and the last one is open.
    pub(crate) fn read(request: &Value) -> Self {
        let mut turn = Self::default();
        let mut ids: Vec<String> = Vec::new();
        for message in request["messages"].as_array().into_iter().flatten() {
            let content = message["content"].as_str().unwrap_or_default();
            match message["role"].as_str() {
                Some("user") => {
                    let current = match content.rsplit_once(CURRENT_INPUT) {
                        Some((_, current)) => {
                            turn = Self::default();
                            ids.clear();
                            current
                        }
                        None => content,
                    };
                    turn.add_jobs(current);
                    turn.reminders.extend(Reminder::read(current));
                }
                Some("assistant") => {
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        ids.push(call["id"].as_str().unwrap_or_default().to_owned());
                        turn.calls.push(EarlierCall {
                            tool: call["function"]["name"]
                                .as_str()
                                .unwrap_or_default()
                                .to_owned(),
                            arguments: arguments(call),
                            result: String::new(),
                        });
                    }
                }
                Some("tool") => {
                    let id = message["tool_call_id"].as_str().unwrap_or_default();
                    let position = ids.iter().position(|known| known == id);
                    if let Some(call) = position.and_then(|position| turn.calls.get_mut(position)) {
                        content.clone_into(&mut call.result);
                    }
                }
                Some(_) | None => {}
            }
        }
        turn
    }

    fn add_jobs(&mut self, text: &str) {
        for number in job::named_in(text) {
            if !self.jobs.contains(&number) {
                self.jobs.push(number);
            }
        }
    }

    /// Returns the next calls of all jobs, or the text that ends the turn.
    pub(crate) fn reply(
        &self,
        job_of: impl Fn(u64) -> Job,
        mut first_calls: impl FnMut(u64, &Job) -> Vec<NewCall>,
    ) -> Reply {
        let next = self.jobs.iter().flat_map(|number| {
            let job = job_of(*number);
            match self.first_call_of(*number) {
                None => first_calls(*number, &job),
                Some(call) => self.next_call(&job, call).into_iter().collect(),
            }
        });
        let mut next: Vec<NewCall> = next.collect();
        let reminded = self.reminders.iter();
        let reminded =
            reminded.filter_map(|reminder| reminder.next_call(|tool, id| self.has(tool, id)));
        let mut text = String::new();
        for (call, report) in reminded {
            next.push(call);
            text.push_str(&report);
        }
        match round_of(next) {
            calls if calls.is_empty() => Reply::Text(self.final_text()),
            calls => Reply::Calls { text, calls },
        }
    }

    /// Returns true if the turn has already made such a call for this id.
    fn has(&self, tool: &str, id: &str) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.tool == tool && call.arguments.contains(id))
    }

    fn first_call_of(&self, number: u64) -> Option<&EarlierCall> {
        let token = job::token_start(number);
        let mut calls = self.calls.iter();
        calls.find(|call| call.arguments.contains(&token))
    }

    /// Returns the next call after one that became a task, unless it was made before.
    fn next_call(&self, job: &Job, call: &EarlierCall) -> Option<NewCall> {
        let Job::Task { then, .. } = job else {
            return None;
        };
        let task_id = task_of(&call.result)?;
        let mut calls = self.calls.iter();
        let is_done = calls.any(|other| other.arguments.contains(task_id));
        if is_done {
            return None;
        }
        job::follow_up(*then, token_of(&call.arguments)?, task_id)
    }

    /// Final text of a turn: the tokens of the commands and patches whose results the model saw.
    fn final_text(&self) -> String {
        let mut parts = vec!["Done.".to_owned()];
        for call in &self.calls {
            let commands = job::reported_in(&call.result);
            parts.extend(commands.iter().map(|token| format!("ran:{token}:")));
            let patched = call.result.lines().filter_map(job::token_of_result_line);
            parts.extend(patched.map(|token| format!("patched:{token}:")));
        }
        parts.join(" ")
    }
}

/// Chooses the calls of one round: `WaitFor` must be the only call of its round, so it comes after all others.
fn round_of(next: Vec<NewCall>) -> Vec<NewCall> {
    let (last, first): (Vec<_>, Vec<_>) = next.into_iter().partition(|call| call.tool == "WaitFor");
    if first.is_empty() {
        last.into_iter().take(1).collect()
    } else {
        first
    }
}

fn arguments(call: &Value) -> String {
    let arguments = &call["function"]["arguments"];
    arguments.as_str().unwrap_or_default().to_owned()
}

/// Parses the token of the command in the arguments of a call.
fn token_of(arguments: &str) -> Option<&str> {
    let command = arguments.get(arguments.find("T=")?..)?;
    job::token_of_command(command)
}

/// Parses the task id from the result of a call.
fn task_of(result: &str) -> Option<&str> {
    let rest = result.split_once(" as task ")?.1;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::TaskAction;
    use serde_json::json;

    fn request(messages: &Value) -> Value {
        json!({ "messages": messages })
    }

    fn call(id: &str, arguments: &str) -> Value {
        json!({ "role": "assistant", "tool_calls": [{ "id": id, "function": { "arguments": arguments } }] })
    }

    fn result(id: &str, content: &str) -> Value {
        json!({ "role": "tool", "tool_call_id": id, "content": content })
    }

    fn calls(calls: Vec<NewCall>) -> Reply {
        Reply::Calls {
            text: String::new(),
            calls,
        }
    }

    fn user(content: &str) -> Value {
        json!({ "role": "user", "content": content })
    }

    fn task(_: u64) -> Job {
        Job::Task {
            pause_ms: 1,
            yield_ms: 0,
            tty: false,
            then: TaskAction::Stop,
        }
    }

    fn first(number: u64, _: &Job) -> Vec<NewCall> {
        vec![NewCall {
            tool: "ExecCommand",
            input: json!(number),
        }]
    }

    #[test]
    fn only_the_jobs_of_the_open_turn_count() {
        let messages = json!([
            user("Current input:\ndo job#1#"),
            user("Recent\njob#1#\nCurrent input:\ndo job#2#"),
            user("and job#3# and job#2#")
        ]);
        assert_eq!(Turn::read(&request(&messages)).jobs, [2, 3]);
    }

    #[test]
    fn a_job_is_begun_followed_up_once_and_then_accounted_for() {
        let mut messages = vec![user("Current input:\ndo job#2#")];
        let reply = |messages: &[Value]| Turn::read(&request(&json!(messages))).reply(task, first);
        assert_eq!(reply(&messages), calls(first(2, &Job::Say)));
        messages.push(call("a", "T=t2.1; x"));
        messages.push(result(
            "a",
            "still running after 1 ms as task task_7 (running)",
        ));
        let stop = job::follow_up(TaskAction::Stop, "t2.1", "task_7").expect("a call");
        assert_eq!(reply(&messages), calls(vec![stop]));
        messages.push(call("b", r#"{"task_id":"task_7"}"#));
        messages.push(result("b", "ran:t2.1:\nA patched/t2.5+0"));
        let last = "Done. ran:t2.1: patched:t2.5:".to_owned();
        assert_eq!(reply(&messages), Reply::Text(last));
    }

    #[test]
    fn a_job_whose_number_begins_like_that_of_another_is_not_taken_for_it() {
        let messages = json!([user("job#2#"), call("a", "T=t21.1; x"), result("a", "")]);
        let reply = Turn::read(&request(&messages)).reply(task, first);
        assert_eq!(reply, calls(first(2, &Job::Say)));
    }

    #[test]
    fn a_wait_is_the_only_call_of_its_round_and_comes_after_all_others() {
        let wait = |number: u64, _: &Job| match number {
            2 => vec![crate::lasting::wait_for_time("t2.1", 5)],
            _ => first(number, &Job::Say),
        };
        let reply = |messages: &Value| Turn::read(&request(messages)).reply(task, wait);
        let both = json!([user("job#2# and job#3#")]);
        assert_eq!(reply(&both), calls(first(3, &Job::Say)));
        let left = json!([
            user("job#2# and job#3#"),
            call("a", "T=t3.1; x"),
            result("a", "")
        ]);
        assert_eq!(reply(&left), calls(wait(2, &Job::Say)));
    }

    #[test]
    fn a_reminder_is_answered_beside_the_jobs_of_its_turn_and_a_report_is_said_with_it() {
        let item = "work_0123456789ab";
        let tick = format!("Go on with your current work item {item}: finish work:t9.1:");
        let messages = json!([user(&tick), user("job#2#")]);
        let Reply::Calls { text, calls } = Turn::read(&request(&messages)).reply(task, first)
        else {
            panic!("no calls");
        };
        assert_eq!(text, "report:t9.1:");
        let tools: Vec<&str> = calls.iter().map(|call| call.tool).collect();
        assert_eq!(tools, ["ExecCommand", "CompleteWorkItem"]);
    }

    #[test]
    fn reminders_and_calls_of_earlier_turns_are_history() {
        let item = "work_0123456789ab";
        let offer = format!("Current input:\nWork item {item} can be taken up: finish work:t9.1:");
        let tick =
            format!("Current input:\nGo on with your current work item {item}: finish work:t9.1:");
        let messages = json!([
            user(&offer),
            call("a", &format!(r#"{{"work_item_id":"{item}"}}"#)),
            result("a", "the run was aborted"),
            user(&tick)
        ]);
        let turn = Turn::read(&request(&messages));
        assert_eq!(turn.calls, []);
        let Reply::Calls { calls, .. } = turn.reply(task, first) else {
            panic!("no calls");
        };
        let tools: Vec<&str> = calls.iter().map(|call| call.tool).collect();
        assert_eq!(tools, ["CompleteWorkItem"]);
    }
}
