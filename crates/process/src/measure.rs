//! How long it takes from a spec to the command's program, for benchmarks.

use crate::spec::ShimSpec;
use crate::supervise::Shims;
use holon_domain::command::CommandFailure;
use std::time::{Duration, Instant};

/// Starts one command after the other, each when the one before has ended, and returns for each how long it took
/// until its program had been executed and we knew of it. `spec` makes the spec of a round.
///
/// # Errors
/// When a command could not be started.
pub async fn start_latencies(
    shims: &Shims,
    rounds: u32,
    mut spec: impl FnMut(u32) -> ShimSpec,
) -> Result<Vec<Duration>, CommandFailure> {
    let mut latencies = Vec::new();
    for round in 0..rounds {
        let spec = spec(round);
        let began = Instant::now();
        let task = shims.start(spec).await?;
        latencies.push(began.elapsed());
        // Only so that rounds do not overlap; how it ended is of no interest here.
        task.ended().await.ok();
    }
    Ok(latencies)
}
