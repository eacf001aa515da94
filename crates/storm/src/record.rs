//! Records of the answers that clients got, kept in this process, which is never killed, and a log of all actions for
//! debugging.

use crate::backup::Backup;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A prompt that was acknowledged. It must have exactly one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AcknowledgedPrompt {
    pub(crate) agent: String,
    pub(crate) message_id: String,
    pub(crate) job: u64,
}

/// A temporary run that was answered as completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletedRun {
    pub(crate) job: u64,
    /// Final text of the model, which names the tokens of everything it saw done.
    pub(crate) text: String,
}

/// A temporary run that was answered, but not as completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailedRun {
    pub(crate) job: u64,
    /// Status in the answer.
    pub(crate) status: String,
    /// Kind of its failure; empty if there is none.
    pub(crate) kind: String,
}

/// Wakes of one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WakeCounts {
    /// Wakes that were sent and not refused.
    pub(crate) sent: u64,
    pub(crate) acknowledged: u64,
}

/// A delivery from outside that was sent at least once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SentDelivery {
    pub(crate) agent: String,
    /// Messages that the answers named. All of them must be the same.
    pub(crate) message_ids: Vec<String>,
}

/// All answers that clients got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Records {
    pub(crate) prompts_sent: u64,
    pub(crate) acknowledged: Vec<AcknowledgedPrompt>,
    /// Prompts refused because the agent was stopped.
    pub(crate) prompts_refused: u64,
    pub(crate) runs_sent: u64,
    pub(crate) runs_completed: Vec<CompletedRun>,
    /// Runs whose client disconnected before the answer.
    pub(crate) runs_left: u64,
    /// Runs whose host was killed, and that their repetition did not begin again.
    pub(crate) runs_cut_off: u64,
    pub(crate) runs_failed: Vec<FailedRun>,
    /// Wakes of each agent, by its name.
    pub(crate) wakes: BTreeMap<String, WakeCounts>,
    /// Deliveries from outside, by their ids.
    pub(crate) deliveries: BTreeMap<String, SentDelivery>,
    /// Times at which the budgets were read and found within their limits, or not.
    pub(crate) budget_reads: u64,
    pub(crate) budget_raises: u64,
    pub(crate) backups: u64,
    pub(crate) last_backup: Option<Backup>,
    pub(crate) stops: u64,
    pub(crate) starts: u64,
    /// Answers that no crash explains.
    pub(crate) unexpected: Vec<String>,
}

/// The records and the action log, shared between clients.
#[derive(Debug)]
pub(crate) struct Recorder {
    began: Instant,
    records: Mutex<Records>,
    diary: Mutex<Vec<String>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            records: Mutex::default(),
            diary: Mutex::default(),
        }
    }

    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Records) -> T) -> T {
        change(&mut lock(&self.records))
    }

    pub(crate) fn copy(&self) -> Records {
        lock(&self.records).clone()
    }

    /// Adds a line to the action log, with the time since the start.
    pub(crate) fn note(&self, text: &str) {
        let at = self.began.elapsed().as_secs_f64();
        lock(&self.diary).push(format!("{at:9.3} {text}\n"));
    }

    /// Returns all lines of the action log.
    pub(crate) fn diary(&self) -> String {
        lock(&self.diary).concat()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
