//! JSON shapes of the control plane: requests, responses and stream frames.
//!
//! This crate has no socket, no routing and no clock. Records that exist in `domain` already (status, briefs,
//! transcript, run answers) are sent as they are. Requests refuse unknown fields. Responses may gain fields, so readers
//! must ignore unknown ones.

pub mod agent;
pub mod archive;
pub mod budget;
pub mod context;
pub mod debug;
pub mod delivery;
pub mod error;
pub mod event;
pub mod host_status;
pub mod memory;
pub mod message;
pub mod model;
mod provenance;
pub mod run;
pub mod runtime;
pub mod skill;
pub mod state;
pub mod status;
pub mod storage;
pub mod task;
pub mod token;
pub mod trigger;
pub mod usage;
pub mod work;
pub mod workspace;

pub use agent::{
    AbortMode, AbortRunRequest, AbortRunResponse, ArchiveAgentResponse, ControlAction,
    ControlRequest, ControlResponse, CreateAgentRequest, CreateAgentResponse, DeleteAgentResponse,
    DeletedAgent,
};
pub use archive::{
    ARCHIVE_MEDIA_TYPE, CloneAgentRequest, ExportAgentRequest, ExportReport, ImportQuery,
};
pub use budget::{
    BudgetName, BudgetScopeName, BudgetView, BudgetsResponse, ClearBudgetRequest,
    ClearBudgetResponse, SetBudgetRequest, UnreadableBudgetView,
};
pub use context::{ContextChangeResponse, LimitThreadRequest, PinTurnRequest};
pub use debug::{DebugPromptRequest, DebugPromptResponse};
pub use delivery::{
    CreateDeliveryTargetRequest, DeliveryAuthRequest, DeliveryTargetResponse, DeliveryTargetView,
    DeliveryTargetsResponse, OperatorBindingResponse, OperatorBindingView,
    OperatorBindingsResponse, OperatorIngressRequest, OperatorTransportBindingRequest,
    RemoveDeliveryTargetResponse, RetryDeliveriesResponse, RevokeBindingResponse, TargetKindName,
    TargetState, TestDeliveryResponse,
};
pub use error::ErrorBody;
pub use event::{
    AgentDeleted, EventEnvelope, EventsPage, Gap, HostEventsPage, PageOrder, Projection,
    ProjectionInfo,
};
pub use host_status::{
    ActivityState, ProviderSurface, RuntimeActivity, RuntimeFailure, RuntimeStatusResponse,
    RuntimeSurface, StartupSurface,
};
pub use memory::RebuildMemoryRequest;
pub use message::{AdmittedResponse, EnqueueRequest, PromptRequest};
pub use model::{
    AgentModelResponse, ClearModelRequest, ModelAvailability, ModelCapabilities, ModelMetadata,
    ModelPrice, ModelsResponse, SetModelRequest,
};
pub use provenance::Provenance;
pub use run::{RunQueued, RunRequest};
pub use runtime::{
    AuthInfo, AuthMode, Handshake, Health, ProtocolInfo, Readiness, ReloadResponse, Root,
    RuntimeInfo, ShutdownResponse,
};
pub use skill::{InstallSkillRequest, SkillChangeResponse, SkillsResponse, UninstallSkillRequest};
pub use state::StateResponse;
pub use status::StatusResponse;
pub use storage::{AgentStorage, PruneFailure, PruneRequest, PruneResponse, StorageResponse};
pub use task::{
    ListedTask, StartTaskRequest, TaskInputRequest, TaskInputResponse, TaskOutputResponse,
    TaskResponse, TaskStopResponse,
};
pub use token::{
    CLI_SURFACE, CreateTokenRequest, CreateTokenResponse, IDEMPOTENCY_KEY_HEADER,
    RevokeTokenResponse, SURFACE_HEADER, TokenView, TokensResponse, is_repeated,
};
pub use trigger::{
    CallbackResponse, CreateTriggerRequest, RevealTriggerResponse, SetWebhookRequest,
    WebhookResponse,
};
pub use usage::{UsageEntry, UsageFigures, UsageResponse, spell_cost};
pub use work::{
    CreateTimerRequest, CreateWorkItemRequest, EmptyRequest, ListFilter, UpdateWorkItemRequest,
    WakeDisposition, WakeRequest, WakeResponse, WorkItemsContext, WorkItemsResponse,
};
pub use workspace::{
    AttachWorkspaceRequest, DetachWorkspaceRequest, UseWorkspaceRequest, UseWorkspaceResponse,
    WorkspaceResponse, WorktreeSummary, WorktreeSummaryResponse, WorktreesRequest,
};
