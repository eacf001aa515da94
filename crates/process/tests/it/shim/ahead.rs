//! Tests of idle shims, which are started before there is a command for them.

use super::namespace::value_of;
use super::place::{Place, TEST_TIMEOUT, end_of, handle, image, kill_shim, suspend};
use holon_domain::command::CommandEnd;
use holon_process::{ShimmedState, Shims, attach};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Environment variable: this program is a host that a test will kill.
const HOST: &str = "HOLON_TESTS_HOST_TO_BE_KILLED";

/// Runs a command that prints the pid of its shim.
pub(super) async fn shim_of_one(shims: &Shims) -> String {
    let place = Place::new();
    let started = tokio::time::timeout(TEST_TIMEOUT, shims.start(place.spec("echo $PPID"))).await;
    let task = started.expect("it starts").unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
    place.out().trim().to_owned()
}

/// Pids of the children of this thread, including unreaped ones.
fn children() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Waits until `count` children are left, and returns them.
async fn wait_for_children(count: usize) -> Vec<String> {
    let look = async {
        while children().len() != count {
            tokio::task::yield_now().await;
        }
        children()
    };
    let left = tokio::time::timeout(TEST_TIMEOUT, look).await;
    left.unwrap_or_else(|_| panic!("{:?} are left, not {count}", children()))
}

/// Returns the pid of the idle shim.
pub(super) async fn idle_shim() -> String {
    wait_for_children(1).await.remove(0)
}

/// Advances the clock past the idle timeout.
async fn pass_idle_timeout() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn the_next_command_gets_the_shim_that_waits() {
    let shims = Shims::new(image());
    assert!(children().is_empty(), "no command was started yet");
    shim_of_one(&shims).await;
    for _ in 0..3 {
        let waits = idle_shim().await;
        assert_eq!(shim_of_one(&shims).await, waits);
    }
}

#[tokio::test]
async fn a_shim_that_is_killed_while_it_waits_costs_no_command() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = idle_shim().await;
    kill_shim(&waits);
    assert_ne!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn a_shim_that_is_suspended_while_it_waits_is_woken() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = idle_shim().await;
    suspend(&waits);
    assert_eq!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn a_shim_that_waits_in_vain_is_let_go() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = idle_shim().await;
    pass_idle_timeout().await;
    wait_for_children(0).await;
    assert_ne!(shim_of_one(&shims).await, waits);
}

#[tokio::test]
async fn a_shim_that_is_suspended_and_waits_in_vain_is_let_go() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    suspend(&idle_shim().await);
    pass_idle_timeout().await;
    wait_for_children(0).await;
}

#[tokio::test]
async fn no_shim_waits_for_a_host_that_is_gone() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    idle_shim().await;
    drop(shims);
    wait_for_children(0).await;
}

#[tokio::test]
async fn no_suspended_shim_waits_for_shims_that_are_dropped() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    suspend(&idle_shim().await);
    drop(shims);
    wait_for_children(0).await;
}

/// Waits until a shim has set its process name. Before that it has the name of a number or of this program.
async fn wait_for_process_name(pid: &str) {
    let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    let look = async {
        while name() != "holon-shim\n" {
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(TEST_TIMEOUT, look).await;
    settled.unwrap_or_else(|_| panic!("it is called {}", name()));
}

/// A host that prints the pid of its idle shim, suspended or not, and then waits for ever.
#[allow(
    clippy::print_stderr,
    reason = "the test that kills this host reads it"
)]
async fn host(suspended: &str) {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    let waits = idle_shim().await;
    wait_for_process_name(&waits).await;
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
        let lines = BufReader::new(host.stderr.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let waits = lines.find_map(|line| Some(line.strip_prefix("waits: ")?.to_owned()));
        let shim = handle(&waits.expect("it says so"));
        host.kill().unwrap();
        host.wait().unwrap();
        let mut ends = [PollFd::new(&shim, PollFlags::IN)];
        let forever = Timespec::try_from(TEST_TIMEOUT).unwrap();
        assert_eq!(
            poll(&mut ends, Some(&forever)),
            Ok(1),
            "suspended: {suspended}"
        );
    }
}

#[test]
fn a_shim_that_was_idle_outlives_the_thread_that_gave_it_a_command() {
    let place = Place::new();
    let spec = place.spec("exec sleep 3600");
    let runtime = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap()
    };
    let starter = std::thread::spawn(move || {
        runtime().block_on(async {
            let shims = Shims::new(image());
            shim_of_one(&shims).await;
            let waits = idle_shim().await;
            let task = shims.start(spec).await.unwrap();
            assert!(children().contains(&waits), "it was the one that waited");
            drop(task);
        });
    });
    // A child ends with the thread that started it, unless its death signal was cleared.
    starter.join().unwrap();
    runtime().block_on(async {
        let found = attach(place.locator()).await;
        let ShimmedState::Running(task) = found else {
            panic!("{found:?}");
        };
        assert!(task.stop(Duration::ZERO).await.unwrap().stopped);
    });
}

#[tokio::test]
async fn an_idle_shim_accepts_a_spec_of_any_length() {
    let shims = Shims::new(image());
    shim_of_one(&shims).await;
    idle_shim().await;
    let place = Place::new();
    let mut spec = place.spec("printf %s \"$LONG\" | wc -c");
    // Longer than the capacity of a pipe.
    spec.env.push(("LONG".to_owned(), "x".repeat(120_000)));
    spec.env.push(("LONGER".to_owned(), "y".repeat(120_000)));
    let task = shims.start(spec).await.unwrap();
    end_of(&task).await;
    assert_eq!(place.out().trim(), "120000");
}
