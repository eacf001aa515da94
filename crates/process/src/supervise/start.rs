//! Starting a shim, handing it its spec, and waiting for its word.

use super::holder::PATIENCE;
use super::image::Image;
use super::line::Line;
use super::task::Task;
use crate::record::Report;
use crate::shim::{AHEAD, ARGUMENT};
use crate::spec::{ShimSpec, Told};
use holon_domain::command::CommandFailure;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

/// Starts a command under a shim, and returns when its program was executed or could not be.
///
/// The task's directory must exist, private and empty. When the future is dropped the command may run all the same:
/// [`attach`](crate::attach) tells.
///
/// # Errors
/// When the command could not be started, or was before.
pub async fn start(image: &Image, spec: ShimSpec) -> Result<Task, CommandFailure> {
    let shim = Untold::begin(image, Purpose::Command).map_err(|error| broken(&error))?;
    match shim.tell(image, spec).await {
        Ok(task) => Ok(task),
        Err(Unheard::Refused(failure)) => Err(failure),
        Err(Unheard::NoWord { error, .. }) => Err(broken(&error)),
    }
}

/// What a shim is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A command that is there.
    Command,
    /// One that may come.
    Ahead,
}

/// A shim that runs and has not been told what for. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Untold {
    process: Leash,
    spec: ChildStdin,
    said: Line,
}

/// A process that is killed when this is dropped, suspended or not, unless it was let off.
#[derive(Debug)]
struct Leash(Option<Child>);

/// Why a shim that was told its spec has no task to show.
#[derive(Debug)]
pub(super) enum Unheard {
    /// It said why.
    Refused(CommandFailure),
    /// It said nothing. Whether it took the task on is known by the lock of the task alone.
    NoWord {
        error: io::Error,
        spec: Box<ShimSpec>,
    },
}

impl Untold {
    /// Starts one, without environment: the command's own is in the spec, and ours is none of the shim's business.
    pub(super) fn begin(image: &Image, purpose: Purpose) -> io::Result<Self> {
        let mut process = Command::new(image.path())
            .arg0("holon")
            .arg(ARGUMENT)
            .args(match purpose {
                Purpose::Command => None,
                Purpose::Ahead => Some(AHEAD),
            })
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(spec), Some(said)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let said = Line::new(Box::new(said));
        Ok(Self {
            process: Leash(Some(process)),
            spec,
            said,
        })
    }

    /// Hands it its spec, and waits until it has executed the command's program.
    pub(super) async fn tell(self, image: &Image, spec: ShimSpec) -> Result<Task, Unheard> {
        let handle = self.process.handle();
        let hear = async {
            let (process, mut said) = self.send(image, &spec).await?;
            let report = said.next().await?;
            Ok::<_, io::Error>((report, process, said))
        };
        let heard = tokio::select! {
            heard = hear => heard,
            // Anybody can suspend it at any time, and before it has claimed its task only we know which one it is.
            never = keep_awake(handle) => match never {},
        };
        let error = match heard {
            Ok((Some(Report::Started(identity)), process, said)) => {
                return Ok(Task::started(spec, identity, said, process));
            }
            Ok((Some(Report::NotStarted { failure }), ..)) => {
                return Err(Unheard::Refused(failure));
            }
            Ok((None, ..)) => {
                io::Error::other("it was killed before it could say whether it began")
            }
            Err(error) => error,
        };
        let spec = Box::new(spec);
        Err(Unheard::NoWord { error, spec })
    }

    /// Hands it its spec. Once it has all of it, it may have claimed its task, and goes on without us.
    async fn send(self, image: &Image, spec: &ShimSpec) -> io::Result<(Option<Child>, Line)> {
        let Self {
            process,
            spec: mut pipe,
            said,
        } = self;
        let open_files = image.open_files();
        let mut text = serde_json::to_vec(&Told { spec, open_files })?;
        // The line says that this was all of it, so that nobody has to wait for every copy of the pipe to be closed.
        text.push(b'\n');
        pipe.write_all(&text).await?;
        Ok((process.let_off(), said))
    }

    /// Ends it, and returns when it is gone.
    pub(super) async fn dismiss(self) {
        if let Some(mut process) = self.process.let_off() {
            // Nobody has a use for how it went.
            process.kill().await.ok();
        }
    }
}

impl Leash {
    /// Its process, which is not killed any more.
    fn let_off(mut self) -> Option<Child> {
        self.0.take()
    }

    fn handle(&self) -> Option<OwnedFd> {
        let number = self
            .0
            .as_ref()?
            .id()
            .and_then(|pid| i32::try_from(pid).ok());
        // A child of ours that nobody reaped: the number is its own.
        let pid = number.and_then(Pid::from_raw)?;
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if let Some(process) = &mut self.0 {
            // One that has ended needs no end.
            process.start_kill().ok();
        }
    }
}

/// Has a process go on, now and again and again. To one that is not suspended this means nothing.
async fn keep_awake(process: Option<OwnedFd>) -> Infallible {
    loop {
        if let Some(process) = &process {
            // That it has ended is found out when it is told.
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
