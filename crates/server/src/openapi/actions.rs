//! The description of every route that changes something: its summary, query, body and response.

use super::operation::Response::{Typed, TypedOrArchive, TypedOrStream};
use super::operation::{
    Operation, RequestBody, RequestContent, act, act_on, deliver, schema_of, truth,
};
use super::params::{CALLBACK_QUERY, SOURCE};
use holon_api::{
    AbortRunRequest, AbortRunResponse, AdmittedResponse, AgentModelResponse, ArchiveAgentResponse,
    AttachWorkspaceRequest, BudgetView, CallbackResponse, ClearBudgetRequest, ClearBudgetResponse,
    ClearModelRequest, CloneAgentRequest, ContextChangeResponse, ControlRequest, ControlResponse,
    CreateAgentRequest, CreateAgentResponse, CreateDeliveryTargetRequest, CreateTimerRequest,
    CreateTokenRequest, CreateTokenResponse, CreateTriggerRequest, CreateWorkItemRequest,
    DebugPromptRequest, DebugPromptResponse, DeleteAgentResponse, DeliveryTargetResponse,
    DetachWorkspaceRequest, EmptyRequest, EnqueueRequest, ExportAgentRequest, ExportReport,
    InstallSkillRequest, LimitThreadRequest, OperatorBindingResponse, OperatorIngressRequest,
    OperatorTransportBindingRequest, PinTurnRequest, PromptRequest, PruneRequest, PruneResponse,
    RebuildMemoryRequest, ReloadResponse, RemoveDeliveryTargetResponse, RetryDeliveriesResponse,
    RevealTriggerResponse, RevokeBindingResponse, RevokeTokenResponse, RunRequest,
    SetBudgetRequest, SetModelRequest, SetWebhookRequest, ShutdownResponse, SkillChangeResponse,
    StartTaskRequest, TaskInputRequest, TaskInputResponse, TaskResponse, TaskStopResponse,
    TestDeliveryResponse, UninstallSkillRequest, UpdateWorkItemRequest, UseWorkspaceRequest,
    UseWorkspaceResponse, WakeRequest, WakeResponse, WebhookResponse, WorkspaceResponse,
    WorktreesRequest,
};
use holon_domain::archive::ImportReport;
use holon_domain::image::SentImage;
use holon_domain::memory::MemoryRebuild;
use holon_domain::run::RunOnceResponse;
use holon_domain::timer::TimerView;
use holon_domain::trigger::TriggerView;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemView;
use holon_domain::workspace::WorktreeReport;
use schemars::JsonSchema;

