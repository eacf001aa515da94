//! The output of a task that is followed: requests for its next part and for earlier ones, and their replies.

use super::ask;
use crate::model::{Model, Purpose};
use crate::msg::{Command, Problem, Reply};
use crate::overlay::{Added, Follow, Overlay, Part};
use crate::view::detail_height;
use holon_client::view::TaskOutput;

/// Follows the output of a task, from its last screenfuls on.
pub(super) fn begin(model: &mut Model, task: &str) -> Vec<Command> {
    if let Some(top) = model.overlay() {
        top.follow = Some(Follow::new(task));
        top.at_end = true;
    }
    ask_output(model).into_iter().collect()
}

fn followed(model: &mut Model) -> Option<&mut Follow> {
    model.overlay().and_then(|top| top.follow.as_mut())
}

/// Asks for the next part of the followed output, unless a request is under way.
pub(super) fn ask_output(model: &mut Model) -> Option<Command> {
    let ticket = model.next_ticket;
    let follow = followed(model)?;
    if follow.asked.is_some() || follow.is_idle() {
        return None;
    }
    follow.asked = Some(ticket);
    let question = follow.question();
    Some(ask(model, Purpose::Output, question))
}

/// Asks for the part before the shown one. Says so if it is not kept here.
pub(super) fn go_back(model: &mut Model) -> Option<Command> {
    let follow = followed(model)?;
    if follow.asked.is_some() || follow.bytes_before() == 0 {
        return None;
    }
    if !follow.go_back() {
        let task = follow.task.clone();
        model.say(format!(
            "earlier output is not kept here; holon task output {task} --after 0 --follow prints it"
        ));
        return None;
    }
    ask_output(model)
}

/// Adds a part of the followed output, and asks for the next at once if there was news. A reply to a request that was
/// made before the output was followed anew is of no use.
pub(super) fn take(model: &mut Model, ticket: u64, reply: Result<Reply, Problem>) -> Vec<Command> {
    let height = detail_height(model);
    let asked = |top: &&mut Overlay| {
        let follow = top.follow.as_ref();
        follow.is_some_and(|follow| follow.asked == Some(ticket))
    };
    let Some(overlay) = model.overlays.iter_mut().find(asked) else {
        return Vec::new();
    };
    let at_end = overlay.at_end;
    let Some(follow) = overlay.follow.as_mut() else {
        return Vec::new();
    };
    follow.asked = None;
    match reply {
        Ok(Reply::TaskOutput(part)) => match add(follow, &part, at_end) {
            Added::Nothing => {}
            Added::More => return ask_output(model).into_iter().collect(),
            Added::Before => keep_place(model, height),
        },
        Err(problem) if !problem.is_link() => {
            follow.is_over = true;
            follow.ended = Some(problem.message);
        }
        Ok(_) | Err(_) => {}
    }
    Vec::new()
}

/// Leaves the shown lines where they are after lines were put before them.
fn keep_place(model: &mut Model, height: usize) {
    let added = detail_height(model).saturating_sub(height);
    if let Some(top) = model.overlay().filter(|top| !top.at_end) {
        top.scroll += added;
    }
}

fn add(follow: &mut Follow, part: &TaskOutput, at_end: bool) -> Added {
    if let Some(reason) = &part.unreadable {
        follow.ended = Some(format!("the output cannot be read: {reason}"));
    }
    let added = follow.add(
        Part {
            text: &part.task.output_preview,
            stderr: part.task.stderr_preview.as_deref().unwrap_or_default(),
            next: part.task.next_offset,
            next_stderr: part.task.next_stderr_offset,
        },
        at_end,
    );
    if part.retrieval_status == "success" && added == Added::Nothing {
        follow.is_over = true;
        let summary = part.task.result_summary.clone();
        follow.ended = summary.or_else(|| Some("the task is over".to_owned()));
    }
    added
}
