//! Commands under shims of the real program, without a host: a place for each, its spec, its start.

use crate::memory;
use crate::program::Fallible;
use holon_domain::limits::COMMAND_OUTPUT_BYTES;
use holon_process::{Confinement, Image, Leftovers, NICENESS, ShimSpec, ShimmedCommand, VERSION};
use std::path::Path;
use tempfile::TempDir;

/// The shell of every command, bare or not.
pub(crate) const SHELL: &str = "/bin/sh";
/// Search path of the commands, with and without a shim.
pub(crate) const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Nothing measured takes longer, so nothing a broken run leaves behind lives for ever.
const LIFE_MS: u64 = 600_000;

/// A directory for one command.
#[derive(Debug)]
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Fallible<Self> {
        let dir = tempfile::tempdir()?;
        std::fs::create_dir(dir.path().join("state"))?;
        Ok(Self { dir })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// `cmd` as the runtime would start it, with pipes.
    pub(crate) fn spec(&self, cmd: &str) -> ShimSpec {
        ShimSpec {
            version: VERSION,
            task_id: "task_bench".to_owned(),
            nonce: "bench".to_owned(),
            cmd: cmd.to_owned(),
            shell: Some(SHELL.to_owned()),
            login: false,
            terminal: None,
            cwd: self.path().to_owned(),
            env: vec![("PATH".to_owned(), SEARCH_PATH.to_owned())],
            accepts_input: false,
            output_path: self.path().join("out"),
            stderr_path: Some(self.path().join("err")),
            combined_path: Some(self.path().join("both")),
            output_cap_bytes: COMMAND_OUTPUT_BYTES,
            claim_dir: self.path().join("state"),
            timeout_ms: Some(LIFE_MS),
            leftovers: Leftovers::Kill,
            niceness: NICENESS,
            confinement: Confinement::None,
        }
    }
}

pub(crate) async fn start(image: &Image, spec: ShimSpec) -> Fallible<ShimmedCommand> {
    let started = holon_process::start(image, spec).await;
    started.map_err(|failure| failure.to_string().into())
}

pub(crate) fn command_pid(task: &ShimmedCommand) -> Fallible<u32> {
    Ok(u32::try_from(task.identity().pid)?)
}

/// The shim's process, while its command runs.
pub(crate) fn shim_pid(task: &ShimmedCommand) -> Fallible<u32> {
    memory::parent(command_pid(task)?)
}
