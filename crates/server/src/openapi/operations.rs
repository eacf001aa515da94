//! The description of every route: its summary, query, body and response.

use super::operation::Response::{List, Object, ObjectOrStream, Stream, Text, Typed};
use super::operation::{
    Operation, ParamKind, QueryParam, RequestBody, RequestContent, act, act_on, deliver, number,
    read, schema_of, text, truth, words,
};
use holon_api::ArchiveAgentResponse;
use holon_api::{
    AbortRunRequest, AbortRunResponse, AdmittedResponse, AttachWorkspaceRequest, CallbackResponse,
    ClearModelRequest, CloneAgentRequest, ControlRequest, ControlResponse, CreateAgentRequest,
    CreateDeliveryTargetRequest, CreateTimerRequest, CreateTokenRequest, CreateTokenResponse,
    CreateTriggerRequest, CreateWorkItemRequest, DebugPromptRequest, DeleteAgentResponse,
    DetachWorkspaceRequest, EmptyRequest, EnqueueRequest, ExportAgentRequest, Health,
    InstallSkillRequest, OperatorIngressRequest, OperatorTransportBindingRequest, PromptRequest,
    Readiness, RemoveDeliveryTargetResponse, RevealTriggerResponse, RevokeBindingResponse,
    RevokeTokenResponse, Root, RunRequest, SetModelRequest, SetWebhookRequest, SkillChangeResponse,
    TaskInputRequest, TestDeliveryResponse, TokensResponse, UninstallSkillRequest,
    UpdateWorkItemRequest, UseWorkspaceRequest, WakeRequest, WakeResponse, WebhookResponse,
    WorktreesRequest,
};
use holon_domain::limits::{
    EVENT_PAGE_MAX, LIST_PAGE_MAX, TASK_WAIT_MAX_MS, TOOL_OUTPUT_TOKENS_MAX,
};
use schemars::JsonSchema;

/// Largest sequence number that is taken; one beyond the newest means the far end.
const FAR: u64 = u64::MAX;
const LIMIT: QueryParam = number("limit", 1, LIST_PAGE_MAX);
const EVENT_LIMIT: QueryParam = number("limit", 1, EVENT_PAGE_MAX);
const TURN: QueryParam = number("turn", 0, FAR);
const AFTER_SEQ: QueryParam = number("after_seq", 0, FAR);
const SEQ_PAGE: &[QueryParam] = &[
    number("before_seq", 0, FAR),
    AFTER_SEQ,
    LIMIT,
    text("epoch"),
];
const PROJECTION: QueryParam = words("projection", &["operator", "local_debug"]);
const SOURCE: QueryParam = text("source");
const CALLBACK_QUERY: &[QueryParam] = &[SOURCE, text("correlation_id"), text("causation_id")];
const FILTER: QueryParam = words("filter", &["active", "all"]);
const ITEM_FILTER: QueryParam = words(
    "filter",
    &[
        "all",
        "open",
        "completed",
        "current",
        "queued",
        "blocked",
        "waiting_for_operator",
        "runnable",
    ],
);

