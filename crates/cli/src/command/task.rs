//! `holon task`: starts, lists, shows, follows, stops and writes to the tasks of an agent.

use super::text;
use crate::addressing::hint;
use crate::args::{OutputArgs, StartArgs, TaskCommand};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::live::LiveOutput;
use crate::output::{Format, Output};
use crate::render::{self, quote_word};
use crate::target::Target;
use holon_api::{ListFilter, StartTaskRequest, TaskInputRequest};
use holon_client::view::TaskOutput;
use holon_client::{Answer, TaskOutputQuery, retry_read};
use holon_domain::{AgentId, TaskId};
use std::time::Duration;

/// Pause between two looks at a task that has printed nothing new. Output files give no notice.
const FOLLOW_PAUSE: Duration = Duration::from_millis(250);

/// Runs one subcommand of `task`.
pub(super) async fn run(
    target: Target,
    command: TaskCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        TaskCommand::List { all, limit, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            list(&host, all, limit, output).await
        }
        TaskCommand::Start(args) => start(target, args, output).await,
        TaskCommand::Show { task, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, TaskId::from_stored(task));
            let found = host.check_answer(host.client().task(&agent_id, &id).await);
            let found = found.map_err(|failure| name_task(failure, &agent_id, &id))?;
            output.answer_wrapped(&found, |task| render::task::task(task, &agent_id));
            Ok(Exit::Done)
        }
        TaskCommand::Output(args) => print_output(target, args, output).await,
        TaskCommand::Input {
            task,
            text,
            close,
            no_newline,
            agent,
        } => {
            let request = TaskInputRequest {
                input: input_text(text, no_newline)?,
                close_input: close,
                ..TaskInputRequest::default()
            };
            let host = Host::find(target, agent.agent, output)?;
            write(&host, &TaskId::from_stored(task), &request, output).await
        }
        TaskCommand::Stop { task, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            stop(&host, &TaskId::from_stored(task), output).await
        }
    }
}

/// Returns the text to write. Standard input is written as it is.
fn input_text(text: Option<String>, no_newline: bool) -> Result<String, Failure> {
    match text {
        None => Ok(String::new()),
        Some(typed) if typed == "-" => text::read_argument("text", typed),
        Some(typed) if no_newline => Ok(typed),
        Some(typed) => Ok(format!("{typed}\n")),
    }
}

async fn list(host: &Host, all: bool, limit: u64, output: &Output) -> Result<Exit, Failure> {
    let filter = if all {
        ListFilter::All
    } else {
        ListFilter::Active
    };
    let agent_id = host.agent_id().await?;
    let tasks = host.check_answer(host.client().tasks(&agent_id, filter, limit).await)?;
    output.answer_wrapped(&tasks, |tasks| render::task::tasks(tasks, all, &agent_id));
    Ok(Exit::Done)
}

