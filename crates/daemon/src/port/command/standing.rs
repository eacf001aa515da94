//! Where a command stands, by its directory and by whoever answers there, and what is reported of that.

use super::place::{Look, Place};
use super::registry::Slot;
use super::{Commands, report};
use holon_domain::command::CommandFailure;
use holon_domain::task::TaskReport;
use holon_engine::ports::CommandKey;
use holon_process::{Attached, Ended, Error, Sought, Stopped, Task, attach, put_down};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What is said of a command that was never begun.
pub(super) const NEVER: &str = "it was never started";

/// What is said of one whose supervisor is dead, of one whose supervisor had to be killed, and of one where that failed.
const GONE: &str =
    "its supervisor was killed, or the machine went down, before anybody could note how it ended";
const PUT_DOWN: &str = "its supervisor did not answer and was killed, with what ran under it";
const SILENT: &str = "its supervisor does not answer; parts of it may still run";

/// By what the command of a key is found in its directory.
pub(super) fn sought<'a>(key: &'a CommandKey, state_dir: &'a Path) -> Sought<'a> {
    Sought {
        state_dir,
        task_id: &key.name,
        nonce: key.call.as_str(),
    }
}

/// Where a command stands.
pub(super) enum Standing {
    /// It runs, which is proven.
    Alive(Arc<Task>),
    /// It ended.
    Ended(Box<Ended>),
    /// It could not be started.
    NotStarted(CommandFailure),
    /// It never ran, and as it was begun it never will.
    NeverRan,
    /// Nobody can tell, for this reason.
    Lost(&'static str),
}

impl Standing {
    /// Where a command stands that was looked for, which is held in its slot if it runs.
    fn of(attached: Attached, slot: &mut Slot) -> Self {
        match attached {
            Attached::Alive(task) => {
                let task = Arc::from(task);
                *slot = Some(Arc::clone(&task));
                Self::Alive(task)
            }
            Attached::Ended(ended) => Self::Ended(ended),
            Attached::NotStarted(failure) => Self::NotStarted(failure),
            Attached::NeverRan => Self::NeverRan,
            Attached::Gone => Self::Lost(GONE),
            Attached::Silent => Self::Lost(SILENT),
        }
    }

    /// Where a command stands that was put down; `lost` is said of one that left no word.
    fn of_stopped(stopped: Stopped, lost: &'static str) -> Self {
        match stopped {
            Stopped::Ended(ended) => Self::Ended(ended),
            Stopped::NotStarted(failure) => Self::NotStarted(failure),
            Stopped::NeverRan | Stopped::Lost => Self::Lost(lost),
            Stopped::Unstoppable => Self::Lost(SILENT),
        }
    }
}

impl Commands {
    /// Where a command stands. Its slot is locked, so nobody starts it meanwhile.
    pub(super) async fn standing(
        &self,
        key: &CommandKey,
        place: &Place,
        slot: &mut Slot,
    ) -> Standing {
        if let Some(task) = slot {
            return Standing::Alive(Arc::clone(task));
        }
        let state_dir = place.state_dir();
        let attached = attach(sought(key, &state_dir)).await;
        Standing::of(attached, slot)
    }

    /// The same for somebody who does not hold the slot.
    pub(super) async fn found(&self, key: &CommandKey, place: &Place) -> Standing {
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        self.standing(key, place, &mut slot).await
    }

    /// Reports a command, followed to its end by `follow` if it runs.
    pub(super) async fn reported<F>(
        &self,
        key: &CommandKey,
        (place, standing): (&Place, Standing),
        follow: impl FnOnce(Arc<Task>) -> F + Send,
    ) -> TaskReport
    where
        F: Future<Output = Result<Ended, Error>> + Send,
    {
        match standing {
            Standing::Alive(task) => {
                let ended = follow(Arc::clone(&task)).await;
                self.registry.let_go(key, &task).await;
                report::report(place, ended).await
            }
            Standing::Ended(ended) => report::report(place, Ok(*ended)).await,
            Standing::NotStarted(failure) => report::lost(place, &failure.to_string()).await,
            // Where it printed something it did run, and somebody has removed its directory since.
            Standing::NeverRan if place.kept().await.is_some() => {
                report::lost(place, "what it was to be found by is gone").await
            }
            Standing::NeverRan => report::lost(place, NEVER).await,
            Standing::Lost(reason) => report::lost(place, reason).await,
        }
    }

    /// Where a command that is to be stopped stands. One that has not begun is barred from ever beginning, and one that
    /// nobody can ask to stop is put down: nobody would hear of it again.
    pub(super) async fn barred(
        &self,
        key: &CommandKey,
        place: &Place,
        grace: Duration,
    ) -> Standing {
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        let standing = match place.look().await {
            Ok(Look::Nothing | Look::Stopped) if slot.is_none() => Standing::NeverRan,
            Ok(_) | Err(_) if slot.is_some() => self.standing(key, place, &mut slot).await,
            Ok(_) | Err(_) => {
                let state_dir = place.state_dir();
                let sought = sought(key, &state_dir);
                match attach(sought).await {
                    Attached::Gone => Standing::of_stopped(put_down(sought, grace).await, GONE),
                    Attached::Silent => {
                        Standing::of_stopped(put_down(sought, grace).await, PUT_DOWN)
                    }
                    attached @ (Attached::Alive(_)
                    | Attached::Ended(_)
                    | Attached::NotStarted(_)
                    | Attached::NeverRan) => Standing::of(attached, &mut slot),
                }
            }
        };
        if matches!(standing, Standing::NeverRan)
            && let Err(error) = place.bar().await
        {
            tracing::warn!(name = key.name, %error, "a command that was stopped could not be marked so");
        }
        standing
    }
}
