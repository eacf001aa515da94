//! The reducer: events in, rows out.
//!
//! It takes the events of one agent one by one, in order, and returns the rows that are complete. The rows do not depend
//! on how the events were cut into pages: an event that was seen before is ignored, and nothing depends on time. Inside a
//! turn the last row may be held back, because the next event can still complete it; the end of the turn releases it, so
//! that no row waits for an event that may never come. Every event that the table of rules makes a row is counted in
//! exactly one returned row. Memory is bounded: one held row, one live row, the requests of running calls, and
//! the names of the last tasks.

mod calls;
mod held;
mod tasks;

use crate::activity::Activity;
use crate::describe::{self, Description, Merge};
use crate::item::{Item, ItemState};
use crate::mode::DisplayMode;
use crate::present::{Importance, to_presentation};
use crate::rule;
use crate::shell;
use crate::visibility::Visibility;
use calls::OpenCalls;
use held::Held;
use holon_domain::brief::BriefKind;
use holon_domain::delta::AssistantDelta;
use holon_domain::event::{Event, SuspensionEnd, TurnSuspended};
use holon_domain::feed::EventRecord;
use holon_domain::message::MessageKind;
use holon_domain::turn::SuspensionReason;
use tasks::TaskNames;

/// Reduces the events of one agent to rows of one display mode.
#[derive(Debug, Clone)]
pub struct Reducer {
    mode: DisplayMode,
    /// Position of the last event; 0 before the first.
    cursor: u64,
    turn: Option<TurnScope>,
    calls: OpenCalls,
    tasks: TaskNames,
    held: Option<Held>,
    activity: Activity,
    repeated: u64,
}

/// Facts about the open turn that later events of it refer to.
#[derive(Debug, Clone, Default)]
struct TurnScope {
    turn_index: u64,
    /// A work item was completed, so that the result of the turn reports on it.
    has_completed_work: bool,
    /// A row tells why the turn ends.
    has_failure_row: bool,
    /// Reason of the suspension that was shown last, and whether it ends by itself.
    suspension: Option<(SuspensionReason, bool)>,
}

impl Reducer {
    /// Creates a reducer that has seen no event.
    #[must_use]
    pub fn new(mode: DisplayMode) -> Self {
        Self {
            mode,
            cursor: 0,
            turn: None,
            calls: OpenCalls::default(),
            tasks: TaskNames::default(),
            held: None,
            activity: Activity::default(),
            repeated: 0,
        }
    }

    /// Returns the position of the last event. A reader resumes after it.
    #[must_use]
    pub const fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Returns the number of events that were left out because they repeat the row before them.
    #[must_use]
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Returns the row of what the agent does right now. It is provisional: call this again after each event and delta.
    #[must_use]
    pub fn live_item(&self) -> Option<Item> {
        self.activity.live_item()
    }

    /// Takes a piece of a streamed answer. Only the live row changes; the event of the recorded round replaces it.
    pub fn push_delta(&mut self, delta: &AssistantDelta) {
        self.activity.push_delta(delta);
    }

    /// Takes the next event and returns the rows that are complete now. An event at or before the cursor changes
    /// nothing. After a gap in the positions the open turn is forgotten.
    pub fn push(&mut self, record: &EventRecord) -> Vec<Item> {
        let mut rows = Vec::new();
        if record.event_seq <= self.cursor {
            return rows;
        }
        if self.cursor > 0 && record.event_seq > self.cursor + 1 {
            self.leave_turn(&mut rows);
        }
        self.cursor = record.event_seq;
        self.enter(&record.event, &mut rows);
        self.activity
            .advance(&record.event, record.event_seq, record.at);
        let description = self.describe(&record.event);
        let item = self.item(record, &description);
        if is_activity(&record.event) {
            self.activity.replace(item.clone());
        }
        if self.is_row(&record.event, &description) {
            self.add(item, description, &mut rows);
        }
        self.note(&record.event);
        if matches!(record.event, Event::TurnTerminal(_)) {
            self.leave_turn(&mut rows);
        }
        rows
    }

    /// Releases the row that is held back. For the end of a listing: a reader that goes on must not call it.
    pub fn finish(&mut self) -> Vec<Item> {
        let mut rows = Vec::new();
        self.release(&mut rows);
        rows
    }

    /// Opens the scope of a turn, and clears what belongs to the turn or message before.
    fn enter(&mut self, event: &Event, rows: &mut Vec<Item>) {
        match event {
            Event::TurnStarted(e) => {
                self.leave_turn(rows);
                self.open_turn(e.turn_index);
            }
            Event::MessageAdmitted(e)
                if e.kind == MessageKind::OperatorPrompt && self.turn.is_none() =>
            {
                self.leave_turn(rows);
            }
            Event::OperatorInterjectionAdmitted(_) => {
                self.release(rows);
                self.activity.clear();
            }
            // A reader may begin in the middle of a turn.
            Event::AssistantRoundRecorded(e) => {
                self.open_turn(e.turn_index);
                self.release_if(rows, |merge| *merge == Merge::Retry);
            }
            Event::ProcessExecutionRequested(e) => {
                self.open_turn(e.turn_index);
                if !shell::is_read(&e.cmd_preview) {
                    // The command may take long; what was done before it is complete.
                    self.release_if(rows, |_| true);
                }
            }
            Event::ToolExecuted(e) => self.open_turn(e.turn_index),
            Event::ToolExecutionFailed(e) => self.open_turn(e.turn_index),
            Event::TurnSuspended(e) => self.open_turn(e.turn_index),
            _ => {}
        }
    }

