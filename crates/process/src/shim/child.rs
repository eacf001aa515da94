//! The command's direct child: its pipes or terminal, and its start.

use super::input::{self, Closing, Input};
use super::{Start, broken};
use crate::failure::{DEFAULT_SHELL, explain};
use crate::spec::{ShimSpec, WindowSize};
use crate::unix::{Birth, Stdin};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// What the child gets back of what the shim was started with.
#[derive(Debug)]
pub(super) struct SpawnOptions {
    pub(super) umask: Mode,
    /// How many files it may have open.
    pub(super) open_files: Option<u64>,
    /// Where it notes who it is.
    pub(super) note: Option<OwnedFd>,
}

/// A child that runs.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    pub(super) input: Input,
    terminal: Option<OwnedFd>,
    /// The child's end of the terminal. Held while the child runs, or a command that closes its own and opens the
    /// terminal again would look as if it had ended.
    peer: Option<OwnedFd>,
}

impl Child {
    /// Its number, which stays its own until it is reaped.
    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Lets go of the child's end of the terminal, so that its output can come to an end.
    pub(super) fn has_ended(&mut self) {
        self.peer = None;
    }

    /// Whether it runs on a terminal.
    pub(super) const fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// The group that gets what is typed, where there is a terminal.
    pub(super) fn foreground(&self) -> Pid {
        let terminal = self.terminal.as_ref();
        terminal
            .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
            .unwrap_or(self.pid)
    }

    /// Changes the terminal's size, if there is a terminal.
    pub(super) fn resize(&self, size: WindowSize) -> Option<io::Result<()>> {
        let terminal = self.terminal.as_ref()?;
        Some(tcsetwinsize(terminal, winsize(size)).map_err(Into::into))
    }
}

/// Starts the command, and returns the ends its output comes from: one, or two for two files.
pub(super) fn spawn(spec: &ShimSpec, options: SpawnOptions) -> Start<(Child, Vec<OwnedFd>)> {
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
    let birth = Birth {
        parent: rustix::process::getpid(),
        stdin: match ends.terminal {
            Some(_) => Stdin::Terminal,
            None => Stdin::Plain,
        },
        niceness: i32::from(spec.niceness),
        umask: options.umask,
        open_files: options.open_files,
        note: options.note,
    };
    birth.of(&mut command);
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

/// Our ends of what the child reads and writes.
struct Ends {
    input: Input,
    sources: Vec<OwnedFd>,
    terminal: Option<OwnedFd>,
    peer: Option<OwnedFd>,
}

fn pipes(command: &mut Command, spec: &ShimSpec) -> Start<Ends> {
    let (output, child_output) = pipe()?;
    let mut sources = vec![unblocked(output)?];
    let child_errors = match &spec.stderr_path {
        Some(_) => {
            let (errors, child_errors) = pipe()?;
            sources.push(unblocked(errors)?);
            child_errors
        }
        None => super::share(&child_output)?,
    };
    command.stdout(child_output).stderr(child_errors);
    let target = if spec.accepts_input {
        let (child_input, input) = pipe()?;
        command.stdin(child_input);
        Some(unblocked(input)?)
    } else {
        command.stdin(Stdio::null());
        None
    };
    Ok(Ends {
        input: Input::new(target, Closing::Pipe),
        sources,
        terminal: None,
        peer: None,
    })
}

fn terminal(command: &mut Command, size: WindowSize, accepts_input: bool) -> Start<Ends> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let pair = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        tcsetwinsize(&ours, winsize(size))?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        Ok((ours, theirs))
    };
    let (ours, theirs) = pair().map_err(|error| broken("open a terminal", &error.into()))?;
    let ours = unblocked(ours)?;
    command
        .stdin(super::share(&theirs)?)
        .stdout(super::share(&theirs)?)
        .stderr(super::share(&theirs)?);
    let target = input::target(accepts_input, &ours)?;
    Ok(Ends {
        input: Input::new(target, Closing::Terminal),
        sources: vec![super::share(&ours)?],
        terminal: Some(ours),
        peer: Some(theirs),
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

fn pipe() -> Start<(OwnedFd, OwnedFd)> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| broken("open a pipe", &error.into()))
}

/// Only our end: the command's own end is another descriptor and goes on blocking.
fn unblocked(fd: OwnedFd) -> Start<OwnedFd> {
    let set = rustix::fs::fcntl_getfl(&fd)
        .and_then(|flags| rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK));
    set.map_err(|error| broken("set up a pipe", &error.into()))?;
    Ok(fd)
}
