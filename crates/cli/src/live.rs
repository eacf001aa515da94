//! The answer of a run as it is shown on a terminal while it arrives.
//!
//! Deltas are provisional. The text of one attempt is shown as long as no piece of it is missing. If the round is asked
//! again, what was shown is declared void. The recorded answer adds what was not shown, so that nothing is shown twice.
//! Of a turn before that of the run nothing is shown, except that the run waits for it.
//! While no text arrives, a line says what the agent does; it is gone before anything else is shown.
//! Nothing here prints: the caller passes each `LiveOutput` to the output.

mod line;

use crate::render;
use holon_domain::delta::AssistantDelta;
use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_domain::queue::MessageSeq;
use line::ActivityLine;

/// One thing to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LiveOutput {
    /// Text for standard output, without a line end.
    Text(String),
    /// End of a text whose line goes on.
    TextEnd,
    /// End of the line on standard output.
    LineEnd,
    /// Remark for standard error.
    Note(String),
    /// Line that replaces the last one of standard error.
    Activity(String),
    /// End of that line: it is removed.
    NoActivity,
}

/// Parts of a run that are shown while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LiveParts {
    /// True if standard output is a terminal: text is shown as it arrives.
    pub(crate) text: bool,
    /// True if standard error is a terminal: activity, retries and waits are shown.
    pub(crate) waits: bool,
}

impl LiveParts {
    /// Returns true if there is anything to show before the run ends.
    pub(crate) const fn any(self) -> bool {
        self.text || self.waits
    }
}

/// The state of the shown answer.
#[derive(Debug)]
pub(crate) struct LiveAnswer {
    parts: LiveParts,
    /// Attempt whose text was shown last. Absent at the beginning, and after its text was declared void.
    attempt: Option<Attempt>,
    /// True if the cursor is behind text on the last line of standard output.
    in_line: bool,
    /// Position of the run's message in the queue of the agent, while another turn comes first.
    queued: Option<MessageSeq>,
    activity: ActivityLine,
}

#[derive(Debug)]
struct Attempt {
    turn_index: u64,
    round: u32,
    effect: u64,
    /// Text shown so far: an unbroken beginning of the attempt's text.
    shown: String,
    /// True once the round is recorded, so that its text is not provisional any more.
    recorded: bool,
}

impl Attempt {
    const fn begin(delta: &AssistantDelta) -> Self {
        Self {
            turn_index: delta.turn_index,
            round: delta.round,
            effect: delta.effect,
            shown: String::new(),
            recorded: false,
        }
    }

    const fn is_round(&self, turn_index: u64, round: u32) -> bool {
        self.turn_index == turn_index && self.round == round
    }
}

impl LiveAnswer {
    pub(crate) fn new(parts: LiveParts) -> Self {
        Self {
            parts,
            attempt: None,
            in_line: false,
            queued: None,
            activity: ActivityLine::new(),
        }
    }

    /// Takes the news that another turn of the agent comes before that of the run's message.
    pub(crate) const fn queue(&mut self, message_seq: MessageSeq) {
        self.queued = Some(message_seq);
    }

    /// Takes an event with its position. What it says of the agent's activity replaces the line, if there is one. Events
    /// before the run's own turn tell of other work.
    pub(crate) fn record(&mut self, record: &EventRecord) -> Vec<LiveOutput> {
        if let Some(message_seq) = self.queued {
            match &record.event {
                Event::TurnStarted(e) if e.message_seq == Some(message_seq) => self.queued = None,
                _ => return Vec::new(),
            }
        }
        let mut show = self.event(&record.event);
        self.activity.push(record);
        if self.activity.is_shown {
            show.extend(self.show_activity());
        }
        show
    }

    /// Counts a second of the run, and shows what the agent does. Text that is being shown is not interrupted; once its
    /// round is recorded, it is whole and its line ends.
    pub(crate) fn tick(&mut self) -> Vec<LiveOutput> {
        self.activity.tick();
        self.show_activity()
    }

    /// Removes the line of the agent's activity.
    pub(crate) fn end_activity(&mut self) -> Vec<LiveOutput> {
        let mut show = Vec::new();
        self.leave_activity(&mut show);
        show
    }

    fn show_activity(&mut self) -> Vec<LiveOutput> {
        let is_whole = self.attempt.as_ref().is_some_and(|last| last.recorded);
        if !self.parts.waits || (self.in_line && !is_whole) {
            return Vec::new();
        }
        let mut show = Vec::new();
        self.end_line(&mut show);
        self.activity.is_shown = true;
        show.push(LiveOutput::Activity(
            self.activity.words(self.queued.is_some()),
        ));
        show
    }

