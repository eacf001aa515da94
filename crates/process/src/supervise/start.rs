//! Starting a shim, handing it its spec, and waiting for its word.

use super::holder;
use super::image::Image;
use super::line::Line;
use super::task::Task;
use crate::record::Report;
use crate::shim::ARGUMENT;
use crate::spec::{ShimSpec, Told};
use holon_domain::command::CommandFailure;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
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
    let shim = Untold::begin(image).map_err(|error| broken(&error))?;
    match shim.tell(image, spec).await {
        Ok(task) => Ok(task),
        Err(Unheard::Refused(failure)) => Err(failure),
        Err(Unheard::NoWord { error, .. }) => Err(broken(&error)),
    }
}

/// A shim that runs and has not been told what for. Dropped, it ends by itself.
#[derive(Debug)]
pub(super) struct Untold {
    process: Child,
    spec: ChildStdin,
    said: Line,
}

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
    pub(super) fn begin(image: &Image) -> io::Result<Self> {
        let mut process = Command::new(image.path())
            .arg0("holon")
            .arg(ARGUMENT)
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
            process,
            spec,
            said,
        })
    }

    /// Hands it its spec, and waits until it has executed the command's program.
    pub(super) async fn tell(mut self, image: &Image, spec: ShimSpec) -> Result<Task, Unheard> {
        let heard = match self.send(image, &spec).await {
            Ok(()) => holder::woken(&spec.state_dir, self.said.next()).await,
            Err(error) => Err(error),
        };
        let error = match heard {
            Ok(Some(Report::Started(identity))) => {
                return Ok(Task::started(spec, identity, self.said, self.process));
            }
            Ok(Some(Report::NotStarted { failure })) => return Err(Unheard::Refused(failure)),
            Ok(None) => io::Error::other("it was killed before it could say whether it began"),
            Err(error) => error,
        };
        let spec = Box::new(spec);
        Err(Unheard::NoWord { error, spec })
    }

    async fn send(&mut self, image: &Image, spec: &ShimSpec) -> io::Result<()> {
        let open_files = image.open_files();
        let text = serde_json::to_vec(&Told { spec, open_files })?;
        self.spec.write_all(&text).await?;
        // The line says that this was all of it, so that nobody has to wait for every copy of the pipe to be closed.
        self.spec.write_all(b"\n").await
    }

    /// Has it go on, in case somebody suspended it while it had nothing to do.
    pub(super) fn wake(&self) {
        let number = self.process.id().and_then(|pid| i32::try_from(pid).ok());
        // A child of ours that nobody reaped: the number is its own.
        if let Some(pid) = number.and_then(Pid::from_raw)
            && let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
        {
            // One that has ended is found out when it is told.
            pidfd_send_signal(&handle, Signal::CONT).ok();
        }
    }

    /// Lets it go, and returns when it is gone.
    pub(super) async fn dismiss(self) {
        let Self {
            mut process, spec, ..
        } = self;
        drop(spec);
        // Nobody has a use for how it went.
        process.wait().await.ok();
    }
}

fn broken(error: &io::Error) -> CommandFailure {
    CommandFailure::Spawn {
        reason: format!("the command's supervisor could not be started: {error}"),
    }
}
