//! `holon work`: lists, shows, creates and changes work items.

use super::text;
use crate::args::{UpdateArgs, WorkCommand};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use crate::target::Target;
use holon_api::{CreateWorkItemRequest, UpdateWorkItemRequest};
use holon_client::Answer;
use holon_client::view::WorkItem;
use holon_domain::WorkItemId;
use holon_domain::intent::WorkItemFilter;
use holon_domain::work_item::TodoItem;

/// Runs one subcommand of `work`.
pub(super) async fn run(
    target: Target,
    command: WorkCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        WorkCommand::List {
            filter,
            limit,
            after,
            agent,
        } => {
            let host = Host::find(target, agent.agent, output)?;
            list(&host, filter.into(), after.as_deref(), limit, output).await
        }
        WorkCommand::Show { item, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            show(&host, &WorkItemId::from_stored(item), output).await
        }
        WorkCommand::Create {
            objective,
            todo,
            agent,
        } => {
            let host = Host::find(target, agent.agent, output)?;
            create(&host, objective, todo, output).await
        }
        WorkCommand::Update(args) => update(target, args, output).await,
        WorkCommand::Complete { item, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, WorkItemId::from_stored(item));
            let done = host.client().complete_work_item(&agent_id, &id).await;
            answer(&host.check_answer(done)?, "is completed", output)
        }
        WorkCommand::Resume { item, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, WorkItemId::from_stored(item));
            let resumed = host.client().resume_work_item(&agent_id, &id).await;
            answer(&host.check_answer(resumed)?, "is taken up again", output)
        }
    }
}

async fn list(
    host: &Host,
    filter: WorkItemFilter,
    after: Option<&str>,
    limit: u64,
    output: &Output,
) -> Result<Exit, Failure> {
    let agent_id = host.agent_id().await?;
    let client = host.client();
    let items = client.work_items(&agent_id, filter, after, limit).await;
    output.answer(&host.check_answer(items)?, |items| {
        render::work::items(items, &agent_id)
    });
    Ok(Exit::Done)
}

async fn show(host: &Host, id: &WorkItemId, output: &Output) -> Result<Exit, Failure> {
    let agent_id = host.agent_id().await?;
    let item = host.check_answer(host.client().work_item(&agent_id, id).await)?;
    output.answer(&item, |item| render::work::item(item));
    Ok(Exit::Done)
}

async fn create(
    host: &Host,
    objective: String,
    todo_list: Vec<TodoItem>,
    output: &Output,
) -> Result<Exit, Failure> {
    let request = CreateWorkItemRequest {
        objective: text::read_argument("objective", objective)?,
        todo_list,
        ..CreateWorkItemRequest::default()
    };
    let agent_id = host.agent_id().await?;
    let item = host.check_answer(host.client().create_work_item(&agent_id, &request).await)?;
    output.answer(&item, |item| {
        format!("{} is made for {}", item.id, item.agent_id)
    });
    warn_about_todos(&item, output);
    output.aside(&format!(
        "see what comes of it with: holon explain {agent_id}"
    ));
    Ok(Exit::Done)
}

async fn update(target: Target, args: UpdateArgs, output: &Output) -> Result<Exit, Failure> {
    let objective = args
        .objective
        .map(|objective| text::read_argument("objective", objective))
        .transpose()?;
    let request = UpdateWorkItemRequest {
        objective,
        plan_status: args.plan_status.map(Into::into),
        todo_list: (!args.todo.is_empty()).then_some(args.todo),
        blocked_by: args.unblock.then_some(None),
        ..UpdateWorkItemRequest::default()
    };
    if request == UpdateWorkItemRequest::default() {
        return Err(Failure::usage("nothing to change")
            .hint("name what changes: --objective, --plan-status, --todo or --unblock"));
    }
    let host = Host::find(target, args.agent.agent, output)?;
    let (agent_id, id) = (host.agent_id().await?, WorkItemId::from_stored(args.item));
    let changed = host
        .client()
        .update_work_item(&agent_id, &id, &request)
        .await;
    let item = host.check_answer(changed)?;
    let revision = format!("is at revision {}", item.revision);
    answer(&item, &revision, output)
}

/// Warns about a checklist with several entries in progress. The item is changed all the same.
fn warn_about_todos(item: &WorkItem, output: &Output) {
    let todos = item.todo_list.iter().flatten();
    let started = todos.filter(|todo| todo.state == "in_progress").count();
    if started > 1 && item.state == "open" {
        output.note(&format!(
            "warning: {started} entries of the checklist are in progress; one at a time is easier to follow"
        ));
    }
}

fn answer(item: &Answer<WorkItem>, what: &str, output: &Output) -> Result<Exit, Failure> {
    output.answer(item, |item| format!("{} {what}", item.id));
    warn_about_todos(item, output);
    Ok(Exit::Done)
}
