//! The draft of a decision: the agent's changed row and the facts so far.
//!
//! This is the only place that advances an agent's sequences, so every number is given out once and in order. Reading a
//! part of the view that was not loaded notes it as missing; the caller then loads it and decides again.

use crate::assess::{AssessmentInput, NextAction, assess, signal};
use crate::input::{AgentView, HostConditions, Stamp};
use crate::occupancy;
use crate::planted::{Fault, is_planted};
use crate::rejection::Rejection;
use holon_domain::agent::{AgentRecord, AgentSettings, AgentStatus, Lifecycle, StateSignal};
use holon_domain::attempt::AttemptRecord;
use holon_domain::budget::{BudgetKey, BudgetReading};
use holon_domain::decision::{BriefSeq, Decision, Fact};
use holon_domain::delegation::{ChildFacts, TreeStanding};
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{
    AgentStateChanged, ControlApplied, ControlRequestAdmitted, EffectOutcomeDropped, Event,
    SchedulerPostureDecision, SessionStateChanged,
};
use holon_domain::log::LogEntry;
use holon_domain::memory::WorkingMemoryState;
use holon_domain::needs::{LoadedRows, Needs, Part};
use holon_domain::queue::{MessageSeq, QueueView, QueuedPrompt};
use holon_domain::send::AgentSend;
use holon_domain::task::TaskRecord;
use holon_domain::timer::{DueAction, DueId, DueTime, Pause, PlannedDue, Slot};
use holon_domain::turn::LogSeq;
use holon_domain::{AgentId, Entropy, RunId, TaskId, Timestamp, limits};
use std::cell::RefCell;
use std::collections::BTreeMap;

mod queue;
mod view;
mod work;

use work::WorkRows;

/// Place of a decision about a lifecycle request.
const CONTROL_BOUNDARY: &str = "control";
/// Place of a decision about an agent that becomes ready, or that a new process takes up.
pub(crate) const BOOTSTRAP_BOUNDARY: &str = "bootstrap";
/// Place of a decision about an agent that goes to rest after a turn.
pub(crate) const SLEEP_BOUNDARY: &str = "lifecycle_sleep";
/// Place of a decision about an agent whose host goes down.
const SHUTDOWN_BOUNDARY: &str = "shutdown";

/// Inputs for other agents in the order they were sent, each with its receiver.
pub(crate) type Sends = Vec<(AgentId, AgentSend)>;

