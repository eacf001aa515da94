//! One write of a batch, with the hooks and notices that leave with its commit.

use crate::error::{Error, WriteError};
use crate::tx::{Hook, Tx};
use holon_domain::feed::FeedNotice;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One write of a batch. It may be run again, so a run has no side effect except through its `Tx`.
pub(crate) trait Member {
    /// Runs the write and keeps its value.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Error>;
    /// Gives the caller its answer: the kept value or the error.
    fn answer(&mut self, verdict: Result<(), WriteError>);
}

/// The notices of one commit: the newest one per agent.
#[derive(Default)]
pub(crate) struct CommitNotices {
    pub(crate) notices: Vec<FeedNotice>,
    places: HashMap<holon_domain::AgentId, usize>,
}

impl CommitNotices {
    pub(crate) fn add(&mut self, notice: FeedNotice) {
        let next = self.notices.len();
        let place = *self.places.entry(notice.agent_id.clone()).or_insert(next);
        match self.notices.get_mut(place) {
            Some(earlier) => earlier.newest_seq = notice.newest_seq,
            None => self.notices.push(notice),
        }
    }
}

/// A batch of one write, answered in place.
pub(crate) struct Single<'a, T, F> {
    run: F,
    value: Option<T>,
    answer: &'a mut Option<Result<T, WriteError>>,
}

impl<'a, T, F> Single<'a, T, F> {
    pub(crate) const fn new(run: F, answer: &'a mut Option<Result<T, WriteError>>) -> Self {
        Self {
            run,
            value: None,
            answer,
        }
    }
}

impl<T, F: FnMut(&mut Tx<'_>) -> Result<T, Error>> Member for Single<'_, T, F> {
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Error> {
        self.value = Some((self.run)(tx)?);
        Ok(())
    }

    fn answer(&mut self, verdict: Result<(), WriteError>) {
        *self.answer =
            Some(verdict.and_then(|()| self.value.take().ok_or(WriteError::CommitUnknown)));
    }
}

/// Runs a hook. A panic in it does not affect the other hooks.
pub(crate) fn run_hook(hook: Hook) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(hook)) {
        let message = panic_message(panic.as_ref());
        tracing::error!(message, "a hook after a commit panicked; the commit holds");
    }
}

/// Extracts the message of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
