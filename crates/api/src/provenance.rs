//! Provenance of an event: the ids and labels by which a client groups and judges it, taken from its typed payload and
//! from the message it is about.
//!
//! Nothing is guessed: an id or label that neither source has is absent. An event of an unknown kind has none. A reader
//! that does not know a label's value reads it as absent.

use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_domain::message::{AdmissionContext, DeliverySurface, MessageLabels, Origin};
use holon_domain::{MessageId, RunId, TaskId, TriggerId, WaitId, WorkItemId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Origin of an event, and the message, run, task and work item it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Origin of the message.
    #[serde(
        default,
        deserialize_with = "decode_known",
        skip_serializing_if = "Option::is_none"
    )]
    pub origin: Option<Origin>,
    /// Older label for the authority class.
    #[serde(
        default,
        deserialize_with = "decode_known",
        skip_serializing_if = "Option::is_none"
    )]
    pub trust: Option<TrustLevel>,
    /// Degree to which the agent may follow the message's content.
    #[serde(
        default,
        deserialize_with = "decode_known",
        skip_serializing_if = "Option::is_none"
    )]
    pub authority_class: Option<AuthorityClass>,
    /// Route or transport that delivered the message.
    #[serde(
        default,
        deserialize_with = "decode_known",
        skip_serializing_if = "Option::is_none"
    )]
    pub delivery_surface: Option<DeliverySurface>,
    /// Authentication of that route.
    #[serde(
        default,
        deserialize_with = "decode_known",
        skip_serializing_if = "Option::is_none"
    )]
    pub admission_context: Option<AdmissionContext>,
    /// `http`, `local_process`, `operator_transport`, or `runtime` for a message that the runtime made itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Name of the sender where the origin has one: the outside system, the channel, the subsystem of the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Route that a reply takes. Only messages of a bound operator transport have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_route: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Work item of a parent for which a child works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_work_item_id: Option<WorkItemId>,
    /// Capability through which the cause came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger_id: Option<TriggerId>,
    /// Waits that the event declares or ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_intent_ids: Vec<WaitId>,
    /// Copied unchanged from the message, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Copied unchanged from the message, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

/// Decodes a label, and reads a value that this build does not know as absent.
fn decode_known<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(&Value::deserialize(deserializer)?).ok())
}

impl Provenance {
    /// Collects the provenance of an event: from its payload first, then from the labels of its message where they are
    /// known.
    #[must_use]
    pub fn of(record: &EventRecord) -> Self {
        let own = Self::of_payload(&record.event);
        match record.labels.as_deref() {
            Some(labels) => own.or(Self::of_message(labels)),
            None => own,
        }
    }

    fn of_message(labels: &MessageLabels) -> Self {
        Self {
            reply_route: labels.reply_route.clone(),
            message_id: Some(labels.message_id.clone()),
            task_id: labels.task_id.clone(),
            work_item_id: labels.work_item_id.clone(),
            correlation_id: labels.correlation_id.clone(),
            causation_id: labels.causation_id.clone(),
            ..Self::from_admission(
                &labels.origin,
                labels.authority_class,
                labels.delivery_surface,
                labels.admission_context,
            )
        }
    }

    /// Returns the fields that the admission of a message determines.
    fn from_admission(
        origin: &Origin,
        authority_class: AuthorityClass,
        delivery_surface: DeliverySurface,
        admission_context: AdmissionContext,
    ) -> Self {
        Self {
            trust: Some(authority_class.into()),
            authority_class: Some(authority_class),
            delivery_surface: Some(delivery_surface),
            admission_context: Some(admission_context),
            transport: Some(delivery_surface.transport().to_owned()),
            source: origin.source().map(str::to_owned),
            origin: Some(origin.clone()),
            ..Self::default()
        }
    }

