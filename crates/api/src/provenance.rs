//! Provenance of an event: the ids and labels by which a client groups and judges it, taken from its typed payload.
//!
//! Nothing is guessed: what a payload does not say is absent. An event of another build has none.

use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::event::Event;
use holon_domain::message::{AdmissionContext, DeliverySurface, Origin};
use holon_domain::{MessageId, RunId, TaskId, WorkItemId};
use serde::{Deserialize, Serialize};

/// Where something came from and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// The message's origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The older label for the authority class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustLevel>,
    /// How its content is treated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
    /// The door it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_surface: Option<DeliverySurface>,
    /// That door's posture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission_context: Option<AdmissionContext>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The work item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Correlation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Causation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

impl Provenance {
    /// What the event says about itself.
    #[must_use]
    pub fn of(event: &Event) -> Self {
        match event {
            Event::MessageAdmitted(e) => Self {
                origin: Some(e.origin.clone()),
                trust: Some(e.authority_class.into()),
                authority_class: Some(e.authority_class),
                delivery_surface: Some(e.delivery_surface),
                admission_context: Some(e.admission_context),
                message_id: Some(e.message_id.clone()),
                run_id: None,
                task_id: e.task_id.clone(),
                work_item_id: e.work_item_id.clone(),
                correlation_id: e.correlation_id.clone(),
                causation_id: e.causation_id.clone(),
            },
            Event::OperatorInterjectionAdmitted(e) => Self {
                delivery_surface: Some(e.delivery_surface),
                admission_context: Some(e.admission_context),
                ..Self::message(Some(&e.message_id))
            },
            Event::MessageProcessingStarted(e) => {
                Self::message_in_run(&e.message_id, Some(&e.run_id))
            }
            Event::MessageProcessingAborted(e) => {
                Self::message_in_run(&e.message_id, e.run_id.as_ref())
            }
            Event::TurnStarted(e) => Self::message_in_run(&e.message_id, Some(&e.run_id)),
            Event::ContinuationResolved(e) => Self::message(Some(&e.message_id)),
            Event::SchedulerDecision(e) => Self::message(e.message_id.as_ref()),
            Event::RuntimeError(e) => Self::message(Some(&e.message_id)),
            Event::SystemTickEmitted(e) => Self {
                work_item_id: e.work_item_id.clone(),
                ..Self::message(Some(&e.message_id))
            },
            Event::TimerFired(e) => Self::message(e.message_id.as_ref()),
            Event::SystemTickSuppressed(e) => Self::item(e.work_item_id.as_ref()),
            Event::WorkItemWritten(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemPicked(e) => Self::item(Some(&e.current_work_item_id)),
            Event::WorkItemFocusReleased(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemPlanArtifactRefreshed(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemRecheckConsumed(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemCompletionReportPromoted(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemCompletionWarning(e) => Self::item(Some(&e.work_item_id)),
            Event::WaitingIntentCreated(e) => Self::item(e.work_item_id.as_ref()),
            Event::WaitingIntentEnded(e) => Self {
                task_id: e.task_id.clone(),
                ..Self::item(e.work_item_id.as_ref())
            },
            Event::BriefCreated(e) => {
                Self::message(e.settles.first().or_else(|| e.acknowledges.first()))
            }
            Event::TurnResumed(e) => Self::run(Some(&e.run_id)),
            Event::TurnSuspended(e) => Self::run(Some(&e.run_id)),
            Event::TurnSuspensionEnded(e) => Self::run(Some(&e.run_id)),
            Event::ToolExecuted(e) => Self::run(Some(&e.run_id)),
            Event::ToolExecutionFailed(e) => Self::run(Some(&e.run_id)),
            Event::TurnTerminal(e) => Self::run(Some(&e.run_id)),
            Event::CurrentRunAborted(e) => Self::run(Some(&e.run_id)),
            Event::ControlApplied(e) => Self::run(e.aborted_run_id.as_ref()),
            Event::TaskCreated(e) => Self::task(&e.task_id, e.parent_message_id.as_ref()),
            Event::TaskStatusUpdated(e) => Self::task(&e.task_id, None),
            Event::TaskResultReceived(e) => Self::task(&e.task_id, Some(&e.message_id)),
            Event::AgentCreated(_)
            | Event::AgentPutAside(_)
            | Event::TurnContextBuilt(_)
            | Event::ProviderRoundCompleted(_)
            | Event::TerminalDeliveryRoundCompleted(_)
            | Event::ProviderRetryScheduled(_)
            | Event::ProviderFallbackSelected(_)
            | Event::ModelLimitLearned(_)
            | Event::AgentModelOverrideSet(_)
            | Event::AgentModelOverrideCleared(_)
            | Event::AssistantRoundRecorded(_)
            | Event::MaxOutputTokensRecovery(_)
            | Event::ClosureDecided(_)
            | Event::WorkspaceUsed(_)
            | Event::TimerCreated(_)
            | Event::TimerCancelled(_)
            | Event::WakeHintTriggered(_)
            | Event::EffectOutcomeDropped(_)
            | Event::Unknown { .. } => Self::default(),
        }
    }

    fn message(message_id: Option<&MessageId>) -> Self {
        Self {
            message_id: message_id.cloned(),
            ..Self::default()
        }
    }

    fn item(work_item_id: Option<&WorkItemId>) -> Self {
        Self {
            work_item_id: work_item_id.cloned(),
            ..Self::default()
        }
    }

    fn task(task_id: &TaskId, message_id: Option<&MessageId>) -> Self {
        Self {
            task_id: Some(task_id.clone()),
            ..Self::message(message_id)
        }
    }

    fn run(run_id: Option<&RunId>) -> Self {
        Self {
            run_id: run_id.cloned(),
            ..Self::default()
        }
    }

    fn message_in_run(message_id: &MessageId, run_id: Option<&RunId>) -> Self {
        Self {
            message_id: Some(message_id.clone()),
            run_id: run_id.cloned(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::Timestamp;
    use holon_domain::continuation::TriggerKind;
    use holon_domain::event::{
        MessageAdmitted, MessageProcessingStarted, SystemTickEmitted, TaskResultReceived,
    };
    use holon_domain::message::{MessageKind, Priority};
    use holon_domain::task::TaskStatus;
    use std::collections::BTreeMap;

    #[test]
    fn an_admitted_message_shows_its_labels_and_the_older_trust_name() {
        let origin = Origin::Webhook {
            source: "http".into(),
            event_type: None,
        };
        let event = Event::MessageAdmitted(MessageAdmitted {
            message_id: MessageId::from_stored("msg_1"),
            message_seq: 1,
            kind: MessageKind::WebhookEvent,
            origin: origin.clone(),
            authority_class: AuthorityClass::ExternalEvidence,
            priority: Priority::Normal,
            delivery_surface: DeliverySurface::HttpPublicEnqueue,
            admission_context: AdmissionContext::PublicUnauthenticated,
            trigger_kind: TriggerKind::ExternalEvent,
            work_item_id: None,
            task_id: None,
            source_refs: BTreeMap::new(),
            correlation_id: Some("c".into()),
            causation_id: None,
        });
        let expected = Provenance {
            origin: Some(origin),
            trust: Some(TrustLevel::UntrustedExternal),
            authority_class: Some(AuthorityClass::ExternalEvidence),
            delivery_surface: Some(DeliverySurface::HttpPublicEnqueue),
            admission_context: Some(AdmissionContext::PublicUnauthenticated),
            message_id: Some(MessageId::from_stored("msg_1")),
            correlation_id: Some("c".into()),
            ..Provenance::default()
        };
        assert_eq!(Provenance::of(&event), expected);
    }

    #[test]
    fn what_happens_to_a_task_names_it_and_the_message_that_tells_its_end() {
        let event = Event::TaskResultReceived(TaskResultReceived {
            task_id: TaskId::from_stored("task_1"),
            status: TaskStatus::Completed,
            message_id: MessageId::from_stored("msg_1"),
            terminal_reentry: true,
        });
        assert_eq!(
            serde_json::to_string(&Provenance::of(&event)).expect("serialises"),
            r#"{"message_id":"msg_1","task_id":"task_1"}"#
        );
    }

    #[test]
    fn what_happens_to_a_work_item_names_it() {
        let event = Event::SystemTickEmitted(SystemTickEmitted {
            subsystem: "work_queue".into(),
            message_id: MessageId::from_stored("msg_1"),
            planned_at: Timestamp::from_millis(0),
            work_item_id: Some(WorkItemId::from_stored("work_1")),
        });
        assert_eq!(
            serde_json::to_string(&Provenance::of(&event)).expect("serialises"),
            r#"{"message_id":"msg_1","work_item_id":"work_1"}"#
        );
    }

    #[test]
    fn a_message_that_is_taken_up_is_tied_to_its_run() {
        let event = Event::MessageProcessingStarted(MessageProcessingStarted {
            message_id: MessageId::from_stored("msg_1"),
            run_id: RunId::from_stored("run_1"),
            queue_wait_ms: 0,
        });
        assert_eq!(
            serde_json::to_string(&Provenance::of(&event)).expect("serialises"),
            r#"{"message_id":"msg_1","run_id":"run_1"}"#
        );
    }
}
