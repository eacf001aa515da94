//! A log that cannot be written: the host works on without it.

use crate::support::{hello, world};
use holon_testkit::World;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Stdio};

/// A host whose log has no reader that drains it. Killed when dropped.
struct UnreadLogHost(Child);

impl UnreadLogHost {
    /// Starts a host and waits until it reports that it is up.
    fn start(world: &World, log: Stdio) -> Self {
        let model = hello(world);
        let child = world
            .command()
            .args(["serve", "--port", "0", "--model", &model])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut host = Self(child);
        let said = BufReader::new(host.0.stdout.take().unwrap());
        let up = said.lines().any(|line| line.unwrap() == "logs: stderr");
        assert!(up, "the host did not come up: {:?}", host.0.wait());
        host
    }

    /// Asks it to shut down, which it logs, and returns its exit code.
    fn terminate(mut self) -> Option<i32> {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.unwrap(), Signal::TERM).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for UnreadLogHost {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn lines_until(log: ChildStderr, words: &str) {
    let heard = BufReader::new(log)
        .lines()
        .any(|line| line.unwrap().contains(words));
    assert!(heard, "{words:?} was not logged");
}

#[test]
fn a_host_whose_log_has_no_space_comes_up_answers_and_goes_down_in_order() {
    let world = world();
    let full = std::fs::File::options().write(true).open("/dev/full");
    let host = UnreadLogHost::start(&world, full.unwrap().into());
    let status = world.run(&["status"]);
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    assert_eq!(host.terminate(), Some(0));
}

#[test]
fn a_host_goes_on_when_the_reader_of_its_log_is_gone() {
    let world = world();
    let mut host = UnreadLogHost::start(&world, Stdio::piped());
    // The reader is dropped after the last line, so every later line meets a broken pipe.
    lines_until(host.0.stderr.take().unwrap(), "host is up");
    let key = "runtime.default_tool_output_tokens";
    let set = world.run(&["config", "set", key, "5000", "--json"]);
    assert_eq!(set.json()["applied_via"], "daemon", "the host logs it");
    let status = world.run(&["status"]);
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    assert_eq!(host.terminate(), Some(0));
}
