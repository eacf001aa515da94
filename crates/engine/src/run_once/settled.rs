//! What came of a run once its message is settled: who goes on, what it cost, and the response.

use crate::request::Admitted;
use holon_core::assess::{Assessment, assess};
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::attempt::{AttemptTimeline, TokenUsage};
use holon_domain::block::{calls_of, text_of};
use holon_domain::brief::{BriefKind, BriefRecord};
use holon_domain::closure::{ClosureOutcome, WaitingReason};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::log::LogEntry;
use holon_domain::message::MessageKind;
use holon_domain::queue::QueueView;
use holon_domain::run::{RunOnceResponse, RunStatus};
use holon_domain::task::TaskRecord;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::turn::{LogSeq, Phase, TerminalReason};
use holon_domain::{TaskId, WorkItemId, text};
use holon_tools::{apply_patch, exec_command, exec_command_batch};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What a run is waited for beyond its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    /// Whether the ends of its tasks, as far as the agent is told of them.
    pub(super) for_tasks: bool,
    /// The most model rounds of all of it.
    pub(super) max_rounds: Option<u32>,
}

/// Where a run stands.
pub(super) enum Standing {
    /// Its message is not settled yet; with the lengths of the queue.
    Open(QueueView),
    /// It is, and something that is waited for runs on.
    GoesOn,
    /// It is over, in this way; with the log since it began.
    Over(Box<Settled>, Course, Vec<(LogSeq, LogEntry)>),
}

/// What becomes of a run whose message is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It goes on.
    GoesOn,
    /// Its rounds are used up, and the agent would have been told of more.
    CutOff,
    /// There is nothing more to wait for.
    Done,
}

/// What a caller is answered.
pub(super) enum Answer {
    /// The run is over.
    Over(Box<Over>),
    /// Its message stays in the queue behind a turn that waits for a provider.
    Waiting(Box<Waiting>),
}

impl Answer {
    pub(super) fn respond(self) -> RunOnceResponse {
        match self {
            Self::Over(over) => over.respond(),
            Self::Waiting(waiting) => waiting.respond(),
        }
    }
}

/// A run whose message waits behind a turn that waits for a provider.
pub(super) struct Waiting {
    admitted: Admitted,
    agent: AgentRecord,
    assessment: Assessment,
}

impl Waiting {
    /// The run, if that is where it stands.
    pub(super) fn of(
        admitted: &Admitted,
        agent: AgentRecord,
        queue: &QueueView,
    ) -> Option<Box<Self>> {
        let turn = agent.open_turn.as_ref()?;
        let is_own = turn
            .owes
            .iter()
            .any(|owed| owed.seq == admitted.message_seq);
        let is_suspended = matches!(turn.phase, Phase::Suspended { .. });
        let has_trouble = !turn.attended && turn.patience.since.is_some();
        if !is_suspended && (is_own || !has_trouble) {
            return None;
        }
        let assessment = assess(holon_core::assess::Standing::new(&agent, queue));
        let admitted = admitted.clone();
        Some(Box::new(Self {
            admitted,
            agent,
            assessment,
        }))
    }

    fn respond(self) -> RunOnceResponse {
        let closure = self.assessment.closure;
        let end = RunEnd {
            status: RunStatus::Waiting,
            waiting_reason: closure
                .and_then(|closure| closure.waiting_reason)
                .or(Some(WaitingReason::AwaitingExternalChange)),
            text: format!(
                "not answered yet, and kept in the queue: {}{}",
                self.assessment.posture.reason,
                self.assessment
                    .posture
                    .wakes_at
                    .map_or_else(String::new, |at| format!(" ({at})"))
            ),
            tasks: Vec::new(),
        };
        response(&self.admitted, &self.agent, end, Tally::default())
    }
}

/// A run that is over, and all that its response is made of.
pub(super) struct Over {
    pub(super) admitted: Admitted,
    pub(super) agent: AgentRecord,
    pub(super) settled: Settled,
    pub(super) course: Course,
    pub(super) entries: Vec<(LogSeq, LogEntry)>,
    /// Its tasks that were stopped because it was over.
    pub(super) stopped: BTreeSet<TaskId>,
}

/// A settled message and what stands around it, as one read saw it.
pub(super) struct Settled {
    pub(super) queue: QueueView,
    /// The brief that settled it.
    pub(super) brief: BriefRecord,
    /// The agent's newest brief.
    pub(super) newest: Option<BriefRecord>,
    /// Its tasks, newest first; every one that is not over is among them.
    pub(super) tasks: Vec<TaskRecord>,
    /// Of the items that were completed meanwhile, the ones with a report.
    pub(super) reported: BTreeSet<WorkItemId>,
}

