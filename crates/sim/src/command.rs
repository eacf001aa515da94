//! One command of the simulated world: its drawn fate, its state and its reports.
//!
//! It knows nothing of hosts and rows: like a real command under its shim, it continues when the host dies.

use holon_domain::CallId;
use holon_domain::command::{CapturedStream, CommandEnd, CommandOutput, StreamPart, TaskStreams};
use holon_domain::task::TaskReport;
use std::collections::BTreeMap;

/// Interval at which a command prints a line, up to `LINES` lines.
const LINE_EVERY_MS: u64 = 700;
const LINES: u64 = 5;

/// Drawn properties of a command, fixed when it is started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    /// Running time in milliseconds; `None` if it runs until it is stopped.
    pub(crate) runs_for: Option<u64>,
    /// End of a command that is not stopped.
    pub(crate) end: CommandEnd,
    /// True if it ignores a request to end.
    pub(crate) stubborn: bool,
    /// False if its program cannot be started.
    pub(crate) starts: bool,
    /// Timeout of its shim in milliseconds.
    pub(crate) limit: Option<u64>,
    pub(crate) takes_input: bool,
}

/// State of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Runs,
    Over {
        end: CommandEnd,
        at: u64,
        /// True if a stop ended it.
        stopped: bool,
    },
    /// Its program could not be started.
    NotStarted,
    /// Its shim died without an exit record.
    Lost,
    /// It was stopped before its start and can never be started.
    Barred,
}

/// A simulated command under its shim.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) home: String,
    pub(crate) call: CallId,
    pub(crate) state: State,
    began: u64,
    fate: Option<Fate>,
    /// Call that gave each input, by the input's number.
    given: BTreeMap<u64, CallId>,
    input_closed: bool,
}

impl Command {
    /// Starts a command now.
    pub(crate) fn started(home: &str, call: &CallId, fate: Fate, now: u64) -> Self {
        let state = if fate.starts {
            State::Runs
        } else {
            State::NotStarted
        };
        Self {
            state,
            began: now,
            fate: Some(fate),
            ..Self::barred(home, call)
        }
    }

    /// Creates a command that was stopped before its start.
    pub(crate) fn barred(home: &str, call: &CallId) -> Self {
        Self {
            home: home.to_owned(),
            call: call.clone(),
            state: State::Barred,
            began: 0,
            fate: None,
            given: BTreeMap::new(),
            input_closed: false,
        }
    }

    pub(crate) const fn began(&self) -> u64 {
        self.began
    }

    pub(crate) fn runs(&self) -> bool {
        self.state == State::Runs
    }

    /// Returns the time and kind of its end if it is not stopped.
    pub(crate) fn planned_end(&self) -> Option<(u64, CommandEnd)> {
        let fate = self.fate?;
        let by_itself = fate.runs_for.map(|ms| (self.began + ms, fate.end));
        let by_its_shim = fate.limit.map(|ms| (self.began + ms, CommandEnd::TimedOut));
        match (by_itself, by_its_shim) {
            (Some(own), Some(limit)) if limit.0 < own.0 => Some(limit),
            (Some(own), _) => Some(own),
            (None, limit) => limit,
        }
    }

    /// Ends the command if its time has come.
    pub(crate) fn age(&mut self, now: u64) {
        if let (State::Runs, Some((at, end))) = (self.state, self.planned_end())
            && at <= now
        {
            let stopped = false;
            self.state = State::Over { end, at, stopped };
        }
    }

    /// Asks the command to end; a stubborn one ignores it.
    pub(crate) fn ask_to_end(&mut self, now: u64) {
        if !self.fate.is_some_and(|fate| fate.stubborn) {
            self.end_by(15, now);
        }
    }

    /// Ends the command by a kill signal.
    pub(crate) fn kill(&mut self, now: u64) {
        self.end_by(9, now);
    }

    const fn end_by(&mut self, signal: i32, at: u64) {
        if let State::Runs = self.state {
            self.state = State::Over {
                end: CommandEnd::Signalled { signal },
                at,
                stopped: true,
            };
        }
    }

    /// Accepts input of this number. A number that was given before changes nothing. The error is the reason for which
    /// it accepts none.
    pub(crate) fn accept_input(
        &mut self,
        number: u64,
        call: &CallId,
        closes: bool,
    ) -> Result<(), String> {
        let open = !self.input_closed && self.fate.is_some_and(|fate| fate.takes_input);
        if self.given.contains_key(&number) && self.runs() {
            return Ok(());
        }
        if !self.runs() || !open {
            return Err("it does not listen".to_owned());
        }
        self.given.insert(number, call.clone());
        self.input_closed |= closes;
        Ok(())
    }

    /// Returns the call of each input by its number.
    pub(crate) const fn given(&self) -> &BTreeMap<u64, CallId> {
        &self.given
    }

    /// Returns the report of its end; `None` while it runs.
    pub(crate) fn report(&self, now: u64) -> Option<TaskReport> {
        let lost = |reason: &str| TaskReport::Lost {
            reason: reason.to_owned(),
            stdout: self.captured(now),
            stderr: CapturedStream::default(),
        };
        match self.state {
            State::Runs => None,
            State::Over { .. } => self.output().map(TaskReport::Ended),
            State::NotStarted => Some(lost("it could not be started")),
            State::Lost => Some(lost("its shim left no word")),
            State::Barred => Some(lost("it was never started")),
        }
    }

    /// Returns the output and end of a finished command.
    pub(crate) fn output(&self) -> Option<CommandOutput> {
        let State::Over { end, at, stopped } = self.state else {
            return None;
        };
        Some(CommandOutput {
            end,
            stdout: self.captured(at),
            stderr: CapturedStream::default(),
            duration_ms: at.saturating_sub(self.began),
            leftovers: 0,
            survivors: 0,
            stopped,
        })
    }

    /// Returns the output so far as a captured stream.
    pub(crate) fn captured(&self, now: u64) -> CapturedStream {
        let text = self.text(now);
        CapturedStream {
            total_bytes: text.len() as u64,
            head: text,
            ..CapturedStream::default()
        }
    }

    pub(crate) fn printed(&self, now: u64) -> TaskStreams {
        let text = self.text(now);
        let bytes = text.len() as u64;
        TaskStreams {
            combined: None,
            output: StreamPart {
                head: text,
                next_offset: bytes,
                total_bytes: bytes,
                ..StreamPart::default()
            },
            stderr: None,
        }
    }

    fn text(&self, now: u64) -> String {
        let until = match self.state {
            State::Over { at, .. } => at,
            State::Runs | State::Lost => now,
            State::NotStarted | State::Barred => self.began,
        };
        let lines = (until.saturating_sub(self.began) / LINE_EVERY_MS).min(LINES);
        (0..lines).map(|line| format!("line {line}\n")).collect()
    }
}
