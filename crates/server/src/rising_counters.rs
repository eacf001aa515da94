//! Counters for monitors that are sums over the agents. A sum falls when an agent is removed, and a counter may not: a
//! monitor takes that for a restart.

use holon_engine::HostFigures;
use std::sync::{Mutex, PoisonError};

/// The sums over all agents that are reported as counters.
#[derive(Debug, Default)]
pub(crate) struct RisingCounters(Mutex<[RisingCounter; 3]>);

impl RisingCounters {
    /// Replaces the sums by values that never fall.
    pub(crate) fn raise(&self, mut figures: HostFigures) -> HostFigures {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = [
            &mut figures.model_rounds,
            &mut figures.input_tokens,
            &mut figures.output_tokens,
        ];
        for (counter, sum) in counters.iter_mut().zip(sums) {
            *sum = counter.raise(*sum);
        }
        figures
    }
}

/// A sum whose losses are added again.
#[derive(Debug, Default)]
struct RisingCounter {
    last: u64,
    lost: u64,
}

impl RisingCounter {
    fn raise(&mut self, sum: u64) -> u64 {
        self.lost += self.last.saturating_sub(sum);
        self.last = sum;
        sum.saturating_add(self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_does_not_fall_when_an_agent_is_removed() {
        let mut counter = RisingCounter::default();
        let seen = [10, 25, 5, 5, 8, 0, 3].map(|sum| counter.raise(sum));
        assert_eq!(seen, [10, 25, 25, 25, 28, 28, 31]);
    }
}
