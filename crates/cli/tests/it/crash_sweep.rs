//! Kills the process at every crash point, once per run, and starts it again. Nothing acknowledged is lost, nothing is
//! answered twice, and every command runs exactly once, to its end.
//!
//! A reference run counts the crash points of a short scenario. Each part of a sweep takes every n-th of them, so that
//! the parts run in parallel. Further sweeps kill the process again while it recovers.

#![allow(
    clippy::print_stdout,
    reason = "how many points were swept is part of the result"
)]

mod agent_record;
mod agents;
mod callbacks;
mod children;
mod cleaners;
mod deliveries;
mod drive;
mod files;
mod folds;
mod host;
mod imports;
mod isolated;
mod judge;
mod started;
mod streams;
mod tasks;
mod templates;
mod webhooks;
mod work;

use crate::processes::ProcessCleanup;
use crate::support::world;
use agents::Agents;
use callbacks::Callbacks;
use children::Children;
use cleaners::Cleaners;
use deliveries::Deliveries;
use drive::{Drive, Scenario};
use files::Files;
use folds::Folds;
use host::{Crash, Host};
use imports::Imports;
use isolated::Isolated;
use started::Started;
use std::hash::{BuildHasher as _, RandomState};
use streams::Streams;
use tasks::Tasks;
use templates::Templates;
use webhooks::Webhooks;
use work::Work;

/// Number of parts of a sweep.
const PARTS: u64 = 2;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// Counts the crash points of an undisturbed run.
async fn count_points<S: Scenario>() -> u64 {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let log = world.path().join("points");
    let mut drive = Drive::<S>::new(&world);
    let host = Host::start(&world, &Crash::Log(log.clone())).expect("a host without crashes");
    drive.finish(&world, Some(host)).await;
    drive.scenario.judge(&world, "the reference run");
    let points = std::fs::read_to_string(log).expect("a list of points");
    points.lines().count() as u64
}

/// One in so many points of a part is swept by one run. The first is chosen by chance, so that several runs sweep all.
const SAMPLE: u64 = 6;

/// One in so many points of a start after a crash is swept by one run. There are fewer of these.
const RECOVERY_SAMPLE: u64 = 3;

/// Returns true if every point is swept, and not only a sample.
#[allow(
    clippy::disallowed_methods,
    reason = "a developer chooses the complete sweep"
)]
fn is_complete() -> bool {
    std::env::var_os("HOLON_SWEEP_ALL").is_some()
}

/// Returns the distance between the points to sweep, and by chance the first of them.
fn choose_sample(of: u64) -> (u64, u64) {
    let sample = if is_complete() { 1 } else { of };
    (sample, RandomState::new().hash_one(of) % sample)
}

/// Kills the process at every `PARTS`-th point or a sample of these, each time in a world of its own. Group commits
/// reduce the number of points, but never below `fewest` for a complete sweep.
async fn sweep<S: Scenario>(part: u64, fewest: u64) {
    let points = count_points::<S>().await;
    let (mut died, mut missed) = (0, 0);
    let (sample, chosen) = choose_sample(SAMPLE);
    let (stride, first) = (sample * PARTS, part + chosen * PARTS);
    let fewest = fewest / sample;
    // Two runs may group commits differently and pass different numbers of points. The sweep ends at a point that was
    // not reached behind those of the reference run, or after several unreached points in a row.
    for point in (S::BEFORE + 1..).filter(|point| point % stride == first) {
        println!("to be killed at point {point}");
        let world = world();
        let _swept = ProcessCleanup(&world);
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
        if missed == 3 || (missed > 0 && point > points) {
            break;
        }
    }
    println!("killed at {died} points; a run without crashes passes {points}");
    assert!(died >= fewest, "killed at {died} points only");
}

/// Kills the process at the first point, or a little earlier if this run does not reach it, then at the second point of
/// the next start. Returns true if both kills happened.
async fn kill_twice<S: Scenario>(first: u64, second: u64) -> bool {
    let mut point = first;
    loop {
        let world = world();
        let _swept = ProcessCleanup(&world);
        let mut drive = Drive::<S>::new(&world);
        let host = Host::start(&world, &Crash::At(point));
        if !drive.until_death(&world, host).await {
            point = point * 9 / 10;
            continue;
        }
        let host = Host::start(&world, &Crash::At(second));
        drive.finish(&world, host).await;
        let what = format!("killed at point {point} and at point {second} of the next start");
        drive.scenario.judge(&world, &what);
        return drive.deaths == 2;
    }
}

