//! Starts the shims of a host and keeps one idle shim ready for the next command.
//!
//! Starting a program takes longer than the shim's own work, so the next shim is started as soon as one is used, and
//! waits for its spec. An idle shim is killed after a timeout, and when its host ends, also if it is suspended: it
//! has not started anything.
//!
//! Invariant: an idle shim that is killed costs only time. A command is claimed before it starts, so a second shim with
//! the same spec either runs it first or refuses.

use super::image::Image;
use super::shimmed_command::ShimmedCommand;
use super::start::{IdleShim, Purpose, StartError, start};
use crate::spec::ShimSpec;
use holon_domain::command::CommandFailure;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

/// Time a shim stays idle: longer than a model usually thinks between two commands.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts shims of one image and keeps one idle shim ready. Use it within a tokio runtime.
#[derive(Debug)]
pub struct Shims {
    image: Arc<Image>,
    spare: Arc<Mutex<Option<SpareShim>>>,
    watchers: TaskTracker,
}

/// An idle shim. Dropping the sender tells its watcher that it was used.
#[derive(Debug)]
struct SpareShim {
    shim: IdleShim,
    _taken: oneshot::Sender<()>,
}

impl Shims {
    /// Creates an empty pool. The first idle shim is started after the first command.
    pub fn new(image: Image) -> Self {
        Self {
            image: Arc::new(image),
            spare: Arc::default(),
            watchers: TaskTracker::new(),
        }
    }

    /// Starts a command like [`start`], in the idle shim if there is one.
    ///
    /// # Errors
    /// As [`start`].
    pub async fn start(&self, spec: ShimSpec) -> Result<ShimmedCommand, CommandFailure> {
        let started = self.start_in_spare(spec).await;
        let spare = Arc::downgrade(&self.spare);
        let watcher = watch_spare(Arc::clone(&self.image), spare);
        self.watchers.spawn(watcher);
        started
    }

    async fn start_in_spare(&self, spec: ShimSpec) -> Result<ShimmedCommand, CommandFailure> {
        let Some(shim) = take(&self.spare) else {
            return start(&self.image, spec).await;
        };
        match shim.run_spec(&self.image, spec).await {
            Ok(task) => Ok(task),
            Err(StartError::Refused(failure)) => Err(failure),
            Err(StartError::NoReport { spec, .. }) => start(&self.image, *spec).await,
        }
    }
}

/// Starts the next idle shim, unless there is one, and kills it after the timeout.
async fn watch_spare(image: Arc<Image>, spare: Weak<Mutex<Option<SpareShim>>>) {
    let started = spare
        .upgrade()
        .and_then(|spare| start_spare(&image, &spare));
    let Some(is_taken) = started else {
        return;
    };
    let waited = tokio::time::timeout(IDLE_TIMEOUT, is_taken).await;
    if waited.is_err()
        && let Some(shim) = spare.upgrade().and_then(|spare| take(&spare))
    {
        shim.dismiss().await;
    }
}

fn start_spare(image: &Image, spare: &Mutex<Option<SpareShim>>) -> Option<oneshot::Receiver<()>> {
    let mut spare = lock(spare);
    if spare.is_some() {
        return None;
    }
    // If that fails, the start of the next command reports the reason.
    let shim = IdleShim::begin(image, Purpose::Spare).ok()?;
    let (taken, is_taken) = oneshot::channel();
    *spare = Some(SpareShim {
        shim,
        _taken: taken,
    });
    Some(is_taken)
}

fn take(spare: &Mutex<Option<SpareShim>>) -> Option<IdleShim> {
    lock(spare).take().map(|spare| spare.shim)
}

fn lock(spare: &Mutex<Option<SpareShim>>) -> MutexGuard<'_, Option<SpareShim>> {
    spare.lock().unwrap_or_else(PoisonError::into_inner)
}