async fn start(target: Target, args: StartArgs, output: &Output) -> Result<Exit, Failure> {
    let request = StartTaskRequest {
        cmd: shell_text(&args.cmd),
        summary: args.summary,
        workdir: args.workdir,
        shell: args.shell,
        login: args.login.then_some(true),
        tty: args.tty.then_some(true),
        accepts_input: args.accepts_input.then_some(true),
        ..StartTaskRequest::default()
    };
    let host = Host::find(target, args.agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    let started = host.check_answer(host.client().start_task(&agent_id, &request).await)?;
    output.answer(&started, |task| {
        let id = &task.task_id;
        hint(format!(
            "{id} starts; follow it with: holon task output --follow {id} --agent {agent_id}"
        ))
    });
    Ok(Exit::Done)
}

/// Names the agent and the task in the refusal of a task that the agent does not have: it may be that of another agent.
fn name_task(mut failure: Failure, agent_id: &AgentId, id: &TaskId) -> Failure {
    if !failure.is("task_not_found") {
        return failure;
    }
    failure.body.error = format!("agent {agent_id} has no task {id}");
    failure.hint(format!(
        "list its tasks with: holon task list --all --agent {agent_id}; name the agent of a task with --agent ID"
    ))
}

/// Joins the words of a command line to a text for the shell. A single word is such a text already.
fn shell_text(words: &[String]) -> String {
    match words {
        [text] => text.clone(),
        words => {
            let quoted: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
            quoted.join(" ")
        }
    }
}

async fn print_output(target: Target, args: OutputArgs, output: &Output) -> Result<Exit, Failure> {
    let host = Host::find(target, args.agent.agent, output)?;
    let (agent_id, id) = (host.agent_id().await?, TaskId::from_stored(args.task));
    if args.follow {
        return follow(&host, &agent_id, &id, args.after, output).await;
    }
    let query = TaskOutputQuery {
        after_byte: args.after,
        tail_lines: args.tail,
        ..TaskOutputQuery::default()
    };
    let asked = host.client().task_output(&agent_id, &id, query).await;
    let part = host
        .check_answer(asked)
        .map_err(|failure| name_task(failure, &agent_id, &id))?;
    if let Some(reason) = &part.unreadable {
        output.note(&format!("the output cannot be read: {reason}"));
    }
    if let Some(note) = beyond_end(args.after, &part) {
        output.note(&note);
    }
    output.answer(&part, |part| part.task.output_preview.clone());
    Ok(Exit::Done)
}

/// Says that an offset lies behind the end of the output, where there is nothing to print.
fn beyond_end(after: Option<u64>, part: &TaskOutput) -> Option<String> {
    let (after, end) = (after?, part.task.next_offset?);
    (after > end)
        .then(|| format!("nothing is after byte {after}: the output has {end} bytes so far"))
}

/// Prints the output from an offset on until the task is over. Both streams are read on by their own offsets, so no byte
/// is printed twice.
#[expect(
    clippy::disallowed_methods,
    reason = "a client that follows looks again after a pause"
)]
async fn follow(
    host: &Host,
    agent_id: &AgentId,
    id: &TaskId,
    after: Option<u64>,
    output: &Output,
) -> Result<Exit, Failure> {
    let mut query = TaskOutputQuery {
        after_byte: Some(after.unwrap_or_default()),
        stderr_after_byte: Some(0),
        ..TaskOutputQuery::default()
    };
    let mut ended = std::pin::pin!(output.ended());
    let mut has_printed = false;
    loop {
        // A host that is restarted meanwhile goes on with the task.
        let asked = retry_read(async || host.client().task_output(agent_id, id, query).await).await;
        let part = host
            .check_answer(asked)
            .map_err(|failure| name_task(failure, agent_id, id))?;
        // Without its files, the host shows the end of the output once more.
        let is_repeated = part.unreadable.is_some() && has_printed;
        if has_news(&part) && !is_repeated {
            has_printed = true;
            print_part(&part, output);
        }
        let next = TaskOutputQuery {
            after_byte: part.task.next_offset.or(query.after_byte),
            stderr_after_byte: part.task.next_stderr_offset.or(query.stderr_after_byte),
            ..query
        };
        let advanced = next.after_byte != query.after_byte
            || next.stderr_after_byte != query.stderr_after_byte;
        query = next;
        if part.retrieval_status == "success" && !advanced {
            output.show(&[LiveOutput::TextEnd]);
            if let Some(end) = &part.task.result_summary {
                output.note(end);
            }
            return Ok(Exit::Done);
        }
        let pause = if advanced {
            Duration::ZERO
        } else {
            FOLLOW_PAUSE
        };
        tokio::select! {
            biased;
            () = &mut ended => return Ok(Exit::Done),
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn has_news(part: &TaskOutput) -> bool {
    let complaints = part.task.stderr_preview.as_deref().unwrap_or_default();
    !part.task.output_preview.is_empty() || !complaints.is_empty()
}

fn print_part(part: &Answer<TaskOutput>, output: &Output) {
    if output.format() == Format::Json {
        output.item(part, |_| String::new());
        return;
    }
    output.show(&[LiveOutput::Text(part.task.output_preview.clone())]);
    let complaints = part.task.stderr_preview.as_deref().unwrap_or_default();
    if !complaints.is_empty() {
        output.note(complaints.trim_end_matches('\n'));
    }
}

async fn write(
    host: &Host,
    id: &TaskId,
    request: &TaskInputRequest,
    output: &Output,
) -> Result<Exit, Failure> {
    let agent_id = host.agent_id().await?;
    let asked = host.client().task_input(&agent_id, id, request).await;
    let written = host
        .check_answer(asked)
        .map_err(|failure| name_task(failure, &agent_id, id))?;
    output.answer(&written, |written| {
        let closed = match &written.not_closed {
            Some(reason) => format!("; it was not closed: {reason}"),
            None if request.close_input => ", which is closed now".to_owned(),
            None => String::new(),
        };
        format!(
            "wrote {} bytes to the input of {id}{closed}",
            written.bytes_written
        )
    });
    Ok(Exit::Done)
}

async fn stop(host: &Host, id: &TaskId, output: &Output) -> Result<Exit, Failure> {
    let agent_id = host.agent_id().await?;
    let stopped = host
        .check_answer(host.client().stop_task(&agent_id, id).await)
        .map_err(|failure| name_task(failure, &agent_id, id))?;
    output.answer(&stopped, |stopped| {
        let id = &stopped.task.task_id;
        match (stopped.stop_requested, stopped.force_stop_requested) {
            (false, _) => format!("{id} was over already: {}", stopped.task.status),
            (true, true) => format!("{id} is killed with everything it started"),
            (true, false) => {
                format!("{id} is asked to end; the same command again kills it")
            }
        }
    });
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_not_there_is_named_with_its_agent_and_other_refusals_stay() {
        let scout = AgentId::parse("scout").expect("an id");
        let id = TaskId::from_stored("task_1".to_owned());
        let refused = |code: &str| Failure::new(Exit::Failed, code, "no");
        let named = name_task(refused("task_not_found"), &scout, &id).body;
        assert_eq!(named.error, "agent scout has no task task_1");
        let hint = named.hint.expect("a next step");
        assert!(
            hint.contains("holon task list --all --agent scout"),
            "{hint}"
        );
        let other = name_task(refused("task_over"), &scout, &id).body;
        assert_eq!((other.error.as_str(), other.hint), ("no", None));
    }
}
