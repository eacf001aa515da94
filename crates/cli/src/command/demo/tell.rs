//! Narrates the demo to people, line by line. Prints nothing for programs.

use super::checks::Check;
use super::stage::{AGENT, without_note};
use crate::output::{Format, Output};
use holon_domain::event::Event;

/// Prints the steps for people; programs get the report at the end.
#[derive(Debug)]
pub(super) struct Teller<'a> {
    output: &'a Output,
}

impl<'a> Teller<'a> {
    pub(super) const fn new(output: &'a Output) -> Self {
        Self { output }
    }

    /// Prints the head of a new part.
    pub(super) fn chapter(&self, words: &str) {
        self.say(&format!("\n== {words}"));
    }

    /// Prints one step of a part.
    pub(super) fn line(&self, words: &str) {
        self.say(&format!("   {words}"));
    }

    /// Prints the result of one check.
    pub(super) fn check(&self, check: &Check) {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        self.line(&format!("{mark} {}: {}", check.what, check.found));
    }

    /// Prints the history of the repository.
    pub(super) fn log(&self, log: &str) {
        self.line("git log of the repository:");
        for line in log.lines() {
            self.line(&format!("     {line}"));
        }
    }

    /// Prints an event, if it is of interest to an operator.
    pub(super) fn event(&self, event: &Event) {
        if let Some(words) = words(event) {
            self.line(&words);
        }
    }

    /// Prints the outcome and the next commands to try.
    pub(super) fn end(&self, ok: bool, kept: Option<&str>) {
        self.chapter(if ok {
            "Lost: nothing. Done twice: nothing."
        } else {
            "Something is not as it should be; this is a defect to report."
        });
        match kept {
            Some(dir) => {
                self.line(&format!("everything is kept in {dir}; look at it with:"));
                self.line(&format!("  holon serve --port 0 --home {dir}/home"));
                self.line(&format!(
                    "  holon transcript --agent {AGENT} --home {dir}/home"
                ));
                self.line(&format!("  holon tail --agent {AGENT} --home {dir}/home"));
            }
            None => {
                self.line("the directory is removed (--keep keeps it); try it yourself:");
                self.line("  holon serve --model scripted/SCRIPT.json      a host; see docs/guide/scripted-provider.md");
                self.line(
                    "  holon agent create NAME --workspace-root DIR  an agent for your project",
                );
                self.line("  holon prompt --agent NAME \"...\"               something to do");
            }
        }
    }

