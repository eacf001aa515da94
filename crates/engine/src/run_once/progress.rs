//! The state of a run at one read, and the decision if it waits for more.

use holon_domain::WorkItemId;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::brief::{BriefKind, BriefRecord};
use holon_domain::log::LogEntry;
use holon_domain::message::MessageKind;
use holon_domain::queue::QueueView;
use holon_domain::task::TaskRecord;
use holon_domain::turn::{LogSeq, Phase};
use holon_domain::work_item::WorkItemListEntry;
use std::collections::BTreeSet;

/// Conditions on which a run waits beyond its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitTerms {
    /// True if the run waits for the results of its tasks that the agent will read.
    pub(super) for_tasks: bool,
    /// Upper bound on the model rounds of the whole run.
    pub(super) max_rounds: Option<u32>,
}

/// The state of a run at one read.
pub(super) enum RunProgress {
    /// The message is not settled yet. Holds the lengths of the queue.
    Open(QueueView),
    /// Retention has removed the message or the brief that settled it.
    Removed,
    /// The message is settled, but the run waits for tasks.
    Continues,
    /// The run has finished. Holds the log since its begin.
    Finished(Box<SettledMessage>, NextStep, Vec<(LogSeq, LogEntry)>),
}

/// The next step of a run whose message is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    Wait,
    /// The rounds are used up although task results are still to come.
    CutOff,
    Finish,
}

/// A settled message and the rows around it, from one read.
pub(super) struct SettledMessage {
    pub(super) queue: QueueView,
    /// Brief that settled the message.
    pub(super) brief: BriefRecord,
    /// Newest brief of the agent.
    pub(super) newest: Option<BriefRecord>,
    /// Tasks of the agent, newest first; every unfinished one is included.
    pub(super) tasks: Vec<TaskRecord>,
    /// Work items completed during the run that have a completion report.
    pub(super) reported: BTreeSet<WorkItemId>,
    /// Open work items of the agent, most recently changed first.
    pub(super) open_items: Vec<WorkItemListEntry>,
}

impl SettledMessage {
    /// Returns true if the agent was woken before it could wait, and answers in the turn that follows. Only the next turn
    /// counts, so that an agent that wakes itself again and again cannot hold its run; and that of a named agent does
    /// not if it answers another operator.
    fn wait_is_over(&self, agent: &AgentRecord) -> bool {
        if !self.brief.is_wait_notice() {
            return false;
        }
        match &agent.open_turn {
            Some(turn) => {
                !matches!(turn.phase, Phase::Suspended { .. })
                    && self.is_next(turn.turn_index)
                    && (agent.is_one_run() || turn.owes.is_empty())
            }
            None => {
                let is_newest = agent.counters.turns == self.brief.turn_index;
                agent.is_one_run() && is_newest && self.queue.pending > 0
            }
        }
    }

    const fn is_next(&self, turn_index: u64) -> bool {
        turn_index == self.brief.turn_index + 1
    }

    /// Returns the brief with the answer of a named agent that was woken before it could wait: that of the next turn, if
    /// this turn answered nobody else. Otherwise the one that settled the message.
    pub(super) fn answer(&self) -> &BriefRecord {
        let is_answer = |newest: &&BriefRecord| {
            self.brief.is_wait_notice()
                && self.is_next(newest.turn_index)
                && newest.settles.is_empty()
        };
        self.newest
            .as_ref()
            .filter(is_answer)
            .unwrap_or(&self.brief)
    }

    /// Returns the last turn that belongs to the run of a named agent.
    pub(super) fn last_turn(&self) -> u64 {
        self.answer().turn_index.max(self.brief.turn_index)
    }

    /// Decides if the run waits for the turn after a wait that is already over, or for tasks whose results the agent will
    /// read. A run that failed, was stopped or has used up its rounds does not wait for tasks.
    pub(super) fn next_step(&self, agent: &AgentRecord, waits: WaitTerms) -> NextStep {
        let may_run = match agent.lifecycle {
            Lifecycle::Booting | Lifecycle::Runnable => true,
            Lifecycle::Stopped | Lifecycle::Deleting => false,
        };
        if may_run && self.wait_is_over(agent) {
            return NextStep::Wait;
        }
        if !waits.for_tasks || !may_run || self.brief.kind == BriefKind::Failure {
            return NextStep::Finish;
        }
        let in_turn = agent.open_turn.as_ref();
        if in_turn.is_some_and(|turn| turn.message_kind == MessageKind::TaskResult) {
            return NextStep::Wait;
        }
        let will_be = |task: &TaskRecord| task.terminal_reentry && !task.status.is_terminal();
        let more = self.tasks.iter().any(will_be) || self.queue.interjections > 0;
        let used = agent.totals.model_rounds;
        let spent = waits.max_rounds.is_some_and(|max| used >= u64::from(max));
        match (more, spent) {
            (true, false) => NextStep::Wait,
            (true, true) => NextStep::CutOff,
            (false, true) if !agent.held.is_empty() => NextStep::CutOff,
            (false, true | false) => NextStep::Finish,
        }
    }
}
