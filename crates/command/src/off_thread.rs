//! Runs blocking file work off the threads of the async runtime.

use std::io;

/// Runs `work` on a thread for blocking work. A panic in it is returned as an error.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|ended| Err(io::Error::other(ended)))
}
