//! The description of every route that only reads: its summary, query and response.

use super::operation::Response::{Document, File, Stream, Text, Typed};
use super::operation::{
    Operation, QueryParam, number, pattern, read, required, schema_of, text, truth, words,
};
use super::params::{
    AFTER_SEQ, EPOCH, EVENT_LIMIT, FAR, FILTER, ITEM_FILTER, LIMIT, PROJECTION, SEQ_PAGE, TURN,
};
use holon_api::{
    BudgetsResponse, DeletedAgent, DeliveryTargetsResponse, EventsPage, Handshake, Health,
    HostEventsPage, ListedTask, ModelsResponse, OperatorBindingsResponse, Readiness, Root,
    RuntimeStatusResponse, SkillsResponse, StateResponse, StatusResponse, StorageResponse,
    TaskOutputResponse, TaskResponse, TokensResponse, UsageResponse, WebhookResponse,
    WorkItemsResponse, WorktreeSummaryResponse,
};
use holon_domain::brief::BriefRecord;
use holon_domain::context_view::ContextView;
use holon_domain::explanation::Explanation;
use holon_domain::limits::{
    self, EPISODES_PAGE_MAX, MEMORY_CONTENT_CHARS_MAX, MEMORY_RESULTS_MAX, TASK_WAIT_MAX_MS,
    TOOL_OUTPUT_TOKENS_MAX,
};
use holon_domain::memory::{EpisodePage, MemoryContent, MemoryPage};
use holon_domain::prompt_view::PromptView;
use holon_domain::summary::AgentListEntry;
use holon_domain::timer::TimerView;
use holon_domain::transcript::TranscriptEntry;
use holon_domain::trigger::TriggerView;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemView;

/// Query of a page of events.
const EVENT_PAGE: &[QueryParam] = &[
    number("before_seq", 0, FAR),
    AFTER_SEQ,
    EVENT_LIMIT,
    words("order", &["asc", "desc"]),
    PROJECTION,
    EPOCH,
];

/// Reference to a document of memory.
const SOURCE_REF: &str =
    r"^(agent_memory|workspace_profile|brief|episode|work_item):[^\s\x00-\x1f\x7f-\x9f]{1,200}$";

/// Query of a page of usage.
const USAGE_PAGE: &[QueryParam] = &[
    words("by", &["agent", "item", "day", "model"]),
    pattern("agent", r"^(?!tmp_)[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"),
    text("item"),
    pattern(
        "day",
        "^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
    ),
    text("after"),
    number("limit", 1, limits::USAGE_PAGE as u64),
];

