//! Deterministic randomness: numbers in a fixed order without repetition.

use holon_domain::Entropy;
use holon_engine::ports::EntropySource;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An odd factor: multiplication by it is injective and spreads numbers over all bits.
const SPREAD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// A counting source. Each decision gets a separate range, so ids never repeat.
#[derive(Debug)]
pub struct CountingEntropy {
    next: AtomicU64,
    factor: u128,
    fails: AtomicBool,
}

impl Default for CountingEntropy {
    /// Small numbers, easy to read in a failed assertion.
    fn default() -> Self {
        Self {
            next: AtomicU64::new(0),
            factor: 1,
            fails: AtomicBool::new(false),
        }
    }
}

impl CountingEntropy {
    /// Creates a source of numbers spread over all bits, so that ids fall on index pages like random ones.
    #[must_use]
    pub fn spread() -> Self {
        Self {
            factor: SPREAD,
            ..Self::default()
        }
    }

    /// Makes the next decision panic inside its transaction, as a defect would.
    pub fn spoil_the_next_decision(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Counter {
    last: u128,
    factor: u128,
}

impl Entropy for Counter {
    fn next(&mut self) -> u128 {
        self.last += 1;
        self.last.wrapping_mul(self.factor)
    }
}

impl EntropySource for CountingEntropy {
    fn source(&self) -> Box<dyn Entropy + Send> {
        assert!(
            !self.fails.swap(false, Ordering::SeqCst),
            "the test wants this decision to fail"
        );
        let source = self.next.fetch_add(1, Ordering::Relaxed);
        Box::new(Counter {
            last: u128::from(source) << 40,
            factor: self.factor,
        })
    }
}
