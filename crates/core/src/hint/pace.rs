//! The bucket of ticks for wake hints from outside: while it holds a token, an idle agent is told of a hint at once.
//!
//! The bucket is one time, the one at which it is full again. A clock that was set back cannot move that time further away
//! than an empty bucket needs.

use holon_domain::Timestamp;
use holon_domain::limits::{HINT_TICK_REFILL_MS, HINT_TICKS_AT_ONCE};

const FILL_MS: u64 = HINT_TICKS_AT_ONCE * HINT_TICK_REFILL_MS;

fn full_at(stored: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let latest = now.plus_millis(FILL_MS);
    stored.map_or(now, |at| at.clamp(now, latest))
}

/// Returns the time from which the bucket holds a token: now, or later.
pub(crate) fn token_at(stored: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let first = full_at(stored, now).minus_millis(FILL_MS - HINT_TICK_REFILL_MS);
    first.max(now)
}

/// Takes a token for a tick, if there is one, and returns the time at which the bucket is full again.
pub(crate) fn full_at_after_tick(stored: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let full_at = full_at(stored, now).plus_millis(HINT_TICK_REFILL_MS);
    full_at.min(now.plus_millis(FILL_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn six_ticks_come_at_once_and_one_more_every_ten_seconds() {
        let mut stored = None;
        for _ in 0..HINT_TICKS_AT_ONCE {
            assert_eq!(token_at(stored, at(100)), at(100));
            stored = Some(full_at_after_tick(stored, at(100)));
        }
        assert_eq!(token_at(stored, at(100)), at(110));
        assert_eq!(token_at(stored, at(109)), at(110));
        stored = Some(full_at_after_tick(stored, at(110)));
        assert_eq!(token_at(stored, at(110)), at(120), "one token was there");
        stored = Some(full_at_after_tick(stored, at(111)));
        assert_eq!(stored, Some(at(171)), "a tick without a token takes none");
        assert_eq!(token_at(stored, at(1_000)), at(1_000));
        assert_eq!(full_at_after_tick(stored, at(1_000)), at(1_010));
    }

    #[test]
    fn a_clock_set_back_empties_the_bucket_at_most() {
        let stored = Some(full_at_after_tick(None, at(1_000_000)));
        assert_eq!(token_at(stored, at(5)), at(15));
    }
}
