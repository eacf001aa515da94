//! Records for tests: an agent, its messages, and decisions with positions counted as `core` counts them.
//!
//! Shared by the unit tests and, by path, by the integration tests; each uses a part of it.
#![allow(dead_code, reason = "each test binary uses its own part")]

use holon_domain::agent::{AgentRecord, AgentRow, Counters};
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::brief::{BriefKind, BriefRow, BriefText};
use holon_domain::continuation::TriggerKind;
use holon_domain::decision::{Decision, Fact};
use holon_domain::effect::Effect;
use holon_domain::event::{Event, MaxOutputTokensRecovery};
use holon_domain::log::LogEntry;
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageEnvelope, MessageKind, Origin, Priority,
};
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::task::{
    CommandTaskSpec, TaskEnd, TaskKind, TaskRecord, TaskRecoverySpec, TaskStatus, WaitPolicy,
};
use holon_domain::timer::{
    DueAction, DueTime, MissedSlotPolicy, Slot, TimerRecord, TimerSchedule, TimerStatus,
};
use holon_domain::trigger::{DeliveryMode, WakeHint};
use holon_domain::wait::{WaitKind, WaitRecord, WaitStatus, WakeSource};
use holon_domain::work_item::{
    ASSISTANT_ROUND, DeliverySummary, DeliverySummaryRow, IdleTurns, PlanStatus, ReportText,
    WorkItemProvenance, WorkItemRecord, WorkItemState,
};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{
    AgentId, BriefId, CallId, DeliverySummaryId, MessageId, TaskId, TimerId, Timestamp, WaitId,
    WorkItemId, WorkspaceId,
};

/// A time, `millis` after a fixed start.
pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_794_700_000_000 + millis)
}

/// Parses an agent name.
pub(crate) fn id(name: &str) -> AgentId {
    AgentId::parse_stored(name).expect("a safe name")
}

/// A runnable, public agent without history, parsed from its required fields like an old row.
pub(crate) fn agent(name: &str) -> AgentRecord {
    let home = format!("/agents/{name}");
    let fields = serde_json::json!({
        "identity": {
            "agent_id": name,
            "kind": "named",
            "visibility": "public",
            "ownership": "self_owned",
            "profile_preset": "public_named",
        },
        "created_at": at(0),
        "lifecycle": "runnable",
        "generation": 1,
        "counters": Counters::default(),
        "agent_home": home,
        "workspace": WorkspaceEntry::agent_home(&home),
    });
    let row = AgentRow {
        record: &fields.to_string(),
        settings: None,
        counters: None,
    };
    AgentRecord::from_row(row).expect("an agent's record")
}

pub(crate) fn envelope(
    agent: &AgentId,
    number: u64,
    priority: Priority,
    text: &str,
) -> MessageEnvelope {
    MessageEnvelope {
        id: MessageId::from_stored(format!("msg_{number}")),
        agent_id: agent.clone(),
        created_at: at(0),
        kind: MessageKind::OperatorPrompt,
        origin: Origin::Operator { actor_id: None },
        trust: TrustLevel::TrustedOperator,
        authority_class: AuthorityClass::OperatorInstruction,
        priority,
        cause: Some(Cause::Operator),
        resumes: None,
        waits: Vec::new(),
        trigger_kind: TriggerKind::OperatorInput,
        work_item_id: None,
        task_id: None,
        source_refs: std::collections::BTreeMap::new(),
        body: Body::text(text),
        images: Vec::new(),
        metadata: None,
        delivery_surface: DeliverySurface::HttpControlPrompt,
        admission_context: AdmissionContext::ControlAuthenticated,
        correlation_id: None,
        causation_id: None,
    }
}

/// A command that continues as a task: watched while it is unfinished, with an end once it is over.
pub(crate) fn task(agent: &AgentId, name: &str, status: TaskStatus) -> TaskRecord {
    let spec = CommandTaskSpec {
        call_id: CallId::from_stored(format!("call_{name}")),
        cmd: "make".to_owned(),
        cmd_digest: "d1".to_owned(),
        workdir: "/w".to_owned(),
        shell: None,
        login: true,
        tty: false,
        accepts_input: false,
        output_path: None,
        stderr_path: None,
        promoted_from_exec_command: true,
        batch_items: None,
        started_at: None,
        started_by_operator: false,
        starts_in: None,
        skills: None,
        continue_on_result: None,
    };
    let end = TaskEnd {
        ended_at: at(9),
        exit_status: Some(0),
        signal: None,
        duration_ms: Some(9),
        result_summary: "it is over".to_owned(),
        output_summary: String::new(),
        output_bytes: 0,
        output_cut: None,
        failure_artifact: None,
    };
    TaskRecord {
        id: TaskId::from_stored(format!("task_{name}")),
        agent_id: agent.clone(),
        kind: TaskKind::CommandTask,
        status,
        created_at: at(0),
        updated_at: at(9),
        parent_message_id: None,
        parent_message_seq: None,
        work_item_id: None,
        summary: None,
        wait_policy: WaitPolicy::Background,
        terminal_reentry: true,
        recovery: Some(TaskRecoverySpec::CommandTask {
            summary: "make".to_owned(),
            spec: Box::new(spec),
            trust: TrustLevel::TrustedOperator,
        }),
        max_rounds: None,
        effect: (!status.is_terminal()).then_some(1),
        stop: None,
        end: status.is_terminal().then_some(end),
        ends_unread: 0,
        operator_inputs: 0,
    }
}

