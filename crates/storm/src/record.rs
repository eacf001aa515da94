//! What the clients of the storm were told, kept in this process, which is never killed, and a diary of who did what
//! when, for the one who has to find out why a rule was broken.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A prompt that was answered with success: it must have exactly one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) agent: String,
    pub(crate) message_id: String,
    pub(crate) job: u64,
}

/// A temporary run that was answered as completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletedRun {
    pub(crate) job: u64,
    /// The model's last words, which name the tokens it was told have run.
    pub(crate) text: String,
}

/// A temporary run that was answered, but not as completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailedRun {
    pub(crate) job: u64,
    /// How it stood when it was answered.
    pub(crate) status: String,
    /// The kind of its failure, or nothing.
    pub(crate) kind: String,
}

/// Everything that was told to any client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Records {
    pub(crate) prompts_sent: u64,
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// Refused because the agent was stopped.
    pub(crate) prompts_refused: u64,
    pub(crate) runs_sent: u64,
    pub(crate) runs_completed: Vec<CompletedRun>,
    /// The client hung up before there was an answer.
    pub(crate) runs_left: u64,
    pub(crate) runs_failed: Vec<FailedRun>,
    pub(crate) stops: u64,
    pub(crate) starts: u64,
    /// Answers that no crash explains.
    pub(crate) unexpected: Vec<String>,
}

/// The records, shared between clients.
#[derive(Debug)]
pub(crate) struct Book {
    began: Instant,
    records: Mutex<Records>,
    diary: Mutex<Vec<String>>,
}

impl Book {
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

    /// Adds a line to the diary, with the time since the storm began.
    pub(crate) fn note(&self, words: &str) {
        let at = self.began.elapsed().as_secs_f64();
        lock(&self.diary).push(format!("{at:9.3} {words}\n"));
    }

    /// All lines of the diary.
    pub(crate) fn diary(&self) -> String {
        lock(&self.diary).concat()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
