//! The audit event: one enum, one variant per kind, one typed payload each, with a version.
//!
//! Events notify and explain; they are never folded back into state. Payloads carry ids and bounded summaries,
//! bodies stay where they are. Fields are only ever added; a kind or version this build does not know loads as data.

mod message;
mod provider;
mod state;
mod subject;
mod task;
mod turn;
mod work;

pub use message::{
    ContinuationResolved, MessageAdmitted, MessageProcessingAborted, MessageProcessingStarted,
    OperatorInterjectionAdmitted, SchedulerChoice, SchedulerDecision,
};
pub use provider::{
    AgentModelOverrideCleared, AgentModelOverrideSet, ModelLimitLearned, ProviderFallbackSelected,
    ProviderRetryScheduled, ProviderRoundCompleted, TerminalDeliveryRoundCompleted,
};
pub use state::{AgentStateChanged, SessionStateChanged};
pub use task::{TaskCreated, TaskResultReceived, TaskStatusUpdated};
pub use turn::{
    AssistantRoundRecorded, MaxOutputTokensRecovery, ProcessExecutionRequested, RuntimeError,
    SuspensionEnd, ToolExecuted, ToolExecutionFailed, TurnContextBuilt, TurnResumed, TurnStarted,
    TurnSuspended, TurnSuspensionEnded, TurnTerminal,
};

pub use work::{
    SystemTickSuppressed, TimerCancelled, TimerCreated, TimerFired, WaitingIntentCreated,
    WaitingIntentEnded, WakeHintTriggered, WorkItemCompletionReportPromoted,
    WorkItemCompletionWarning, WorkItemFocusReleased, WorkItemPicked,
    WorkItemPlanArtifactRefreshed, WorkItemRecheckConsumed, WorkItemWritten,
};

use crate::brief::{ActionCode, BriefKind};
use crate::closure::{ClosureOutcome, WaitingReason};
use crate::effect::EffectId;
use crate::id::{BriefId, MessageId, RunId, TaskId, WorkItemId};
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::turn::TerminalReason;
use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $kind:literal, v $version:literal;)*) => {
        /// Something that happened to an agent.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event {
            $($(#[$doc])* $variant($variant),)*
            /// A kind or version of another build, kept as it is.
            Unknown {
                /// Its kind.
                kind: String,
                /// Its version.
                version: u32,
                /// Its payload.
                data: Value,
            },
        }

        impl Event {
            /// Every kind this build writes, with its payload version.
            pub const KINDS: &[(&str, u32)] = &[$(($kind, $version)),*];

            /// Stored and streamed name.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Version of its payload.
            #[must_use]
            pub const fn version(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $version,)*
                    Self::Unknown { version, .. } => *version,
                }
            }

            /// Its payload as JSON text.
            ///
            /// # Errors
            /// Only if a payload holds something JSON cannot, which no payload type does.
            pub fn encode(&self) -> Result<String, serde_json::Error> {
                match self {
                    $(Self::$variant(payload) => serde_json::to_string(payload),)*
                    Self::Unknown { data, .. } => serde_json::to_string(data),
                }
            }

            /// Reads a stored event; what this build does not know becomes `Unknown`.
            #[must_use]
            pub fn decode(kind: &str, version: u32, data: &str) -> Self {
                let known = match (kind, version) {
                    $(($kind, $version) => serde_json::from_str(data).ok().map(Self::$variant),)*
                    _ => None,
                };
                known.unwrap_or_else(|| Self::Unknown {
                    kind: kind.to_owned(),
                    version,
                    data: serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned())),
                })
            }
        }
    };
}

