//! Starting a shim: hand it its spec, wait for its word.

use super::holder;
use super::image::Image;
use super::line::Line;
use super::task::Task;
use crate::record::Report;
use crate::shim::ARGUMENT;
use crate::spec::{ShimSpec, Told};
use holon_domain::command::CommandFailure;
use rustix::fs::{MemfdFlags, SeekFrom};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use tokio::process::Command;

/// Starts a command under a shim, and returns when its program was executed or could not be.
///
/// The task's directory must exist, private and empty. When the future is dropped the command may run all the same:
/// [`attach`](crate::attach) tells.
///
/// # Errors
/// When the command could not be started, or was before.
pub async fn start(image: &Image, spec: ShimSpec) -> Result<Task, CommandFailure> {
    let told = Told {
        spec: &spec,
        open_files: image.open_files(),
    };
    let inherited = inherit(&told).map_err(|error| broken(&error))?;
    // Without environment: the command's own is in the spec, and ours is none of the shim's business.
    let mut shim = Command::new(image.path())
        .arg0("holon")
        .arg(ARGUMENT)
        .arg(&spec.task_id)
        .env_clear()
        .stdin(Stdio::from(inherited))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| broken(&error))?;
    let said = shim.stdout.take().map(|pipe| Line::new(Box::new(pipe)));
    let mut said = said.ok_or_else(|| broken(&io::Error::other("it has no output")))?;
    match holder::woken(&spec.state_dir, said.next()).await {
        Ok(Some(Report::Started(identity))) => Ok(Task::started(spec, identity, said, shim)),
        Ok(Some(Report::NotStarted { failure })) => Err(failure),
        Ok(None) => Err(broken(&io::Error::other(
            "it was killed before it could say whether the command began",
        ))),
        Err(error) => Err(broken(&error)),
    }
}

/// The spec in a file without a name, which only the shim gets.
fn inherit(told: &Told<&ShimSpec>) -> io::Result<OwnedFd> {
    let text = serde_json::to_vec(told)?;
    let file = rustix::fs::memfd_create("spec", MemfdFlags::CLOEXEC)?;
    let mut rest = text.as_slice();
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}

fn broken(error: &io::Error) -> CommandFailure {
    CommandFailure::Spawn {
        reason: format!("the command's supervisor could not be started: {error}"),
    }
}
