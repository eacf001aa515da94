//! An agent, a model, a tool and messages to build frames from.

use holon_domain::agent::{AgentRecord, AgentRow, Counters};
use holon_domain::delegation::ActiveChild;
use holon_domain::guidance::Guidance;
use holon_domain::memory::WorkingMemoryState;
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageEnvelope, MessageKind, Origin, Priority,
};
use holon_domain::model::ModelRef;
use holon_domain::place::Place;
use holon_domain::task::{TaskKind, TaskListEntry, TaskStatus, WaitPolicy};
use holon_domain::thread::ThreadBase;
use holon_domain::tool::OfferedTool;
use holon_domain::tool_set::ToolSet;
use holon_domain::turn::TerminalReason;
use holon_domain::work_item::WorkOverview;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, MessageId, TaskId, Timestamp};
use holon_prompt::{BuiltFrame, FrameInput, KeptFrame, Memory, PlanFile, Tasks, Work, build};
use serde_json::json;

/// Everything a frame borrows.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) agent: AgentRecord,
    pub(crate) guidance: Guidance,
    pub(crate) place: Place,
    pub(crate) model: ModelRef,
    pub(crate) current: MessageEnvelope,
    /// Frozen beginning of the thread. Absent if the frame begins one.
    pub(crate) base: Option<ThreadBase>,
    /// Absent if the thread shows the newest message of the operator.
    pub(crate) operator: Option<MessageEnvelope>,
    pub(crate) tasks: Vec<TaskListEntry>,
    pub(crate) children: Vec<ActiveChild>,
    pub(crate) work: WorkOverview,
    pub(crate) plan: PlanFile,
    pub(crate) memory: WorkingMemoryState,
    /// Failure that the turn repairs.
    pub(crate) repairs: Option<TerminalReason>,
    pub(crate) tools: ToolSet,
    pub(crate) now: Timestamp,
    pub(crate) budget_tokens: u32,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self {
            agent: agent(),
            guidance: Guidance::default(),
            place: Place::default(),
            model: ModelRef::parse("scripted/hello.json").expect("a reference"),
            current: operator(1, "Fix the build."),
            base: None,
            operator: None,
            tasks: Vec::new(),
            children: Vec::new(),
            work: WorkOverview::default(),
            plan: PlanFile::Known,
            memory: WorkingMemoryState::default(),
            repairs: None,
            tools: ToolSet::new(vec![tool("Sleep"), tool("ExecCommand")]),
            now: at(100),
            budget_tokens: 100_000,
        }
    }

    pub(crate) fn input(&self) -> FrameInput<'_> {
        FrameInput {
            agent: &self.agent,
            guidance: &self.guidance,
            place: &self.place,
            model: &self.model,
            answer_tokens: 8_192,
            turn_index: 1,
            current: &self.current,
            waits: &self.current.waits,
            base: self.base.as_ref(),
            operator: self.operator.as_ref(),
            work: Work::Rows(&self.work, &self.plan),
            memory: Memory::Rows(&self.memory),
            tasks: Tasks::Rows(&self.tasks),
            children: &self.children,
            repairs: self.repairs,
            now: self.now,
            late: None,
            tools: &self.tools,
            budget_tokens: self.budget_tokens,
            budget_is_assumed: false,
            is_refused: false,
        }
    }

    pub(crate) fn built(&self) -> BuiltFrame {
        build(&self.input())
    }

    /// Returns the context blocks before the current input, joined.
    pub(crate) fn before_input(&self) -> String {
        let mut blocks = self.built().frame.context_blocks;
        blocks.pop();
        let texts: Vec<String> = blocks.into_iter().map(|block| block.text).collect();
        texts.join("\n\n")
    }

    /// Returns the text of the last context block.
    pub(crate) fn last_block(&self) -> String {
        self.built()
            .frame
            .context_blocks
            .last()
            .expect("a block")
            .text
            .clone()
    }
}

/// Returns what a caller keeps of a frame.
pub(crate) fn kept(built: &BuiltFrame) -> KeptFrame<'_> {
    KeptFrame {
        stable: &built.stable,
        agent_scoped: &built.agent_scoped,
        agent_parts: &built.agent_parts,
        work_parts: &built.work_parts,
        surroundings: built.surroundings.as_deref(),
        cuts: &built.cuts,
        over_tokens: u32::try_from(built.over_tokens).expect("small"),
        budget_tokens: built.budget_tokens,
        changes: built.changes.as_deref(),
        now: built.now.as_deref(),
        told: &built.told,
    }
}

/// Returns the input of a later request of the turn whose first one was built.
pub(crate) fn later<'a>(scene: &'a Scene, built: &'a BuiltFrame) -> FrameInput<'a> {
    FrameInput {
        work: Work::Kept(built.work.as_deref()),
        memory: kept_memory(built),
        tasks: Tasks::Kept(built.tasks.as_deref()),
        ..scene.input()
    }
}

