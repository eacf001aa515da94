//! The answer to the caller of a run, and the response built from it.

use super::progress::{NextStep, SettledMessage};
use super::tally::{Tally, TurnFailure, TurnFilter};
use crate::request::AdmittedMessage;
use holon_core::assess::{AssessmentInput, assess};
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::block::text_of;
use holon_domain::brief::{ActionRequired, BriefKind, BriefRecord};
use holon_domain::closure::{ClosureOutcome, WaitingReason};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::log::LogEntry;
use holon_domain::queue::QueueView;
use holon_domain::run::{RunOnceResponse, RunStatus, RunSuspension, TextSource};
use holon_domain::task::TaskRecord;
use holon_domain::turn::{LogSeq, Phase, TerminalReason};
use holon_domain::usage::{Spending, SpendingView};
use holon_domain::work_item::WorkItemListEntry;
use holon_domain::{TaskId, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The answer to the caller of a run.
pub(super) enum RunAnswer {
    Finished(Box<FinishedRun>),
    /// The message is kept and answered later.
    Waiting(Box<WaitingRun>),
}

impl RunAnswer {
    pub(super) fn respond(self) -> RunOnceResponse {
        match self {
            Self::Finished(finished) => finished.respond(),
            Self::Waiting(waiting) => waiting.respond(),
        }
    }
}

/// A run without an answer yet: its own turn waits, or its message stays in the queue behind a turn that waits or until its
/// agent is started.
pub(super) struct WaitingRun {
    admitted: AdmittedMessage,
    agent: AgentRecord,
    waiting_reason: WaitingReason,
    /// Reason in words, with the time at which the wait ends if it is known.
    reason: String,
    /// True if a turn has taken the message up, so that it is not in the queue any more.
    in_turn: bool,
}

impl WaitingRun {
    /// Builds the value if the turn of the message, or the turn before it, waits for a provider or for the operator.
    pub(super) fn of(
        admitted: &AdmittedMessage,
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
        let assessment = assess(AssessmentInput::new(&agent, queue));
        let posture = assessment.posture;
        let wakes_at = posture.wakes_at;
        let until = wakes_at.map_or_else(String::new, |at| format!(" ({at})"));
        let waits_for = assessment
            .closure
            .and_then(|closure| closure.waiting_reason);
        Some(Box::new(Self {
            admitted: admitted.clone(),
            agent,
            waiting_reason: waits_for.unwrap_or(WaitingReason::AwaitingExternalChange),
            reason: format!("{}{until}", posture.reason),
            in_turn: is_own,
        }))
    }

    /// Builds the value for a message in the queue of an agent that was stopped before it took the message up.
    pub(super) fn of_stopped(admitted: &AdmittedMessage, agent: AgentRecord) -> Box<Self> {
        let id = &agent.identity.agent_id;
        let reason = format!("agent {id} is stopped; start it with: holon agent start {id}");
        Box::new(Self {
            admitted: admitted.clone(),
            agent,
            waiting_reason: WaitingReason::AwaitingOperatorInput,
            reason,
            in_turn: false,
        })
    }

    /// Returns true if only a start of the agent ends the wait.
    pub(super) fn is_stopped(&self) -> bool {
        self.agent.lifecycle == Lifecycle::Stopped
    }

    fn respond(self) -> RunOnceResponse {
        let kept = match self.in_turn {
            true => "its turn is kept",
            false => "kept in the queue",
        };
        let end = RunReport {
            status: RunStatus::Waiting,
            waiting_reason: Some(self.waiting_reason),
            suspension: suspension_of(&self.agent),
            text: format!("not answered yet, and {kept}: {}", self.reason),
            source: TextSource::Runtime,
            note: None,
            action_required: None,
            usage: SpendingView::from(Spending::default()),
            tasks: Vec::new(),
            // The message is still to be answered, so the run itself tells how it stands.
            open_items: Vec::new(),
        };
        response(&self.admitted, &self.agent, end, Tally::default())
    }
}

/// A finished run with everything its response needs.
pub(super) struct FinishedRun {
    pub(super) admitted: AdmittedMessage,
    pub(super) agent: AgentRecord,
    pub(super) settled: SettledMessage,
    pub(super) next_step: NextStep,
    pub(super) entries: Vec<(LogSeq, LogEntry)>,
    /// Tasks that were stopped because the run had finished.
    pub(super) stopped: BTreeSet<TaskId>,
}

impl FinishedRun {
    pub(super) fn respond(self) -> RunOnceResponse {
        // A temporary agent does nothing else, so everything in its log belongs to the run.
        let whole = self.agent.is_one_run();
        let scope = if whole {
            TurnFilter::All
        } else {
            TurnFilter::Message(self.admitted.message_seq)
        };
        let tasks = self.tasks();
        let answer = self.settled.answer().clone();
        let SettledMessage {
            queue,
            newest,
            reported,
            open_items,
            ..
        } = self.settled;
        let brief = newest.filter(|_| whole).unwrap_or(answer);
        let source = text_source(&brief, &self.entries);
        let entries = self.entries.into_iter().map(|(_, entry)| entry);
        let mut tally = Tally::of(entries, scope, &reported);
        tally.failure = reported_failure(&brief, tally.failure);
        if self.next_step == NextStep::CutOff {
            tally.failure = Some((
                cut_off_failure(tally.rounds),
                Some(TerminalReason::MaxRounds),
            ));
        }
        let end = RunReport {
            open_items,
            tasks,
            ..derive_report(&self.agent, &queue, brief, source, &tally)
        };
        response(&self.admitted, &self.agent, end, tally)
    }

    /// Lists the tasks of the run, oldest first.
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
                    // The files are removed together with the temporary agent.
                    snapshot.artifacts.clear();
                    (snapshot.output_artifact, snapshot.stdout_artifact) = (None, None);
                    snapshot.stderr_artifact = None;
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

/// Builds the failure of a run that used up its rounds before it read the results of its tasks.
fn cut_off_failure(rounds: u64) -> FailureArtifact {
    let rounds = text::pluralize(rounds, "model round");
    let summary = format!(
        "stopped after {rounds}, the most this request allowed, before it was told how its tasks ended; allow more \
         with --max-turns"
    );
    FailureArtifact::new(FailureCategory::Runtime, "max_turns_exceeded", &summary)
}

/// Selects the failure that a brief reports: the last one in the log, because both are written in one commit. Turns
/// that began later do not change it, and a brief that is no failure comes after all failures.
fn reported_failure(brief: &BriefRecord, last: Option<TurnFailure>) -> Option<TurnFailure> {
    match brief.kind {
        BriefKind::Failure => last,
        BriefKind::Result | BriefKind::Ack => None,
    }
}

/// Derives the reported state of a finished run from its brief, its failure and the agent's closure.
fn derive_report(
    agent: &AgentRecord,
    queue: &QueueView,
    brief: BriefRecord,
    brief_source: TextSource,
    tally: &Tally,
) -> RunReport {
    let closure = assess(AssessmentInput::new(agent, queue)).closure;
    let waiting = closure.filter(|closure| closure.outcome == ClosureOutcome::Waiting);
    let is_notice = brief_source == TextSource::Runtime && brief.is_wait_notice();
    let final_status = match (&tally.failure, brief.kind) {
        (Some((_, Some(TerminalReason::MaxRounds))), _) => RunStatus::MaxTurnsExceeded,
        (Some(_), _) | (None, BriefKind::Failure) => RunStatus::Failed,
        (None, BriefKind::Result | BriefKind::Ack)
            if waiting.is_some() || has_more_work(agent) || is_notice =>
        {
            RunStatus::Waiting
        }
        (None, BriefKind::Result | BriefKind::Ack) => RunStatus::Completed,
    };
    let report = tally.report.clone().filter(|_| tally.failure.is_none());
    RunReport {
        status: final_status,
        waiting_reason: waiting.and_then(|closure| closure.waiting_reason),
        suspension: None,
        // A completion report is the model's own.
        source: match report {
            Some(_) => TextSource::Model,
            None => brief_source,
        },
        note: brief.note,
        action_required: brief.action_required,
        // A failure is shown as such. Otherwise the newest report is the answer; the last text is returned beside it.
        text: report.unwrap_or(brief.text),
        usage: match agent.is_one_run() {
            true => agent.totals.spending.into(),
            false => brief.usage.unwrap_or_else(|| Spending::default().into()),
        },
        tasks: Vec::new(),
        open_items: Vec::new(),
    }
}

/// Returns the author of a brief's text: the model if it is the text of a round in the log. The question with which an
/// agent waits for its operator is the agent's own.
fn text_source(brief: &BriefRecord, entries: &[(LogSeq, LogEntry)]) -> TextSource {
    let is_text = |(_, entry): &(LogSeq, LogEntry)| match entry {
        LogEntry::AssistantRound { blocks, .. } => text_of(blocks) == brief.text,
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::ToolResult { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::RuntimeFailure { .. } => false,
    };
    let is_question = brief.action_required.is_some();
    match brief.kind {
        BriefKind::Result if is_question || entries.iter().any(is_text) => TextSource::Model,
        BriefKind::Result | BriefKind::Ack | BriefKind::Failure => TextSource::Runtime,
    }
}

/// Returns true if work of the agent can go on after the run. Its next turn may be open already, so the closure does not
/// always say so.
fn has_more_work(agent: &AgentRecord) -> bool {
    agent.work.can_go_on()
}

/// Returns the suspension of the open turn.
fn suspension_of(agent: &AgentRecord) -> Option<RunSuspension> {
    match &agent.open_turn.as_ref()?.phase {
        Phase::Suspended {
            reason,
            error,
            pause,
            ..
        } => Some(RunSuspension {
            reason: *reason,
            error: error.clone(),
            until: pause.map(|pause| pause.until),
        }),
        Phase::CallingModel { .. }
        | Phase::BackingOff { .. }
        | Phase::RunningTool { .. }
        | Phase::Sending { .. } => None,
    }
}

/// The reported state of a run.
struct RunReport {
    usage: SpendingView,
    status: RunStatus,
    waiting_reason: Option<WaitingReason>,
    suspension: Option<RunSuspension>,
    text: String,
    source: TextSource,
    /// Remark of the runtime about the text.
    note: Option<String>,
    action_required: Option<ActionRequired>,
    tasks: Vec<Value>,
    open_items: Vec<WorkItemListEntry>,
}

fn response(
    admitted: &AdmittedMessage,
    agent: &AgentRecord,
    end: RunReport,
    tally: Tally,
) -> RunOnceResponse {
    RunOnceResponse {
        agent_id: admitted.agent_id.clone(),
        message_id: admitted.message_id.clone(),
        final_status: end.status,
        waiting_reason: end.waiting_reason,
        suspension: end.suspension,
        final_text: end.text,
        action_required: end.action_required,
        final_text_source: Some(end.source),
        raw_final_text: tally.words,
        note: end.note,
        sleep_reason: agent.rest.as_ref().and_then(|rest| rest.reason.clone()),
        failure_artifact: tally.failure.map(|(artifact, _)| artifact),
        tasks: end.tasks,
        open_work_items: end.open_items,
        open_work_item_count: agent.work.items.open(),
        message_count: tally.newest_message.max(admitted.message_seq),
        changed_files: tally.changed,
        token_usage: tally.usage,
        usage: end.usage,
        input_tokens: tally.usage.input_tokens,
        output_tokens: tally.usage.output_tokens,
        provider_cache_usage: tally.usage.cache_usage(),
        cached_input_percent: tally.usage.cached_percent(),
        model_rounds: tally.rounds,
        tool_calls: tally.calls,
        shell_commands: tally.commands + tally.batched,
        exec_command_items: tally.commands,
        batched_exec_command_items: tally.batched,
        provider_attempt_timeline: tally.timeline,
        notes: Vec::new(),
    }
}
