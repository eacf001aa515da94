//! The token bucket of overdue entries. An entry that comes on time needs no token.

use holon_domain::limits::{OVERDUE_AT_ONCE, OVERDUE_PER_SECOND};
use std::time::Duration;

/// Time in which the bucket gains one token.
const PER_TOKEN: Duration = Duration::from_nanos(1_000_000_000 / OVERDUE_PER_SECOND);

/// A bucket of [`OVERDUE_AT_ONCE`] tokens that is full at the start.
#[derive(Debug, Default)]
pub(super) struct TokenBucket {
    /// Time at which the bucket is full again.
    full_at: Duration,
}

impl TokenBucket {
    /// Number of tokens at this time.
    pub(super) fn room(&self, elapsed: Duration) -> u32 {
        let missing = self.full_at.saturating_sub(elapsed).as_nanos();
        let missing = missing.div_ceil(PER_TOKEN.as_nanos());
        OVERDUE_AT_ONCE.saturating_sub(u32::try_from(missing).unwrap_or(u32::MAX))
    }

    pub(super) fn take(&mut self, tokens: u32, elapsed: Duration) {
        self.full_at = self.full_at.max(elapsed) + PER_TOKEN * tokens;
    }

    /// Time at which the bucket holds this many tokens, if none is taken before.
    pub(super) fn holds_at(&self, tokens: u32) -> Duration {
        let missing = OVERDUE_AT_ONCE.saturating_sub(tokens);
        self.full_at.saturating_sub(PER_TOKEN * missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_tokens_at_once_and_then_one_after_the_other() {
        let start = Duration::from_secs(7);
        let mut bucket = TokenBucket::default();
        assert_eq!(bucket.room(start), OVERDUE_AT_ONCE);
        bucket.take(OVERDUE_AT_ONCE, start);
        for (after, room) in [
            (Duration::ZERO, 0),
            (PER_TOKEN - Duration::from_nanos(1), 0),
            (PER_TOKEN, 1),
            (PER_TOKEN * 32, 32),
            (Duration::from_secs(60), OVERDUE_AT_ONCE),
        ] {
            assert_eq!(bucket.room(start + after), room, "{after:?}");
        }
        assert_eq!(bucket.holds_at(32), start + PER_TOKEN * 32);
        bucket.take(1, start + PER_TOKEN * 2);
        assert_eq!(bucket.room(start + PER_TOKEN * 2), 1);
    }

    #[test]
    fn a_bucket_gains_its_rate_in_every_second() {
        let mut bucket = TokenBucket::default();
        let (mut taken, mut elapsed) = (0, Duration::ZERO);
        while elapsed < Duration::from_secs(10) {
            let room = bucket.room(elapsed);
            bucket.take(room, elapsed);
            taken += u64::from(room);
            elapsed += Duration::from_millis(16);
        }
        let most = 10 * OVERDUE_PER_SECOND + u64::from(OVERDUE_AT_ONCE);
        assert!((10 * OVERDUE_PER_SECOND..=most).contains(&taken), "{taken}");
    }
}