/// Kills the process at points of a run, and again at every point of the following start, up to a maximum, or at a
/// sample of these.
async fn sweep_recovery<S: Scenario>(shares: &[(u64, u64)], most: u64) {
    let points = count_points::<S>().await;
    let (sample, chosen) = choose_sample(RECOVERY_SAMPLE);
    let mut swept = 0;
    for (share, of) in shares {
        for second in (1..=most).filter(|second| second % sample == chosen) {
            if !kill_twice::<S>(points * share / of, second).await {
                break;
            }
            swept += 1;
        }
    }
    println!(
        "swept {swept} points of {} starts after a crash",
        shares.len()
    );
    // Every start passes four points and more.
    let fewest = 4 / sample * shares.len() as u64;
    assert!(swept >= fewest, "only {swept} points");
}

macro_rules! parts {
    ($name:ident, $scenario:ty, $fewest:expr) => {
        mod $name {
            use super::{block_on, sweep};

            #[test]
            fn nothing_is_lost_or_done_twice_first_part() {
                block_on(sweep::<$scenario>(0, $fewest));
            }

            #[test]
            fn nothing_is_lost_or_done_twice_second_part() {
                block_on(sweep::<$scenario>(1, $fewest));
            }
        }
    };
}

parts!(killed_at_any_point_of_three_agents, super::Agents, 30);
parts!(
    killed_at_any_point_of_a_family_of_commands,
    super::Tasks,
    30
);

parts!(
    killed_at_any_point_of_commands_of_an_operator,
    super::Started,
    10
);

parts!(killed_at_any_point_of_two_patches, super::Files, 20);

parts!(
    killed_at_any_point_of_commands_that_empty_their_home,
    super::Cleaners,
    20
);

parts!(
    killed_at_any_point_of_an_agent_from_a_template,
    super::Templates,
    12
);
parts!(killed_at_any_point_of_isolated_work, super::Isolated, 20);
parts!(killed_at_any_point_of_planned_work, super::Work, 20);
parts!(killed_at_any_point_of_streamed_answers, super::Streams, 20);
parts!(killed_at_any_point_of_deliveries, super::Deliveries, 16);
parts!(killed_at_any_point_of_a_clone, super::Imports, 6);
parts!(killed_at_any_point_of_callbacks, super::Callbacks, 12);
parts!(killed_at_any_point_of_a_child, super::Children, 12);
parts!(killed_at_any_point_of_webhooks, super::Webhooks, 12);
parts!(killed_at_any_point_of_folds, super::Folds, 12);

#[test]
fn killed_again_before_it_has_asked_again_an_answer_is_recorded_once() {
    block_on(sweep_recovery::<Streams>(&[(4, 8), (7, 8)], 8));
}

#[test]
fn killed_again_while_it_settles_a_patch_its_files_are_all_there_or_none() {
    block_on(sweep_recovery::<Files>(&[(5, 8), (6, 8)], 8));
}

#[test]
fn killed_again_while_it_makes_or_removes_a_worktree_no_work_is_lost() {
    block_on(sweep_recovery::<Isolated>(&[(3, 8), (7, 8)], 10));
}

#[test]
fn killed_again_while_it_recovers_nothing_is_lost_or_done_twice_early_on() {
    block_on(sweep_recovery::<Agents>(&[(2, 8), (3, 8), (4, 8)], 8));
}

#[test]
fn killed_again_while_it_recovers_nothing_is_lost_or_done_twice_later_on() {
    block_on(sweep_recovery::<Agents>(&[(5, 8), (6, 8), (7, 8)], 8));
}

#[test]
fn killed_again_while_it_finds_its_commands_they_run_once_early_on() {
    block_on(sweep_recovery::<Tasks>(&[(3, 8), (4, 8)], 12));
}

#[test]
fn killed_again_while_it_finds_its_commands_they_run_once_later_on() {
    block_on(sweep_recovery::<Tasks>(&[(5, 8), (6, 8)], 12));
}

#[test]
fn killed_again_while_it_takes_up_work_waits_and_timers_each_is_there_once() {
    block_on(sweep_recovery::<Work>(&[(4, 8), (6, 8)], 8));
}
