//! Shims that are started before there is a command for them.

use super::place::{FOREVER, Place, end_of, image, kill_shim};
use holon_domain::command::CommandEnd;
use holon_process::Shims;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal};
use std::time::Duration;

/// Runs a command that says who its shim is.
async fn shim_of_one(shims: &Shims) -> String {
    let place = Place::new();
    let started = tokio::time::timeout(FOREVER, shims.start(place.spec("echo $PPID"))).await;
    let task = started.expect("it starts").unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
    place.out().trim().to_owned()
}

/// The children of this thread, dead ones that nobody reaped included.
fn children() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Waits until so many are left, and returns them.
async fn until_left(count: usize) -> Vec<String> {
    let look = async {
        while children().len() != count {
            tokio::task::yield_now().await;
        }
        children()
    };
    let left = tokio::time::timeout(FOREVER, look).await;
    left.unwrap_or_else(|_| panic!("{:?} are left, not {count}", children()))
}

/// The one that waits for its spec.
async fn the_one_ahead() -> String {
    until_left(1).await.remove(0)
}

#[tokio::test]
async fn the_next_command_gets_the_shim_that_waits() {
    let shims = Shims::new(image());
    assert!(children().is_empty(), "nobody asked for one");
    shim_of_one(&shims).await;
    for _ in 0..3 {
        let waits = the_one_ahead().await;
        assert_eq!(shim_of_one(&shims).await, waits);
    }
}

#[tokio::test]
async fn a_shim_that_is_killed_while_it_waits_costs_no_command() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = the_one_ahead().await;
    kill_shim(&waits);
    assert_ne!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn a_shim_that_is_suspended_while_it_waits_is_woken() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = the_one_ahead().await;
    let pid = Pid::from_raw(waits.parse().unwrap()).unwrap();
    let shim = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    pidfd_send_signal(&shim, Signal::STOP).unwrap();
    let stopped = rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED).unwrap();
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
    assert_eq!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn a_shim_that_waits_in_vain_is_let_go() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = the_one_ahead().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    until_left(0).await;
    assert_ne!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn no_shim_waits_for_a_host_that_is_gone() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    the_one_ahead().await;
    // All that a host which is killed does for it, too: its end of the pipe is closed.
    drop(shims);
    until_left(0).await;
}

#[tokio::test]
async fn what_waits_knows_a_spec_of_any_length() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    the_one_ahead().await;
    let place = Place::new();
    let mut spec = place.spec("printf %s \"$LONG\" | wc -c");
    // More than a pipe holds.
    spec.env.push(("LONG".to_owned(), "x".repeat(120_000)));
    spec.env.push(("LONGER".to_owned(), "y".repeat(120_000)));
    let task = shims.start(spec).await.unwrap();
    end_of(&task).await;
    assert_eq!(place.out().trim(), "120000");
}
