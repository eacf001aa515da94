//! Keys and pauses of requests that are repeated after a lost connection.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// Capability of hosts that keep the reply to a request with a key.
pub(crate) const CAPABILITY: &str = "control.idempotency";

/// Pauses before the repetitions: less than a second, enough for a host that is restarted at once.
pub(crate) const PAUSES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

/// Returns a key that no other request has: 128 bits of two hash functions with random seeds.
#[must_use]
pub fn new_key() -> String {
    let part = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", part(), part())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_differ() {
        let keys: BTreeSet<String> = (0..1_000).map(|_| new_key()).collect();
        assert_eq!(keys.len(), 1_000);
    }
}
