//! Builds inputs and their parts.

use crate::commands;
use crate::world::World;
use holon_core::Ingress;
use holon_core::input::{ContextSize, FailedAttempt, NewAgent, RoundTiming};
use holon_core::{Input, RoundAnswer, Stamp};
use holon_domain::agent::{
    AgentIdentity, AgentKind, Ownership, ProfilePreset, RunTerms, Visibility,
};
use holon_domain::attempt::TokenUsage;
use holon_domain::block::{Block, ToolCall};
use holon_domain::compaction::Compaction;
use holon_domain::consequence::Consequence;
use holon_domain::intent::Intent;
use holon_domain::log::{FrameRecord, InterjectionBoundary};
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::model::{
    ModelChoice, ModelFailure, ModelFailureKind, ModelOptions, ModelRef, StopReason,
};
use holon_domain::queue::QueueEntry;
use holon_domain::thread::ThreadFold;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::usage::CallEstimate;
use holon_domain::work_item::{PlanArtifact, StaleReminder};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, Timestamp, WorkItemId, WorkspaceId};
use serde_json::json;
use std::sync::Arc;

/// Start time of every test.
pub(crate) const T0: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(crate) fn agent_id() -> AgentId {
    AgentId::parse("ada").expect("a good name")
}

pub(crate) fn model(text: &str) -> ModelRef {
    ModelRef::parse(text).expect("a model reference")
}

/// Builds an agent's own choice of a model.
pub(crate) fn choice(text: &str) -> ModelChoice {
    ModelChoice::Use {
        model: model(text),
        options: ModelOptions::default(),
    }
}

pub(crate) fn workspace(name: &str) -> WorkspaceEntry {
    WorkspaceEntry {
        workspace_id: WorkspaceId::from_stored(format!("ws-{name}")),
        ..WorkspaceEntry::agent_home(&format!("/projects/{name}"))
    }
}

pub(crate) fn new_agent() -> NewAgent {
    NewAgent {
        identity: AgentIdentity {
            agent_id: agent_id(),
            kind: AgentKind::Named,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            root_agent_id: None,
        },
        agent_home: "/srv/ada".to_owned(),
        workspace: WorkspaceEntry::agent_home("/srv/ada"),
        model: None,
        run: None,
    }
}

pub(crate) fn temporary_agent() -> NewAgent {
    agent_for_run(None)
}

/// Builds a one-run agent with this round limit.
pub(crate) fn agent_for_run(max_rounds: Option<u32>) -> NewAgent {
    NewAgent {
        run: Some(RunTerms::temporary(max_rounds)),
        ..new_agent()
    }
}

/// Builds an operator's prompt through the control plane.
pub(crate) fn prompt(priority: Priority) -> Ingress {
    Ingress::operator_prompt(
        "do this".to_owned(),
        priority,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    )
}

pub(crate) fn bounded_prompt(max_rounds: u32) -> Ingress {
    Ingress {
        max_rounds: Some(max_rounds),
        ..prompt(Priority::Normal)
    }
}

/// Builds an external event, with or without text.
pub(crate) fn channel_event(words: &str, priority: Priority) -> Ingress {
    Ingress {
        kind: MessageKind::ChannelEvent,
        origin: Origin::Channel {
            channel_id: "town-square".to_owned(),
            sender_id: None,
        },
        body: Body::text(words),
        delivery_surface: DeliverySurface::HttpPublicEnqueue,
        admission_context: AdmissionContext::PublicUnauthenticated,
        ..prompt(priority)
    }
}

pub(crate) fn admit(ingress: Ingress) -> Input {
    Input::Admit(Box::new(ingress))
}

/// Estimate of each call in these tables.
pub(crate) const CALL: CallEstimate = CallEstimate {
    input_tokens: 80,
    output_tokens: 20,
};

/// A model's answer under construction.
#[derive(Debug, Clone)]
pub(crate) struct ModelAnswer {
    pub(crate) words: &'static str,
    pub(crate) calls: Vec<(&'static str, Result<Intent, ToolError>)>,
    pub(crate) stop: StopReason,
    /// Queued messages that its request contained.
    pub(crate) interjected: Vec<QueueEntry>,
    /// Queued messages that were too long to join.
    pub(crate) apart: Vec<QueueEntry>,
    /// Estimated size of its request.
    pub(crate) request_tokens: u64,
    /// Work items that its request showed.
    pub(crate) shown: Vec<WorkItemId>,
    /// Changed plan file that its request found.
    pub(crate) plan: Option<(WorkItemId, PlanArtifact)>,
    /// Reminder that its request was the first to hold.
    pub(crate) reminder: Option<StaleReminder>,
    /// Compaction that its request was the first to have.
    pub(crate) compaction: Option<Compaction>,
    pub(crate) fold: Option<ThreadFold>,
}

impl ModelAnswer {
    pub(crate) fn words(words: &'static str) -> Self {
        Self {
            words,
            calls: Vec::new(),
            stop: StopReason::EndTurn,
            interjected: Vec::new(),
            apart: Vec::new(),
            request_tokens: 0,
            shown: Vec::new(),
            plan: None,
            reminder: None,
            compaction: None,
            fold: None,
        }
    }

