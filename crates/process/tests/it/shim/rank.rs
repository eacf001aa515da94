//! Who comes first when processors are short.

use super::place::{FOREVER, Place, begin, end_of, until_said};
use holon_process::{ShimSpec, Task};
use rustix::process::{Pid, getpriority_process};

/// A command that waits, and the numbers of its shim and itself.
async fn waiting(place: &Place, niceness: u8) -> (Task, [i32; 2]) {
    let spec = ShimSpec {
        accepts_input: true,
        niceness,
        ..place.spec("echo $PPID up; read x")
    };
    let task = begin(spec).await;
    let said = until_said(&task, 0, "up").await;
    let shim = said.split_whitespace().next().unwrap().parse().unwrap();
    let command = task.identity().pid;
    (task, [shim, command])
}

fn niceness(pid: i32) -> i32 {
    getpriority_process(Pid::from_raw(pid)).unwrap()
}

fn ours() -> i32 {
    getpriority_process(None).unwrap()
}

/// How far the session of a process has stepped back; none where the system has no such groups.
fn of_group(pid: &str) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()?;
    text.trim().rsplit(' ').next()?.parse().ok()
}

#[tokio::test]
async fn the_host_comes_before_the_shim_and_the_shim_before_the_command() {
    let place = Place::new();
    let (task, pids) = waiting(&place, 5).await;
    // The shim does so for itself once it has said that the command runs.
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
    let waited = tokio::time::timeout(FOREVER, stepped_back).await;
    assert!(waited.is_ok(), "{:?}", groups());
    task.input(1, b"\n").await.unwrap();
    end_of(&task).await;
}

#[tokio::test]
async fn nobody_steps_back_who_was_not_asked_to() {
    let place = Place::new();
    let (task, pids) = waiting(&place, 0).await;
    assert_eq!(pids.map(niceness), [ours(), ours()]);
    task.input(1, b"\n").await.unwrap();
    end_of(&task).await;
}
