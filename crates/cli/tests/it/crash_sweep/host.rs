//! A host that may be killed at any moment, also before it is ready.

use holon_client::Client;
use holon_testkit::World;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use tokio::net::unix::pipe::Receiver;

/// Crash point of a host.
#[derive(Debug, Clone)]
pub(super) enum Crash {
    Never,
    /// Never crashes, and logs the passed points to this file.
    Log(PathBuf),
    /// Crashes at this point, counted from the start.
    At(u64),
}

/// A running host. Killed when dropped.
#[derive(Debug)]
pub(super) struct Host {
    child: Child,
    output: Receiver,
    pub(super) client: Client,
}

impl Host {
    /// Starts a host; `None` if it was killed before it was ready.
    pub(super) fn start(world: &World, crash: &Crash) -> Option<Self> {
        let mut command = world.command();
        command.args(["serve", "--port", "0"]);
        match crash {
            Crash::Never => {}
            Crash::Log(path) => drop(command.env("HOLON_CRASH_LOG", path)),
            Crash::At(point) => drop(command.env("HOLON_CRASH_AT", point.to_string())),
        }
        let errors = std::fs::File::create(world.path().join("stderr")).expect("a file");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("the host starts");
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let mut lines = BufReader::new(stdout);
        let (mut socket, mut line) = (None, String::new());
        while lines.read_line(&mut line).expect("a line of text") > 0 {
            if let Some(path) = line.trim_end().strip_prefix("socket ") {
                socket = Some(PathBuf::from(path));
            }
            if line == "logs: stderr\n" {
                let output = OwnedFd::from(lines.into_inner());
                return Some(Self {
                    child,
                    output: Receiver::from_owned_fd(output).expect("a pipe"),
                    client: Client::unix(socket.expect("the socket is named first")),
                });
            }
            line.clear();
        }
        assert_killed(world, &mut child);
        None
    }

    /// Returns when the process has ended, which closes its standard output.
    pub(super) async fn died(&self) {
        let mut said = [0; 64];
        while !matches!(self.output.try_read(&mut said), Ok(0)) {
            self.output.readable().await.expect("a pipe");
        }
    }

    /// Asserts that a host that does not answer was killed at its crash point.
    pub(super) fn bury(mut self, world: &World) {
        assert_killed(world, &mut self.child);
    }
}

fn assert_killed(world: &World, child: &mut Child) {
    use std::os::unix::process::ExitStatusExt as _;
    let status = child.wait().expect("the host ends");
    assert_eq!(status.signal(), Some(9), "{status:?}: {}", said(world));
}

/// Returns the log of the newest host of a world.
pub(super) fn said(world: &World) -> String {
    std::fs::read_to_string(world.path().join("stderr")).unwrap_or_default()
}

impl Drop for Host {
    fn drop(&mut self) {
        // The process may already have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
