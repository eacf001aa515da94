//! Starts a shim, hands it its spec, and waits for its report.

use super::claim_lock::PATIENCE;
use super::image::Image;
use super::line::LineReader;
use super::shimmed_command::ShimmedCommand;
use crate::record::Report;
use crate::shim::{AHEAD, ARGUMENT};
use crate::spec::{ShimSpec, StartMessage};
use holon_domain::command::CommandFailure;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

/// Starts a command under a shim. Returns when its program was executed or could not be.
///
/// The command's directory must exist, be private and be empty. If the future is dropped, the command may run
/// nevertheless: [`attach`](crate::attach) tells.
///
/// # Errors
/// Fails if the command could not be started, or was started before.
pub async fn start(image: &Image, spec: ShimSpec) -> Result<ShimmedCommand, CommandFailure> {
    let shim = IdleShim::begin(image, Purpose::Command).map_err(|error| broken(&error))?;
    match shim.run_spec(image, spec).await {
        Ok(task) => Ok(task),
        Err(StartError::Refused(failure)) => Err(failure),
        Err(StartError::NoReport { error, .. }) => Err(broken(&error)),
    }
}

/// The purpose a shim is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A command that is waiting to start.
    Command,
    /// A later command that may come.
    Spare,
}

/// A running shim without a spec. Dropping it kills the shim.
#[derive(Debug)]
pub(super) struct IdleShim {
    process: KillOnDrop,
    spec: ChildStdin,
    reports: LineReader,
}

/// Kills its process when dropped, also a suspended one, unless the process was released.
#[derive(Debug)]
struct KillOnDrop(Option<Child>);

/// The reason a shim that got its spec did not report a running command.
#[derive(Debug)]
pub(super) enum StartError {
    /// The shim reported the failure.
    Refused(CommandFailure),
    /// The shim reported nothing. Only the lock of the command shows whether it claimed the command.
    NoReport {
        error: io::Error,
        spec: Box<ShimSpec>,
    },
}

impl IdleShim {
    /// Starts a shim with an empty environment. The command's environment is in the spec.
    pub(super) fn begin(image: &Image, purpose: Purpose) -> io::Result<Self> {
        let mut process = Command::new(image.path())
            .arg0("holon")
            .arg(ARGUMENT)
            .args(match purpose {
                Purpose::Command => None,
                Purpose::Spare => Some(AHEAD),
            })
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(spec), Some(reports)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let reports = LineReader::new(Box::new(reports));
        Ok(Self {
            process: KillOnDrop(Some(process)),
            spec,
            reports,
        })
    }

    /// Hands the shim its spec and waits until the command's program was executed.
    pub(super) async fn run_spec(
        self,
        image: &Image,
        spec: ShimSpec,
    ) -> Result<ShimmedCommand, StartError> {
        let handle = self.process.handle();
        let receive = async {
            let (process, mut reports) = self.send(image, &spec).await?;
            let report = reports.next().await?;
            Ok::<_, io::Error>((report, process, reports))
        };
        let received = tokio::select! {
            received = receive => received,
            // Any process can suspend the shim, and before it has claimed its command only this host knows its pid.
            never = wake_periodically(handle) => match never {},
        };
        let error = match received {
            Ok((Some(Report::Started(identity)), process, reports)) => {
                return Ok(ShimmedCommand::started(spec, identity, reports, process));
            }
            Ok((Some(Report::NotStarted { failure }), ..)) => {
                return Err(StartError::Refused(failure));
            }
            Ok((None, ..)) => {
                io::Error::other("it was killed before it could say whether it began")
            }
            Err(error) => error,
        };
        let spec = Box::new(spec);
        Err(StartError::NoReport { error, spec })
    }

    /// Writes the spec. After that the shim may have claimed its command, so it is no longer killed on drop.
    async fn send(self, image: &Image, spec: &ShimSpec) -> io::Result<(Option<Child>, LineReader)> {
        let Self {
            process,
            spec: mut pipe,
            reports,
        } = self;
        let open_files = image.open_files();
        let mut text = serde_json::to_vec(&StartMessage { spec, open_files })?;
        // The line end marks the end of the spec, so that the shim need not wait until every copy of the pipe is
        // closed.
        text.push(b'\n');
        pipe.write_all(&text).await?;
        Ok((process.release(), reports))
    }

    /// Kills the shim and waits until it is gone.
    pub(super) async fn dismiss(self) {
        if let Some(mut process) = self.process.release() {
            // The exit status does not matter.
            process.kill().await.ok();
        }
    }
}

impl KillOnDrop {
    /// Releases the process; it is not killed on drop any more.
    fn release(mut self) -> Option<Child> {
        self.0.take()
    }

    fn handle(&self) -> Option<OwnedFd> {
        let number = self
            .0
            .as_ref()?
            .id()
            .and_then(|pid| i32::try_from(pid).ok());
        // An unreaped child, so the pid is still its own.
        let pid = number.and_then(Pid::from_raw)?;
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(process) = &mut self.0 {
            // Fails only if the process has ended already.
            process.start_kill().ok();
        }
    }
}

/// Sends SIGCONT periodically until cancelled. It does not affect a process that is not suspended.
async fn wake_periodically(process: Option<OwnedFd>) -> Infallible {
    loop {
        if let Some(process) = &process {
            // If the process has ended, the write of the spec fails.
            pidfd_send_signal(process, Signal::CONT).ok();
        }
        tokio::time::sleep(PATIENCE).await;
    }
}

fn broken(error: &io::Error) -> CommandFailure {
    CommandFailure::Spawn {
        reason: format!("the command's supervisor could not be started: {error}"),
    }
}
