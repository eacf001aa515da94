//! The command's direct child: creates its pipes or terminal, and starts it.

use super::input::{self, CloseMethod, Input};
use super::{StartResult, broken};
use crate::failure::{DEFAULT_SHELL, explain};
use crate::spec::{ShimSpec, WindowSize};
use crate::unix::{ChildSetup, Stdin};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// Inherited settings that the child gets back.
#[derive(Debug)]
pub(super) struct SpawnOptions {
    pub(super) umask: Mode,
    /// Soft limit of open files.
    pub(super) open_files: Option<u64>,
    /// Descriptor of the birth record.
    pub(super) birth_record: Option<OwnedFd>,
}

/// A started child and the shim's ends of its streams.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    pub(super) input: Input,
    terminal: Option<OwnedFd>,
    /// The child's end of the terminal. Held while the child runs, because a command that closes its own and opens
    /// the terminal again would look as if it had ended.
    peer: Option<OwnedFd>,
}

impl Child {
    /// Process id, valid until the child is reaped.
    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Closes the child's end of the terminal, so that its output can end.
    pub(super) fn close_peer(&mut self) {
        self.peer = None;
    }

    pub(super) const fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// Foreground group of the terminal; without a terminal, the child's own group.
    pub(super) fn foreground(&self) -> Pid {
        let terminal = self.terminal.as_ref();
        terminal
            .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
            .unwrap_or(self.pid)
    }

    /// Changes the terminal's size; `None` if there is no terminal.
    pub(super) fn resize(&self, size: WindowSize) -> Option<io::Result<()>> {
        let terminal = self.terminal.as_ref()?;
        Some(tcsetwinsize(terminal, winsize(size)).map_err(Into::into))
    }
}

/// Starts the command, and returns the descriptors of its output: one, or two for separate stderr.
pub(super) fn spawn(spec: &ShimSpec, options: SpawnOptions) -> StartResult<(Child, Vec<OwnedFd>)> {
    let shell = spec.shell.as_deref().unwrap_or(DEFAULT_SHELL);
    let mut command = Command::new(shell);
    if spec.login {
        command.arg("-l");
    }
    command.arg("-c").arg(&spec.cmd).current_dir(&spec.cwd);
    command.env_clear();
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    let ends = match spec.terminal {
        Some(size) => terminal(&mut command, size, spec.accepts_input)?,
        None => pipes(&mut command, spec)?,
    };
    let setup = ChildSetup {
        parent: rustix::process::getpid(),
        stdin: match ends.terminal {
            Some(_) => Stdin::Terminal,
            None => Stdin::Plain,
        },
        niceness: i32::from(spec.niceness),
        umask: options.umask,
        open_files: options.open_files,
        birth_record: options.birth_record,
    };
    setup.apply_to(&mut command);
    let spawned = command
        .spawn()
        .map_err(|error| explain(&error, shell, &spec.cwd))?;
    let pid = i32::try_from(spawned.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| broken("know its child", &io::Error::other("no process id")))?;
    let child = Child {
        pid,
        input: ends.input,
        terminal: ends.terminal,
        peer: ends.peer,
    };
    Ok((child, ends.sources))
}

/// The shim's ends of the child's streams.
struct ParentEnds {
    input: Input,
    sources: Vec<OwnedFd>,
    terminal: Option<OwnedFd>,
    peer: Option<OwnedFd>,
}

fn pipes(command: &mut Command, spec: &ShimSpec) -> StartResult<ParentEnds> {
    let (output, child_output) = pipe()?;
    let mut sources = vec![set_nonblocking(output)?];
    let child_errors = match &spec.stderr_path {
        Some(_) => {
            let (errors, child_errors) = pipe()?;
            sources.push(set_nonblocking(errors)?);
            child_errors
        }
        None => super::share(&child_output)?,
    };
    command.stdout(child_output).stderr(child_errors);
    let target = if spec.accepts_input {
        let (child_input, input) = pipe()?;
        command.stdin(child_input);
        Some(set_nonblocking(input)?)
    } else {
        command.stdin(Stdio::null());
        None
    };
    Ok(ParentEnds {
        input: Input::new(target, CloseMethod::Pipe),
        sources,
        terminal: None,
        peer: None,
    })
}

fn terminal(
    command: &mut Command,
    size: WindowSize,
    accepts_input: bool,
) -> StartResult<ParentEnds> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let pair = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        let controller = openpt(flags)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        tcsetwinsize(&controller, winsize(size))?;
        let peer = ioctl_tiocgptpeer(&controller, flags)?;
        Ok((controller, peer))
    };
    let (controller, peer) = pair().map_err(|error| broken("open a terminal", &error.into()))?;
    let controller = set_nonblocking(controller)?;
    command
        .stdin(super::share(&peer)?)
        .stdout(super::share(&peer)?)
        .stderr(super::share(&peer)?);
    let target = input::target(accepts_input, &controller)?;
    Ok(ParentEnds {
        input: Input::new(target, CloseMethod::Terminal),
        sources: vec![super::share(&controller)?],
        terminal: Some(controller),
        peer: Some(peer),
    })
}

const fn winsize(size: WindowSize) -> Winsize {
    Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn pipe() -> StartResult<(OwnedFd, OwnedFd)> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| broken("open a pipe", &error.into()))
}

/// Sets the shim's end to non-blocking. The command's end is another descriptor and stays blocking.
fn set_nonblocking(fd: OwnedFd) -> StartResult<OwnedFd> {
    let set = rustix::fs::fcntl_getfl(&fd)
        .and_then(|flags| rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK));
    set.map_err(|error| broken("set up a pipe", &error.into()))?;
    Ok(fd)
}
