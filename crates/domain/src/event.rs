//! The audit event: one enum, one variant per kind, one typed payload each, with a version.
//!
//! Events notify and explain; they are never folded back into state. Payloads carry ids and bounded summaries, no
//! bodies. Fields are only ever added. A kind or version that this build does not know is read as plain data.

mod agent;
mod delegation;
mod delivery;
mod memory;
mod message;
mod provider;
mod scheduling;
mod skill;
mod state;
mod subject;
mod task;
mod trigger;
mod turn;
mod work;
mod workspace;

pub use agent::{
    AgentCreated, AgentPutAside, BriefCreated, ClosureDecided, ControlApplied,
    ControlRequestAdmitted, CurrentRunAborted, EffectOutcomeDropped,
};
pub use delegation::{
    SupervisedChildTaskMonitorReattached, TaskChildSpawned, TaskInputDelivered,
    WorkItemDelegationCompleted, WorkItemDelegationCreated,
};
pub use delivery::{
    OperatorBoundary, OperatorDeliveryCompleted, OperatorDeliverySubmitted,
    OperatorNotificationMirrorFailed, OperatorNotificationRequested,
    OperatorTransportBindingUpserted,
};
pub use memory::{EpisodeMemoryFinalized, TurnRange, WorkingMemoryUpdated};
pub use message::{
    ContinuationResolved, MessageAdmitted, MessageProcessingAborted, MessageProcessingStarted,
    OperatorInterjectionAdmitted, SchedulerChoice, SchedulerDecision,
};
pub use provider::{
    AgentModelOverrideCleared, AgentModelOverrideSet, ModelLimitLearned, ProviderFallbackSelected,
    ProviderRetryScheduled, ProviderRoundCompleted, TerminalDeliveryRoundCompleted,
};
pub use scheduling::{
    ExternalWaitWithoutRecovery, MissingCurrentWorkItemBeforeWait, SchedulerDiagnostic,
    SchedulerPostureDecision, TimerCreateRequested, WaitingIntentCancelled, WakeHintCoalesced,
    WakeHintIgnored, WakeRequested, WorkItemEnqueueRequested, WorkItemStaleReminderInjected,
    WorkItemStaleReminderSkipped, WorkItemTurnEndCommitSkipped, WorkItemTurnEndCommitted,
};
pub use skill::{SkillActivated, SkillChanged, SkillInstalled, SkillUninstalled};
pub use state::{AgentStateChanged, SessionStateChanged};
pub use task::{TaskCreated, TaskResultReceived, TaskStatusUpdated};
pub use turn::{
    AssistantRoundRecorded, BatchItemEnd, CommandBatchStopped, MaxOutputTokensRecovery,
    ProcessExecutionRequested, RuntimeError, SuspensionEnd, ThreadChange, ThreadChangeRequested,
    ThreadFolded, ToolExecuted, ToolExecutionFailed, TurnContextBuilt, TurnLocalCompactionApplied,
    TurnResumed, TurnStarted, TurnSuspended, TurnSuspensionEnded, TurnTerminal,
};

pub use trigger::{
    CallbackDelivered, ExternalTriggerCreated, ExternalTriggerRevoked, ExternalTriggerRotated,
    WebhookConfigured,
};
pub use work::{
    SystemTickEmitted, SystemTickSuppressed, TimerCancelled, TimerCreated, TimerFireFailed,
    TimerFired, WaitingIntentCreated, WaitingIntentEnded, WakeHintTriggered,
    WorkItemCompletionReportPromoted, WorkItemCompletionWarning, WorkItemFocusReleased,
    WorkItemPicked, WorkItemPlanArtifactRefreshed, WorkItemRecheckConsumed, WorkItemWritten,
};
pub use workspace::{
    WorkspaceAttachRequested, WorkspaceAttached, WorkspaceDetachRequested, WorkspaceDetached,
    WorkspaceEntered, WorkspaceExitRequested, WorkspaceExited, WorkspaceOccupancyReleased,
    WorkspaceUsed, WorktreeAutoCleanedUp, WorktreeEntered, WorktreeExited,
    WorktreeRetainedForReview,
};

