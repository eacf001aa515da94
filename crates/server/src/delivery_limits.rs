//! Rate limits of requests from outside: one allowance for each capability or webhook, one of all senders together for
//! tokens and signatures of deliveries that prove nothing, one of them for names that no webhook was known by, and one for
//! each address that sends wrong bearer tokens. Kept in memory; a restart fills every allowance.

use crate::refusal::{Refusal, RequestFault};
use holon_domain::limits::{
    DELIVERIES_PER_SECOND, DELIVERY_BUCKETS, DELIVERY_BURST, GUESS_BURST, GUESSES_PER_SECOND,
    WRONG_TOKEN_ADDRESSES, WRONG_TOKEN_BURST, WRONG_TOKENS_PER_SECOND,
};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Allowance that is used up by requests and grows with time.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    left: f64,
    /// Time of the last use, by the host's monotonic clock.
    at: Duration,
}

/// Size and growth of an allowance.
#[derive(Debug, Clone, Copy)]
struct Rate {
    burst: f64,
    per_second: f64,
}

impl Rate {
    fn grown(self, allowance: Allowance, now: Duration) -> Allowance {
        let passed = now.saturating_sub(allowance.at).as_secs_f64();
        let left = (allowance.left + passed * self.per_second).min(self.burst);
        Allowance { left, at: now }
    }

    /// Uses up one of the allowance. Returns false if none is left.
    fn take(self, allowance: &mut Allowance, now: Duration) -> bool {
        *allowance = self.grown(*allowance, now);
        if allowance.left < 1.0 {
            return false;
        }
        allowance.left -= 1.0;
        true
    }

    const fn full(self, now: Duration) -> Allowance {
        Allowance {
            left: self.burst,
            at: now,
        }
    }
}

const DELIVERIES: Rate = Rate {
    burst: DELIVERY_BURST as f64,
    per_second: DELIVERIES_PER_SECOND as f64,
};
const GUESSES: Rate = Rate {
    burst: GUESS_BURST as f64,
    per_second: GUESSES_PER_SECOND as f64,
};

const WRONG_TOKENS: Rate = Rate {
    burst: WRONG_TOKEN_BURST as f64,
    per_second: WRONG_TOKENS_PER_SECOND as f64,
};

/// The allowances of one host.
#[derive(Debug, Default)]
pub(crate) struct DeliveryLimits {
    /// Addresses that have sent wrong bearer tokens.
    addresses: Mutex<HashMap<IpAddr, Allowance>>,
    receivers: Mutex<HashMap<String, Allowance>>,
    guesses: Mutex<Option<Allowance>>,
    /// Names that are looked up although no webhook was known by them.
    names: Mutex<Option<Allowance>>,
}

impl DeliveryLimits {
    /// Counts a delivery to a capability or webhook. `now` is the time of the host's monotonic clock.
    ///
    /// # Errors
    /// When its allowance is used up.
    pub(crate) fn count(&self, receiver: &str, now: Duration) -> Result<(), Refusal> {
        let mut receivers = lock(&self.receivers);
        if !receivers.contains_key(receiver) && receivers.len() >= DELIVERY_BUCKETS {
            make_room(&mut receivers, DELIVERIES, DELIVERY_BUCKETS, now);
        }
        let allowance = receivers
            .entry(receiver.to_owned())
            .or_insert_with(|| DELIVERIES.full(now));
        if DELIVERIES.take(allowance, now) {
            return Ok(());
        }
        Err(RequestFault::RATE_LIMITED.refuse("too many deliveries to this URL"))
    }

    /// Counts a token or a signature that proves nothing. The answer is the same for all of them.
    pub(crate) fn count_guess(&self, answer: Refusal, now: Duration) -> Refusal {
        match take_guess(&self.guesses, now) {
            Ok(()) => answer,
            Err(refusal) => refusal,
        }
    }

    /// Counts a name that is about to be looked up although no webhook was known by it.
    ///
    /// # Errors
    /// When the allowance of such names is used up. The answer is that of any guess.
    pub(crate) fn count_name(&self, now: Duration) -> Result<(), Refusal> {
        take_guess(&self.names, now)
    }

    /// Gives back what [`Self::count_name`] has counted, because the name was that of a webhook.
    pub(crate) fn give_back_name(&self) {
        if let Some(allowance) = lock(&self.names).as_mut() {
            allowance.left = (allowance.left + 1.0).min(GUESSES.burst);
        }
    }

    /// Counts a wrong bearer token from an address.
    pub(crate) fn count_wrong_token(
        &self,
        address: IpAddr,
        answer: Refusal,
        now: Duration,
    ) -> Refusal {
        let mut addresses = lock(&self.addresses);
        if !addresses.contains_key(&address) && addresses.len() >= WRONG_TOKEN_ADDRESSES {
            make_room(&mut addresses, WRONG_TOKENS, WRONG_TOKEN_ADDRESSES, now);
        }
        let allowance = addresses
            .entry(address)
            .or_insert_with(|| WRONG_TOKENS.full(now));
        if WRONG_TOKENS.take(allowance, now) {
            return answer;
        }
        RequestFault::RATE_LIMITED.refuse("too many wrong tokens from this address")
    }
}

