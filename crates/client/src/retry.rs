//! Repeats what failed because the host was gone for a moment.

use crate::error::Error;
use holon_domain::limits::STREAM_RETRIES;
use std::time::Duration;

/// First backoff in milliseconds; doubles with each failure in a row.
const BACKOFF_BASE_MS: u64 = 250;
/// Longest backoff in milliseconds.
const BACKOFF_MAX_MS: u64 = 5_000;

/// Waits after this number of earlier failures in a row.
pub(crate) async fn back_off(failures: u32) {
    let backoff = BACKOFF_BASE_MS
        .saturating_mul(1 << failures.min(10))
        .min(BACKOFF_MAX_MS);
    tokio::time::sleep(Duration::from_millis(backoff)).await;
}

/// Repeats a read while the host cannot be reached, with the patience of an event stream: a host that is restarted
/// answers the next attempt. Only for requests that change nothing, since a lost answer is asked for again.
///
/// # Errors
/// The error of the last attempt, or the first one that a repetition does not mend.
pub async fn retry_read<T>(mut read: impl AsyncFnMut() -> Result<T, Error>) -> Result<T, Error> {
    let mut failures = 0;
    loop {
        match read().await {
            Err(error) if error.is_transient() && failures < STREAM_RETRIES => {
                back_off(failures).await;
                failures += 1;
            }
            other => return other,
        }
    }
}