/// A runnable work item.
pub(crate) fn work_item(agent: &AgentId, name: &str) -> WorkItemRecord {
    WorkItemRecord {
        id: WorkItemId::from_stored(format!("work_{name}")),
        agent_id: agent.clone(),
        workspace_id: WorkspaceId::from_stored("agent_home"),
        objective: format!("do {name}"),
        state: WorkItemState::Open,
        plan_status: PlanStatus::Draft,
        plan: None,
        todo_list: Vec::new(),
        blocked_by: None,
        recheck: None,
        wait: None,
        ended_wait: None,
        idle_turns: IdleTurns::default(),
        result_summary: None,
        delivery_summary_id: None,
        delivery: None,
        order: None,
        provenance: WorkItemProvenance {
            authority: AuthorityClass::OperatorInstruction,
            turn_index: None,
            message_id: None,
            reply_route: None,
        },
        revision: 1,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// The delivery summary of a completed work item.
pub(crate) fn delivery_summary(item: &WorkItemRecord, text: ReportText) -> DeliverySummaryRow {
    DeliverySummaryRow {
        id: DeliverySummaryId::of_item(&item.id),
        work_item_id: item.id.clone(),
        agent_id: item.agent_id.clone(),
        text,
        delivery: DeliverySummary {
            source: ASSISTANT_ROUND.to_owned(),
            brief_id: BriefId::from_stored("brief_1"),
            brief_seq: Some(1),
            message_id: MessageId::from_stored("msg_1"),
            turn_index: 1,
            created_at: at(0),
        },
    }
}

/// A wait of the agent itself for its operator.
pub(crate) fn wait(agent: &AgentId, name: &str, status: WaitStatus) -> WaitRecord {
    WaitRecord {
        id: WaitId::from_stored(format!("wait_{name}")),
        agent_id: agent.clone(),
        work_item_id: None,
        kind: WaitKind::Operator,
        status,
        waiting_for: "an answer".to_owned(),
        wake_sources: vec![WakeSource::OperatorInput],
        source: None,
        external_ref: None,
        external_trigger_id: None,
        question: None,
        due_at: None,
        due: None,
        order: None,
        authority: AuthorityClass::OperatorInstruction,
        trigger_count: 0,
        last_triggered_at: None,
        ended_by: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A timer that fires once. Without a due entry, its slot came while the agent was stopped.
pub(crate) fn timer(
    agent: &AgentId,
    name: &str,
    status: TimerStatus,
    due: Option<u64>,
) -> TimerRecord {
    TimerRecord {
        made_by_agent: false,
        order: None,
        past_slots: Vec::new(),
        passed_over: 0,
        wait_recorded: false,
        queued_tick: None,
        id: TimerId::from_stored(format!("timer_{name}")),
        agent_id: agent.clone(),
        created_at: at(0),
        schedule: TimerSchedule::Once { at: at(60_000) },
        missed: MissedSlotPolicy::Once,
        status,
        summary: None,
        authority: AuthorityClass::OperatorInstruction,
        next_fire_at: (status == TimerStatus::Active).then(|| at(60_000)),
        due,
        last_fired_at: None,
        fire_count: 0,
        missed_count: 0,
    }
}

/// A wake hint that stands for this many deliveries of one source.
pub(crate) fn hint(key: &str, count: u64) -> WakeHint {
    WakeHint {
        key: key.to_owned(),
        external_trigger_id: None,
        delivery_mode: DeliveryMode::WakeHint,
        source: Some(key.to_owned()),
        reason: None,
        content_type: None,
        body: None,
        correlation_id: None,
        causation_id: None,
        wait_ids: Vec::new(),
        ended_waits: Vec::new(),
        count,
        last_at: at(0),
        earlier: Vec::new(),
        from_outside: false,
    }
}

/// Builds decisions of one agent, taking positions from its counters as `core` does.
#[derive(Debug, Clone)]
pub(crate) struct Scribe {
    pub(crate) record: AgentRecord,
    facts: Vec<Fact>,
}

impl Scribe {
    pub(crate) fn new(name: &str) -> Self {
        Self::from(agent(name))
    }

    pub(crate) fn from(record: AgentRecord) -> Self {
        Self {
            record,
            facts: Vec::new(),
        }
    }

    /// Returns the decision so far; the next one starts after it.
    pub(crate) fn decide(&mut self) -> Decision {
        Decision {
            agent: self.record.clone(),
            facts: std::mem::take(&mut self.facts),
            more: false,
        }
    }

    pub(crate) fn fact(&mut self, fact: Fact) -> &mut Self {
        self.facts.push(fact);
        self
    }

    pub(crate) fn event(&mut self) -> &mut Self {
        self.event_at(at(0))
    }

    pub(crate) fn event_at(&mut self, at: Timestamp) -> &mut Self {
        self.record.counters.events += 1;
        let seq = self.record.counters.events;
        let event = Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
            turn_index: seq,
            attempt: 1,
            run_id: None,
            message_seq: None,
        });
        self.fact(Fact::EventRecorded { seq, at, event })
    }

    /// Adds a message of a given band and its event.
    pub(crate) fn admit_as(&mut self, priority: Priority, text: &str) -> &mut Self {
        self.record.counters.messages += 1;
        let seq = self.record.counters.messages;
        let envelope = envelope(&self.record.identity.agent_id, seq, priority, text);
        let entry = QueueEntry {
            seq,
            status: QueueStatus::Queued,
            max_rounds: None,
            envelope,
        };
        self.fact(Fact::MessageAdmitted(entry)).event()
    }

    pub(crate) fn admit(&mut self, text: &str) -> &mut Self {
        self.admit_as(Priority::Normal, text)
    }

    pub(crate) fn shift(&mut self, seq: u64, from: QueueStatus, to: QueueStatus) -> &mut Self {
        self.fact(Fact::MessageMoved { seq, from, to })
    }

    pub(crate) fn log(&mut self, turn_index: u64, entry: LogEntry) -> &mut Self {
        self.log_at(turn_index, at(0), entry)
    }

    pub(crate) fn log_at(&mut self, turn_index: u64, at: Timestamp, entry: LogEntry) -> &mut Self {
        self.record.counters.log += 1;
        let seq = self.record.counters.log;
        self.fact(Fact::LogAppended {
            seq,
            turn_index,
            at,
            entry,
        })
    }

    pub(crate) fn brief(&mut self, text: BriefText) -> &mut Self {
        self.brief_of(1, text)
    }

    pub(crate) fn brief_of(&mut self, turn_index: u64, text: BriefText) -> &mut Self {
        self.record.counters.briefs += 1;
        let seq = self.record.counters.briefs;
        let row = BriefRow {
            id: BriefId::from_stored(format!("brief_{seq}")),
            kind: BriefKind::Result,
            created_at: at(0),
            text,
            note: None,
            workspace_id: WorkspaceId::from_stored("agent_home"),
            related_message_id: None,
            settles: Vec::new(),
            turn_index,
            work_item_id: None,
            acknowledges: Vec::new(),
            action_required: None,
            related_task_id: None,
            spending: None,
            attachments: Vec::new(),
        };
        self.fact(Fact::BriefWritten { seq, row })
    }

    /// Adds a task in this status.
    pub(crate) fn task(&mut self, name: &str, status: TaskStatus) -> &mut Self {
        let record = task(&self.record.identity.agent_id, name, status);
        self.fact(Fact::TaskWritten(Box::new(record)))
    }

    /// Adds the task of a child agent in this status.
    pub(crate) fn child_task(&mut self, name: &str, status: TaskStatus) -> &mut Self {
        let record = TaskRecord {
            kind: TaskKind::ChildAgentTask,
            ..task(&self.record.identity.agent_id, name, status)
        };
        self.fact(Fact::TaskWritten(Box::new(record)))
    }

    pub(crate) fn open_effect(&mut self) -> &mut Self {
        self.open(Effect::PrepareHome)
    }

    pub(crate) fn open(&mut self, effect: Effect) -> &mut Self {
        self.record.counters.effects += 1;
        let (id, generation) = (self.record.counters.effects, self.record.generation);
        self.fact(Fact::EffectOpened {
            id,
            generation,
            at: at(0),
            effect,
        })
    }

    pub(crate) fn set_due(&mut self, at: Timestamp) -> &mut Self {
        self.record.counters.effects += 1;
        let id = self.record.counters.effects;
        self.fact(Fact::DueSet {
            id,
            time: DueTime::Slot(Slot { at, set_at: at }),
            due: DueAction::RestOver { reason: None },
        })
    }
}

/// A log entry of a turn that takes a message.
pub(crate) const fn took(message_seq: u64) -> LogEntry {
    LogEntry::IncomingMessage { message_seq }
}
