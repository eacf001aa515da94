//! Requests to the host: each question is one call of the client, and its reply is kept typed.

mod context;
mod image;
mod search;
mod trigger;

use crate::msg::{Cause, Problem, Question, Reply, Request, Sending};
use holon_api::{
    AttachWorkspaceRequest, ControlAction, CreateAgentRequest, CreateWorkItemRequest,
    DetachWorkspaceRequest, InstallSkillRequest, ListFilter, PageOrder, PromptRequest,
    SetModelRequest, TaskInputRequest, UninstallSkillRequest, UseWorkspaceRequest, WakeRequest,
};
use holon_client::view::TaskStop;
use holon_client::{Client, Error, EventsQuery, SeqQuery, TaskOutputQuery, UsageQuery};
use holon_domain::guidance::{InstallMode, SkillSource};
use holon_domain::intent::WorkItemFilter;
use holon_domain::limits::{EVENT_PAGE_MAX, LIST_PAGE_MAX};
use holon_domain::usage::UsageGrouping;
use holon_domain::workspace::UseMode;
use holon_domain::{AgentId, TaskId, TimerId, WaitId, WorkItemId};

/// Entries of a list.
const LIST: u64 = 100;
/// Entries of a transcript.
const TRANSCRIPT: u64 = 200;

/// Calls the method of the client that answers the question. Every failure becomes words for the operator.
pub(super) async fn ask(client: &Client, request: Request) -> Result<Reply, Problem> {
    let Request {
        agent,
        question,
        sending,
    } = request;
    let reply = match question {
        question @ (Question::Status
        | Question::Explain
        | Question::Agents
        | Question::Briefs { .. }
        | Question::Transcript
        | Question::Messages { .. }
        | Question::Older { .. }
        | Question::Models
        | Question::Skills
        | Question::Context
        | Question::Usage
        | Question::Budgets
        | Question::DebugPrompt) => read(client, &agent, question).await,
        question @ (Question::Tasks
        | Question::TaskOutput { .. }
        | Question::WorkItems
        | Question::WorkItem { .. }
        | Question::Triggers
        | Question::RevealTrigger { .. }
        | Question::Timers) => read_work(client, &agent, question).await,
        Question::Send { text, images } => {
            let digests = images.into_iter().map(|image| image.digest.into());
            let request = PromptRequest {
                text,
                images: digests.collect(),
                priority: None,
                max_turns: None,
                trust: None,
            };
            send(client, &agent, request, sending).await
        }
        Question::UploadImage { path } => return image::upload(client, path).await,
        other => act(client, &agent, other).await,
    };
    reply.map_err(|error| problem(&error))
}

/// Sends a message, under its key where it has one.
async fn send(
    client: &Client,
    agent: &AgentId,
    request: PromptRequest,
    sending: Option<Sending>,
) -> Result<Reply, Error> {
    let admitted = match sending {
        None => client.prompt(agent, &request).await?,
        Some(Sending { key, is_again }) if is_again => {
            client.prompt_again(agent, &request, &key).await?
        }
        Some(Sending { key, .. }) => client.prompt_keyed(agent, &request, &key).await?,
    };
    Ok(Reply::Sent {
        message_id: admitted.message_id.as_str().to_owned(),
    })
}

fn problem(error: &Error) -> Problem {
    Problem {
        message: match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        },
        cause: cause(error),
    }
}

fn cause(error: &Error) -> Cause {
    match error {
        error if is_unauthorized(error) => Cause::Unauthorized,
        Error::Unreachable { .. } => Cause::Unreachable,
        Error::Interrupted { .. } => Cause::Unanswered,
        Error::Protocol { .. } => Cause::Unclear,
        Error::Api { status, .. } => match status {
            429 | 503 => Cause::Busy,
            500.. => Cause::Unclear,
            _ => Cause::Refused,
        },
        Error::StoreReplaced { .. } | Error::AgentDeleted { .. } | Error::Token => Cause::Refused,
    }
}

/// Returns true if the host does not accept the token.
pub(super) const fn is_unauthorized(error: &Error) -> bool {
    matches!(error, Error::Token | Error::Api { status: 401, .. })
}

async fn read(client: &Client, agent: &AgentId, question: Question) -> Result<Reply, Error> {
    Ok(match question {
        Question::Status => Reply::Status(Box::new(client.status(Some(agent)).await?)),
        Question::Explain => Reply::Explained(Box::new(client.explain(agent).await?)),
        Question::Agents => Reply::Agents(client.agents().await?),
        Question::Briefs { up_to } => {
            let query = SeqQuery {
                before_seq: Some(up_to.saturating_add(1)),
                limit: Some(LIST),
                ..SeqQuery::default()
            };
            Reply::Briefs(client.briefs_page(Some(agent), query).await?.entries)
        }
        Question::Messages { turn } => search::messages(client, agent, turn).await?,
        Question::Transcript => {
            Reply::Transcript(client.transcript(Some(agent), Some(TRANSCRIPT)).await?)
        }
        Question::Older { before_seq } => older(client, agent, before_seq).await?,
        Question::Models => Reply::Models(Box::new(client.models().await?)),
        Question::Skills => Reply::Skills(Box::new(client.skills(agent).await?)),
        Question::Context => Reply::Context(Box::new(client.context(agent).await?)),
        Question::Usage => usage(client).await?,
        Question::Budgets => Reply::Budgets(Box::new(client.budgets().await?)),
        _ => Reply::DebugPrompt(Box::new(client.debug_prompt(agent, None).await?)),
    })
}