/// In the order of the table.
pub(super) const ACTIONS: &[Operation] = &[
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
        Typed(schema_of::<CreateAgentResponse>),
    ),
    act_on(
        "/control/agents/{id}/export",
        "Returns an agent as an archive, or what would be in it.",
        schema_of::<ExportAgentRequest>,
        TypedOrArchive(schema_of::<ExportReport>),
    ),
    Operation {
        path: "/control/agents/{id}/import",
        summary: "Makes a stopped agent from an archive.",
        query: &[truth("dry_run")],
        body: Some(RequestBody {
            required: true,
            content: RequestContent::Archive,
        }),
        response: Typed(schema_of::<ImportReport>),
    },
    act(
        "/control/agents/{id}/clone",
        "Makes a stopped copy of an agent.",
        schema_of::<CloneAgentRequest>,
        Typed(schema_of::<ImportReport>),
    ),
    act(
        "/control/agents/{id}/prompt",
        "Queues an operator's message.",
        schema_of::<PromptRequest>,
        Typed(schema_of::<AdmittedResponse>),
    ),
    Operation {
        path: "/control/images",
        summary: "Keeps an image of at most 5 MB for a prompt, which names it by its digest within an hour.",
        query: &[],
        body: Some(RequestBody {
            required: true,
            content: RequestContent::Image,
        }),
        response: Typed(schema_of::<SentImage>),
    },
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
        Typed(schema_of::<AgentModelResponse>),
    ),
    act_on(
        "/control/agents/{id}/model/clear",
        "Lets an agent use the host's model again.",
        schema_of::<ClearModelRequest>,
        Typed(schema_of::<AgentModelResponse>),
    ),
    act(
        "/control/agents/{id}/debug-prompt",
        "Returns the prompt that a text would open the next turn with; nothing is stored.",
        schema_of::<DebugPromptRequest>,
        Typed(schema_of::<DebugPromptResponse>),
    ),
    act_on(
        "/control/agents/{id}/context/fold",
        "Asks an agent's next turn to fold its thread.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<ContextChangeResponse>),
    ),
    act_on(
        "/control/agents/{id}/context/clear",
        "Asks an agent's next turn to begin an empty thread.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<ContextChangeResponse>),
    ),
    act(
        "/control/agents/{id}/context/pin",
        "Keeps a turn of an agent whole through folds.",
        schema_of::<PinTurnRequest>,
        Typed(schema_of::<ContextChangeResponse>),
    ),
    act(
        "/control/agents/{id}/context/unpin",
        "Lets a pinned turn give way to the next fold.",
        schema_of::<PinTurnRequest>,
        Typed(schema_of::<ContextChangeResponse>),
    ),
    act(
        "/control/agents/{id}/context/limit",
        "Bounds an agent's thread in place of `context.thread_tokens`.",
        schema_of::<LimitThreadRequest>,
        Typed(schema_of::<ContextChangeResponse>),
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
        Typed(schema_of::<WorkItemView>),
    ),
    act(
        "/control/agents/{id}/work-items/{item}",
        "Changes an open work item.",
        schema_of::<UpdateWorkItemRequest>,
        Typed(schema_of::<WorkItemView>),
    ),
    act_on(
        "/control/agents/{id}/work-items/{item}/complete",
        "Completes a work item.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<WorkItemView>),
    ),
    act_on(
        "/control/agents/{id}/work-items/{item}/resume",
        "Clears the stall of a work item.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<WorkItemView>),
    ),
    act_on(
        "/control/agents/{id}/waits/{wait}/cancel",
        "Cancels an active wait.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<WaitRecord>),
    ),
    act(
        "/control/agents/{id}/tasks",
        "Starts a command as a task of the agent, without a turn; its end reaches the agent as a message.",
        schema_of::<StartTaskRequest>,
        Typed(schema_of::<TaskResponse>),
    ),
    act(
        "/control/agents/{id}/tasks/{task}/input",
        "Writes to the input of a task.",
        schema_of::<TaskInputRequest>,
        Typed(schema_of::<TaskInputResponse>),
    ),
    act_on(
        "/control/agents/{id}/tasks/{task}/stop",
        "Asks a task to end; the second time it is killed.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<TaskStopResponse>),
    ),
    act(
        "/control/agents/{id}/timers",
        "Creates a timer.",
        schema_of::<CreateTimerRequest>,
        Typed(schema_of::<TimerView>),
    ),
    act_on(
        "/control/agents/{id}/timers/{timer}/cancel",
        "Cancels an active timer.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<TimerView>),
    ),
    act_on(
        "/control/agents/{id}/memory/rebuild",
        "Takes bounded steps of a rebuild of an agent's memory index.",
        schema_of::<RebuildMemoryRequest>,
        Typed(schema_of::<MemoryRebuild>),
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
        Typed(schema_of::<TriggerView>),
    ),
    act_on(
        "/control/agents/{id}/external-triggers/{trigger}/rotate",
        "Gives an external trigger another URL.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<TriggerView>),
    ),
    act_on(
        "/control/agents/{id}/external-triggers/{trigger}/revoke",
        "Makes the URL of an external trigger useless.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<TriggerView>),
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
        Typed(schema_of::<WorkspaceResponse>),
    ),
    act(
        "/control/agents/{id}/workspace/use",
        "Makes a workspace active.",
        schema_of::<UseWorkspaceRequest>,
        Typed(schema_of::<UseWorkspaceResponse>),
    ),
    act_on(
        "/control/agents/{id}/workspace/exit",
        "Leaves the active workspace.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<WorkspaceResponse>),
    ),
    act(
        "/control/agents/{id}/workspace/detach",
        "Detaches a workspace.",
        schema_of::<DetachWorkspaceRequest>,
        Typed(schema_of::<WorkspaceResponse>),
    ),
    act_on(
        "/control/worktrees",
        "Lists the worktrees of the host, or cleans them up.",
        schema_of::<WorktreesRequest>,
        Typed(schema_of::<WorktreeReport>),
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
        response: TypedOrStream(schema_of::<RunOnceResponse>),
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
        "/control/budgets",
        "Adds a budget or changes its limits. Turns that wait for it go on.",
        schema_of::<SetBudgetRequest>,
        Typed(schema_of::<BudgetView>),
    ),
    act(
        "/control/budgets/clear",
        "Removes a budget. Turns that wait for it go on.",
        schema_of::<ClearBudgetRequest>,
        Typed(schema_of::<ClearBudgetResponse>),
    ),
    act(
        "/control/storage/prune",
        "Removes turns that ended long ago, in bounded steps, or says what would go.",
        schema_of::<PruneRequest>,
        Typed(schema_of::<PruneResponse>),
    ),
    act(
        "/control/delivery/targets",
        "Adds a delivery target. Its secret goes to the credential store.",
        schema_of::<CreateDeliveryTargetRequest>,
        Typed(schema_of::<DeliveryTargetResponse>),
    ),
    act_on(
        "/control/delivery/targets/{name}/test",
        "Makes one attempt at a delivery target with a trial text.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<TestDeliveryResponse>),
    ),
    act_on(
        "/control/delivery/targets/{name}/remove",
        "Removes a delivery target and its secret. What waits for it is given up.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RemoveDeliveryTargetResponse>),
    ),
    act_on(
        "/control/delivery/targets/{name}/retry",
        "Tries what waits for a delivery target at once.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RetryDeliveriesResponse>),
    ),
    act(
        "/control/agents/{id}/operator-bindings",
        "Makes or replaces a binding to a remote operator.",
        schema_of::<OperatorTransportBindingRequest>,
        Typed(schema_of::<OperatorBindingResponse>),
    ),
    act_on(
        "/control/agents/{id}/operator-bindings/{binding}/revoke",
        "Ends a binding to a remote operator.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RevokeBindingResponse>),
    ),
    act_on(
        "/control/agents/{id}/operator-bindings/{binding}/retry",
        "Tries what waits for a remote operator at once.",
        schema_of::<EmptyRequest>,
        Typed(schema_of::<RetryDeliveriesResponse>),
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
        Typed(schema_of::<ReloadResponse>),
    ),
    act_on(
        "/control/runtime/shutdown",
        "Shuts the host down.",
        schema_of::<EmptyObject>,
        Typed(schema_of::<ShutdownResponse>),
    ),
];

/// A body without fields.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct EmptyObject {}