    fn open_turn(&mut self, turn_index: u64) {
        if self.turn.is_none() {
            self.turn = Some(TurnScope {
                turn_index,
                ..TurnScope::default()
            });
        }
    }

    fn leave_turn(&mut self, rows: &mut Vec<Item>) {
        self.release(rows);
        self.turn = None;
        self.calls.clear();
        self.activity.clear();
    }

    fn release(&mut self, rows: &mut Vec<Item>) {
        rows.extend(self.held.take().map(Held::into_item));
    }

    fn release_if(&mut self, rows: &mut Vec<Item>, is_complete: impl Fn(&Merge) -> bool) {
        let merge = self.held.as_ref().and_then(Held::merge);
        if merge.is_some_and(is_complete) {
            self.release(rows);
        }
    }

    /// Describes an event with what is known of the events before it.
    fn describe(&mut self, event: &Event) -> Description {
        match event {
            Event::ToolExecuted(e) => {
                describe::executed(e, &self.calls.take(e.tool_call_id.as_str()))
            }
            Event::ToolExecutionFailed(e) => {
                describe::failed(e, &self.calls.take(e.tool_call_id.as_str()))
            }
            Event::BriefCreated(e) => {
                let mut brief = describe::describe(event);
                let reports = self
                    .turn
                    .as_ref()
                    .is_some_and(|turn| turn.has_completed_work);
                let visibility = Visibility::of_brief(e.kind, e.action_required, reports);
                brief.visibility = Some(visibility);
                brief
            }
            Event::TurnTerminal(_) => {
                let mut ended = describe::describe(event);
                if self.turn.as_ref().is_some_and(|turn| turn.has_failure_row) {
                    ended.importance = ended.importance.min(Importance::Detail);
                }
                ended
            }
            Event::TaskStatusUpdated(e) => describe::task_updated(e, self.tasks.get(&e.task_id)),
            _ => describe::describe(event),
        }
    }

    fn item(&self, record: &EventRecord, description: &Description) -> Item {
        Item {
            key: format!("row-{}", record.event_seq),
            state: ItemState::Stable,
            role: description.role,
            presentation: to_presentation(&record.event, description),
            at: record.at,
            first_seq: record.event_seq,
            last_seq: record.event_seq,
            event_count: 1,
            turn_index: self.turn.as_ref().map(|turn| turn.turn_index),
            reference: description.reference.clone(),
            details: description.details.clone(),
        }
    }

    /// Applies the table, and leaves out a suspension that says the same as the one before.
    fn is_row(&mut self, event: &Event, description: &Description) -> bool {
        let show = rule::of(event).show(self.mode);
        if !show.admits(description.importance) {
            return false;
        }
        match event {
            Event::TurnSuspended(e) if self.mode != DisplayMode::Debug => {
                let is_repeated = self.repeats_suspension(e);
                self.repeated += u64::from(is_repeated);
                !is_repeated
            }
            _ => true,
        }
    }

    fn repeats_suspension(&mut self, e: &TurnSuspended) -> bool {
        let suspension = Some((e.reason, e.until.is_some()));
        let turn = self.turn.get_or_insert_default();
        let is_repeated = turn.suspension == suspension;
        turn.suspension = suspension;
        is_repeated
    }

    /// Adds a row: to the held one if they belong together, or behind it.
    fn add(&mut self, item: Item, description: Description, rows: &mut Vec<Item>) {
        let Description {
            importance, merge, ..
        } = description;
        let new = Held::new(item, importance, merge);
        match self.held.take() {
            Some(held) if held.takes(&new) => self.place(held.absorb(new), rows),
            held => {
                rows.extend(held.map(Held::into_item));
                self.place(new, rows);
            }
        }
    }

    /// Holds a row back if a later event of the open turn can complete it.
    fn place(&mut self, new: Held, rows: &mut Vec<Item>) {
        if self.turn.is_some() && new.can_grow(self.mode) {
            self.held = Some(new);
        } else {
            rows.push(new.into_item());
        }
    }

    /// Remembers what later events refer to, and ends groups that the event ends.
    fn note(&mut self, event: &Event) {
        if let Event::ProcessExecutionRequested(e) = event {
            self.calls.add(e);
            return;
        }
        if let Event::TaskCreated(e) = event {
            self.tasks.add(e);
        }
        let Some(turn) = &mut self.turn else { return };
        match event {
            Event::WorkItemWritten(e) => turn.has_completed_work |= e.action == "completed",
            Event::WorkItemCompletionReportPromoted(_) => turn.has_completed_work = true,
            Event::RuntimeError(_) | Event::CurrentRunAborted(_) => turn.has_failure_row = true,
            Event::BriefCreated(e) => turn.has_failure_row |= e.kind == BriefKind::Failure,
            Event::AssistantRoundRecorded(_) => turn.suspension = None,
            // That the models are asked again is shown, and would be the last word.
            Event::TurnSuspensionEnded(e) if e.by != SuspensionEnd::PauseOver => {
                turn.suspension = None;
            }
            _ => {}
        }
    }
}

/// Returns true for events that tell what the agent does right now.
const fn is_activity(event: &Event) -> bool {
    matches!(
        event,
        Event::AssistantRoundRecorded(_)
            | Event::ProcessExecutionRequested(_)
            | Event::ToolExecuted(_)
            | Event::ToolExecutionFailed(_)
            | Event::ProviderRetryScheduled(_)
            | Event::ProviderFallbackSelected(_)
            | Event::TurnSuspended(_)
            | Event::TurnSuspensionEnded(_)
    )
}
