//! The shims of a host that starts commands one after the other: one is always started ahead.
//!
//! A program takes longer to start than a shim to do its work, so the next one is started as soon as one is taken, and
//! waits for its spec. One that waits in vain is killed, and so is one whose host ends, suspended or not: it has begun
//! nothing.
//! Invariant: a shim that was killed while it waited costs nothing but its time. A task is claimed before it begins, so
//! a second shim that is told of it either is the first to run it, or refuses.

use super::image::Image;
use super::start::{Purpose, Unheard, Untold, start};
use super::task::Task;
use crate::spec::ShimSpec;
use holon_domain::command::CommandFailure;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

/// How long a shim waits for its spec: longer than a model thinks between two commands.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts shims of one image. To be used within a runtime.
#[derive(Debug)]
pub struct Shims {
    image: Arc<Image>,
    ahead: Arc<Mutex<Option<Ahead>>>,
    keepers: TaskTracker,
}

/// A shim that waits, and how whoever watches it learns that it was taken.
#[derive(Debug)]
struct Ahead {
    shim: Untold,
    _taken: oneshot::Sender<()>,
}

impl Shims {
    /// Starts none yet: who runs no command needs none.
    pub fn new(image: Image) -> Self {
        Self {
            image: Arc::new(image),
            ahead: Arc::default(),
            keepers: TaskTracker::new(),
        }
    }

    /// As [`start`], with the shim that waits if there is one.
    ///
    /// # Errors
    /// As [`start`].
    pub async fn start(&self, spec: ShimSpec) -> Result<Task, CommandFailure> {
        let started = self.start_with_what_is_there(spec).await;
        let ahead = Arc::downgrade(&self.ahead);
        let keeper = keep_one(Arc::clone(&self.image), ahead);
        self.keepers.spawn(keeper);
        started
    }

    async fn start_with_what_is_there(&self, spec: ShimSpec) -> Result<Task, CommandFailure> {
        let Some(shim) = take(&self.ahead) else {
            return start(&self.image, spec).await;
        };
        match shim.tell(&self.image, spec).await {
            Ok(task) => Ok(task),
            Err(Unheard::Refused(failure)) => Err(failure),
            Err(Unheard::NoWord { spec, .. }) => start(&self.image, *spec).await,
        }
    }
}

/// Starts the next one, unless one waits, and lets it go when it waits in vain.
async fn keep_one(image: Arc<Image>, ahead: Weak<Mutex<Option<Ahead>>>) {
    let started = ahead.upgrade().and_then(|it| start_ahead(&image, &it));
    let Some(is_taken) = started else {
        return;
    };
    let waited = tokio::time::timeout(PATIENCE, is_taken).await;
    if waited.is_err()
        && let Some(shim) = ahead.upgrade().and_then(|it| take(&it))
    {
        shim.dismiss().await;
    }
}

fn start_ahead(image: &Image, ahead: &Mutex<Option<Ahead>>) -> Option<oneshot::Receiver<()>> {
    let mut ahead = lock(ahead);
    if ahead.is_some() {
        return None;
    }
    // If that fails, the start of the next command says why.
    let shim = Untold::begin(image, Purpose::Ahead).ok()?;
    let (taken, is_taken) = oneshot::channel();
    *ahead = Some(Ahead {
        shim,
        _taken: taken,
    });
    Some(is_taken)
}

fn take(ahead: &Mutex<Option<Ahead>>) -> Option<Untold> {
    lock(ahead).take().map(|ahead| ahead.shim)
}

fn lock(ahead: &Mutex<Option<Ahead>>) -> MutexGuard<'_, Option<Ahead>> {
    ahead.lock().unwrap_or_else(PoisonError::into_inner)
}