use crate::packed::StoredEvent;
use serde::Deserialize;
use serde_json::Value;

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $kind:literal, v $version:literal;)*) => {
        /// Something that happened to an agent, recorded for readers in the commit that made it happen.
        ///
        /// The variant says what happened and when the event is recorded; its payload type carries the details.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event {
            $($(#[$doc])* $variant($variant),)*
            /// An event whose kind or version another build wrote. It is stored and streamed unchanged.
            Unknown {
                kind: String,
                version: u32,
                data: Value,
            },
        }

        impl Event {
            /// Every kind this build writes, with its payload version.
            pub const KINDS: &[(&str, u32)] = &[$(($kind, $version)),*];

            /// Returns the name under which the event is stored and streamed.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Returns the version of the payload's shape. It is raised when a field changes its meaning.
            #[must_use]
            pub const fn version(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $version,)*
                    Self::Unknown { version, .. } => *version,
                }
            }

            /// Encodes the payload as JSON text.
            ///
            /// # Errors
            /// Only if a payload holds something JSON cannot, which no payload type does.
            pub fn encode(&self) -> Result<String, serde_json::Error> {
                match self {
                    $(Self::$variant(payload) => serde_json::to_string(payload),)*
                    Self::Unknown { data, .. } => serde_json::to_string(data),
                }
            }

            /// Returns the event in the form in which rows hold it.
            ///
            /// # Errors
            /// Only if a payload holds something JSON cannot, which no payload type does.
            pub fn to_stored(&self) -> Result<StoredEvent, serde_json::Error> {
                let payload = match self {
                    $(Self::$variant(payload) => serde_json::to_value(payload)?,)*
                    Self::Unknown { data, .. } => data.clone(),
                };
                Ok(StoredEvent { kind: self.kind().to_owned(), version: self.version(), payload })
            }

            /// Reads an event from a row. A kind, version or payload that this build cannot read becomes `Unknown`.
            #[must_use]
            pub fn from_stored(stored: StoredEvent) -> Self {
                let StoredEvent { kind, version, payload } = stored;
                let known = match (kind.as_str(), version) {
                    $(($kind, $version) => $variant::deserialize(&payload).ok().map(Self::$variant),)*
                    _ => None,
                };
                known.unwrap_or(Self::Unknown { kind, version, data: payload })
            }

            /// Reads a stored event. A kind, version or payload that this build cannot read becomes `Unknown`.
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
    /// An agent was created. Recorded once, as the first event of every agent.
    AgentCreated = "agent_created", v 1;
    /// The store put the agent aside because it cannot read one of the agent's rows. Nothing runs for the agent until
    /// an operator starts it again.
    AgentPutAside = "agent_put_aside", v 1;
    /// A message was accepted into the agent's queue. Recorded once for each message, whether it comes from an
    /// operator, from outside or from the runtime itself.
    MessageAdmitted = "message_admitted", v 1;
    /// A turn took a message from the queue. Recorded with the start of the turn that answers the message, or when the
    /// result of a task joins a running turn.
    MessageProcessingStarted = "message_processing_started", v 1;
    /// The turn that answered a message failed or was aborted. Recorded with `turn_terminal`; the reason says what
    /// ended the turn.
    MessageProcessingAborted = "message_processing_aborted", v 1;
    /// A model answered a request that contained an operator message which had joined the running turn. The message is
    /// settled by the outcome of this turn.
    OperatorInterjectionAdmitted = "operator_interjection_admitted", v 1;
    /// The scheduler decided what the agent does next: open a turn for a message, handle a message without a model, or
    /// rest.
    SchedulerDecision = "scheduler_decision", v 1;
    /// A message taken from the queue was classified against the state in which it found the agent, which decides
    /// whether a model turn follows.
    ContinuationResolved = "continuation_resolved", v 1;
    /// A turn began: the agent starts to answer a message with a model. Ends with `turn_terminal`.
    TurnStarted = "turn_started", v 1;
    /// An open turn continues with a model or a tool call after the host restarted, or after a commit whose result was
    /// unknown. A turn that waits for a provider or a delivery goes on waiting and records nothing.
    TurnResumed = "turn_resumed", v 1;
    /// No model of the chain could answer, so the open turn waits. Recorded once for each pause. Without `until` the
    /// turn waits for an operator.
    TurnSuspended = "turn_suspended", v 1;
    /// A suspended turn asks its models again, beginning with the first one.
    TurnSuspensionEnded = "turn_suspension_ended", v 1;
    /// The prompt of a turn was built. Recorded with the first answer of the turn.
    TurnContextBuilt = "turn_context_built", v 1;
    /// A provider answered a model request. Carries telemetry of the round: tokens, timing and attempts.
    ProviderRoundCompleted = "provider_round_completed", v 1;
    /// Reserved. Established readers know the kind; this runtime never records it, because it never forces an extra
    /// round to deliver a result.
    TerminalDeliveryRoundCompleted = "terminal_delivery_round_completed", v 1;
    /// A model request failed and will be retried after a pause (backoff).
    ProviderRetryScheduled = "provider_retry_scheduled", v 1;
    /// A model failed in a way that a retry does not mend, or has used up its retries. The turn continues with the next
    /// model of its chain.
    ProviderFallbackSelected = "provider_fallback_selected", v 1;
    /// A provider revealed the context window or the output limit of a model, in an error or in the server's description
    /// of itself. The host uses the learned limit from now on, for every agent.
    ModelLimitLearned = "model_limit_learned", v 1;
    /// The agent was given a model of its own, or other options for it. It counts from the next turn on; a
    /// suspended turn asks it at once.
    AgentModelOverrideSet = "agent_model_override_set", v 1;
    /// The agent's own model was removed. The agent uses the host's default from its next turn on.
    AgentModelOverrideCleared = "agent_model_override_cleared", v 1;
    /// A model's answer was written to the log. Carries the beginning of its text and the names of the tools it calls;
    /// the transcript has the whole.
    AssistantRoundRecorded = "assistant_round_recorded", v 1;
    /// An answer was cut off by the output limit, and the model is asked to continue.
    MaxOutputTokensRecovery = "max_output_tokens_recovery", v 1;
    /// A request of a long turn was shortened: older rounds gave way to a recap that the runtime wrote, or results in
    /// the newest rounds were cut. The log and the transcript keep the whole.
    TurnLocalCompactionApplied = "turn_local_compaction_applied", v 1;
    /// The oldest turns of the agent's thread gave way to a recap that the runtime wrote from their records, or an
    /// operator began an empty thread. Requests show the recap in their place from then on; the log and the transcript
    /// keep the whole.
    ThreadFolded = "thread_folded", v 1;
    /// An operator asked the next turn to fold or clear the agent's thread, or pinned or unpinned a turn. A request that
    /// changes nothing is not recorded.
    ThreadChangeRequested = "thread_change_requested", v 1;
    /// A call asks for a command. Recorded in the commit that begins the call, before the shell starts anything: once
    /// for each command of a batch, and not again when a restart finds the command. It does not prove that the command
    /// ran. The shell may refuse the command, skip it because an earlier one of its batch failed, or find it running
    /// already; the result of the call says so.
    ProcessExecutionRequested = "process_execution_requested", v 1;
    /// The commands of a batch whose run was aborted have ended: says which of them had run. The result of the call was
    /// recorded with the abort, before that was known.
    CommandBatchStopped = "command_batch_stopped", v 1;
    /// A tool call ended with a result.
    ToolExecuted = "tool_executed", v 1;
    /// A tool call ended with an error. The model reads the error and may go on.
    ToolExecutionFailed = "tool_execution_failed", v 1;
    /// A successful command referred to a skill's `SKILL.md` or to one of its scripts, so the skill is active.
    /// Discovery alone does not record it. Recorded once for each skill and call.
    SkillActivated = "skill_activated", v 1;
    /// A successful command referred to an installed skill whose files were changed since it was installed. The skill is
    /// not active.
    SkillChanged = "skill_changed", v 1;
    /// An operator installed a skill into the agent's home. The agent sees it from its next turn on.
    SkillInstalled = "skill_installed", v 1;
    /// An operator removed a skill from the agent's home.
    SkillUninstalled = "skill_uninstalled", v 1;
    /// A task was created: a command outlived the call that started it and continues in the background, or a child
    /// agent was spawned.
    TaskCreated = "task_created", v 1;
    /// A task changed its status: it began to stop, ended, or was found interrupted.
    TaskStatusUpdated = "task_status_updated", v 1;
    /// A task ended and its result was queued as a message for the agent.
    TaskResultReceived = "task_result_received", v 1;
    /// An agent made another agent. Recorded for the maker.
    TaskChildSpawned = "task_child_spawned", v 1;
    /// A private child goes on after a restart of the host, and its parent still waits for it.
    SupervisedChildTaskMonitorReattached = "supervised_child_task_monitor_reattached", v 1;
    /// Input was accepted by a task: here, a message for a child agent.
    TaskInputDelivered = "task_input_delivered", v 1;
    /// A child began to work for a work item of its parent, or without one.
    WorkItemDelegationCreated = "work_item_delegation_created", v 1;
    /// The work that a child did for its parent has ended: it was completed, failed or was cancelled.
    WorkItemDelegationCompleted = "work_item_delegation_completed", v 1;
    /// A turn ended, successfully or not. Recorded once for each turn.
    TurnTerminal = "turn_terminal", v 1;
    /// A turn failed. Recorded before the `turn_terminal` of the same turn.
    RuntimeError = "runtime_error", v 1;
    /// A brief was written: an answer or a notice for the operator.
    BriefCreated = "brief_created", v 1;
    /// An agent asked for its operator's attention with `NotifyOperator`, or a private child for its supervising parent's.
    /// Recorded whether or not a delivery target exists.
    OperatorNotificationRequested = "operator_notification_requested", v 1;
    /// A brief or notification is to be delivered to a target or a remote operator. Recorded in the commit that writes
    /// the brief; attempts follow it.
    OperatorDeliverySubmitted = "operator_delivery_submitted", v 1;
    /// A delivery failed after the one before it had succeeded. Recorded once for each outage of a route; the delivery is
    /// tried again.
    OperatorNotificationMirrorFailed = "operator_notification_mirror_failed", v 1;
    /// A delivery was accepted by its receiver, or was given up.
    OperatorDeliveryCompleted = "operator_delivery_completed", v 1;
    /// A binding to a remote operator was made, changed or revoked.
    OperatorTransportBindingUpserted = "operator_transport_binding_upserted", v 1;
    /// The working memory that was derived at the end of a turn differs from the one before.
    WorkingMemoryUpdated = "working_memory_updated", v 1;
    /// A chunk of work reached a boundary, and its episode was archived. `memory episodes` lists them.
    EpisodeMemoryFinalized = "episode_memory_finalized", v 1;
    /// The closure of the agent was computed after a turn: work is completed, can continue, failed, or waits.
    ClosureDecided = "closure_decided", v 1;
    /// The status or the scheduling posture of the agent changed. A signal for clients to read the agent's status
    /// again; it is recorded only when one of the two fields changes.
    AgentStateChanged = "agent_state_changed", v 1;
    /// A run began or ended. A signal for clients to read the agent's status again.
    SessionStateChanged = "session_state_changed", v 1;
    /// The runtime queued a tick, a message of its own that wakes the agent: after a rest, at the end of a wait, for
    /// open work, for a recheck, or for wake hints.
    SystemTickEmitted = "system_tick_emitted", v 1;
    /// The runtime holds back ticks for runnable work because earlier ticks changed nothing. Recorded once for each
    /// such pause.
    SystemTickSuppressed = "system_tick_suppressed", v 1;
    /// A work item was created or changed. Carries the item as it is after the change, without its checklist.
    WorkItemWritten = "work_item_written", v 1;
    /// The agent moved its focus to a work item.
    WorkItemPicked = "work_item_picked", v 1;
    /// The item that had the focus lost it and no other item has it. Recorded when the current item is completed.
    WorkItemFocusReleased = "work_item_focus_released", v 1;
    /// The runtime read the plan file of a work item and found that its content had changed.
    WorkItemPlanArtifactRefreshed = "work_item_plan_artifact_refreshed", v 1;
    /// A model answered a request that reminded it of a blocked work item, so the reminder is used up.
    WorkItemRecheckConsumed = "work_item_recheck_consumed", v 1;
    /// The text of the round that completed a work item became the completion report of the item.
    WorkItemCompletionReportPromoted = "work_item_completion_report_promoted", v 1;
    /// A work item was completed although its checklist is unfinished or its report is missing.
    WorkItemCompletionWarning = "work_item_completion_warning", v 1;
    /// The agent declared a wait with `WaitFor` and ended its turn.
    WaitingIntentCreated = "waiting_intent_created", v 1;
    /// A declared wait ended: something it names happened, its latest time came, or it was cancelled.
    WaitingIntentEnded = "waiting_intent_ended", v 1;
    /// An operator asked for a work item. Recorded in the commit that creates it.
    WorkItemEnqueueRequested = "work_item_enqueue_requested", v 1;
    /// A turn that was bound to a work item ended. Recorded with `turn_terminal`.
    WorkItemTurnEndCommitted = "work_item_turn_end_committed", v 1;
    /// A turn that was bound to a work item was called off, so it says nothing about the progress of the work.
    WorkItemTurnEndCommitSkipped = "work_item_turn_end_commit_skipped", v 1;
    /// A model answered a request that reminded it to update the current work item. Recorded once for each reminder.
    WorkItemStaleReminderInjected = "work_item_stale_reminder_injected", v 1;
    /// A reminder to update the current work item was due, and the request had no room for it.
    WorkItemStaleReminderSkipped = "work_item_stale_reminder_skipped", v 1;
    /// The agent declared a wait of its own although it has open work items and none of them has the focus. The wait
    /// does not keep those items from being offered.
    MissingCurrentWorkItemBeforeWait = "missing_current_work_item_before_wait", v 1;
    /// A declared wait was cancelled. Recorded beside its `waiting_intent_ended`.
    WaitingIntentCancelled = "waiting_intent_cancelled", v 1;
    /// The agent waits for an event from outside and named no time at which it looks again. If the event is missed, only
    /// an operator ends the wait.
    ExternalWaitWithoutRecovery = "external_wait_without_recovery", v 1;
    /// An operator asked for a timer. Recorded in the commit that creates it.
    TimerCreateRequested = "timer_create_requested", v 1;
    /// The agent or an operator created a timer.
    TimerCreated = "timer_created", v 1;
    /// A slot of a timer came. The tick that the agent receives is a message of its own.
    TimerFired = "timer_fired", v 1;
    /// No tick could be queued for a slot of a timer, or no later slot could be computed. Recorded beside the
    /// `timer_fired` of the slot.
    TimerFireFailed = "timer_fire_failed", v 1;
    /// A timer was cancelled before its last slot. It will not fire again.
    TimerCancelled = "timer_cancelled", v 1;
    /// Something outside asked the agent to look at a change (wake hint). Pending hints become one tick as soon as the
    /// agent can take it.
    WakeHintTriggered = "wake_hint_triggered", v 1;
    /// A wake hint joined a pending one of the same source. Recorded beside its `wake_hint_triggered`.
    WakeHintCoalesced = "wake_hint_coalesced", v 1;
    /// Pending wake hints carried nothing to read and ended no wait, so their tick began no turn.
    WakeHintIgnored = "wake_hint_ignored", v 1;
    /// An operator asked the agent to look. Recorded before the hint that the request becomes.
    WakeRequested = "wake_requested", v 1;
    /// The agent or an operator made an external trigger. The one that every agent has from its creation is not recorded.
    ExternalTriggerCreated = "external_trigger_created", v 1;
    /// The agent or an operator gave an external trigger another URL. The old URL is useless from then on.
    ExternalTriggerRotated = "external_trigger_rotated", v 1;
    /// The agent or an operator revoked an external trigger. Its URL is useless from then on.
    ExternalTriggerRevoked = "external_trigger_revoked", v 1;
    /// A delivery to an external trigger was accepted. Recorded once for each delivery, also if the sender repeats it.
    CallbackDelivered = "callback_delivered", v 1;
    /// An operator changed which webhooks the agent accepts.
    WebhookConfigured = "webhook_configured", v 1;
    /// An agent with work went to rest after a turn. Recorded with the `scheduler_decision` that says what it waits for.
    SchedulerPostureDecision = "scheduler_posture_decision", v 1;
    /// The scheduler let an agent rest in a state that deserves attention.
    SchedulerDiagnostic = "scheduler_diagnostic", v 1;
    /// An operator's lifecycle request (start, stop, abort, archive or delete) was accepted. Recorded before everything
    /// that the request does. A request that changes nothing is not recorded.
    ControlRequestAdmitted = "control_request_admitted", v 1;
    /// A lifecycle request took effect, or a supervisor retired its child.
    ControlApplied = "control_applied", v 1;
    /// A run was aborted by an operator, by a stop or by a deletion. Its turn ends with it.
    CurrentRunAborted = "current_run_aborted", v 1;
    /// An operator asked that a workspace be attached. Recorded before `workspace_attached`, and alone if it was
    /// attached already.
    WorkspaceAttachRequested = "workspace_attach_requested", v 1;
    /// An operator asked that the agent leave its workspace. Followed by `workspace_exited`.
    WorkspaceExitRequested = "workspace_exit_requested", v 1;
    /// An operator asked that a workspace be detached. Followed by `workspace_detached`.
    WorkspaceDetachRequested = "workspace_detach_requested", v 1;
    /// The agent works in another execution root from now on. Followed by `workspace_used`, which also reports a change
    /// of the current directory alone.
    WorkspaceEntered = "workspace_entered", v 1;
    /// Another workspace became active: by a call of the agent, for the rest of its turn too, or by an operator, from
    /// the next turn on.
    WorkspaceUsed = "workspace_used", v 1;
    /// A workspace was attached: the agent may use it from now on.
    WorkspaceAttached = "workspace_attached", v 1;
    /// A workspace was detached: the agent may not use it any more. No file was touched.
    WorkspaceDetached = "workspace_detached", v 1;
    /// An operator made the agent leave its workspace for its home. Followed by the `workspace_used` of the home.
    WorkspaceExited = "workspace_exited", v 1;
    /// The agent occupies an execution root no longer: it left for another one, or it was stopped and the last of its
    /// tasks and patches there is over. A stopped agent keeps its workspace and works there again once it is started.
    WorkspaceOccupancyReleased = "workspace_occupancy_released", v 1;
    /// The agent works in a worktree that the runtime made.
    WorktreeEntered = "worktree_entered", v 1;
    /// The agent left a worktree that the runtime made. The worktree stays.
    WorktreeExited = "worktree_exited", v 1;
    /// The worktree of an ended child held no work and was removed with its branch.
    WorktreeAutoCleanedUp = "worktree_auto_cleaned_up", v 1;
    /// The worktree of an ended child is kept, because it holds work or could not be looked at.
    WorktreeRetainedForReview = "worktree_retained_for_review", v 1;
    /// An outcome arrived for an effect that is no longer open, for example after a restart or an abort. The outcome is
    /// stale and was ignored (fencing).
    EffectOutcomeDropped = "effect_outcome_dropped", v 1;
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
