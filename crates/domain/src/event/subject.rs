//! Finds the message that an event is about, so that readers can add the labels of that message.

use super::Event;
use crate::queue::MessageSeq;

impl Event {
    /// Returns the position of the message that the event's turn answers, or that the event itself is about. `None`
    /// where the payload does not say, as in events of earlier builds.
    #[must_use]
    #[allow(
        clippy::too_many_lines,
        reason = "one line for each kind of event, so that a new kind is decided here"
    )]
    pub const fn message_seq(&self) -> Option<MessageSeq> {
        match self {
            Self::MessageAdmitted(e) => Some(e.message_seq),
            Self::MessageProcessingStarted(e) => e.message_seq,
            Self::MessageProcessingAborted(e) => e.message_seq,
            Self::OperatorInterjectionAdmitted(e) => e.message_seq,
            Self::TurnStarted(e) => e.message_seq,
            Self::TurnResumed(e) => e.message_seq,
            Self::TurnSuspended(e) => e.message_seq,
            Self::TurnSuspensionEnded(e) => e.message_seq,
            Self::TurnContextBuilt(e) => e.message_seq,
            Self::ProviderRoundCompleted(e) => e.message_seq,
            Self::ProviderRetryScheduled(e) => e.message_seq,
            Self::ProviderFallbackSelected(e) => e.message_seq,
            Self::AssistantRoundRecorded(e) => e.message_seq,
            Self::MaxOutputTokensRecovery(e) => e.message_seq,
            Self::TurnLocalCompactionApplied(e) => Some(e.message_seq),
            Self::ThreadFolded(e) => Some(e.message_seq),
            Self::ProcessExecutionRequested(e) => e.message_seq,
            Self::CommandBatchStopped(e) => Some(e.message_seq),
            Self::ToolExecuted(e) => e.message_seq,
            Self::ToolExecutionFailed(e) => e.message_seq,
            Self::SkillActivated(e) => e.message_seq,
            Self::SkillChanged(e) => e.message_seq,
            Self::TurnTerminal(e) => e.message_seq,
            Self::RuntimeError(e) => e.message_seq,
            Self::BriefCreated(e) => e.message_seq,
            Self::OperatorNotificationRequested(e) => Some(e.message_seq),
            Self::SchedulerDecision(e) => e.message_seq,
            Self::ContinuationResolved(e) => e.message_seq,
            Self::ClosureDecided(e) => e.message_seq,
            Self::CurrentRunAborted(e) => e.message_seq,
            Self::TaskCreated(e) => e.message_seq,
            Self::TaskResultReceived(e) => e.message_seq,
            Self::TaskStatusUpdated(e) => e.message_seq,
            Self::TaskChildSpawned(e) => e.message_seq,
            Self::TaskInputDelivered(e) => e.message_seq,
            Self::WorkItemDelegationCreated(e) => e.message_seq,
            Self::WorkItemDelegationCompleted(e) => e.message_seq,
            Self::AgentCreated(_)
            | Self::AgentPutAside(_)
            | Self::OperatorDeliverySubmitted(_)
            | Self::OperatorNotificationMirrorFailed(_)
            | Self::OperatorDeliveryCompleted(_)
            | Self::OperatorTransportBindingUpserted(_)
            | Self::TerminalDeliveryRoundCompleted(_)
            | Self::ModelLimitLearned(_)
            | Self::AgentModelOverrideSet(_)
            | Self::AgentModelOverrideCleared(_)
            | Self::SupervisedChildTaskMonitorReattached(_)
            | Self::AgentStateChanged(_)
            | Self::SessionStateChanged(_)
            | Self::SystemTickEmitted(_)
            | Self::SystemTickSuppressed(_)
            | Self::WorkItemWritten(_)
            | Self::WorkItemPicked(_)
            | Self::WorkingMemoryUpdated(_)
            | Self::EpisodeMemoryFinalized(_)
            | Self::WorkItemFocusReleased(_)
            | Self::WorkItemPlanArtifactRefreshed(_)
            | Self::WorkItemRecheckConsumed(_)
            | Self::WorkItemCompletionReportPromoted(_)
            | Self::WorkItemCompletionWarning(_)
            | Self::WaitingIntentCreated(_)
            | Self::WaitingIntentEnded(_)
            | Self::TimerCreated(_)
            | Self::TimerFired(_)
            | Self::TimerFireFailed(_)
            | Self::TimerCancelled(_)
            | Self::WorkItemStaleReminderInjected(_)
            | Self::WorkItemStaleReminderSkipped(_)
            | Self::WorkItemEnqueueRequested(_)
            | Self::WorkItemTurnEndCommitted(_)
            | Self::WorkItemTurnEndCommitSkipped(_)
            | Self::MissingCurrentWorkItemBeforeWait(_)
            | Self::WaitingIntentCancelled(_)
            | Self::ExternalWaitWithoutRecovery(_)
            | Self::TimerCreateRequested(_)
            | Self::WakeRequested(_)
            | Self::WakeHintCoalesced(_)
            | Self::WakeHintIgnored(_)
            | Self::SchedulerPostureDecision(_)
            | Self::SchedulerDiagnostic(_)
            | Self::WakeHintTriggered(_)
            | Self::ExternalTriggerCreated(_)
            | Self::ExternalTriggerRotated(_)
            | Self::ExternalTriggerRevoked(_)
            | Self::CallbackDelivered(_)
            | Self::WebhookConfigured(_)
            | Self::ThreadChangeRequested(_)
            | Self::ControlRequestAdmitted(_)
            | Self::ControlApplied(_)
            | Self::WorkspaceAttachRequested(_)
            | Self::WorkspaceExitRequested(_)
            | Self::WorkspaceDetachRequested(_)
            | Self::WorkspaceEntered(_)
            | Self::WorkspaceUsed(_)
            | Self::SkillInstalled(_)
            | Self::SkillUninstalled(_)
            | Self::WorkspaceAttached(_)
            | Self::WorkspaceDetached(_)
            | Self::WorkspaceExited(_)
            | Self::WorkspaceOccupancyReleased(_)
            | Self::WorktreeEntered(_)
            | Self::WorktreeExited(_)
            | Self::WorktreeAutoCleanedUp(_)
            | Self::WorktreeRetainedForReview(_)
            | Self::EffectOutcomeDropped(_)
            | Self::Unknown { .. } => None,
        }
    }
}
