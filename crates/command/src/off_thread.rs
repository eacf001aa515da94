//! Blocking work on files, away from the threads that everybody shares.

use std::io;

/// Does blocking work where it blocks nobody.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|ended| Err(io::Error::other(ended)))
}