/// In the order of the table.
pub(super) const READS: &[Operation] = &[
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
        Typed(schema_of::<Handshake>),
    ),
    read("/openapi.json", "Returns this document.", &[], Document),
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
        Typed(schema_of::<RuntimeStatusResponse>),
    ),
    read(
        "/control/runtime/readiness",
        "Returns process and effective settings of a host that takes requests; 503 otherwise.",
        &[],
        Typed(schema_of::<RuntimeStatusResponse>),
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
        Typed(schema_of::<DeliveryTargetsResponse>),
    ),
    read(
        "/usage",
        "Lists what model calls used, by agent, work item, day or model.",
        USAGE_PAGE,
        Typed(schema_of::<UsageResponse>),
    ),
    read(
        "/budgets",
        "Lists the budgets and how far each is used up.",
        &[],
        Typed(schema_of::<BudgetsResponse>),
    ),
    read(
        "/storage",
        "Says how much the host stores, by kind and by agent.",
        &[],
        Typed(schema_of::<StorageResponse>),
    ),
    read(
        "/models",
        "Lists models and their availability.",
        &[],
        Typed(schema_of::<ModelsResponse>),
    ),
    read(
        "/agents/list",
        "Lists the public agents that are not archived, or with archived=true those that are.",
        &[truth("archived")],
        Typed(schema_of::<Vec<AgentListEntry>>),
    ),
    read(
        "/agents/deleted",
        "Lists removed agents.",
        &[LIMIT],
        Typed(schema_of::<Vec<DeletedAgent>>),
    ),
    read(
        "/agents/{id}/status",
        "Returns the status of an agent.",
        &[],
        Typed(schema_of::<StatusResponse>),
    ),
    read(
        "/agents/{id}/state",
        "Returns a bounded snapshot of an agent, from one read.",
        &[],
        Typed(schema_of::<StateResponse>),
    ),
    read(
        "/agents/{id}/briefs",
        "Returns the newest briefs of an agent.",
        SEQ_PAGE,
        Typed(schema_of::<Vec<BriefRecord>>),
    ),
    read(
        "/agents/{id}/transcript",
        "Returns the newest transcript entries of an agent.",
        SEQ_PAGE,
        Typed(schema_of::<Vec<TranscriptEntry>>),
    ),
    read(
        "/agents/{id}/events",
        "Returns a page of an agent's events.",
        EVENT_PAGE,
        Typed(schema_of::<EventsPage>),
    ),
    read(
        "/agents/{id}/events/stream",
        "Streams an agent's events after a cursor. With epoch, a cursor of another store is refused with 410; without it, only one that is newer than the newest event is.",
        &[AFTER_SEQ, EVENT_LIMIT, PROJECTION, truth("deltas"), EPOCH],
        Stream,
    ),
    read(
        "/events",
        "Returns a page of the events of all public agents. `next_seq` continues it in the same order: as after_seq with order=asc, as before_seq with order=desc (the default). With epoch, a cursor of another store is refused with 410; without it, only an after_seq that is newer than the newest event is.",
        EVENT_PAGE,
        Typed(schema_of::<HostEventsPage>),
    ),
    read(
        "/events/stream",
        "Streams the events of all public agents after a cursor of the host. With epoch, a cursor of another store is refused with 410; without it, only one that is newer than the newest event is.",
        &[AFTER_SEQ, EVENT_LIMIT, PROJECTION, EPOCH],
        Stream,
    ),
    read(
        "/agents/{id}/explain",
        "Explains the state of an agent.",
        &[],
        Typed(schema_of::<Explanation>),
    ),
    read(
        "/agents/{id}/context",
        "Measures the thread of an agent's earlier turns.",
        &[],
        Typed(schema_of::<ContextView>),
    ),
    read(
        "/agents/{id}/debug/prompt",
        "Returns the prompt of an agent's last turn, or of a turn by its number.",
        &[TURN],
        Typed(schema_of::<PromptView>),
    ),
    read(
        "/agents/{id}/work-items",
        "Lists the work items of an agent.",
        &[
            ITEM_FILTER,
            LIMIT,
            pattern("after", r"^-?[0-9]{1,15}\.[0-9]{1,15}$"),
        ],
        Typed(schema_of::<WorkItemsResponse>),
    ),
    read(
        "/agents/{id}/work-items/{item}",
        "Returns one work item.",
        &[],
        Typed(schema_of::<WorkItemView>),
    ),
    read(
        "/agents/{id}/waits",
        "Lists the waits of an agent.",
        &[FILTER, LIMIT],
        Typed(schema_of::<Vec<WaitRecord>>),
    ),
    read(
        "/agents/{id}/tasks",
        "Lists the tasks of an agent.",
        &[FILTER, LIMIT],
        Typed(schema_of::<Vec<ListedTask>>),
    ),
    read(
        "/agents/{id}/tasks/{task}",
        "Returns one task without its output.",
        &[],
        Typed(schema_of::<TaskResponse>),
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
        Typed(schema_of::<TaskOutputResponse>),
    ),
    read(
        "/agents/{id}/attachment",
        "Returns a file that the agent has attached to a notification or a brief.",
        &[required("path", "^[^/].{0,511}$")],
        File,
    ),
    read(
        "/agents/{id}/external-triggers",
        "Lists the external triggers of an agent, without their URLs.",
        &[],
        Typed(schema_of::<Vec<TriggerView>>),
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
        Typed(schema_of::<SkillsResponse>),
    ),
    read(
        "/agents/{id}/operator-bindings",
        "Lists the bindings of an agent to remote operators.",
        &[],
        Typed(schema_of::<OperatorBindingsResponse>),
    ),
    read(
        "/agents/{id}/memory/search",
        "Searches the memory of an agent from its active workspace.",
        &[
            required("query", r"\S"),
            number("limit", 1, MEMORY_RESULTS_MAX as u64),
            truth("all_workspaces"),
        ],
        Typed(schema_of::<MemoryPage>),
    ),
    read(
        "/agents/{id}/memory/get",
        "Returns the exact text of one document of an agent's memory.",
        &[
            required("source_ref", SOURCE_REF),
            number("max_chars", 1, MEMORY_CONTENT_CHARS_MAX as u64),
        ],
        Typed(schema_of::<MemoryContent>),
    ),
    read(
        "/agents/{id}/memory/episodes",
        "Lists the episodes of an agent, the newest first. `next_before_seq` continues the list as before_seq.",
        &[
            number("before_seq", 0, FAR),
            number("limit", 1, EPISODES_PAGE_MAX as u64),
        ],
        Typed(schema_of::<EpisodePage>),
    ),
    read(
        "/agents/{id}/timers",
        "Lists the timers of an agent.",
        &[FILTER, LIMIT],
        Typed(schema_of::<Vec<TimerView>>),
    ),
    read(
        "/agents/{id}/timers/{timer}",
        "Returns one timer, active or not.",
        &[],
        Typed(schema_of::<TimerView>),
    ),
    read(
        "/agents/{id}/worktree-summary",
        "Returns the worktree of an agent.",
        &[],
        Typed(schema_of::<WorktreeSummaryResponse>),
    ),
    read(
        "/worktree-summary",
        "Returns the worktree of the default agent.",
        &[],
        Typed(schema_of::<WorktreeSummaryResponse>),
    ),
    read(
        "/status",
        "Returns the status of the default agent.",
        &[],
        Typed(schema_of::<StatusResponse>),
    ),
    read(
        "/state",
        "Returns the snapshot of the default agent.",
        &[],
        Typed(schema_of::<StateResponse>),
    ),
    read(
        "/briefs",
        "Returns the newest briefs of the default agent.",
        SEQ_PAGE,
        Typed(schema_of::<Vec<BriefRecord>>),
    ),
    read(
        "/transcript",
        "Returns the newest transcript entries of the default agent.",
        SEQ_PAGE,
        Typed(schema_of::<Vec<TranscriptEntry>>),
    ),
];