/// Returns what a later request of a turn knows of the agent's memory.
pub(crate) fn kept_memory(built: &BuiltFrame) -> Memory<'static> {
    Memory::Kept {
        revision: built.frame.cache.working_memory_revision,
    }
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_794_700_000_000 + seconds * 1_000)
}

/// Parsed from its stored form, so that facts no prompt shows need no mention here.
fn agent() -> AgentRecord {
    let home = "/srv/op/.holon/agents/main";
    let row = json!({
        "identity": {
            "agent_id": "main",
            "kind": "default",
            "visibility": "public",
            "ownership": "self_owned",
            "profile_preset": "public_named",
        },
        "created_at": at(0),
        "lifecycle": "runnable",
        "generation": 1,
        "counters": Counters::default(),
        "agent_home": home,
        "workspace": WorkspaceEntry::agent_home(home),
    });
    let row = AgentRow {
        record: &row.to_string(),
        settings: None,
        counters: None,
    };
    AgentRecord::from_row(row).expect("a stored agent")
}

pub(crate) fn tool(name: &str) -> OfferedTool {
    OfferedTool {
        name: name.into(),
        description: format!("What {name} does."),
        parameters: json!({"type": "object", "properties": {}}),
        strict: false,
        freeform: None,
    }
}

pub(crate) fn operator(n: u32, text: &str) -> MessageEnvelope {
    message(
        n,
        Origin::Operator { actor_id: None },
        MessageKind::OperatorPrompt,
        text,
    )
}

pub(crate) fn channel(n: u32, text: &str) -> MessageEnvelope {
    let origin = Origin::Channel {
        channel_id: "chat".into(),
        sender_id: Some("eve".into()),
    };
    message(n, origin, MessageKind::ChannelEvent, text)
}

/// A tick by which the runtime goes on with the agent's work.
pub(crate) fn tick(n: u32, text: &str) -> MessageEnvelope {
    let origin = Origin::System {
        subsystem: "work_queue".into(),
    };
    message(n, origin, MessageKind::SystemTick, text)
}

pub(crate) fn webhook(n: u32, text: &str) -> MessageEnvelope {
    let origin = Origin::Webhook {
        source: "ci".into(),
        event_type: Some("push".into()),
    };
    message(n, origin, MessageKind::WebhookEvent, text)
}

/// The end of a task, in the form the runtime reports it.
pub(crate) fn task_result(n: u32, text: &str) -> MessageEnvelope {
    let origin = Origin::Task {
        task_id: task_id(1),
    };
    message(n, origin, MessageKind::TaskResult, text)
}

fn task_id(n: u32) -> TaskId {
    TaskId::from_stored(format!("task_{n:020}"))
}

/// A task that began at that second.
pub(crate) fn task(n: u32, seconds: i64, summary: &str) -> TaskListEntry {
    TaskListEntry {
        id: task_id(n),
        kind: TaskKind::CommandTask,
        status: TaskStatus::Running,
        summary: Some(summary.to_owned()),
        created_at: at(seconds),
        updated_at: at(seconds),
        wait_policy: WaitPolicy::Background,
        command: None,
        child_agent_id: None,
    }
}

fn message(n: u32, origin: Origin, kind: MessageKind, text: &str) -> MessageEnvelope {
    let authority_class = origin.ceiling();
    let (delivery_surface, admission_context) = match kind {
        MessageKind::OperatorPrompt => (
            DeliverySurface::HttpControlPrompt,
            AdmissionContext::ControlAuthenticated,
        ),
        MessageKind::WebhookEvent => (
            DeliverySurface::HttpWebhook,
            AdmissionContext::SignedIntegration,
        ),
        MessageKind::TaskResult => (
            DeliverySurface::RuntimeSystem,
            AdmissionContext::RuntimeOwned,
        ),
        MessageKind::ChannelEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => (
            DeliverySurface::HttpPublicEnqueue,
            AdmissionContext::PublicUnauthenticated,
        ),
    };
    MessageEnvelope {
        id: MessageId::from_stored(format!("msg_{n:020}")),
        agent_id: AgentId::parse("main").expect("a name"),
        created_at: at(i64::from(n)),
        kind,
        origin,
        trust: authority_class.into(),
        authority_class,
        priority: Priority::Normal,
        cause: None,
        resumes: None,
        waits: Vec::new(),
        trigger_kind: kind.trigger(),
        work_item_id: None,
        task_id: None,
        source_refs: std::collections::BTreeMap::new(),
        body: Body::text(text),
        images: Vec::new(),
        metadata: None,
        delivery_surface,
        admission_context,
        correlation_id: None,
        causation_id: None,
    }
}