    fn say(&self, words: &str) {
        match self.output.format() {
            Format::Text => self.output.say(words),
            Format::Json => {}
        }
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "a table with one row for each kind of event"
)]
fn words(event: &Event) -> Option<String> {
    match event {
        Event::MessageAdmitted(admitted) => {
            Some(format!("message {} is on disk", admitted.message_id))
        }
        Event::TurnStarted(started) => Some(format!("turn {} begins", started.turn_index)),
        Event::AssistantRoundRecorded(round) => round
            .text_preview
            .as_ref()
            .map(|text| format!("{AGENT}: {text}")),
        Event::ToolExecuted(done) => {
            let cmd = done
                .exec_command_cmd
                .as_deref()
                .map_or(done.tool_name.as_str(), without_note);
            let (outcome, _) = done.summary.split_once(": ").unwrap_or((&done.summary, ""));
            let (outcome, _) = outcome.split_once(" after ").unwrap_or((outcome, ""));
            Some(format!("  $ {cmd}   [{outcome}]"))
        }
        Event::ToolExecutionFailed(failed) => {
            Some(format!("  {} failed: {}", failed.tool_name, failed.error))
        }
        Event::TurnResumed(resumed) => Some(format!(
            "turn {} resumed after log entry {}; {} calls of unknown outcome",
            resumed.turn_index,
            resumed.after_entry,
            resumed.unknown_calls.len()
        )),
        Event::TaskCreated(task) => Some(format!("{} goes on by itself", task.task_id)),
        Event::TaskStatusUpdated(task) => Some(format!("{}: {}", task.task_id, task.reason)),
        Event::BriefCreated(brief) => {
            Some(format!("brief to the operator: {}", brief.text_preview))
        }
        Event::RuntimeError(error) => Some(format!("failure: {}", error.error)),
        // The remaining kinds are left to the event log.
        Event::AgentCreated(_)
        | Event::AgentPutAside(_)
        | Event::OperatorNotificationRequested(_)
        | Event::OperatorDeliverySubmitted(_)
        | Event::OperatorNotificationMirrorFailed(_)
        | Event::OperatorDeliveryCompleted(_)
        | Event::OperatorTransportBindingUpserted(_)
        | Event::MessageProcessingStarted(_)
        | Event::MessageProcessingAborted(_)
        | Event::OperatorInterjectionAdmitted(_)
        | Event::SchedulerDecision(_)
        | Event::ContinuationResolved(_)
        | Event::TurnSuspended(_)
        | Event::TurnSuspensionEnded(_)
        | Event::TurnContextBuilt(_)
        | Event::ProviderRoundCompleted(_)
        | Event::TerminalDeliveryRoundCompleted(_)
        | Event::ProviderRetryScheduled(_)
        | Event::ProviderFallbackSelected(_)
        | Event::ModelLimitLearned(_)
        | Event::AgentModelOverrideSet(_)
        | Event::AgentModelOverrideCleared(_)
        | Event::MaxOutputTokensRecovery(_)
        | Event::TurnLocalCompactionApplied(_)
        | Event::ThreadFolded(_)
        | Event::ThreadChangeRequested(_)
        | Event::TaskResultReceived(_)
        | Event::TaskChildSpawned(_)
        | Event::SupervisedChildTaskMonitorReattached(_)
        | Event::TaskInputDelivered(_)
        | Event::WorkItemDelegationCreated(_)
        | Event::WorkItemDelegationCompleted(_)
        | Event::TurnTerminal(_)
        | Event::ClosureDecided(_)
        | Event::ProcessExecutionRequested(_)
        | Event::CommandBatchStopped(_)
        | Event::SkillActivated(_)
        | Event::SkillChanged(_)
        | Event::SkillInstalled(_)
        | Event::SkillUninstalled(_)
        | Event::AgentStateChanged(_)
        | Event::SessionStateChanged(_)
        | Event::SystemTickEmitted(_)
        | Event::SystemTickSuppressed(_)
        | Event::WorkItemWritten(_)
        | Event::WorkItemPicked(_)
        | Event::WorkingMemoryUpdated(_)
        | Event::EpisodeMemoryFinalized(_)
        | Event::WorkItemFocusReleased(_)
        | Event::WorkItemPlanArtifactRefreshed(_)
        | Event::WorkItemRecheckConsumed(_)
        | Event::WorkItemCompletionReportPromoted(_)
        | Event::WorkItemCompletionWarning(_)
        | Event::WaitingIntentCreated(_)
        | Event::WaitingIntentEnded(_)
        | Event::TimerCreated(_)
        | Event::TimerFired(_)
        | Event::TimerFireFailed(_)
        | Event::TimerCancelled(_)
        | Event::WorkItemStaleReminderInjected(_)
        | Event::WorkItemStaleReminderSkipped(_)
        | Event::WorkItemEnqueueRequested(_)
        | Event::WorkItemTurnEndCommitted(_)
        | Event::WorkItemTurnEndCommitSkipped(_)
        | Event::MissingCurrentWorkItemBeforeWait(_)
        | Event::WaitingIntentCancelled(_)
        | Event::ExternalWaitWithoutRecovery(_)
        | Event::TimerCreateRequested(_)
        | Event::WakeRequested(_)
        | Event::WakeHintCoalesced(_)
        | Event::WakeHintIgnored(_)
        | Event::SchedulerPostureDecision(_)
        | Event::SchedulerDiagnostic(_)
        | Event::WakeHintTriggered(_)
        | Event::ExternalTriggerCreated(_)
        | Event::ExternalTriggerRotated(_)
        | Event::ExternalTriggerRevoked(_)
        | Event::CallbackDelivered(_)
        | Event::WebhookConfigured(_)
        | Event::ControlRequestAdmitted(_)
        | Event::ControlApplied(_)
        | Event::CurrentRunAborted(_)
        | Event::WorkspaceAttachRequested(_)
        | Event::WorkspaceExitRequested(_)
        | Event::WorkspaceDetachRequested(_)
        | Event::WorkspaceEntered(_)
        | Event::WorkspaceUsed(_)
        | Event::WorkspaceAttached(_)
        | Event::WorkspaceDetached(_)
        | Event::WorkspaceExited(_)
        | Event::WorkspaceOccupancyReleased(_)
        | Event::WorktreeEntered(_)
        | Event::WorktreeExited(_)
        | Event::WorktreeAutoCleanedUp(_)
        | Event::WorktreeRetainedForReview(_)
        | Event::EffectOutcomeDropped(_)
        | Event::Unknown { .. } => None,
    }
}
