//! Counts figures about the turns of a run from the log.

use holon_domain::WorkItemId;
use holon_domain::attempt::{AttemptTimeline, TokenUsage};
use holon_domain::block::{calls_of, text_of};
use holon_domain::failure::FailureArtifact;
use holon_domain::log::LogEntry;
use holon_domain::queue::MessageSeq;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::turn::{LogSeq, TerminalReason};
use holon_tools::{apply_patch, exec_command, exec_command_batch};
use std::collections::BTreeSet;

/// The failure of a turn, for people and as a reason for decisions.
pub(super) type TurnFailure = (FailureArtifact, Option<TerminalReason>);

/// Selects the turns that are counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum TurnFilter {
    /// Only the turn that took this message.
    Message(u64),
    All,
}

/// Figures about the turns of a run, counted from the log.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) usage: TokenUsage,
    pub(super) rounds: u64,
    pub(super) calls: u64,
    /// Commands run by `ExecCommand`.
    pub(super) commands: u64,
    /// Commands run by `ExecCommandBatch`.
    pub(super) batched: u64,
    pub(super) changed: Vec<String>,
    /// Text of the last model round.
    pub(super) words: Option<String>,
    /// Text of the newest completion report.
    pub(super) report: Option<String>,
    /// Last failure of a counted turn.
    pub(super) failure: Option<TurnFailure>,
    pub(super) timeline: AttemptTimeline,
    /// Position of the newest message that a turn in these entries took. Zero if there is none.
    pub(super) newest_message: MessageSeq,
}

impl Tally {
    pub(super) fn of(
        entries: impl Iterator<Item = LogEntry>,
        scope: TurnFilter,
        reported: &BTreeSet<WorkItemId>,
    ) -> Self {
        let mut tally = Self::default();
        let mut in_turn = false;
        for entry in entries {
            let taken = entry.message_seq().unwrap_or_default();
            tally.newest_message = tally.newest_message.max(taken);
            match entry {
                LogEntry::IncomingMessage { message_seq: seq } => {
                    in_turn = match scope {
                        TurnFilter::Message(of_run) => seq == of_run,
                        TurnFilter::All => true,
                    };
                }
                LogEntry::AssistantRound {
                    blocks,
                    usage,
                    tries,
                    ..
                } if in_turn => {
                    tally.usage.add(usage);
                    tally.rounds += 1;
                    tally.calls += calls_of(&blocks).count() as u64;
                    tally.words = Some(text_of(&blocks));
                    tally.add_timeline(tries.timeline(usage));
                }
                LogEntry::RuntimeFailure {
                    failure_artifact,
                    reason,
                    timeline,
                    ..
                } if in_turn => {
                    tally.failure = Some((failure_artifact, reason));
                    timeline
                        .into_iter()
                        .for_each(|timeline| tally.add_timeline(timeline));
                }
                LogEntry::ToolResult { envelope, .. } if in_turn => {
                    tally.add_result(&envelope);
                    if completed_item(&envelope).is_some_and(|id| reported.contains(&id)) {
                        tally.report.clone_from(&tally.words);
                    }
                }
                LogEntry::AssistantRound { .. }
                | LogEntry::RuntimeFailure { .. }
                | LogEntry::Frame(_)
                | LogEntry::Interjection { .. }
                | LogEntry::ToolResult { .. }
                | LogEntry::Recap(_)
                | LogEntry::ThreadFold(_)
                | LogEntry::Shortened(_)
                | LogEntry::ContinuationPrompt { .. } => {}
            }
        }
        tally
    }

    /// Adds the commands that a call ran and the files that a patch changed, each file once.
    fn add_result(&mut self, envelope: &ToolEnvelope) {
        self.commands += exec_command::commands_run(envelope);
        self.batched += exec_command_batch::commands_run(envelope);
        for path in apply_patch::changed_paths(envelope) {
            if !self.changed.contains(&path) {
                self.changed.push(path);
            }
        }
    }

    fn add_timeline(&mut self, timeline: AttemptTimeline) {
        let AttemptTimeline {
            attempts,
            requested_model_ref,
            active_model_ref,
            winning_model_ref,
            aggregated_token_usage,
        } = timeline;
        self.timeline.attempts.extend(attempts);
        self.timeline.requested_model_ref = requested_model_ref;
        self.timeline.active_model_ref = active_model_ref;
        self.timeline.winning_model_ref =
            winning_model_ref.or_else(|| self.timeline.winning_model_ref.take());
        if let Some(usage) = aggregated_token_usage {
            self.timeline
                .aggregated_token_usage
                .get_or_insert_default()
                .add(usage);
        }
    }
}

/// Lists the items completed by successful calls in these entries.
pub(super) fn completed_items(entries: &[(LogSeq, LogEntry)]) -> BTreeSet<WorkItemId> {
    let completed = entries.iter().filter_map(|(_, entry)| match entry {
        LogEntry::ToolResult { envelope, .. } => completed_item(envelope),
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::RuntimeFailure { .. } => None,
    });
    completed.collect()
}

/// The item that a call completed.
fn completed_item(envelope: &ToolEnvelope) -> Option<WorkItemId> {
    let ToolOutcome::Success { result } = &envelope.outcome else {
        return None;
    };
    if envelope.tool_name != "CompleteWorkItem" {
        return None;
    }
    let id = result.get("work_item")?.get("id")?.as_str()?;
    Some(WorkItemId::from_stored(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::failure::FailureCategory;
    use serde_json::json;

    #[test]
    fn a_failure_is_reported_although_the_next_turn_has_begun() {
        let failure = LogEntry::RuntimeFailure {
            message_id: serde_json::from_value(json!("msg_1")).unwrap(),
            text: "x".to_owned(),
            failure_artifact: FailureArtifact::new(FailureCategory::Transport, "server_error", "x"),
            reason: Some(TerminalReason::ProviderFailed),
            usage: None,
            timeline: None,
            task_id: None,
        };
        let begins = |message_seq| LogEntry::IncomingMessage { message_seq };
        for scope in [TurnFilter::All, TurnFilter::Message(1)] {
            let entries = [begins(1), failure.clone(), begins(2)];
            let tally = Tally::of(entries.into_iter(), scope, &BTreeSet::new());
            let reported = tally.failure.map(|(artifact, _)| artifact.kind);
            assert_eq!(reported.as_deref(), Some("server_error"), "{scope:?}");
        }
    }
}