/// Reads the first rows of each grouping.
async fn usage(client: &Client) -> Result<Reply, Error> {
    let mut answers = Vec::new();
    for by in [
        UsageGrouping::Agent,
        UsageGrouping::Item,
        UsageGrouping::Day,
        UsageGrouping::Model,
    ] {
        let query = UsageQuery {
            by,
            ..UsageQuery::default()
        };
        answers.push(client.usage(&query).await?);
    }
    Ok(Reply::Usage(answers))
}

async fn older(client: &Client, agent: &AgentId, before_seq: u64) -> Result<Reply, Error> {
    let query = EventsQuery {
        before_seq: Some(before_seq),
        limit: Some(EVENT_PAGE_MAX),
        order: Some(PageOrder::Desc),
        ..EventsQuery::default()
    };
    let mut page = client.events(agent, query).await?;
    page.events.reverse();
    Ok(Reply::Older {
        has_older: page.has_older,
        events: page.events,
    })
}

async fn read_work(client: &Client, agent: &AgentId, question: Question) -> Result<Reply, Error> {
    Ok(match question {
        Question::Tasks => Reply::Tasks(client.tasks(agent, ListFilter::All, LIST).await?),
        Question::TaskOutput {
            task,
            after_byte,
            stderr_after_byte,
        } => {
            let query = TaskOutputQuery {
                after_byte: Some(after_byte),
                stderr_after_byte: Some(stderr_after_byte),
                ..TaskOutputQuery::default()
            };
            let id = TaskId::from_stored(task);
            Reply::TaskOutput(Box::new(client.task_output(agent, &id, query).await?))
        }
        Question::WorkItem { id } => {
            let id = WorkItemId::from_stored(id);
            Reply::WorkItem(Box::new(client.work_item(agent, &id).await?))
        }
        Question::WorkItems => {
            let page = client.work_items(agent, WorkItemFilter::All, None, LIST);
            Reply::WorkItems(page.await?.work_items.clone())
        }
        Question::Triggers => Reply::Triggers(client.triggers(agent).await?),
        Question::RevealTrigger { id } => trigger::reveal(client, agent, id).await?,
        _ => Reply::Timers {
            timers: client.timers(agent, ListFilter::Active, LIST).await?,
            waits: client.waits(agent, ListFilter::Active, LIST).await?,
        },
    })
}

async fn act(client: &Client, agent: &AgentId, question: Question) -> Result<Reply, Error> {
    let done = match question {
        Question::TaskInput { task, input } => {
            let request = TaskInputRequest {
                input,
                ..TaskInputRequest::default()
            };
            let id = TaskId::from_stored(task);
            let written = client.task_input(agent, &id, &request).await?;
            format!("{} bytes are written to {id}", written.bytes_written)
        }
        Question::StopTask { task } => {
            stopped(&*client.stop_task(agent, &TaskId::from_stored(task)).await?)
        }
        Question::CancelTimer { id } => {
            client
                .cancel_timer(agent, &TimerId::from_stored(id))
                .await?;
            "the timer is cancelled".to_owned()
        }
        Question::CancelWait { id } => {
            client.cancel_wait(agent, &WaitId::from_stored(id)).await?;
            "the wait is cancelled".to_owned()
        }
        question @ (Question::CompleteWorkItem { .. }
        | Question::ResumeWorkItem { .. }
        | Question::CreateWorkItem { .. }) => change_work(client, agent, question).await?,
        question @ (Question::CreateTrigger { .. }
        | Question::RotateTrigger { .. }
        | Question::RevokeTrigger { .. }) => trigger::change(client, agent, question).await?,
        question @ (Question::AttachWorkspace { .. }
        | Question::UseWorkspace { .. }
        | Question::ExitWorkspace
        | Question::DetachWorkspace { .. }) => change_workspace(client, agent, question).await?,
        question @ (Question::PinTurn { .. }
        | Question::UnpinTurn { .. }
        | Question::FoldContext
        | Question::ClearContext) => context::change(client, agent, question).await?,
        other => change_agent(client, agent, other).await?,
    };
    Ok(Reply::Done(done))
}

fn stopped(stop: &TaskStop) -> String {
    let id = &stop.task.task_id;
    match (stop.stop_requested, stop.force_stop_requested) {
        (false, _) => format!("{id} was over already: {}", stop.task.status),
        (true, true) => format!("{id} is killed with everything it started"),
        (true, false) => format!("{id} is asked to end; stopping it again kills it"),
    }
}

