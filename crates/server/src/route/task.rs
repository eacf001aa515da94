//! Routes about the tasks of an agent: start, list, status, output, input and stop.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, MemberPath, NoParams, Params, check_limit, clamp_seq};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{
    EmptyRequest, ListFilter, ListedTask, StartTaskRequest, TaskInputRequest, TaskInputResponse,
    TaskOutputResponse, TaskResponse, TaskStopResponse,
};
use holon_domain::TaskId;
use holon_domain::authority::TrustLevel;
use holon_domain::intent::{DuplicatePolicy, ExecCommand, TaskOutput};
use holon_domain::limits::{
    LIST_PAGE_MAX, TASK_INPUT_BYTES, TASK_WAIT_MAX_MS, TOOL_OUTPUT_TOKENS_MAX,
};
use holon_domain::task::NewCommandTask;
use holon_engine::request::TaskInputOrder;
use holon_engine::{EntryFilter, Error, Rejection};
use serde::Deserialize;

/// Default number of tasks in a response.
const TASKS: u64 = 50;

/// Query of a list of tasks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TasksParams {
    filter: Option<ListFilter>,
    limit: Option<u64>,
}

/// `GET /agents/{id}/tasks`: only unfinished tasks unless the caller asks for all.
pub(crate) async fn list(
    State(state): State<ReadState>,
    AgentPath(agent_id): AgentPath,
    Params(params): Params<TasksParams>,
) -> Result<Json<Vec<ListedTask>>, Refusal> {
    let limit = check_limit(params.limit, TASKS, LIST_PAGE_MAX)?;
    let filter = match params.filter {
        None | Some(ListFilter::Active) => EntryFilter::Active,
        Some(ListFilter::All) => EntryFilter::All,
    };
    let tasks = state.reads.tasks(&agent_id, filter, limit).await?;
    let listed = tasks.into_iter().map(|task| ListedTask {
        agent_id: agent_id.clone(),
        task,
    });
    Ok(Json(listed.collect()))
}

/// `GET /agents/{id}/tasks/{task}`: returns one task without its output.
pub(crate) async fn show(
    State(state): State<ReadState>,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<TaskResponse>, Refusal> {
    let id = TaskId::from_stored(member);
    let task = state.reads.task(&agent_id, &id).await?;
    Ok(Json(TaskResponse::new(agent_id, task)))
}

/// Query of a task's output. Without offsets and `tail_lines` both ends of the output are shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputParams {
    /// Offset in the output; the response has the offset of the next request.
    after_byte: Option<u64>,
    /// Offset in the standard error.
    stderr_after_byte: Option<u64>,
    /// Last lines of each stream; not with offsets.
    tail_lines: Option<u32>,
    /// Bound of the shown output in estimated tokens.
    max_output_tokens: Option<u32>,
    /// Milliseconds to wait for the end of the task first.
    wait_ms: Option<u64>,
}

/// `GET /agents/{id}/tasks/{task}/output`: returns a bounded part of a task's output.
pub(crate) async fn output(
    State(state): State<ReadState>,
    MemberPath { agent_id, member }: MemberPath,
    Params(params): Params<OutputParams>,
) -> Result<Json<TaskOutputResponse>, Refusal> {
    let query = output_query(TaskId::from_stored(member), &params)?;
    let result = state.reads.task_output(&agent_id, query).await?;
    serde_json::from_value(result)
        .map(Json)
        .map_err(|error| crate::sse::internal(&error))
}

fn output_query(task_id: TaskId, params: &OutputParams) -> Result<TaskOutput, Refusal> {
    let names_offset = params.after_byte.is_some() || params.stderr_after_byte.is_some();
    if params.tail_lines.is_some() && names_offset {
        return Err(RequestFault::QUERY.refuse("tail_lines and an offset are given together"));
    }
    let range = |name: &str, value: Option<u64>, min: u64, max: u64| match value {
        Some(value) if !(min..=max).contains(&value) => {
            let message = format!("{name} is {value}; give a number from {min} to {max}");
            Err(RequestFault::LIMIT.refuse(message))
        }
        Some(_) | None => Ok(()),
    };
    range(
        "tail_lines",
        params.tail_lines.map(u64::from),
        1,
        u64::from(u32::MAX),
    )?;
    range("wait_ms", params.wait_ms, 0, TASK_WAIT_MAX_MS)?;
    let most = u64::from(TOOL_OUTPUT_TOKENS_MAX);
    let tokens = params.max_output_tokens.map(u64::from);
    range("max_output_tokens", tokens, 1, most)?;
    Ok(TaskOutput {
        task_id,
        wait_ms: params.wait_ms.filter(|wait_ms| *wait_ms > 0),
        after_byte: clamp_seq(params.after_byte),
        stderr_after_byte: clamp_seq(params.stderr_after_byte),
        tail_lines: params.tail_lines,
        max_output_tokens: params.max_output_tokens,
    })
}

/// `POST /control/agents/{id}/tasks`: starts a command as a task of the agent.
pub(crate) async fn start(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<StartTaskRequest>,
) -> Result<Json<TaskResponse>, Refusal> {
    let tty = request.tty.unwrap_or(false);
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let new = NewCommandTask {
        command: ExecCommand {
            cmd: request.cmd,
            workdir: given(request.workdir),
            shell: given(request.shell),
            login: request.login.unwrap_or(false),
            tty,
            accepts_input: request.accepts_input.unwrap_or(tty),
            duplicate_policy: DuplicatePolicy::StartNew,
            yield_time_ms: 0,
            max_output_tokens: None,
        },
        summary: request.summary,
        trust: request.trust.unwrap_or(TrustLevel::TrustedOperator),
    };
    let task = state.control.start_task(&agent_id, new).await?;
    Ok(Json(TaskResponse::new(agent_id, task)))
}

/// `POST /control/agents/{id}/tasks/{task}/input`: writes to a task's input.
pub(crate) async fn input(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<TaskInputRequest>,
) -> Result<Json<TaskInputResponse>, Refusal> {
    if request.input.is_empty() && !request.close_input {
        return Err(RequestFault::REQUEST
            .refuse("there is nothing to write")
            .hint("send input, or close_input=true to end the input"));
    }
    if request.input.len() > TASK_INPUT_BYTES {
        let rejection = Rejection::TooLarge {
            what: "task input",
            bytes: request.input.len(),
            max: TASK_INPUT_BYTES,
        };
        return Err(Error::from(rejection).into());
    }
    let order = TaskInputOrder {
        task_id: TaskId::from_stored(member),
        input: request.input,
        close_input: request.close_input,
    };
    let written = state.control.write_to_task(&agent_id, order).await?;
    Ok(Json(TaskInputResponse {
        ok: true,
        agent_id,
        task: written.task,
        accepted_input: true,
        bytes_written: written.bytes_written,
        not_closed: written.not_closed,
    }))
}

/// `POST /control/agents/{id}/tasks/{task}/stop`: asks a task to end; the second time it is killed.
pub(crate) async fn stop(
    Act(state): Act,
    MemberPath { agent_id, member }: MemberPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<TaskStopResponse>, Refusal> {
    let id = TaskId::from_stored(member);
    let stopped = state.control.stop_task(&agent_id, id).await?;
    Ok(Json(TaskStopResponse {
        ok: true,
        agent_id,
        task: stopped.task,
        stop_requested: stopped.stop_requested,
        force_stop_requested: stopped.force_stop_requested,
    }))
}