    /// Removes the line of the activity before something else is shown.
    fn leave_activity(&mut self, show: &mut Vec<LiveOutput>) {
        if std::mem::take(&mut self.activity.is_shown) {
            show.push(LiveOutput::NoActivity);
        }
    }

    /// Takes a piece of text. A piece after a missing one is not shown; the recorded answer brings both.
    pub(crate) fn delta(&mut self, delta: &AssistantDelta) -> Vec<LiveOutput> {
        let mut show = Vec::new();
        if !self.parts.text {
            self.activity.push_delta(delta);
            return show;
        }
        match &self.attempt {
            Some(last) if last.is_round(delta.turn_index, delta.round) => {
                if last.effect != delta.effect {
                    self.declare_void(&mut show);
                }
            }
            Some(_) | None => {
                self.end_line(&mut show);
                self.attempt = None;
            }
        }
        let attempt = self.attempt.get_or_insert_with(|| Attempt::begin(delta));
        if delta.offset == attempt.shown.len() as u64 && !delta.text.is_empty() {
            attempt.shown.push_str(&delta.text);
            self.in_line = !delta.text.ends_with('\n');
            self.leave_activity(&mut show);
            show.push(LiveOutput::Text(delta.text.clone()));
        }
        show
    }

    /// Takes an event of the agent: retries, waits and fallbacks are shown, and void the text of their round.
    fn event(&mut self, event: &Event) -> Vec<LiveOutput> {
        let mut show = Vec::new();
        let voided = match event {
            Event::AssistantRoundRecorded(e) => {
                if let Some(last) = &mut self.attempt
                    && last.is_round(e.turn_index, e.round)
                {
                    last.recorded = true;
                }
                return show;
            }
            Event::ProviderRetryScheduled(e) => (e.turn_index, e.round),
            Event::ProviderFallbackSelected(e) => (e.turn_index, e.round),
            Event::TurnSuspended(e) => (e.turn_index, e.round),
            _ => return show,
        };
        let (turn_index, round) = voided;
        let last = self.attempt.as_ref();
        if last.is_some_and(|last| last.is_round(turn_index, round)) {
            self.declare_void(&mut show);
        }
        if self.parts.waits
            && let Some(line) = render::run::wait(event)
        {
            self.end_line(&mut show);
            self.leave_activity(&mut show);
            show.push(LiveOutput::Note(line));
        }
        show
    }

    /// Takes the recorded answer of the run, and shows what was not shown yet.
    pub(crate) fn finish(&mut self, answer: &str, completed: bool) -> Vec<LiveOutput> {
        let mut show = self.end_activity();
        let last = self.attempt.as_ref();
        let rest = match last.map(|last| rest_after(&last.shown, answer)) {
            Some(Some(rest)) => rest,
            // Text of another kind stands above, such as a remark before a report.
            Some(None) => {
                if !completed && last.is_some_and(|last| !last.recorded) {
                    self.declare_void(&mut show);
                }
                self.end_line(&mut show);
                answer
            }
            None => answer,
        };
        if !rest.trim().is_empty() {
            self.in_line = !rest.ends_with('\n');
            show.push(LiveOutput::Text(rest.to_owned()));
        }
        self.end_line(&mut show);
        show
    }

    /// Ends the line of a run that has failed without an answer.
    pub(crate) fn give_up(&mut self) -> Vec<LiveOutput> {
        let mut show = self.end_activity();
        self.end_line(&mut show);
        show
    }

    fn declare_void(&mut self, show: &mut Vec<LiveOutput>) {
        self.end_line(show);
        if let Some(last) = self.attempt.take()
            && !last.shown.trim().is_empty()
        {
            self.leave_activity(show);
            let words = "note: the answer above was cut off and is void; the model is asked again";
            show.push(LiveOutput::Note(words.to_owned()));
        }
    }

    fn end_line(&mut self, show: &mut Vec<LiveOutput>) {
        if std::mem::take(&mut self.in_line) {
            show.push(LiveOutput::LineEnd);
        }
    }
}

/// Returns what follows `shown` in `whole`; `None` if `whole` does not begin with it. White space does not count,
/// because an answer is recorded without the white space around it.
fn rest_after<'a>(shown: &str, whole: &'a str) -> Option<&'a str> {
    let mut rest = whole;
    for c in shown.chars().filter(|c| !c.is_whitespace()) {
        rest = rest.trim_start().strip_prefix(c)?;
    }
    if shown.is_empty() || shown.ends_with(char::is_whitespace) {
        rest = rest.trim_start();
    }
    Some(rest)
}

#[cfg(test)]
mod tests;