    /// Fills absent fields from the other provenance.
    fn or(self, other: Self) -> Self {
        Self {
            origin: self.origin.or(other.origin),
            trust: self.trust.or(other.trust),
            authority_class: self.authority_class.or(other.authority_class),
            delivery_surface: self.delivery_surface.or(other.delivery_surface),
            admission_context: self.admission_context.or(other.admission_context),
            transport: self.transport.or(other.transport),
            source: self.source.or(other.source),
            reply_route: self.reply_route.or(other.reply_route),
            message_id: self.message_id.or(other.message_id),
            run_id: self.run_id.or(other.run_id),
            task_id: self.task_id.or(other.task_id),
            work_item_id: self.work_item_id.or(other.work_item_id),
            parent_work_item_id: self.parent_work_item_id.or(other.parent_work_item_id),
            external_trigger_id: self.external_trigger_id.or(other.external_trigger_id),
            waiting_intent_ids: match self.waiting_intent_ids.is_empty() {
                true => other.waiting_intent_ids,
                false => self.waiting_intent_ids,
            },
            correlation_id: self.correlation_id.or(other.correlation_id),
            causation_id: self.causation_id.or(other.causation_id),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    fn of_payload(event: &Event) -> Self {
        match event {
            Event::MessageAdmitted(e) => Self {
                message_id: Some(e.message_id.clone()),
                task_id: e.task_id.clone(),
                work_item_id: e.work_item_id.clone(),
                correlation_id: e.correlation_id.clone(),
                causation_id: e.causation_id.clone(),
                ..Self::from_admission(
                    &e.origin,
                    e.authority_class,
                    e.delivery_surface,
                    e.admission_context,
                )
            },
            Event::OperatorInterjectionAdmitted(e) => Self {
                origin: e.origin.clone(),
                trust: e.authority_class.map(TrustLevel::from),
                authority_class: e.authority_class,
                delivery_surface: Some(e.delivery_surface),
                admission_context: Some(e.admission_context),
                transport: Some(e.delivery_surface.transport().to_owned()),
                ..Self::message_in_run(&e.message_id, e.run_id.as_ref())
            },
            Event::MessageProcessingStarted(e) => {
                Self::message_in_run(&e.message_id, Some(&e.run_id))
            }
            Event::MessageProcessingAborted(e) => {
                Self::message_in_run(&e.message_id, e.run_id.as_ref())
            }
            Event::TurnStarted(e) => Self {
                task_id: e.task_id.clone(),
                ..Self::message_in_run(&e.message_id, Some(&e.run_id))
            },
            Event::ContinuationResolved(e) => Self::message(Some(&e.message_id)),
            Event::SchedulerDecision(e) => Self::message(e.message_id.as_ref()),
            Event::RuntimeError(e) => Self::message_in_run(&e.message_id, e.run_id.as_ref()),
            Event::SystemTickEmitted(e) => Self {
                work_item_id: e.work_item_id.clone(),
                ..Self::message(Some(&e.message_id))
            },
            Event::TimerFired(e) => Self::message(e.message_id.as_ref()),
            Event::SystemTickSuppressed(e) => Self::item(e.work_item_id.as_ref()),
            Event::WorkItemWritten(e) => Self::item(Some(&e.work_item_id)),
            Event::OperatorNotificationRequested(e) => Self::item(e.work_item_id.as_ref()),
            Event::WorkItemPicked(e) => Self::item(Some(&e.current_work_item_id)),
            Event::WorkItemFocusReleased(e) => Self::item(Some(&e.work_item_id)),
            Event::EpisodeMemoryFinalized(e) => Self::item(e.work_item_id.as_ref()),
            Event::WorkItemPlanArtifactRefreshed(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemRecheckConsumed(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemCompletionReportPromoted(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemCompletionWarning(e) => Self::item(Some(&e.work_item_id)),
            Event::WaitingIntentCreated(e) => Self {
                waiting_intent_ids: vec![e.wait_id.clone()],
                ..Self::item(e.work_item_id.as_ref())
            },
            Event::WaitingIntentEnded(e) => Self {
                task_id: e.task_id.clone(),
                waiting_intent_ids: vec![e.wait_id.clone()],
                ..Self::item(e.work_item_id.as_ref())
            },
            Event::WorkItemEnqueueRequested(e) => Self {
                trust: Some(e.authority_class.into()),
                authority_class: Some(e.authority_class),
                ..Self::item(Some(&e.work_item_id))
            },
            Event::WorkItemTurnEndCommitted(e) => Self {
                work_item_id: Some(e.work_item_id.clone()),
                ..Self::run(Some(&e.run_id))
            },
            Event::WorkItemTurnEndCommitSkipped(e) => Self {
                work_item_id: Some(e.work_item_id.clone()),
                ..Self::run(Some(&e.run_id))
            },
            Event::WorkItemStaleReminderInjected(e) => Self::item(Some(&e.work_item_id)),
            Event::WorkItemStaleReminderSkipped(e) => Self::item(Some(&e.work_item_id)),
            Event::WaitingIntentCancelled(e) => Self {
                waiting_intent_ids: vec![e.wait_id.clone()],
                ..Self::item(e.work_item_id.as_ref())
            },
            Event::ExternalWaitWithoutRecovery(e) => Self {
                waiting_intent_ids: vec![e.wait_id.clone()],
                ..Self::item(e.work_item_id.as_ref())
            },
            Event::MissingCurrentWorkItemBeforeWait(e) => Self {
                waiting_intent_ids: vec![e.wait_id.clone()],
                ..Self::default()
            },
            Event::ExternalTriggerCreated(e) => Self::trigger(&e.external_trigger_id),
            Event::ExternalTriggerRotated(e) => Self::trigger(&e.external_trigger_id),
            Event::ExternalTriggerRevoked(e) => Self::trigger(&e.external_trigger_id),
            Event::SchedulerDiagnostic(e) => Self::item(e.work_item_id.as_ref()),
            Event::TimerCreateRequested(e) => Self {
                trust: Some(e.authority_class.into()),
                authority_class: Some(e.authority_class),
                ..Self::default()
            },
            Event::BriefCreated(e) => Self {
                task_id: e.related_task_id.clone(),
                ..Self::message(e.settles.first().or_else(|| e.acknowledges.first()))
            },
            Event::TurnContextBuilt(e) => Self::run(e.run_id.as_ref()),
            Event::ProviderRoundCompleted(e) => Self::run(e.run_id.as_ref()),
            Event::ProviderRetryScheduled(e) => Self::run(e.run_id.as_ref()),
            Event::ProviderFallbackSelected(e) => Self::run(e.run_id.as_ref()),
            Event::AssistantRoundRecorded(e) => Self::run(e.run_id.as_ref()),
            Event::MaxOutputTokensRecovery(e) => Self::run(e.run_id.as_ref()),
            Event::TurnLocalCompactionApplied(e) => Self::run(Some(&e.run_id)),
            Event::ThreadFolded(e) => Self::run(Some(&e.run_id)),
            Event::CommandBatchStopped(e) => Self::run(Some(&e.run_id)),
            Event::ProcessExecutionRequested(e) => Self {
                trust: Some(e.authority_class.into()),
                authority_class: Some(e.authority_class),
                ..Self::run(Some(&e.run_id))
            },
            Event::CallbackDelivered(e) => Self {
                trust: Some(e.authority_class.into()),
                authority_class: Some(e.authority_class),
                origin: Some(Origin::Callback {
                    descriptor_id: e.external_trigger_id.to_string(),
                    source: e.source.clone(),
                }),
                transport: Some(e.delivery_surface.transport().to_owned()),
                source: e.source.clone(),
                delivery_surface: Some(e.delivery_surface),
                admission_context: Some(e.admission_context),
                work_item_id: e.work_item_ids.first().cloned(),
                external_trigger_id: Some(e.external_trigger_id.clone()),
                waiting_intent_ids: match (e.waiting_intent_ids.as_slice(), &e.waiting_intent_id) {
                    ([], Some(id)) => vec![id.clone()],
                    (ids, _) => ids.to_vec(),
                },
                correlation_id: e.correlation_id.clone(),
                causation_id: e.causation_id.clone(),
                ..Self::message(e.message_id.as_ref())
            },
            Event::WakeRequested(e) => Self {
                origin: Some(Origin::Operator { actor_id: None }),
                trust: e.authority_class.map(TrustLevel::from),
                authority_class: e.authority_class,
                source: e.source.clone(),
                correlation_id: e.correlation_id.clone(),
                causation_id: e.causation_id.clone(),
                ..Self::default()
            },
            Event::WakeHintTriggered(e) => Self {
                trust: e.authority_class.map(TrustLevel::from),
                authority_class: e.authority_class,
                waiting_intent_ids: e.wait_ids.clone(),
                ..Self::wake(
                    e.external_trigger_id.as_ref(),
                    e.source.as_ref(),
                    e.correlation_id.as_ref(),
                    e.causation_id.as_ref(),
                )
            },
            Event::WakeHintCoalesced(e) => Self {
                trust: e.authority_class.map(TrustLevel::from),
                authority_class: e.authority_class,
                ..Self::wake(
                    e.external_trigger_id.as_ref(),
                    e.source.as_ref(),
                    e.correlation_id.as_ref(),
                    e.causation_id.as_ref(),
                )
            },
            Event::WakeHintIgnored(e) => Self {
                trust: e.authority_class.map(TrustLevel::from),
                authority_class: e.authority_class,
                ..Self::wake(
                    e.external_trigger_ids.first(),
                    e.source.as_ref(),
                    e.correlation_id.as_ref(),
                    e.causation_id.as_ref(),
                )
            },
            Event::SessionStateChanged(e) => Self::run(e.current_run_id.as_ref()),
            Event::TurnResumed(e) => Self::run(Some(&e.run_id)),
            Event::TurnSuspended(e) => Self::run(Some(&e.run_id)),
            Event::TurnSuspensionEnded(e) => Self::run(Some(&e.run_id)),
            Event::ToolExecuted(e) => Self::run(Some(&e.run_id)),
            Event::ToolExecutionFailed(e) => Self::run(Some(&e.run_id)),
            Event::SkillActivated(e) => Self::run(Some(&e.run_id)),
            Event::SkillChanged(e) => Self::run(Some(&e.run_id)),
            Event::TurnTerminal(e) => Self {
                task_id: e.task_id.clone(),
                ..Self::run(Some(&e.run_id))
            },
            Event::CurrentRunAborted(e) => Self::run(Some(&e.run_id)),
            Event::ClosureDecided(e) => Self::run(e.run_id.as_ref()),
            Event::ControlApplied(e) => Self::run(e.aborted_run_id.as_ref()),
            Event::ControlRequestAdmitted(e) => Self::run(e.run_id.as_ref()),
            Event::TaskCreated(e) => Self {
                trust: e.authority_class.map(TrustLevel::from),
                authority_class: e.authority_class,
                work_item_id: e.work_item_id.clone(),
                ..Self::task(&e.task_id, e.parent_message_id.as_ref())
            },
            Event::TaskStatusUpdated(e) => Self {
                trust: e.authority_class.map(TrustLevel::from),
                authority_class: e.authority_class,
                work_item_id: e.work_item_id.clone(),
                ..Self::task(&e.task_id, e.parent_message_id.as_ref())
            },
            Event::TaskResultReceived(e) => Self {
                work_item_id: e.work_item_id.clone(),
                ..Self::task(&e.task_id, Some(&e.message_id))
            },
            Event::TaskChildSpawned(e) => Self {
                task_id: e.task_id.clone(),
                ..Self::default()
            },
            Event::TaskInputDelivered(e) => Self::task(&e.task_id, None),
            Event::SupervisedChildTaskMonitorReattached(e) => Self::task(&e.task_id, None),
            Event::WorkItemDelegationCreated(e) => Self {
                parent_work_item_id: e.parent_work_item_id.clone(),
                work_item_id: e.parent_work_item_id.clone(),
                ..Self::task(&e.supervision_task_id, None)
            },
            Event::WorkItemDelegationCompleted(e) => Self {
                parent_work_item_id: e.parent_work_item_id.clone(),
                work_item_id: e.parent_work_item_id.clone(),
                ..Self::task(&e.supervision_task_id, e.parent_message_id.as_ref())
            },
            Event::AgentCreated(_)
            | Event::AgentPutAside(_)
            | Event::WorkingMemoryUpdated(_)
            | Event::TerminalDeliveryRoundCompleted(_)
            | Event::ModelLimitLearned(_)
            | Event::AgentModelOverrideSet(_)
            | Event::AgentModelOverrideCleared(_)
            | Event::AgentStateChanged(_)
            | Event::WorkspaceAttachRequested(_)
            | Event::WorkspaceExitRequested(_)
            | Event::WorkspaceDetachRequested(_)
            | Event::WorkspaceEntered(_)
            | Event::WorkspaceUsed(_)
            | Event::SkillInstalled(_)
            | Event::OperatorDeliverySubmitted(_)
            | Event::OperatorNotificationMirrorFailed(_)
            | Event::OperatorDeliveryCompleted(_)
            | Event::OperatorTransportBindingUpserted(_)
            | Event::SkillUninstalled(_)
            | Event::WorkspaceAttached(_)
            | Event::WorkspaceDetached(_)
            | Event::WorkspaceExited(_)
            | Event::WorkspaceOccupancyReleased(_)
            | Event::WorktreeEntered(_)
            | Event::WorktreeExited(_)
            | Event::WorktreeAutoCleanedUp(_)
            | Event::WorktreeRetainedForReview(_)
            | Event::TimerCreated(_)
            | Event::TimerCancelled(_)
            | Event::WebhookConfigured(_)
            | Event::ThreadChangeRequested(_)
            | Event::TimerFireFailed(_)
            | Event::SchedulerPostureDecision(_)
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

    fn trigger(trigger_id: &TriggerId) -> Self {
        Self {
            external_trigger_id: Some(trigger_id.clone()),
            ..Self::default()
        }
    }

    /// Returns the fields of a wake that came through a capability, or of an operator's.
    fn wake(
        trigger: Option<&TriggerId>,
        source: Option<&String>,
        correlation_id: Option<&String>,
        causation_id: Option<&String>,
    ) -> Self {
        Self {
            origin: Some(match trigger {
                Some(id) => Origin::Callback {
                    descriptor_id: id.to_string(),
                    source: source.cloned(),
                },
                // Every wake that names no trigger is the request of an operator.
                None => Origin::Operator { actor_id: None },
            }),
            external_trigger_id: trigger.cloned(),
            source: source.cloned(),
            correlation_id: correlation_id.cloned(),
            causation_id: causation_id.cloned(),
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
pub(crate) mod tests;