/// Uses up one of an allowance for guesses.
fn take_guess(guesses: &Mutex<Option<Allowance>>, now: Duration) -> Result<(), Refusal> {
    let mut guesses = lock(guesses);
    let allowance = guesses.get_or_insert_with(|| GUESSES.full(now));
    match GUESSES.take(allowance, now) {
        true => Ok(()),
        false => Err(RequestFault::RATE_LIMITED.refuse("too many requests that prove nothing")),
    }
}

/// Forgets the allowances that are full again. If none is, the fullest goes, so that the rest stay limited.
fn make_room<K: Clone + Eq + Hash>(
    table: &mut HashMap<K, Allowance>,
    rate: Rate,
    most: usize,
    now: Duration,
) {
    table.retain(|_, allowance| rate.grown(*allowance, now).left < rate.burst);
    if table.len() < most {
        return;
    }
    let fullest = table
        .iter()
        .max_by(|(_, a), (_, b)| a.left.total_cmp(&b.left))
        .map(|(name, _)| name.clone());
    if let Some(name) = fullest {
        table.remove(&name);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_used_up_and_grows_again() {
        let limits = DeliveryLimits::default();
        let accepted = |receiver: &str, secs| {
            let now = Duration::from_secs(secs);
            limits.count(receiver, now).is_ok()
        };
        assert!((0..DELIVERY_BURST).all(|_| accepted("a", 0)));
        assert!(!accepted("a", 0), "used up");
        assert!(accepted("b", 0), "another receiver has its own");
        assert!((0..DELIVERIES_PER_SECOND).all(|_| accepted("a", 1)));
        assert!(!accepted("a", 1));
        assert!((0..DELIVERY_BURST).all(|_| accepted("a", 3_601)));
        assert!(!accepted("a", 3_601), "no more than the burst is saved up");
    }

    #[test]
    fn memory_is_bounded_and_a_used_up_allowance_is_not_forgotten() {
        let limits = DeliveryLimits::default();
        let accepted = |receiver: &str| limits.count(receiver, Duration::ZERO).is_ok();
        while accepted("busy") {}
        for other in 0..DELIVERY_BUCKETS + 10 {
            assert!(accepted(&other.to_string()));
        }
        assert!(lock(&limits.receivers).len() <= DELIVERY_BUCKETS);
        assert!(!accepted("busy"));
    }

    #[test]
    fn guesses_share_one_allowance_and_get_one_answer() {
        let limits = DeliveryLimits::default();
        let guess = |secs| {
            let answer = RequestFault::WEBHOOK_UNKNOWN.refuse("x");
            let refusal = limits.count_guess(answer, Duration::from_secs(secs));
            refusal.status.as_u16()
        };
        assert!((0..GUESS_BURST).all(|_| guess(0) == 404));
        assert_eq!(guess(0), 429);
        assert_eq!(guess(1), 404);
    }

    #[test]
    fn names_that_are_no_guesses_use_up_nothing() {
        let limits = DeliveryLimits::default();
        for _ in 0..2 * GUESS_BURST {
            assert!(limits.count_name(Duration::ZERO).is_ok());
            limits.give_back_name();
        }
        assert!((0..GUESS_BURST).all(|_| limits.count_name(Duration::ZERO).is_ok()));
        let refused = limits.count_name(Duration::ZERO).expect_err("used up");
        assert_eq!(refused.status.as_u16(), 429);
        assert!(limits.count_name(Duration::from_secs(1)).is_ok());
    }

    #[test]
    fn wrong_tokens_are_counted_for_each_address_in_bounded_memory() {
        let limits = DeliveryLimits::default();
        let try_token = |last: u32, secs| {
            let address = IpAddr::from(last.to_be_bytes());
            let answer = RequestFault::UNAUTHORIZED.refuse("x");
            let now = Duration::from_secs(secs);
            let refusal = limits.count_wrong_token(address, answer, now);
            refusal.status.as_u16()
        };
        assert!((0..WRONG_TOKEN_BURST).all(|_| try_token(1, 0) == 401));
        assert_eq!(try_token(1, 0), 429);
        assert_eq!(try_token(2, 0), 401, "another address has its own");
        for other in 0..WRONG_TOKEN_ADDRESSES as u32 + 10 {
            try_token(10 + other, 0);
        }
        assert!(lock(&limits.addresses).len() <= WRONG_TOKEN_ADDRESSES);
        assert_eq!(try_token(1, 0), 429, "it is not forgotten for others");
        assert_eq!(try_token(1, 1), 401);
    }
}
