//! The async runtimes, built by hand so that their size is a decision.

use crate::error::Error;
use holon_domain::limits::{BLOCKING_THREADS, WORKERS};
use tokio::runtime::{Builder, Runtime};

/// For a host: a few workers, however many cores there are.
///
/// # Errors
/// When the system gives no threads.
pub fn serve_runtime() -> Result<Runtime, Error> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Builder::new_multi_thread()
        .worker_threads(cores.min(WORKERS))
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("holon-worker")
        .enable_all()
        .build()
        .map_err(failed)
}

/// For one command: the calling thread.
///
/// # Errors
/// When the system refuses.
pub fn run_runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(failed)
}

fn failed(source: std::io::Error) -> Error {
    Error::System {
        what: "start the async runtime",
        source,
    }
}