pub(crate) struct Draft<'a> {
    pub(crate) agent: AgentRecord,
    pub(crate) queue: QueueView,
    pub(crate) host: &'a HostConditions,
    pub(crate) now: Timestamp,
    pub(crate) entropy: &'a mut dyn Entropy,
    /// The state that clients were last told.
    before: StateSignal,
    queued_prompts: Part<Vec<QueuedPrompt>>,
    round: Part<(LogSeq, Option<LogEntry>)>,
    active_tasks: Part<Vec<TaskRecord>>,
    /// Tasks by id, as loaded or as this decision wrote them. `None` if there is no such row.
    tasks: BTreeMap<TaskId, Option<TaskRecord>>,
    effects: BTreeMap<EffectId, Option<Effect>>,
    attempts: Part<Vec<AttemptRecord>>,
    /// How far budgets are used up.
    meters: BTreeMap<BudgetKey, BudgetReading>,
    /// The newest generation of the host, including one that this decision took.
    newest_generation: Part<u64>,
    tree: Part<TreeStanding>,
    children: BTreeMap<AgentId, Option<Box<ChildFacts>>>,
    memory: Part<Box<WorkingMemoryState>>,
    /// Rows of work items, waits, timers and hints.
    work: WorkRows,
    facts: Vec<Fact>,
    sends: Sends,
    /// Rows that were read without being loaded. A decision that misses any is discarded.
    missing: RefCell<Needs>,
    /// True once the head of the queue is unknown; the scheduler then continues with a fresh view.
    queue_is_stale: bool,
    /// True if this decision ended a turn that `take_end_of_turn` has not reported yet.
    ended_turn: bool,
    /// True if this decision recorded the posture of the agent.
    posture_recorded: bool,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        view: AgentView,
        host: &'a HostConditions,
        now: Timestamp,
        entropy: &'a mut dyn Entropy,
    ) -> Self {
        let AgentView { agent, mut loaded } = view;
        let work = WorkRows::take(&mut loaded);
        let LoadedRows {
            queue,
            queued_prompts,
            round,
            active_tasks,
            tasks,
            effects,
            attempts,
            generation,
            meters,
            tree,
            children,
            memory,
            ..
        } = loaded;
        let before = match &agent.unsignalled {
            Some(before) => before.clone(),
            None => signal(AssessmentInput::new(&agent, &queue)),
        };
        let tried = agent.open_turn.as_ref();
        let attempts = match tried.map_or(0, |turn| turn.failed_attempts) {
            0 => Part::Loaded(Vec::new()),
            _ => attempts,
        };
        Self {
            agent,
            before,
            queue,
            host,
            now,
            entropy,
            queued_prompts,
            round,
            active_tasks,
            tasks,
            effects,
            attempts,
            meters,
            newest_generation: generation,
            tree,
            children,
            memory,
            work,
            facts: Vec::new(),
            sends: Vec::new(),
            missing: RefCell::default(),
            queue_is_stale: false,
            ended_turn: false,
            posture_recorded: false,
        }
    }

    /// Returns the status of the agent before this decision.
    pub(crate) const fn status_before(&self) -> AgentStatus {
        self.before.status
    }

    /// Returns true if no turn of the agent was at work before this decision.
    pub(crate) fn was_at_rest(&self) -> bool {
        match self.before.status {
            AgentStatus::AwakeIdle | AgentStatus::Asleep => true,
            AgentStatus::Booting | AgentStatus::AwakeRunning | AgentStatus::Stopped => false,
        }
    }

    /// Notes that a turn has ended; the next action is a rest or another turn.
    pub(crate) fn note_end_of_turn(&mut self) {
        self.ended_turn = true;
    }

    /// Returns true if a turn has ended since the last call.
    pub(crate) fn take_end_of_turn(&mut self) -> bool {
        std::mem::take(&mut self.ended_turn)
    }

    /// Returns the decision of a draft that cannot miss anything, as for a new agent.
    pub(crate) fn decide_alone(self) -> Decision {
        Decision {
            agent: self.agent,
            facts: self.facts,
            more: false,
        }
    }

    /// Collects the facts for an assessment of the agent as decided so far.
    pub(crate) fn assessment_facts(&self) -> AssessmentInput<'_> {
        AssessmentInput::new(&self.agent, &self.queue)
    }

    /// Returns the decision and its sends, or the rows that have to be loaded first.
    pub(crate) fn finish(mut self) -> Result<(Decision, Sends), Box<Needs>> {
        let goes_on = matches!(
            assess(self.assessment_facts()).next,
            NextAction::Take | NextAction::Tick(_)
        );
        let more = self.queue_is_stale && goes_on;
        occupancy::settle(&mut self);
        self.signal_change(more);
        let missing = self.missing.into_inner();
        if !missing.is_empty() {
            return Err(Box::new(missing));
        }
        let decision = Decision {
            agent: self.agent,
            facts: self.facts,
            more,
        };
        Ok((decision, self.sends))
    }

    /// Records a change of the state that clients are told. If another decision follows in the same commit, that one
    /// records it, because no client sees the state in between.
    fn signal_change(&mut self, more: bool) {
        let now = signal(self.assessment_facts());
        if more {
            self.agent.unsignalled = Some(self.before.clone());
            return;
        }
        self.agent.unsignalled = None;
        let (status, posture) = (now.status, now.posture);
        self.record_change(status);
        if (status, posture) != (self.before.status, self.before.posture) {
            self.event(Event::AgentStateChanged(AgentStateChanged {
                status,
                posture,
            }));
        }
        if now.run_id != self.before.run_id {
            self.event(Event::SessionStateChanged(SessionStateChanged {
                current_run_id: now.run_id,
            }));
        }
    }

    /// Records the posture of an agent that became ready, unless this decision recorded it at another boundary.
    fn record_change(&mut self, status: AgentStatus) {
        let previous = self.before.status;
        let boundary = match (previous, status) {
            _ if self.posture_recorded => return,
            (
                AgentStatus::Booting,
                AgentStatus::AwakeIdle | AgentStatus::AwakeRunning | AgentStatus::Asleep,
            ) => BOOTSTRAP_BOUNDARY,
            (
                AgentStatus::Booting
                | AgentStatus::AwakeIdle
                | AgentStatus::AwakeRunning
                | AgentStatus::Asleep
                | AgentStatus::Stopped,
                _,
            ) => return,
        };
        self.record_posture(boundary, previous);
    }

    /// Returns true if a part was read that was not loaded. The rest of the decision can then be skipped.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// Sends an input to another agent in this commit.
    pub(crate) fn send(&mut self, to: AgentId, sent: AgentSend) {
        self.sends.push((to, sent));
    }

    /// Records that an operator's lifecycle request is accepted.
    pub(crate) fn admit_control(&mut self, action: &str) {
        let run_id = self.agent.open_turn.as_ref();
        let run_id = run_id.map(|turn| turn.run_id.clone());
        self.event(Event::ControlRequestAdmitted(ControlRequestAdmitted {
            action: action.to_owned(),
            boundary: CONTROL_BOUNDARY.to_owned(),
            previous_status: self.before.status,
            run_id,
        }));
    }

    /// Records the status that the scheduler gives the agent at a boundary, and why.
    pub(crate) fn record_posture(&mut self, boundary: &str, previous_status: AgentStatus) {
        self.need_expected_wake();
        self.posture_recorded = true;
        let assessment = assess(self.assessment_facts());
        let posture = assessment.posture;
        self.event(Event::SchedulerPostureDecision(SchedulerPostureDecision {
            boundary: boundary.to_owned(),
            reason: posture.reason,
            previous_status,
            next_status: assessment.status,
            wakes_at: posture.wakes_at,
        }));
    }

    /// Records the status in which a shutdown of the host leaves the agent.
    pub(crate) fn record_shutdown(&mut self) {
        self.need_expected_wake();
        self.posture_recorded = true;
        let assessment = assess(self.assessment_facts());
        let posture = assessment.posture;
        self.event(Event::SchedulerPostureDecision(SchedulerPostureDecision {
            boundary: SHUTDOWN_BOUNDARY.to_owned(),
            reason: format!(
                "its host goes down, and the next start takes it up where it stands: {}",
                posture.reason
            ),
            previous_status: self.before.status,
            next_status: assessment.status,
            wakes_at: posture.wakes_at,
        }));
    }

    /// Moves the agent to another lifecycle state and records the command that did it, with the tasks that it ends.
    pub(crate) fn apply_control(
        &mut self,
        action: &str,
        next: Lifecycle,
        aborted_run_id: Option<RunId>,
        task_ids: Vec<TaskId>,
    ) {
        let previous = self.agent.lifecycle;
        // A start hands the agent back to the scheduler: its status is the one that it gets once its home is checked.
        self.agent.lifecycle = match next {
            Lifecycle::Booting => Lifecycle::Runnable,
            Lifecycle::Runnable | Lifecycle::Stopped | Lifecycle::Deleting => next,
        };
        let releases = matches!(next, Lifecycle::Stopped | Lifecycle::Deleting);
        let held = self.agent.occupancy.as_ref().filter(|_| releases);
        let workspace_occupancy_id = held.map(|held| held.execution_root_id.clone());
        let evidence = match (next, self.queue.pending) {
            (_, 0) | (Lifecycle::Deleting, _) => Vec::new(),
            (Lifecycle::Booting, pending) => vec![format!("queued messages: {pending}")],
            (Lifecycle::Runnable | Lifecycle::Stopped, pending) => {
                vec![format!("queued messages that stay: {pending}")]
            }
        };
        let next_status = signal(self.assessment_facts()).status;
        let work = &self.agent.work;
        let (cancelled_timers, cancelled_waits) = match action {
            "archive" => (work.active_timers, work.active_waits),
            _ => (0, 0),
        };
        self.event(Event::ControlApplied(ControlApplied {
            action: action.to_owned(),
            boundary: Some(CONTROL_BOUNDARY.to_owned()),
            previous_status: Some(self.before.status),
            next_status: Some(next_status),
            task_ids,
            workspace_occupancy_id,
            evidence,
            previous,
            next,
            aborted_run_id,
            cancelled_timers,
            cancelled_waits,
        }));
        if next_status != self.before.status {
            self.record_posture(CONTROL_BOUNDARY, self.before.status);
        }
        self.agent.lifecycle = next;
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.agent.counters.events += 1;
        let seq = self.agent.counters.events;
        self.facts.push(Fact::EventRecorded {
            seq,
            at: self.now,
            event,
        });
    }

    pub(crate) fn log(&mut self, turn_index: u64, entry: LogEntry) -> LogSeq {
        self.agent.counters.log += 1;
        let seq = self.agent.counters.log;
        self.facts.push(Fact::LogAppended {
            seq,
            turn_index,
            at: self.now,
            entry,
        });
        seq
    }

    pub(crate) fn next_message(&mut self) -> MessageSeq {
        self.agent.counters.messages += 1;
        self.agent.counters.messages
    }

    pub(crate) fn next_turn(&mut self) -> u64 {
        self.agent.counters.turns += 1;
        self.agent.counters.turns
    }

    pub(crate) fn next_brief(&mut self) -> BriefSeq {
        self.agent.counters.briefs += 1;
        self.agent.counters.briefs
    }

    pub(crate) fn fact(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    pub(crate) fn open_effect(&mut self, effect: Effect) -> EffectId {
        let id = self.next_effect();
        let generation = self.agent.generation;
        self.facts.push(Fact::EffectOpened {
            id,
            generation,
            at: self.now,
            effect,
        });
        id
    }

    /// Opens an effect and keeps its content readable for the rest of this decision.
    pub(crate) fn open_known(&mut self, effect: Effect) -> EffectId {
        let id = self.open_effect(effect.clone());
        self.effects.insert(id, Some(effect));
        id
    }

    pub(crate) fn close_effect(&mut self, id: EffectId) {
        self.facts.push(Fact::EffectClosed { id });
    }

    /// Begins a pause that lasts from now until `at`.
    pub(crate) fn set_due(&mut self, at: Timestamp, due: DueAction) -> DueId {
        let pause = Pause {
            set_at: self.now,
            length_ms: at.millis_since(self.now),
        };
        self.set_pause(pause, due)
    }

    pub(crate) fn set_pause(&mut self, pause: Pause, due: DueAction) -> DueId {
        self.set_due_time(DueTime::Pause(pause), due)
    }

    /// Adds an entry for a time on the wall clock to the due queue.
    pub(crate) fn set_slot(&mut self, at: Timestamp, due: DueAction) -> DueId {
        let set_at = self.now;
        self.set_due_time(DueTime::Slot(Slot { at, set_at }), due)
    }

    /// Adds an entry to the due queue, for a pause or for a slot on the wall clock.
    pub(crate) fn set_due_time(&mut self, time: DueTime, due: DueAction) -> DueId {
        let id = self.next_effect();
        if let Part::Loaded(soonest) = &mut self.queue.soonest {
            let at = time.at();
            let place = soonest.partition_point(|known| known.at <= at);
            let action = due.clone();
            soonest.insert(place, PlannedDue { id, at, action });
        }
        self.facts.push(Fact::DueSet { id, time, due });
        id
    }

    pub(crate) fn clear_due(&mut self, id: DueId) {
        if let Part::Loaded(soonest) = &mut self.queue.soonest {
            soonest.retain(|known| known.id != id);
        }
        self.facts.push(Fact::DueCleared { id });
    }

    /// Stores a failed attempt at its position in the round, counted from 1, replacing an earlier one there.
    pub(crate) fn keep_attempt(&mut self, n: usize, record: AttemptRecord) {
        let mut attempts = self.attempts();
        attempts.truncate(n - 1);
        attempts.push(record.clone());
        self.attempts = Part::Loaded(attempts);
        self.facts.push(Fact::AttemptKept {
            n: u32::try_from(n).unwrap_or(u32::MAX),
            record: Box::new(record),
        });
    }

    /// Clears the failed attempts of a finished round.
    pub(crate) fn clear_attempts(&mut self) {
        self.attempts = Part::Loaded(Vec::new());
        self.facts.push(Fact::AttemptsCleared);
    }

    /// Changes the agent's settings like [`Draft::change_settings`], unless that makes them larger than they may be.
    pub(crate) fn change_settings_within(
        &mut self,
        change: impl FnOnce(&mut AgentSettings),
    ) -> Result<(), Rejection> {
        let changed = self.check_settings(change)?;
        self.change_settings(|settings| *settings = changed);
        Ok(())
    }

    /// Refuses a change that makes the agent's settings larger than they may be. Returns them as they would be.
    pub(crate) fn check_settings(
        &self,
        change: impl FnOnce(&mut AgentSettings),
    ) -> Result<AgentSettings, Rejection> {
        let mut changed = self.agent.settings.clone();
        change(&mut changed);
        match check_settings_size(&changed) {
            Err(_) if settings_bytes(&changed) <= settings_bytes(&self.agent.settings) => {}
            checked => checked?,
        }
        Ok(changed)
    }

    /// Changes the agent's settings, and writes them if they differ from before.
    pub(crate) fn change_settings(&mut self, change: impl FnOnce(&mut AgentSettings)) {
        let before = self.agent.settings.clone();
        change(&mut self.agent.settings);
        if self.agent.settings != before {
            let settings = Box::new(self.agent.settings.clone());
            self.facts.push(Fact::SettingsWritten(settings));
        }
    }

    /// Closes the awaited effect and returns true if an outcome belongs to it. Records a stale outcome and returns
    /// false.
    pub(crate) fn accept(&mut self, stamp: Stamp, awaited: Option<EffectId>) -> bool {
        let current = self.agent.generation;
        let fits = stamp.generation == current && awaited == Some(stamp.effect);
        let accepted = fits || is_planted(Fault::StaleOutcomeAccepted);
        if let Some(effect) = awaited.filter(|_| accepted) {
            self.close_effect(effect);
            return true;
        }
        self.event(Event::EffectOutcomeDropped(EffectOutcomeDropped {
            effect_id: stamp.effect,
            generation: stamp.generation,
            current_generation: current,
        }));
        false
    }

    /// Advances the sequence that effects, due entries and sends share.
    pub(crate) fn next_effect(&mut self) -> u64 {
        self.agent.counters.effects += 1;
        self.agent.counters.effects
    }
}

/// Refuses settings of an agent that are larger than they may be.
pub(crate) fn check_settings_size(settings: &AgentSettings) -> Result<(), Rejection> {
    let (bytes, max) = (settings_bytes(settings), limits::AGENT_SETTINGS_BYTES);
    match bytes > max {
        true => Err(Rejection::TooLarge {
            what: "settings of the agent",
            bytes,
            max,
        }),
        false => Ok(()),
    }
}

fn settings_bytes(settings: &AgentSettings) -> usize {
    serde_json::to_string(settings).map_or(usize::MAX, |text| text.len())
}