impl Settled {
    /// Whether tasks run whose end the agent will be told, or such an end is still to be taken up. A run that failed,
    /// was stopped or has used up its rounds waits for nothing.
    pub(super) fn course(&self, agent: &AgentRecord, waits: Waits) -> Course {
        let may_run = match agent.lifecycle {
            Lifecycle::Booting | Lifecycle::Runnable => true,
            Lifecycle::Stopped | Lifecycle::Deleting => false,
        };
        if !waits.for_tasks || !may_run || self.brief.kind == BriefKind::Failure {
            return Course::Done;
        }
        let in_turn = agent.open_turn.as_ref();
        if in_turn.is_some_and(|turn| turn.message_kind == MessageKind::TaskResult) {
            return Course::GoesOn;
        }
        let will_be = |task: &TaskRecord| task.terminal_reentry && !task.status.is_terminal();
        let more = self.tasks.iter().any(will_be) || self.queue.interjections > 0;
        let used = agent.totals.model_rounds;
        let spent = waits.max_rounds.is_some_and(|max| used >= u64::from(max));
        match (more, spent) {
            (true, false) => Course::GoesOn,
            (true, true) => Course::CutOff,
            (false, true) if !agent.held.is_empty() => Course::CutOff,
            (false, true | false) => Course::Done,
        }
    }
}

impl Over {
    pub(super) fn respond(self) -> RunOnceResponse {
        // An agent that was made for this run does nothing else, so everything it said and did belongs to it.
        let whole = self.agent.is_one_run();
        let scope = if whole {
            Scope::All
        } else {
            Scope::Message(self.admitted.message_seq)
        };
        let tasks = self.tasks();
        let Settled {
            queue,
            brief,
            newest,
            reported,
            ..
        } = self.settled;
        let entries = self.entries.into_iter().map(|(_, entry)| entry);
        let mut tally = Tally::of(entries, scope, &reported);
        let brief = newest.filter(|_| whole).unwrap_or(brief);
        tally.failure = failure_of(&brief, tally.failure);
        if self.course == Course::CutOff {
            tally.failure = Some((cut_off(tally.rounds), Some(TerminalReason::MaxRounds)));
        }
        respond(&self.admitted, &self.agent, &queue, (brief, tasks), tally)
    }

    /// The tasks of the run, oldest first.
    fn tasks(&self) -> Vec<Value> {
        let whole = self.agent.is_one_run();
        let of_run = |task: &&TaskRecord| {
            whole || task.parent_message_id.as_ref() == Some(&self.admitted.message_id)
        };
        let tasks = self.settled.tasks.iter().rev().filter(of_run);
        tasks
            .map(|task| {
                let mut snapshot = task.output_snapshot();
                if self.agent.is_temporary() {
                    // Its files go with its agent, before anybody could read them.
                    snapshot.artifacts.clear();
                    (snapshot.output_artifact, snapshot.stderr_artifact) = (None, None);
                }
                let mut told = json!({ "task": snapshot });
                if self.stopped.contains(&task.id) {
                    told["stopped_with_run"] = json!(true);
                }
                told
            })
            .collect()
    }
}

/// Why a run ended whose agent had said what it had to say, and would have been told of more.
fn cut_off(rounds: u64) -> FailureArtifact {
    let rounds = text::pluralize(rounds, "model round");
    let summary = format!(
        "stopped after {rounds}, the most this request allowed, before it was told how its tasks ended; allow more \
         with --max-turns"
    );
    FailureArtifact::new(FailureCategory::Runtime, "max_turns_exceeded", &summary)
}

/// The failure that a brief speaks of: the last one in the log, because both are written in one commit. Turns that
/// began later say nothing about it, and a brief that is no failure comes after all failures.
fn failure_of(brief: &BriefRecord, last: Option<Failure>) -> Option<Failure> {
    match brief.kind {
        BriefKind::Failure => last,
        BriefKind::Result | BriefKind::Ack => None,
    }
}

/// How a turn failed, for people and as a decision reads it.
type Failure = (FailureArtifact, Option<TerminalReason>);

/// Which turns count.
#[derive(Debug, Clone, Copy)]
enum Scope {
    /// The one that took this message up.
    Message(u64),
    /// Every one.
    All,
}