events! {
    /// An agent exists.
    AgentCreated = "agent_created", v 1;
    /// The agent was put aside because a stored row of it cannot be read; nothing runs for it until it is started.
    AgentPutAside = "agent_put_aside", v 1;
    /// A message entered the queue.
    MessageAdmitted = "message_admitted", v 1;
    /// A turn took a message up.
    MessageProcessingStarted = "message_processing_started", v 1;
    /// A message's turn ended without finishing it.
    MessageProcessingAborted = "message_processing_aborted", v 1;
    /// An operator message entered a running turn.
    OperatorInterjectionAdmitted = "operator_interjection_admitted", v 1;
    /// The scheduler chose.
    SchedulerDecision = "scheduler_decision", v 1;
    /// A trigger was classified.
    ContinuationResolved = "continuation_resolved", v 1;
    /// A turn began.
    TurnStarted = "turn_started", v 1;
    /// An open turn goes on after a restart.
    TurnResumed = "turn_resumed", v 1;
    /// No model of the chain could answer, and the open turn waits until one may. Emitted once for each pause; without
    /// an end of the pause the turn waits for an operator.
    TurnSuspended = "turn_suspended", v 1;
    /// A suspended turn asks its models again, from the first one on.
    TurnSuspensionEnded = "turn_suspension_ended", v 1;
    /// The turn's prompt was built.
    TurnContextBuilt = "turn_context_built", v 1;
    /// A provider answered: telemetry.
    ProviderRoundCompleted = "provider_round_completed", v 1;
    /// Reserved: no extra delivery round is ever forced.
    TerminalDeliveryRoundCompleted = "terminal_delivery_round_completed", v 1;
    /// A provider failed and will be asked again.
    ProviderRetryScheduled = "provider_retry_scheduled", v 1;
    /// A model failed for good and the turn asks the next one.
    ProviderFallbackSelected = "provider_fallback_selected", v 1;
    /// A provider's error taught what a model can take.
    ModelLimitLearned = "model_limit_learned", v 1;
    /// The agent asks a model of its own from its next turn on.
    AgentModelOverrideSet = "agent_model_override_set", v 1;
    /// The agent asks the host's default again from its next turn on.
    AgentModelOverrideCleared = "agent_model_override_cleared", v 1;
    /// What the answer held: bounded text and tool requests.
    AssistantRoundRecorded = "assistant_round_recorded", v 1;
    /// An answer was cut off by the output limit and the model is asked to go on.
    MaxOutputTokensRecovery = "max_output_tokens_recovery", v 1;
    /// A command is about to be started for a call, recorded in the commit that asks for it: once for each command of a
    /// batch, and not again when a restart finds the command. A command that turns out to be refused, skipped or running
    /// already is told by its call's result.
    ProcessExecutionRequested = "process_execution_requested", v 1;
    /// A call worked.
    ToolExecuted = "tool_executed", v 1;
    /// A call failed.
    ToolExecutionFailed = "tool_execution_failed", v 1;
    /// A command goes on as a task.
    TaskCreated = "task_created", v 1;
    /// A task moved on.
    TaskStatusUpdated = "task_status_updated", v 1;
    /// The result of a task was queued.
    TaskResultReceived = "task_result_received", v 1;
    /// A turn ended.
    TurnTerminal = "turn_terminal", v 1;
    /// A turn failed.
    RuntimeError = "runtime_error", v 1;
    /// A brief was written.
    BriefCreated = "brief_created", v 1;
    /// Where the agent stands after a turn.
    ClosureDecided = "closure_decided", v 1;
    /// What the agent does has changed, as its status shows it. A signal to read the agent's status again; it holds no
    /// more than the two words, and is recorded only when one of them changes.
    AgentStateChanged = "agent_state_changed", v 1;
    /// Another run is open, or none any more. A signal to read the agent's status again.
    SessionStateChanged = "session_state_changed", v 1;
    /// The runtime woke the agent.
    SystemTickEmitted = "system_tick_emitted", v 1;
    /// Runnable work gets no tick now, because earlier ticks for it changed nothing. Emitted once for each such pause.
    SystemTickSuppressed = "system_tick_suppressed", v 1;
    /// A work item was made or changed. Carries the item as it stands after the change, without its checklist.
    WorkItemWritten = "work_item_written", v 1;
    /// The agent moved its focus to a work item.
    WorkItemPicked = "work_item_picked", v 1;
    /// The item that had the focus lost it, and no other has it.
    WorkItemFocusReleased = "work_item_focus_released", v 1;
    /// The runtime read the plan file of a work item and found another content than before.
    WorkItemPlanArtifactRefreshed = "work_item_plan_artifact_refreshed", v 1;
    /// A model answered a request that reminded it of a blocked item.
    WorkItemRecheckConsumed = "work_item_recheck_consumed", v 1;
    /// The text of the round that completed a work item became its completion report.
    WorkItemCompletionReportPromoted = "work_item_completion_report_promoted", v 1;
    /// A work item was completed although something about it is unfinished.
    WorkItemCompletionWarning = "work_item_completion_warning", v 1;
    /// The agent declared what it waits for and ended its turn.
    WaitingIntentCreated = "waiting_intent_created", v 1;
    /// A declared wait is over.
    WaitingIntentEnded = "waiting_intent_ended", v 1;
    /// A timer was made.
    TimerCreated = "timer_created", v 1;
    /// A slot of a timer came. The tick is a message of its own.
    TimerFired = "timer_fired", v 1;
    /// A timer was cancelled and fires no more.
    TimerCancelled = "timer_cancelled", v 1;
    /// Something outside asked the agent to look. The hint becomes a tick as soon as the agent can take one.
    WakeHintTriggered = "wake_hint_triggered", v 1;
    /// A lifecycle request took effect.
    ControlApplied = "control_applied", v 1;
    /// A run was aborted.
    CurrentRunAborted = "current_run_aborted", v 1;
    /// Another workspace is active.
    WorkspaceUsed = "workspace_used", v 1;
    /// An outcome came for an effect that is no longer open.
    EffectOutcomeDropped = "effect_outcome_dropped", v 1;
}

