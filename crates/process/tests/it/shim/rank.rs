//! Tests of the scheduling priorities of host, shim and command.

use super::place::{Place, TEST_TIMEOUT, begin, end_of, wait_for_output};
use holon_process::{ShimSpec, ShimmedCommand};
use rustix::process::{Pid, getpriority_process};

/// Starts a command that waits. Returns it with the pids of its shim and itself.
async fn waiting(place: &Place, niceness: u8) -> (ShimmedCommand, [i32; 2]) {
    let spec = ShimSpec {
        accepts_input: true,
        niceness,
        ..place.spec("echo $PPID up; read x")
    };
    let task = begin(spec).await;
    let output_text = wait_for_output(&task, 0, "up").await;
    let shim = output_text
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let command = task.identity().pid;
    (task, [shim, command])
}

fn niceness(pid: i32) -> i32 {
    getpriority_process(Pid::from_raw(pid)).unwrap()
}

fn ours() -> i32 {
    getpriority_process(None).unwrap()
}

/// Niceness of a process's autogroup; `None` on systems without autogroups.
fn of_group(pid: &str) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()?;
    text.trim().rsplit(' ').next()?.parse().ok()
}

#[tokio::test]
async fn the_host_comes_before_the_shim_and_the_shim_before_the_command() {
    let place = Place::new();
    let (task, pids) = waiting(&place, 5).await;
    // The shim sets its own niceness after it has reported the start.
    assert_eq!(
        pids.map(niceness),
        [2, 5].map(|nice| (ours() + nice).min(19))
    );
    task.input(1, b"\n").await.unwrap();
    end_of(&task).await;
}

#[tokio::test]
#[allow(clippy::print_stdout, reason = "what is not tested has to be said")]
async fn whole_sessions_step_back_where_they_are_groups_of_the_scheduler() {
    if of_group("self").is_none() {
        println!("not run: this system makes no groups of sessions");
        return;
    }
    let place = Place::new();
    let (task, pids) = waiting(&place, 5).await;
    let wanted = [Some(2), Some(5)];
    let groups = || pids.map(|pid| of_group(&pid.to_string()));
    let stepped_back = async {
        while groups() != wanted {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(TEST_TIMEOUT, stepped_back).await;
    assert!(waited.is_ok(), "{:?}", groups());
    task.input(1, b"\n").await.unwrap();
    end_of(&task).await;
}

#[tokio::test]
async fn a_niceness_of_zero_changes_nothing() {
    let place = Place::new();
    let (task, pids) = waiting(&place, 0).await;
    assert_eq!(pids.map(niceness), [ours(), ours()]);
    task.input(1, b"\n").await.unwrap();
    end_of(&task).await;
}
