//! The async runtimes, built explicitly so that their number of threads is bounded.

use crate::error::Error;
use holon_domain::limits::{BLOCKING_THREADS, WORKERS};
use tokio::runtime::{Builder, Runtime};

/// Creates the runtime of a host, with a few workers on any number of cores.
///
/// # Errors
/// Fails if the system cannot start threads.
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

/// Creates the runtime of a single run, on the calling thread.
///
/// # Errors
/// Fails if the system refuses it.
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