/// Every route, in the order of the table.
pub(super) const OPERATIONS: &[Operation] = &[
    read(
        "/",
        "Names the default agent.",
        &[],
        Typed(schema_of::<Root>),
    ),
    read(
        "/healthz",
        "Answers while the host is up.",
        &[],
        Typed(schema_of::<Health>),
    ),
    read(
        "/readyz",
        "Answers with 200 once the host takes requests.",
        &[],
        Typed(schema_of::<Readiness>),
    ),
    read(
        "/handshake",
        "Returns protocol and authentication mode.",
        &[],
        Object,
    ),
    read("/openapi.json", "Returns this document.", &[], Object),
    read(
        "/metrics",
        "Returns the metrics of the host for Prometheus.",
        &[],
        Text,
    ),
    read(
        "/control/runtime/status",
        "Returns process, activity, last failure and effective settings of the host.",
        &[],
        Object,
    ),
    read(
        "/control/runtime/readiness",
        "Returns process and effective settings of a host that takes requests; 503 otherwise.",
        &[],
        Object,
    ),
    read(
        "/tokens",
        "Lists the named tokens.",
        &[],
        Typed(schema_of::<TokensResponse>),
    ),
    read(
        "/delivery/targets",
        "Lists the delivery targets with their state.",
        &[],
        Object,
    ),
    read(
        "/models",
        "Lists models and their availability.",
        &[],
        Object,
    ),
    read("/agents/list", "Lists the public agents.", &[], List),
    read("/agents/deleted", "Lists removed agents.", &[LIMIT], List),
    read(
        "/agents/{id}/status",
        "Returns the status of an agent.",
        &[],
        Object,
    ),
    read(
        "/agents/{id}/state",
        "Returns a bounded snapshot of an agent, from one read.",
        &[],
        Object,
    ),
    read(
        "/agents/{id}/briefs",
        "Returns the newest briefs of an agent.",
        SEQ_PAGE,
        List,
    ),
    read(
        "/agents/{id}/transcript",
        "Returns the newest transcript entries of an agent.",
        SEQ_PAGE,
        List,
    ),
    read(
        "/agents/{id}/events",
        "Returns a page of an agent's events.",
        &[
            number("before_seq", 0, FAR),
            AFTER_SEQ,
            EVENT_LIMIT,
            words("order", &["asc", "desc"]),
            PROJECTION,
        ],
        Object,
    ),
    read(
        "/agents/{id}/events/stream",
        "Streams an agent's events after a cursor.",
        &[AFTER_SEQ, EVENT_LIMIT, PROJECTION, truth("deltas")],
        Stream,
    ),
    read(
        "/events",
        "Returns a page of the events of all public agents.",
        &[
            number("before_seq", 0, FAR),
            AFTER_SEQ,
            EVENT_LIMIT,
            words("order", &["asc", "desc"]),
            PROJECTION,
        ],
        Object,
    ),
    read(
        "/events/stream",
        "Streams the events of all public agents after a cursor of the host.",
        &[AFTER_SEQ, EVENT_LIMIT, PROJECTION],
        Stream,
    ),
    read(
        "/agents/{id}/explain",
        "Explains the state of an agent.",
        &[],
        Object,
    ),
    read(
        "/agents/{id}/debug/prompt",
        "Returns the prompt of an agent's last turn, or of a turn by its number.",
        &[TURN],
        Object,
    ),
    read(
        "/agents/{id}/work-items",
        "Lists the work items of an agent.",
        &[
            ITEM_FILTER,
            LIMIT,
            QueryParam {
                name: "after",
                kind: ParamKind::Text(Some(r"^-?[0-9]{1,15}\.[0-9]{1,15}$")),
            },
        ],
        Object,
    ),
    read(
        "/agents/{id}/work-items/{item}",
        "Returns one work item.",
        &[],
        Object,
    ),
    read(
        "/agents/{id}/waits",
        "Lists the waits of an agent.",
        &[FILTER, LIMIT],
        List,
    ),
    read(
        "/agents/{id}/tasks",
        "Lists the tasks of an agent.",
        &[FILTER, LIMIT],
        List,
    ),
    read(
        "/agents/{id}/tasks/{task}",
        "Returns one task without its output.",
        &[],
        Object,
    ),
    read(
        "/agents/{id}/tasks/{task}/output",
        "Returns a bounded part of a task's output.",
        &[
            number("after_byte", 0, FAR),
            number("stderr_after_byte", 0, FAR),
            number("tail_lines", 1, u32::MAX as u64),
            number("max_output_tokens", 1, TOOL_OUTPUT_TOKENS_MAX as u64),
            number("wait_ms", 0, TASK_WAIT_MAX_MS),
        ],
        Object,
    ),
    read(
        "/agents/{id}/external-triggers",
        "Lists the external triggers of an agent, without their URLs.",
        &[],
        List,
    ),
    read(
        "/agents/{id}/webhook",
        "Says which webhooks an agent accepts.",
        &[],
        Typed(schema_of::<WebhookResponse>),
    ),
    read(
        "/agents/{id}/skills",
        "Lists the skills of an agent.",
        &[],
        Object,
    ),
    read(
        "/agents/{id}/operator-bindings",
        "Lists the bindings of an agent to remote operators.",
        &[],
        Object,
    ),
    read(
        "/agents/{id}/timers",
        "Lists the timers of an agent.",
        &[FILTER, LIMIT],
        List,
    ),
    read(
        "/agents/{id}/worktree-summary",
        "Returns the worktree of an agent.",
        &[],
        Object,
    ),
    read(
        "/worktree-summary",
        "Returns the worktree of the default agent.",
        &[],
        Object,
    ),
    read(
        "/status",
        "Returns the status of the default agent.",
        &[],
        Object,
    ),
    read(
        "/state",
        "Returns the snapshot of the default agent.",
        &[],
        Object,
    ),
    read(
        "/briefs",
        "Returns the newest briefs of the default agent.",
        SEQ_PAGE,
        List,
    ),
    read(
        "/transcript",
        "Returns the newest transcript entries of the default agent.",
        SEQ_PAGE,
        List,
    ),
    act(
        "/enqueue",
        "Queues an event for the default agent.",
        schema_of::<EnqueueRequest>,
        Typed(schema_of::<AdmittedResponse>),
    ),
    act(
        "/agents/{id}/enqueue",
        "Queues an event from outside.",
        schema_of::<EnqueueRequest>,
        Typed(schema_of::<AdmittedResponse>),
    ),
    act_on(
        "/control/agents/{id}/create",
        "Creates an agent.",
        schema_of::<CreateAgentRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/export",
        "Returns an agent as an archive, or what would be in it.",
        schema_of::<ExportAgentRequest>,
        Object,
    ),
    Operation {
        path: "/control/agents/{id}/import",
        summary: "Makes a stopped agent from an archive.",
        query: &[truth("dry_run")],
        body: Some(RequestBody {
            required: true,
            content: RequestContent::Archive,
        }),
        response: Object,
    },
    act(
        "/control/agents/{id}/clone",
        "Makes a stopped copy of an agent.",
        schema_of::<CloneAgentRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/prompt",
        "Queues an operator's message.",
        schema_of::<PromptRequest>,
        Typed(schema_of::<AdmittedResponse>),
    ),
    act(
        "/control/agents/{id}/control",
        "Starts or stops an agent, or aborts its run.",
        schema_of::<ControlRequest>,
        Typed(schema_of::<ControlResponse>),
    ),
    act_on(
        "/control/agents/{id}/current-run/abort",
        "Aborts the current run of an agent.",
        schema_of::<AbortRunRequest>,
        Typed(schema_of::<AbortRunResponse>),
    ),
    act_on(
        "/control/agents/{id}/archive",
        "Stops an agent for good: it is no longer listed and takes nothing more, and its history can be read.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<ArchiveAgentResponse>),
    ),
    act_on(
        "/control/agents/{id}/delete",
        "Removes an agent with its home and its history.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<DeleteAgentResponse>),
    ),
    act(
        "/control/agents/{id}/model",
        "Sets the model of an agent.",
        schema_of::<SetModelRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/model/clear",
        "Lets an agent use the host's model again.",
        schema_of::<ClearModelRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/debug-prompt",
        "Returns the prompt that a text would open the next turn with; nothing is stored.",
        schema_of::<DebugPromptRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/wake",
        "Wakes an agent with a reason.",
        schema_of::<WakeRequest>,
        Typed(schema_of::<WakeResponse>),
    ),
    act(
        "/control/agents/{id}/work-items",
        "Creates a work item.",
        schema_of::<CreateWorkItemRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/work-items/{item}",
        "Changes an open work item.",
        schema_of::<UpdateWorkItemRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/work-items/{item}/complete",
        "Completes a work item.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/work-items/{item}/resume",
        "Clears the stall of a work item.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/waits/{wait}/cancel",
        "Cancels an active wait.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/tasks/{task}/input",
        "Writes to the input of a task.",
        schema_of::<TaskInputRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/tasks/{task}/stop",
        "Asks a task to end; the second time it is killed.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/timers",
        "Creates a timer.",
        schema_of::<CreateTimerRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/timers/{timer}/cancel",
        "Cancels an active timer.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    deliver(
        "/callbacks/enqueue/{token}",
        "Enqueues content of any type for the agent of a capability.",
        CALLBACK_QUERY,
        Typed(schema_of::<CallbackResponse>),
    ),
    deliver(
        "/callbacks/wake/{token}",
        "Wakes the agent of a capability; the content of any type is a hint.",
        CALLBACK_QUERY,
        Typed(schema_of::<CallbackResponse>),
    ),
    deliver(
        "/webhooks/generic/{id}",
        "Enqueues a signed webhook of any type for an agent.",
        &[SOURCE],
        Typed(schema_of::<AdmittedResponse>),
    ),
    act(
        "/control/agents/{id}/external-triggers",
        "Makes an external trigger, or returns the active one of this mode.",
        schema_of::<CreateTriggerRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/external-triggers/{trigger}/rotate",
        "Gives an external trigger another URL.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/external-triggers/{trigger}/revoke",
        "Makes the URL of an external trigger useless.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/external-triggers/{trigger}/reveal",
        "Shows the secret URL of an external trigger.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RevealTriggerResponse>),
    ),
    act(
        "/control/agents/{id}/webhook",
        "Sets the secret of an agent's webhooks, and whether a signature is needed.",
        schema_of::<SetWebhookRequest>,
        Typed(schema_of::<WebhookResponse>),
    ),
    act_on(
        "/control/agents/{id}/webhook/remove",
        "Forgets the secret of an agent's webhooks and accepts none.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<WebhookResponse>),
    ),
    act(
        "/control/agents/{id}/workspace/attach",
        "Attaches a directory to an agent.",
        schema_of::<AttachWorkspaceRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/workspace/use",
        "Makes a workspace active.",
        schema_of::<UseWorkspaceRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/workspace/exit",
        "Leaves the active workspace.",
        schema_of::<EmptyRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/workspace/detach",
        "Detaches a workspace.",
        schema_of::<DetachWorkspaceRequest>,
        Object,
    ),
    act_on(
        "/control/worktrees",
        "Lists the worktrees of the host, or cleans them up.",
        schema_of::<WorktreesRequest>,
        Object,
    ),
    act(
        "/control/agents/{id}/skills/install",
        "Installs a skill.",
        schema_of::<InstallSkillRequest>,
        Typed(schema_of::<SkillChangeResponse>),
    ),
    act(
        "/control/agents/{id}/skills/uninstall",
        "Removes a skill.",
        schema_of::<UninstallSkillRequest>,
        Typed(schema_of::<SkillChangeResponse>),
    ),
    Operation {
        path: "/control/run",
        summary: "Runs one request and returns its outcome.",
        query: &[truth("deltas")],
        body: Some(RequestBody {
            required: true,
            content: RequestContent::Json(schema_of::<RunRequest>),
        }),
        response: ObjectOrStream,
    },
    act(
        "/control/tokens",
        "Makes a named token. Its secret is in this answer only: a repetition with the same key gets 409 and the code `token_already_made`.",
        schema_of::<CreateTokenRequest>,
        Typed(schema_of::<CreateTokenResponse>),
    ),
    act_on(
        "/control/tokens/{name}/revoke",
        "Revokes a named token.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RevokeTokenResponse>),
    ),
    act(
        "/control/delivery/targets",
        "Adds a delivery target. Its secret goes to the credential store.",
        schema_of::<CreateDeliveryTargetRequest>,
        Object,
    ),
    act_on(
        "/control/delivery/targets/{name}/test",
        "Makes one attempt at a delivery target with a trial text.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<TestDeliveryResponse>),
    ),
    act_on(
        "/control/delivery/targets/{name}/remove",
        "Removes a delivery target and its secret.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RemoveDeliveryTargetResponse>),
    ),
    act(
        "/control/agents/{id}/operator-bindings",
        "Makes or replaces a binding to a remote operator.",
        schema_of::<OperatorTransportBindingRequest>,
        Object,
    ),
    act_on(
        "/control/agents/{id}/operator-bindings/{binding}/revoke",
        "Ends a binding to a remote operator.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RevokeBindingResponse>),
    ),
    act(
        "/control/agents/{id}/operator-ingress",
        "Queues a message of a bound remote operator.",
        schema_of::<OperatorIngressRequest>,
        Typed(schema_of::<AdmittedResponse>),
    ),
    act_on(
        "/control/runtime/reload",
        "Reads settings and credentials again.",
        schema_of::<EmptyObject>,
        Object,
    ),
    act_on(
        "/control/runtime/shutdown",
        "Shuts the host down.",
        schema_of::<EmptyObject>,
        Object,
    ),
];

/// A body without fields.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct EmptyObject {}
