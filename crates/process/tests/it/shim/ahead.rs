//! Shims that are started before there is a command for them.

use super::namespace::value_of;
use super::place::{FOREVER, Place, end_of, handle, image, kill_shim, suspend};
use holon_domain::command::CommandEnd;
use holon_process::{Shims, TaskState, attach};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Says that this program is a host that is to be killed.
const HOST: &str = "HOLON_TESTS_HOST_TO_BE_KILLED";

/// Runs a command that says who its shim is.
pub(super) async fn shim_of_one(shims: &Shims) -> String {
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
pub(super) async fn the_one_ahead() -> String {
    until_left(1).await.remove(0)
}

/// Passes the time that a shim waits for its spec.
async fn nobody_comes() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
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
    suspend(&waits);
    assert_eq!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn a_shim_that_waits_in_vain_is_let_go() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = the_one_ahead().await;
    nobody_comes().await;
    until_left(0).await;
    assert_ne!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn a_shim_that_is_suspended_and_waits_in_vain_is_let_go() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    suspend(&the_one_ahead().await);
    nobody_comes().await;
    until_left(0).await;
}

#[tokio::test]
async fn no_shim_waits_for_a_host_that_is_gone() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    the_one_ahead().await;
    drop(shims);
    until_left(0).await;
}

#[tokio::test]
async fn no_suspended_shim_waits_for_shims_that_are_dropped() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    suspend(&the_one_ahead().await);
    drop(shims);
    until_left(0).await;
}

/// Waits until a shim has got as far as to call itself one: just started it is called by a number, or as this program.
async fn until_settled_in(pid: &str) {
    let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    let look = async {
        while name() != "holon-shim\n" {
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(FOREVER, look).await;
    settled.unwrap_or_else(|_| panic!("it is called {}", name()));
}

/// A host that says which shim waits for it, suspended or not, and then does nothing any more.
#[allow(clippy::print_stderr, reason = "whoever kills it has to know")]
async fn host(suspended: &str) {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = the_one_ahead().await;
    until_settled_in(&waits).await;
    if suspended == "yes" {
        suspend(&waits);
    }
    eprintln!("waits: {waits}");
    std::future::pending().await
}

#[tokio::test]
async fn no_shim_waits_for_a_host_that_is_killed() {
    if let Some(suspended) = value_of(HOST) {
        return host(&suspended).await;
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    for suspended in ["no", "yes"] {
        let mut host = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                &format!("{module}::no_shim_waits_for_a_host_that_is_killed"),
            ])
            .args(["--nocapture", "--test-threads=1"])
            .env(HOST, suspended)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(host.stderr.take().unwrap()).lines();
        let mut said = said.map(Result::unwrap);
        let waits = said.find_map(|line| Some(line.strip_prefix("waits: ")?.to_owned()));
        let shim = handle(&waits.expect("it says so"));
        host.kill().unwrap();
        host.wait().unwrap();
        let mut ends = [PollFd::new(&shim, PollFlags::IN)];
        let forever = Timespec::try_from(FOREVER).unwrap();
        assert_eq!(
            poll(&mut ends, Some(&forever)),
            Ok(1),
            "suspended: {suspended}"
        );
    }
}

#[test]
fn a_shim_that_waited_outlives_whoever_told_it_of_its_command() {
    let place = Place::new();
    let spec = place.spec("exec sleep 3600");
    let runtime = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap()
    };
    let told = std::thread::spawn(move || {
        runtime().block_on(async {
            let shims = Shims::new(image());
            shim_of_one(&shims).await;
            let waits = the_one_ahead().await;
            let task = shims.start(spec).await.unwrap();
            assert!(children().contains(&waits), "it was the one that waited");
            drop(task);
        });
    });
    // What a thread started ends with it, unless it was told better.
    told.join().unwrap();
    runtime().block_on(async {
        let found = attach(place.sought()).await;
        let TaskState::Running(task) = found else {
            panic!("{found:?}");
        };
        assert!(task.stop(Duration::ZERO).await.unwrap().stopped);
    });
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