/// What the log says about the turns of a run.
#[derive(Default)]
struct Tally {
    usage: TokenUsage,
    rounds: u64,
    calls: u64,
    /// Commands that calls of their own ran.
    commands: u64,
    /// Commands that batches ran.
    batched: u64,
    changed: Vec<String>,
    /// What the model said last.
    words: Option<String>,
    /// The newest completion report.
    report: Option<String>,
    /// The last failure of one of its turns.
    failure: Option<Failure>,
    timeline: AttemptTimeline,
}

impl Tally {
    fn of(
        entries: impl Iterator<Item = LogEntry>,
        scope: Scope,
        reported: &BTreeSet<WorkItemId>,
    ) -> Self {
        let mut tally = Self::default();
        let mut in_turn = false;
        for entry in entries {
            match entry {
                LogEntry::IncomingMessage { message_seq: seq } => {
                    in_turn = match scope {
                        Scope::Message(of_run) => seq == of_run,
                        Scope::All => true,
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
                | LogEntry::ContinuationPrompt { .. } => {}
            }
        }
        tally
    }

    /// Adds what a call came to: the commands it ran, and the files a patch changed, each once.
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

fn respond(
    admitted: &Admitted,
    agent: &AgentRecord,
    queue: &QueueView,
    (brief, tasks): (BriefRecord, Vec<Value>),
    tally: Tally,
) -> RunOnceResponse {
    let closure = assess(holon_core::assess::Standing::new(agent, queue)).closure;
    let waiting = closure.filter(|closure| closure.outcome == ClosureOutcome::Waiting);
    let final_status = match (&tally.failure, brief.kind) {
        (Some((_, Some(TerminalReason::MaxRounds))), _) => RunStatus::MaxTurnsExceeded,
        (Some(_), _) | (None, BriefKind::Failure) => RunStatus::Failed,
        (None, BriefKind::Result | BriefKind::Ack) if waiting.is_some() => RunStatus::Waiting,
        (None, BriefKind::Result | BriefKind::Ack) => RunStatus::Completed,
    };
    let report = tally.report.clone();
    let end = RunEnd {
        status: final_status,
        waiting_reason: waiting.and_then(|closure| closure.waiting_reason),
        // A failure is told as such; otherwise the newest report is the answer, and the last words go with it.
        text: report
            .filter(|_| tally.failure.is_none())
            .unwrap_or(brief.text),
        tasks,
    };
    response(admitted, agent, end, tally)
}

/// How a run stands when it is reported.
struct RunEnd {
    status: RunStatus,
    waiting_reason: Option<WaitingReason>,
    text: String,
    tasks: Vec<Value>,
}

fn response(
    admitted: &Admitted,
    agent: &AgentRecord,
    end: RunEnd,
    tally: Tally,
) -> RunOnceResponse {
    RunOnceResponse {
        agent_id: admitted.agent_id.clone(),
        message_id: admitted.message_id.clone(),
        final_status: end.status,
        waiting_reason: end.waiting_reason,
        final_text: end.text,
        raw_final_text: tally.words,
        sleep_reason: agent.rest.as_ref().and_then(|rest| rest.reason.clone()),
        failure_artifact: tally.failure.map(|(artifact, _)| artifact),
        tasks: end.tasks,
        message_count: agent.counters.messages,
        changed_files: tally.changed,
        token_usage: tally.usage,
        input_tokens: tally.usage.input_tokens,
        output_tokens: tally.usage.output_tokens,
        provider_cache_usage: tally.usage.cache_usage(),
        model_rounds: tally.rounds,
        tool_calls: tally.calls,
        shell_commands: tally.commands + tally.batched,
        exec_command_items: tally.commands,
        batched_exec_command_items: tally.batched,
        provider_attempt_timeline: tally.timeline,
    }
}

/// The items that successful calls of these rounds completed.
pub(super) fn completed_items(entries: &[(LogSeq, LogEntry)]) -> BTreeSet<WorkItemId> {
    let completed = entries.iter().filter_map(|(_, entry)| match entry {
        LogEntry::ToolResult { envelope, .. } => completed_item(envelope),
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::RuntimeFailure { .. } => None,
    });
    completed.collect()
}

/// The item that a call has completed.
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
        for scope in [Scope::All, Scope::Message(1)] {
            let entries = [begins(1), failure.clone(), begins(2)];
            let tally = Tally::of(entries.into_iter(), scope, &BTreeSet::new());
            let reported = tally.failure.map(|(artifact, _)| artifact.kind);
            assert_eq!(reported.as_deref(), Some("server_error"), "{scope:?}");
        }
    }
}
