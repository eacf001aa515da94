//! Numbers of dead processes that others have now.

use super::namespace::inside;
use super::place::{FOREVER, NONCE, Place, begin, image, kill_shim, until_said};
use holon_process::{Attached, Error, ShimSpec, Task, attach, start};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// A stranger that leads its own group, so that a signal to the group of its number would hit it too.
struct Decoy(Child);

impl Decoy {
    /// One with this number, which must be free.
    fn with(wanted: i32) -> Self {
        // A thread of ours can come between.
        for _ in 0..100 {
            let last = (wanted - 1).to_string();
            std::fs::write("/proc/sys/kernel/ns_last_pid", last).unwrap();
            let sleep = Command::new("sleep").arg("3600").process_group(0).spawn();
            let mut decoy = Self(sleep.unwrap());
            if decoy.0.id() == u32::try_from(wanted).unwrap() {
                assert!(decoy.is_alive());
                return decoy;
            }
        }
        panic!("number {wanted} is not to be had");
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

/// A task whose host has come back, with the numbers of its shim and its command.
async fn found_again(place: &Place) -> (Box<Task>, i32, i32) {
    let cmd = "echo shim $PPID command $$ up; read x";
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec(cmd)
    };
    let started = begin(spec).await;
    let said = until_said(&started, 0, "up").await;
    drop(started);
    let words: Vec<&str> = said.split_whitespace().collect();
    let number = |index: usize| words[index].parse::<i32>().unwrap();
    let Attached::Alive(task) = attach(&place.state_dir(), NONCE).await else {
        panic!("it is alive");
    };
    assert_eq!(task.identity().pid, number(3));
    (task, number(1), number(3))
}

/// Waits until a number is nobody's. Whose parent has died is our child here, since we are the first process.
async fn until_free(number: i32) {
    let free = async {
        while Path::new(&format!("/proc/{number}")).exists() {
            waitpid(Pid::from_raw(number), WaitOptions::NOHANG).ok();
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(FOREVER, free).await.expect("it dies");
}

#[test]
fn a_stranger_with_the_number_of_a_dead_shim_or_command_is_left_alone() {
    let name = "a_stranger_with_the_number_of_a_dead_shim_or_command_is_left_alone";
    inside(module_path!(), name, async {
        let place = Place::new();
        let (task, shim, command) = found_again(&place).await;
        kill_shim(&shim.to_string());
        until_free(shim).await;
        until_free(command).await;
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
        let found = attach(&place.state_dir(), NONCE).await;
        assert!(matches!(found, Attached::Gone), "{found:?}");
        start(&image(), place.spec("true"))
            .await
            .expect_err("a task is started once");
        for decoy in &mut decoys {
            assert!(decoy.is_alive());
        }
    });
}
