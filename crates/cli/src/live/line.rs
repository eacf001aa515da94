//! The last line of a terminal while a run goes on: what the agent does, and for how long the run has lasted.
//!
//! The line is replaced in place. Seconds are counted by the ticks of the caller, so that nothing here reads a clock.

use holon_domain::delta::AssistantDelta;
use holon_domain::feed::EventRecord;
use holon_presentation::{DisplayMode, Reducer};

/// Shown before the first event tells of an activity.
const WAITING: &str = "Waiting for the agent";
/// Shown while the agent is at work on another message.
const QUEUED: &str = "waiting: the agent is at work on an earlier message";

/// What a run does right now.
#[derive(Debug)]
pub(super) struct ActivityLine {
    reducer: Reducer,
    seconds: u64,
    /// True while the terminal shows the line.
    pub(super) is_shown: bool,
}

impl ActivityLine {
    pub(super) fn new() -> Self {
        Self {
            reducer: Reducer::new(DisplayMode::Info),
            seconds: 0,
            is_shown: false,
        }
    }

    /// Takes an event. Its rows are not shown: a run prints its answer only.
    pub(super) fn push(&mut self, record: &EventRecord) {
        drop(self.reducer.push(record));
    }

    /// Takes a piece of an answer that is not shown as it arrives.
    pub(super) fn push_delta(&mut self, delta: &AssistantDelta) {
        self.reducer.push_delta(delta);
    }

    /// Adds a second to the time that the run has lasted.
    pub(super) const fn tick(&mut self) {
        self.seconds += 1;
    }

    /// Returns the words of the line. The time stands first, because a long line is cut at its end.
    pub(super) fn words(&self, is_queued: bool) -> String {
        let live = self.reducer.live_item();
        let words = match (is_queued, live) {
            (true, _) => QUEUED.to_owned(),
            (false, Some(item)) => item.presentation.summary,
            (false, None) => WAITING.to_owned(),
        };
        format!("{}  {words}", elapsed(self.seconds))
    }
}

fn elapsed(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds:02} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_minutes() {
        let spelled = [1, 59, 60, 754].map(elapsed);
        assert_eq!(spelled, ["1 s", "59 s", "1 min 00 s", "12 min 34 s"]);
    }
}
