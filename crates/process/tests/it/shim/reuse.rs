//! Tests of reused pids.

use super::namespace::inside;
use super::place::{Place, TEST_TIMEOUT, begin, image, kill_shim, wait_for_output};
use holon_domain::command::UnknownCause;
use holon_process::{
    Error, ShimSpec, ShimmedCommand, ShimmedState, StoppedState, attach, start, stop,
};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// An unrelated process that leads its own group, so that a signal to the group of its pid would hit it too.
struct Decoy(Child);

impl Decoy {
    /// Starts one with this pid, which must be free.
    fn with(pid: i32) -> Self {
        Self::of(pid, || {
            let mut sleep = Command::new("sleep");
            sleep.arg("3600").process_group(0);
            sleep
        })
    }

    /// Starts one that leads a session with this pid.
    fn leading(pid: i32) -> Self {
        Self::of(pid, || {
            let mut leader = Command::new("setsid");
            leader.args(["sleep", "3600"]);
            leader
        })
    }

    fn of(pid: i32, command: impl Fn() -> Command) -> Self {
        // A thread of this test can take the pid first.
        for _ in 0..100 {
            let last = (pid - 1).to_string();
            std::fs::write("/proc/sys/kernel/ns_last_pid", last).unwrap();
            let mut decoy = Self(command().spawn().unwrap());
            if decoy.0.id() == u32::try_from(pid).unwrap() {
                assert!(decoy.is_alive());
                return decoy;
            }
        }
        panic!("number {pid} is not to be had");
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Attaches to a task again, and returns the pids of its shim and its command.
async fn attach_again(place: &Place) -> (Box<ShimmedCommand>, i32, i32) {
    let cmd = "echo shim $PPID command $$ up; read x";
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec(cmd)
    };
    let started = begin(spec).await;
    let output_text = wait_for_output(&started, 0, "up").await;
    drop(started);
    let words: Vec<&str> = output_text.split_whitespace().collect();
    let number = |index: usize| words[index].parse::<i32>().unwrap();
    let ShimmedState::Running(task) = attach(place.locator()).await else {
        panic!("it is alive");
    };
    assert_eq!(task.identity().pid, number(3));
    (task, number(1), number(3))
}

/// Waits until a pid is free and the clock tick has changed, so that the next owner has another start time. Only in a
/// test can a pid be reused this soon. Orphans become children of this test, because it is the first process here.
async fn wait_until_free(number: i32) {
    let free = async {
        while Path::new(&format!("/proc/{number}")).exists() {
            waitpid(Pid::from_raw(number), WaitOptions::NOHANG).ok();
            tokio::task::yield_now().await;
        }
        let now = ticks();
        while ticks() <= now + 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, free)
        .await
        .expect("it dies");
}

/// Time since boot in hundredths of a second.
fn ticks() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let digits = uptime.split_whitespace().next().unwrap().replace('.', "");
    digits.parse().unwrap()
}

#[test]
fn a_stranger_with_the_number_of_a_dead_shim_or_command_is_left_alone() {
    let name = "a_stranger_with_the_number_of_a_dead_shim_or_command_is_left_alone";
    inside(module_path!(), name, async {
        let place = Place::new();
        let (task, shim, command) = attach_again(&place).await;
        kill_shim(&shim.to_string());
        wait_until_free(shim).await;
        wait_until_free(command).await;
        let mut decoys = [Decoy::with(shim), Decoy::with(command)];

        let unreachable = |result: Result<(), Error>| match result {
            Err(Error::Unreachable { .. }) => {}
            other => panic!("{other:?}"),
        };
        unreachable(task.signal(9).await);
        unreachable(task.close_input(1).await);
        assert_eq!(task.output().await, Err(Error::Lost));
        assert_eq!(task.stop(Duration::ZERO).await, Err(Error::Lost));
        assert_eq!(task.ended().await, Err(Error::Lost));
        let found = attach(place.locator()).await;
        assert!(
            matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorDied)),
            "{found:?}"
        );
        start(&image(), place.spec("true"))
            .await
            .expect_err("a task is started once");
        for decoy in &mut decoys {
            assert!(decoy.is_alive());
        }
    });
}

/// Pids of the living processes in a session.
fn in_session(leader: i32) -> Vec<String> {
    let session = |pid: &str| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let is_dead = fields.next()? == "Z";
        (!is_dead).then(|| fields.nth(2)?.parse().ok())?
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let names = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    names.filter(|pid| session(pid) == Some(leader)).collect()
}

/// Calls every function that ends what a dead shim left behind.
async fn end_leftovers(place: &Place, task: &ShimmedCommand) {
    assert_eq!(task.ended().await, Err(Error::Lost));
    assert_eq!(task.stop(Duration::ZERO).await, Err(Error::Lost));
    let found = attach(place.locator()).await;
    assert!(
        matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorDied)),
        "{found:?}"
    );
    let stopped = stop(place.locator(), Duration::ZERO).await;
    assert!(
        matches!(stopped, StoppedState::Unknown(UnknownCause::SupervisorDied)),
        "{stopped:?}"
    );
}

#[test]
fn a_session_whose_number_was_a_dead_commands_is_left_alone() {
    let name = "a_session_whose_number_was_a_dead_commands_is_left_alone";
    inside(module_path!(), name, async {
        let place = Place::new();
        let (task, shim, command) = attach_again(&place).await;
        kill_shim(&shim.to_string());
        wait_until_free(shim).await;
        wait_until_free(command).await;
        let mut decoys = [Decoy::leading(shim), Decoy::leading(command)];
        end_leftovers(&place, &task).await;
        for decoy in &mut decoys {
            assert!(decoy.is_alive());
        }
    });
}

#[test]
#[allow(clippy::print_stdout, reason = "what is not tested has to be said")]
fn a_session_whose_number_was_a_dead_commands_is_left_alone_also_without_its_leader() {
    if !Path::new("/proc/self/autogroup").exists() {
        println!("not run: this system does not tell sessions of one number apart");
        return;
    }
    let name = "a_session_whose_number_was_a_dead_commands_is_left_alone_also_without_its_leader";
    inside(module_path!(), name, async {
        let place = Place::new();
        let (task, shim, command) = attach_again(&place).await;
        kill_shim(&shim.to_string());
        wait_until_free(shim).await;
        wait_until_free(command).await;
        let family = || {
            let mut leader = Command::new("setsid");
            leader.args(["sh", "-c", "sleep 3600 & wait"]);
            leader
        };
        let leader = Decoy::of(command, family);
        let members = || in_session(command);
        while members().len() < 2 {
            tokio::task::yield_now().await;
        }
        drop(leader);
        wait_until_free(command).await;
        let before = members();
        assert_eq!(before.len(), 1, "{before:?}");
        end_leftovers(&place, &task).await;
        assert_eq!(members(), before);
    });
}
