//! Gives free memory back to the system.
//!
//! After a burst, such as many large answers at once, the allocator keeps what was freed: pages between live blocks stay
//! resident for as long as the process lives. A host lives for weeks, so it asks for them to be released once it holds
//! much more than after the last release.

#![allow(
    unsafe_code,
    reason = "no safe interface exists for malloc_trim; the block says why it is sound"
)]

use std::convert::Infallible;
use std::time::Duration;

/// Time between two looks at the size of the process.
const LOOK_EVERY: Duration = Duration::from_secs(20);
/// Growth since the last release after which another one is worth its time: it visits every free block.
const GROWTH_BYTES: u64 = 32 << 20;

/// Releases free memory for as long as the host runs, whenever the process has grown.
pub(crate) async fn release_free_memory() -> Infallible {
    let mut kept = 0;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        kept = match resident_bytes() {
            Some(bytes) if bytes > kept + GROWTH_BYTES => {
                let released = tokio::task::spawn_blocking(release).await;
                let now = resident_bytes().unwrap_or(bytes);
                tracing::debug!(
                    before = bytes,
                    after = now,
                    ok = released.is_ok(),
                    "free memory was released"
                );
                now
            }
            // A process that shrinks by itself may grow again from there.
            Some(bytes) => kept.min(bytes),
            None => kept,
        };
    }
}

/// Returns the free memory of the allocator to the system.
fn release() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes the locks of the allocator itself and may be called at any time by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the resident bytes of this process; `None` if the system does not say.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size() as u64))
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_freed_between_live_blocks_is_given_back() {
        // Blocks below the size that is mapped on its own, with a small live one behind each.
        let blocks: Vec<(Vec<u8>, Box<[u8; 64]>)> = (0..2_000)
            .map(|_| (vec![1; 64 << 10], Box::new([1; 64])))
            .collect();
        let (large, live): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        drop(large);
        let before = resident_bytes().expect("a size");
        release();
        let after = resident_bytes().expect("a size");
        assert!(
            after + (64 << 20) < before,
            "{before} and {after} bytes beside {} live blocks",
            live.len()
        );
    }
}