async fn change_work(
    client: &Client,
    agent: &AgentId,
    question: Question,
) -> Result<String, Error> {
    Ok(match question {
        Question::CompleteWorkItem { id } => {
            let id = WorkItemId::from_stored(id);
            let item = client.complete_work_item(agent, &id).await?;
            format!("completed: {}", item.objective)
        }
        Question::ResumeWorkItem { id } => {
            let id = WorkItemId::from_stored(id);
            let item = client.resume_work_item(agent, &id).await?;
            format!("resumed: {}", item.objective)
        }
        Question::CreateWorkItem { objective } => {
            let request = CreateWorkItemRequest {
                objective,
                ..CreateWorkItemRequest::default()
            };
            let item = client.create_work_item(agent, &request).await?;
            format!("created {}: {}", item.id.as_str(), item.objective)
        }
        _ => String::new(),
    })
}

async fn change_workspace(
    client: &Client,
    agent: &AgentId,
    question: Question,
) -> Result<String, Error> {
    Ok(match question {
        Question::AttachWorkspace { path } => {
            let request = AttachWorkspaceRequest {
                path,
                ..AttachWorkspaceRequest::default()
            };
            let attached = client.attach_workspace(agent, &request).await?;
            format!(
                "attached {} as {}",
                attached.workspace_anchor, attached.workspace_id
            )
        }
        Question::UseWorkspace { id, isolated } => {
            let request = UseWorkspaceRequest {
                workspace_id: Some(id),
                mode: isolated.then_some(UseMode::Isolated),
                ..UseWorkspaceRequest::default()
            };
            let selected = client.use_workspace(agent, &request).await?;
            let notes = selected.notes.iter().map(|note| format!("; {note}"));
            format!(
                "works in {}{}",
                selected.entry.cwd,
                notes.collect::<String>()
            )
        }
        Question::ExitWorkspace => {
            client.exit_workspace(agent).await?;
            "the agent works in its home".to_owned()
        }
        Question::DetachWorkspace { id } => {
            let request = DetachWorkspaceRequest {
                workspace_id: id,
                ..DetachWorkspaceRequest::default()
            };
            client.detach_workspace(agent, &request).await?;
            "the workspace is detached; its directory stays".to_owned()
        }
        _ => String::new(),
    })
}

async fn change_agent(
    client: &Client,
    agent: &AgentId,
    question: Question,
) -> Result<String, Error> {
    Ok(match question {
        Question::SetModel { model, effort } => {
            // A word that is no effort is left to the host to refuse.
            let effort = effort.map(|effort| serde_json::from_value(effort.into()));
            let request = SetModelRequest {
                model,
                reasoning_effort: effort.and_then(Result::ok),
                ..SetModelRequest::default()
            };
            let change = client.set_model(agent, &request).await?;
            let now = change.model.effective_model.clone().unwrap_or_default();
            format!("the next turn asks {now}")
        }
        Question::ClearModel => {
            let change = client.clear_model(agent).await?;
            let now = change.model.effective_model.clone();
            format!(
                "the next turn asks {}",
                now.as_deref().unwrap_or("no model")
            )
        }
        Question::InstallSkill { name_or_path } => {
            let kind = skill_source(name_or_path);
            let request = InstallSkillRequest { kind };
            let change = client.install_skill(agent, &request).await?;
            format!("skill {} is installed", change.skill_name)
        }
        Question::UninstallSkill { name } => {
            let request = UninstallSkillRequest { name };
            let change = client.uninstall_skill(agent, &request).await?;
            format!("skill {} is removed", change.skill_name)
        }
        Question::CreateAgent => {
            let made = client
                .create_agent(agent, &CreateAgentRequest::default())
                .await?;
            format!("agent {} is there; switch to it in /agents", made.agent_id)
        }
        Question::StartAgent => {
            client.control(agent, ControlAction::Start).await?;
            format!("agent {agent} is started")
        }
        Question::StopAgent => {
            client.control(agent, ControlAction::Stop).await?;
            format!("agent {agent} is stopped; /agent start lets it run again")
        }
        Question::Abort => {
            client.abort_run(agent, None).await?;
            "the run is aborted; the queue goes on".to_owned()
        }
        Question::Wake { reason } => {
            let request = WakeRequest {
                reason,
                ..WakeRequest::default()
            };
            let wake = client.wake(agent, &request).await?;
            format!("the wake is {}", wake.disposition)
        }
        _ => String::new(),
    })
}

/// A path is a directory on the host; any other word names a built-in skill.
fn skill_source(name_or_path: String) -> SkillSource {
    if name_or_path.contains('/') {
        SkillSource::Local {
            path: name_or_path,
            mode: InstallMode::Linked,
        }
    } else {
        SkillSource::Builtin { name: name_or_path }
    }
}

/// The bound of the lists is below that of the host.
const _: () = assert!(LIST <= LIST_PAGE_MAX && TRANSCRIPT <= LIST_PAGE_MAX);
