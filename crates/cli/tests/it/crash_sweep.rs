//! The process is killed at every point where it can matter, once in each run, and started again: nothing that was
//! acknowledged is lost, nothing is answered twice, and no side effect happens twice.
//!
//! A reference run counts the points a short scenario passes. Each part of the sweep takes every n-th of them, so that
//! the parts run beside each other. A second sweep kills the process again while it recovers.

#![allow(
    clippy::print_stdout,
    reason = "how many points were swept is part of the result"
)]

mod host;
mod scenario;

use holon_testkit::World;
use holon_testkit::checker::{check, check_marks};
use host::{Crash, Host};
use scenario::{Drive, Scripts};

/// Parts of the sweep.
const PARTS: u64 = 4;
/// Points each part reaches even when as many commits as can be come together.
const FEWEST: u64 = 15;

fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_holon"))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// How many points the scenario passes when nothing goes wrong.
async fn count_points(scripts: &Scripts) -> u64 {
    let world = world();
    let log = world.path().join("points");
    let mut drive = Drive::new(scripts);
    let host = Host::start(&world, &Crash::Log(log.clone())).expect("a host without crashes");
    drive.finish(&world, Some(host)).await;
    judge(&world, &drive, "the reference run");
    let points = std::fs::read_to_string(log).expect("a list of points");
    points.lines().count() as u64
}

/// Looks at what is left when everything has settled.
fn judge(world: &World, drive: &Drive<'_>, what: &str) {
    for (agent, story) in &drive.stories {
        let wrong = check(story);
        assert!(wrong.is_empty(), "{what}: {agent}: {wrong:#?}\n{story:#?}");
    }
    let marks = std::fs::read_to_string(world.path().join("marks")).unwrap_or_default();
    let marks: Vec<String> = marks.lines().map(str::to_owned).collect();
    let wrong = check_marks(&marks);
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
}

/// Kills the process at every `PARTS`-th point, each time in a world of its own.
async fn sweep(part: u64) {
    let scripts_world = world();
    let scripts = Scripts::write(&scripts_world);
    let points = count_points(&scripts).await;
    let (mut died, mut missed) = (0, 0);
    // Commits that come together are one, so two runs do not pass the same number of points: the end is where a few in
    // a row are not reached.
    for point in (1..).filter(|point| point % PARTS == part) {
        let world = world();
        let mut drive = Drive::new(&scripts);
        let host = Host::start(&world, &Crash::At(point));
        drive.finish(&world, host).await;
        judge(&world, &drive, &format!("killed at point {point}"));
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
    assert!(died >= FEWEST, "killed at {died} points only");
}

#[test]
fn killed_at_any_point_nothing_is_lost_or_done_twice_first_part() {
    block_on(sweep(0));
}

#[test]
fn killed_at_any_point_nothing_is_lost_or_done_twice_second_part() {
    block_on(sweep(1));
}

#[test]
fn killed_at_any_point_nothing_is_lost_or_done_twice_third_part() {
    block_on(sweep(2));
}

#[test]
fn killed_at_any_point_nothing_is_lost_or_done_twice_fourth_part() {
    block_on(sweep(3));
}

/// Kills the process at this point, or at one a little earlier where this run does not come so far.
async fn kill_once<'a>(scripts: &'a Scripts, world: &World, point: u64) -> (u64, Drive<'a>) {
    let mut point = point;
    loop {
        host::replace(world, &self::world());
        let mut drive = Drive::new(scripts);
        let host = Host::start(world, &Crash::At(point));
        if drive.until_death(world, host).await {
            return (point, drive);
        }
        point = point * 9 / 10;
    }
}

/// Kills the process at one point, and again at every point of the start that follows.
async fn sweep_recovery(shares: &[(u64, u64)]) {
    let scripts_world = world();
    let scripts = Scripts::write(&scripts_world);
    let points = count_points(&scripts).await;
    let mut swept = 0;
    for (share, of) in shares {
        let (world, kept) = (world(), world());
        let (first, drive) = kill_once(&scripts, &world, points * share / of).await;
        host::replace(&kept, &world);
        for second in 1.. {
            // In the same place, because agents know theirs.
            host::replace(&world, &kept);
            if Host::start(&world, &Crash::At(second)).is_some() {
                break;
            }
            let mut again = drive.clone();
            again.finish(&world, None).await;
            let what = format!("killed at point {first} and at point {second} of the next start");
            judge(&world, &again, &what);
            swept += 1;
        }
    }
    println!(
        "swept {swept} points of {} starts after a crash",
        shares.len()
    );
    assert!(swept >= 4 * shares.len(), "only {swept} points");
}

#[test]
fn killed_again_while_it_recovers_nothing_is_lost_or_done_twice_early_on() {
    block_on(sweep_recovery(&[(2, 8), (3, 8), (4, 8)]));
}

#[test]
fn killed_again_while_it_recovers_nothing_is_lost_or_done_twice_later_on() {
    block_on(sweep_recovery(&[(5, 8), (6, 8), (7, 8)]));
}
