//! Samples and what is said of them: p10, p50, mean, p99.

use serde_json::{Value, json};
use std::time::Duration;

/// Durations of one thing, in microseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took.as_secs_f64() * 1e6);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns the durations in this range, in the order in which they were added.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self(self.0.get(range).unwrap_or_default().to_vec())
    }

    pub(crate) fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let index = (q * last as f64).round() as usize;
        sorted.get(index).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    pub(crate) fn report(&self) -> Value {
        json!({
            "n": self.0.len(),
            "p10_us": round(self.quantile(0.10)),
            "p50_us": round(self.quantile(0.50)),
            "mean_us": round(self.mean()),
            "p99_us": round(self.quantile(0.99)),
        })
    }
}

/// One decimal is all the clock is worth.
pub(crate) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

pub(crate) fn rate(operations: usize, took: Duration) -> f64 {
    round(operations as f64 / took.as_secs_f64())
}
