//! Measures the time from a spec to the execution of the command's program, for benchmarks.

use crate::spec::ShimSpec;
use crate::supervise::Shims;
use holon_domain::command::CommandFailure;
use std::time::{Duration, Instant};

/// Starts commands one after the other and measures each start: the time until the program was executed and this
/// process knew of it. Each command starts after the previous one has ended. `spec` makes the spec of a round.
///
/// # Errors
/// Fails if a command could not be started.
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
        // Only so that rounds do not overlap; the end itself does not matter here.
        task.ended().await.ok();
    }
    Ok(latencies)
}
