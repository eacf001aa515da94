//! Where a command stands, by its directory and by whoever answers there, and what is reported of that.

use super::place::{Look, Place};
use super::registry::Slot;
use super::{Commands, report};
use holon_domain::command::CommandFailure;
use holon_domain::task::TaskReport;
use holon_engine::ports::CommandKey;
use holon_process::{Attached, Ended, Error, Task, attach};
use std::sync::Arc;

/// What is said of a command that was never begun.
pub(super) const NEVER: &str = "it was never started";

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
        match attach(&place.state_dir(), key.call.as_str()).await {
            Attached::Alive(task) => {
                let task = Arc::from(task);
                *slot = Some(Arc::clone(&task));
                Standing::Alive(task)
            }
            Attached::Ended(ended) => Standing::Ended(ended),
            Attached::NotStarted(failure) => Standing::NotStarted(failure),
            Attached::NeverRan => Standing::NeverRan,
            Attached::Gone => Standing::Lost(
                "its supervisor was killed, or the machine went down, before anybody could note how it ended",
            ),
            Attached::Silent => {
                Standing::Lost("its supervisor does not answer; parts of it may still run")
            }
        }
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

    /// Where a command that is to be stopped stands. One that has not begun is barred from ever beginning.
    pub(super) async fn barred(&self, key: &CommandKey, place: &Place) -> Standing {
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        let standing = match place.look().await {
            Ok(Look::Nothing | Look::Stopped) if slot.is_none() => Standing::NeverRan,
            Ok(_) | Err(_) => self.standing(key, place, &mut slot).await,
        };
        if matches!(standing, Standing::NeverRan)
            && let Err(error) = place.bar().await
        {
            tracing::warn!(name = key.name, %error, "a command that was stopped could not be marked so");
        }
        standing
    }
}
