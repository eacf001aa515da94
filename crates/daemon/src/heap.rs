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
/// Growth over the smallest size after which a release is worth its time: it visits every free block.
const GROWTH_BYTES: u64 = 32 << 20;
/// Looks from a release to the next one of a process that has not grown since: what was in use then may be free now.
const LOOKS_BETWEEN: u32 = 15;

/// Releases free memory for as long as the host runs, whenever the process may hold much of it.
pub(crate) async fn release_free_memory() -> Infallible {
    let mut sizes = ProcessSizes::default();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(bytes) = resident_bytes() else {
            continue;
        };
        if sizes.decide_release(bytes) {
            let released = tokio::task::spawn_blocking(release).await;
            let now = resident_bytes().unwrap_or(bytes);
            sizes.note_released(now);
            tracing::debug!(
                before = bytes,
                after = now,
                ok = released.is_ok(),
                "free memory was released"
            );
        }
    }
}

/// The sizes of the process that decide about a release, in resident bytes.
#[derive(Debug, Default)]
struct ProcessSizes {
    /// Smallest size since the start. Absent before the first release: a start leaves much that is free.
    smallest: Option<u64>,
    /// Size after the last release.
    released: u64,
    looks_since: u32,
}

impl ProcessSizes {
    /// Returns true if a process of this size releases its free memory: it is much larger than it has been, and has grown
    /// as much since the last release or made none for some minutes.
    fn decide_release(&mut self, bytes: u64) -> bool {
        self.looks_since = self.looks_since.saturating_add(1);
        let Some(smallest) = self.smallest else {
            return bytes > GROWTH_BYTES;
        };
        // A process that shrinks by itself may grow again from there.
        let smallest = smallest.min(bytes);
        self.smallest = Some(smallest);
        self.released = self.released.min(bytes);
        let is_large = bytes > smallest + GROWTH_BYTES;
        let has_grown = bytes > self.released + GROWTH_BYTES;
        is_large && (has_grown || self.looks_since >= LOOKS_BETWEEN)
    }

    /// Notes the size after a release.
    fn note_released(&mut self, bytes: u64) {
        let smallest = self.smallest.unwrap_or(bytes);
        self.smallest = Some(smallest.min(bytes));
        self.released = bytes;
        self.looks_since = 0;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the looks, counted from 0, at which a process of these sizes in MiB releases memory. A release frees
    /// nothing.
    fn releases(looks: &[u64]) -> Vec<usize> {
        let mut sizes = ProcessSizes::default();
        let mut made = Vec::new();
        for (look, size) in looks.iter().enumerate() {
            if sizes.decide_release(size << 20) {
                sizes.note_released(size << 20);
                made.push(look);
            }
        }
        made
    }

    #[test]
    fn what_was_in_use_at_a_release_is_released_once_it_is_free() {
        let between = LOOKS_BETWEEN as usize;
        let mut burst = vec![40, 404];
        burst.extend(vec![404; between + 1]);
        assert_eq!(releases(&burst), [0, 1, 1 + between]);
        assert_eq!(releases(&[40, 404, 404, 440]), [0, 1, 3], "it grew again");
    }

    #[test]
    fn a_process_that_keeps_its_size_releases_once() {
        assert_eq!(releases(&[60; 100]), [0]);
        assert_eq!(releases(&[20; 100]), [0; 0]);
        assert_eq!(releases(&[60, 30, 70, 61, 61]), [0, 2]);
    }

    #[test]
    #[cfg(target_env = "gnu")]
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
