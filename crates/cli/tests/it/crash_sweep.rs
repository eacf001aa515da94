//! The process is killed at every point where it can matter, once in each run, and started again: nothing that was
//! acknowledged is lost, nothing is answered twice, and every command runs exactly once, to its end.
//!
//! A reference run counts the points a short scenario passes. Each part of a sweep takes every n-th of them, so that
//! the parts run beside each other. Further sweeps kill the process again while it recovers.

#![allow(
    clippy::print_stdout,
    reason = "how many points were swept is part of the result"
)]

mod agents;
mod drive;
mod host;
mod judge;
mod tasks;
mod told;

use crate::processes::Swept;
use crate::support::world;
use agents::Agents;
use drive::{Drive, Scenario};
use host::{Crash, Host};
use tasks::Tasks;

/// Parts of a sweep.
const PARTS: u64 = 4;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// How many points the scenario passes when nothing goes wrong.
async fn count_points<S: Scenario>() -> u64 {
    let world = world();
    let _swept = Swept(&world);
    let log = world.path().join("points");
    let mut drive = Drive::<S>::new(&world);
    let host = Host::start(&world, &Crash::Log(log.clone())).expect("a host without crashes");
    drive.finish(&world, Some(host)).await;
    drive.scenario.judge(&world, "the reference run");
    let points = std::fs::read_to_string(log).expect("a list of points");
    points.lines().count() as u64
}

/// Kills the process at every `PARTS`-th point, each time in a world of its own. Where commits come together there are
/// fewer points, but never fewer than these.
async fn sweep<S: Scenario>(part: u64, fewest: u64) {
    let points = count_points::<S>().await;
    let (mut died, mut missed) = (0, 0);
    // Commits that come together are one, so two runs do not pass the same number of points: the end is where a few in
    // a row are not reached.
    for point in (1..).filter(|point| point % PARTS == part) {
        let world = world();
        let _swept = Swept(&world);
        let mut drive = Drive::<S>::new(&world);
        let host = Host::start(&world, &Crash::At(point));
        drive.finish(&world, host).await;
        drive
            .scenario
            .judge(&world, &format!("killed at point {point}"));
        if drive.deaths > 0 {
            (died, missed) = (died + 1, 0);
        } else {
            missed += 1;
        }
        if missed == 3 {
            break;
        }
    }
    println!("killed at {died} points; a run without crashes passes {points}");
    assert!(died >= fewest, "killed at {died} points only");
}