    pub(crate) fn calls(calls: Vec<(&'static str, Result<Intent, ToolError>)>) -> Self {
        Self {
            calls,
            stop: StopReason::ToolUse,
            ..Self::words("let me see")
        }
    }

    pub(crate) fn cut_off(self) -> Self {
        Self {
            stop: StopReason::MaxOutputTokens,
            ..self
        }
    }

    pub(crate) fn after(self, interjected: Vec<QueueEntry>) -> Self {
        Self {
            interjected,
            ..self
        }
    }

    /// Builds the answer to an effect; the effect's number keeps the call ids apart.
    pub(crate) fn answer(self, effect: u64, at: Timestamp) -> RoundAnswer {
        let words = Block::Text {
            text: self.words.to_owned(),
        };
        let calls = self.calls.iter().enumerate().map(|(index, (name, _))| {
            Block::ToolCall(ToolCall {
                id: CallId::from_stored(format!("call_{effect}_{index}")),
                name: (*name).to_owned(),
                input: json!({ "cmd": "true" }),
                provider_id: None,
            })
        });
        let words = (!self.words.is_empty()).then_some(words);
        RoundAnswer {
            context_management: None,
            overlap: None,
            learned: None,
            server: Default::default(),
            blocks: Arc::new(words.into_iter().chain(calls).collect()),
            stop_reason: self.stop,
            usage: TokenUsage::new(10, 2),
            implausible_usage: None,
            intents: Arc::new(self.calls.into_iter().map(|(_, intent)| intent).collect()),
            interjected: self.interjected,
            apart: self.apart,
            request_tokens: self.request_tokens,
            estimate: CALL,
            boundary: InterjectionBoundary::AfterProviderRound,
            frame: FrameRecord {
                prompt_cache_key: "key".to_owned(),
                context_fingerprint: "print".to_owned(),
                stable: "s".to_owned(),
                agent_scoped: "a".to_owned(),
                ..FrameRecord::default()
            },
            shown_items: self.shown,
            plan: self.plan,
            reminder_text: self
                .reminder
                .as_ref()
                .filter(|reminder| reminder.skipped.is_none())
                .map(|_| "Mind the item.".to_owned()),
            reminder: self.reminder,
            compaction: self.compaction,
            fold: self.fold,
            kept: vec![("s".to_owned(), "stable words".to_owned())],
            context: ContextSize::default(),
            timing: timing(at),
        }
    }

    /// Builds the input that answers the open effect.
    pub(crate) fn to(self, world: &World) -> Input {
        self.stamped(world.stamp().expect("a model is asked"), world.now)
    }

    pub(crate) fn stamped(self, stamp: Stamp, at: Timestamp) -> Input {
        Input::RoundAnswered {
            stamp,
            answer: Box::new(self.answer(stamp.effect, at)),
        }
    }
}

pub(crate) fn timing(at: Timestamp) -> RoundTiming {
    RoundTiming {
        context_build_ms: 1,
        started_at: at,
        completed_at: at,
        provider_ms: 5,
    }
}

pub(crate) fn exec() -> (&'static str, Result<Intent, ToolError>) {
    commands::exec("true")
}

pub(crate) fn sleep(duration_ms: Option<u64>) -> (&'static str, Result<Intent, ToolError>) {
    let reason = Some("nothing to do".to_owned());
    (
        "Sleep",
        Ok(Intent::Sleep {
            reason,
            duration_ms,
        }),
    )
}

pub(crate) fn enqueue(priority: Priority) -> (&'static str, Result<Intent, ToolError>) {
    let text = "look again".to_owned();
    ("Enqueue", Ok(Intent::Enqueue { text, priority }))
}

pub(crate) fn agent_get() -> (&'static str, Result<Intent, ToolError>) {
    ("AgentGet", Ok(Intent::AgentGet))
}

pub(crate) fn misunderstood() -> (&'static str, Result<Intent, ToolError>) {
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, "cmd is missing");
    ("ExecCommand", Err(error))
}

pub(crate) fn failed(kind: ModelFailureKind, stamp: Stamp, at: Timestamp) -> Input {
    Input::AttemptFailed {
        stamp,
        attempt: Box::new(FailedAttempt {
            shown: Default::default(),
            implausible_usage: None,
            answer_tokens: 0,
            failure: ModelFailure::new(kind, "the provider said no"),
            timing: timing(at),
            server: Default::default(),
            interjected: Vec::new(),
            request_tokens: 0,
        }),
    }
}

pub(crate) fn tool_ok(stamp: Stamp) -> Input {
    Input::ToolFinished {
        stamp,
        consequence: Consequence::Result(ToolEnvelope::success(
            "ExecCommand",
            "exit 0",
            json!({ "exit_status": 0 }),
        )),
        duration_ms: 7,
    }
}

pub(crate) fn home_prepared(stamp: Stamp, result: Result<(), &str>) -> Input {
    let result = result.map_err(str::to_owned);
    Input::HomePrepared { stamp, result }
}

pub(crate) fn home_removed(stamp: Stamp, result: Result<(), &str>) -> Input {
    let result = result.map_err(str::to_owned);
    Input::HomeRemoved { stamp, result }
}