/// See [`Event::AgentPutAside`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPutAside {
    /// The table, the key and the reason, as the store found them.
    pub reason: String,
}

/// See [`Event::AgentCreated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCreated {
    /// Its kind.
    pub kind: crate::agent::AgentKind,
    /// Its profile.
    pub profile_preset: crate::agent::ProfilePreset,
    /// Its active workspace.
    pub workspace_id: crate::WorkspaceId,
}

/// See [`Event::BriefCreated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BriefCreated {
    /// The brief.
    pub brief_id: BriefId,
    /// Its position.
    pub brief_seq: u64,
    /// Its form.
    pub kind: BriefKind,
    /// The turn.
    pub turn_index: u64,
    /// Operator messages it settles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<MessageId>,
    /// Prompts that wait and that it tells of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledges: Vec<MessageId>,
    /// Its first words.
    pub text_preview: String,
    /// What the operator has to do, if the agent cannot go on without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_required: Option<ActionCode>,
    /// The task that the brief speaks of: its turn answers that task's result. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`Event::ClosureDecided`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosureDecided {
    /// What came of the work.
    pub outcome: ClosureOutcome,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// Until when, if a time ends the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// See [`Event::SystemTickEmitted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemTickEmitted {
    /// Which part of the runtime.
    pub subsystem: String,
    /// The message it became.
    pub message_id: MessageId,
    /// When it was due; the event's own time says when it fired.
    pub planned_at: Timestamp,
    /// The work item the tick is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
}

/// See [`Event::ControlApplied`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlApplied {
    /// `start`, `stop` or `delete`.
    pub action: String,
    /// Before.
    pub previous: crate::agent::Lifecycle,
    /// After.
    pub next: crate::agent::Lifecycle,
    /// The run it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted_run_id: Option<RunId>,
}

/// See [`Event::CurrentRunAborted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurrentRunAborted {
    /// The run.
    pub run_id: RunId,
    /// Why.
    pub reason: TerminalReason,
}

/// See [`Event::WorkspaceUsed`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceUsed {
    /// The workspace.
    pub workspace_id: crate::WorkspaceId,
    /// Where tools run.
    pub execution_root: String,
    /// The current directory.
    pub cwd: String,
}

/// See [`Event::EffectOutcomeDropped`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectOutcomeDropped {
    /// The effect.
    pub effect_id: EffectId,
    /// The generation it carried.
    pub generation: u64,
    /// The generation that is current.
    pub current_generation: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_or_version_of_another_build_loads_as_data() {
        let future = Event::decode("turn_started", 9, r#"{"x":1}"#);
        assert_eq!((future.kind(), future.version()), ("turn_started", 9));
        assert_eq!(future.encode().expect("encodes"), r#"{"x":1}"#);
        let broken = Event::decode("turn_started", 1, "not json");
        assert!(matches!(broken, Event::Unknown { .. }));
    }

    #[test]
    fn known_events_survive_their_own_encoding() {
        let event = Event::MaxOutputTokensRecovery(MaxOutputTokensRecovery {
            turn_index: 3,
            attempt: 1,
            run_id: None,
            message_seq: Some(2),
        });
        let text = event.encode().expect("encodes");
        assert_eq!(Event::decode(event.kind(), event.version(), &text), event);
    }
}
