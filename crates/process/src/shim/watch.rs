//! The shim's event loop: from the command's start to the end of its last process.
//!
//! A command is over when its direct child has ended and its output was drained for a moment. A stop or a timeout
//! sends SIGTERM to every process of the tree, and SIGKILL to the rest after a grace period, also to processes in
//! other sessions.

use super::child::Child;
use super::combined::Combined;
use super::priority::PriorityChange;
use super::server::Server;
use super::sink::Sink;
use super::{StartedCommand, now, tree};
use crate::record::{EndRecord, Identity, OutputRecord, Stream};
use crate::spec::{Leftovers, ShimSpec};
use holon_domain::command::CommandEnd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitStatus};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// Time to drain the output after the direct child has ended.
const DRAIN: Duration = Duration::from_millis(200);
/// Grace period between SIGTERM and SIGKILL after a timeout.
const GRACE: Duration = Duration::from_millis(500);
/// Time to wait for killed processes. One that is in uninterruptible sleep longer, or may not be killed, is counted
/// as a survivor. While a killable process is left, the loop continues.
const DEATH: Duration = Duration::from_secs(30);
/// Interval of the scans for processes that were forked while others were killed.
const SWEEP: Duration = Duration::from_millis(5);
/// Size of the read buffer.
const READ_BYTES: usize = 256 << 10;

/// The reason a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Itself,
    Stopped,
    TimedOut,
}

/// Phase of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// SIGTERM was sent to all processes.
    Terminating {
        kill_at: Instant,
    },
    /// All processes are killed repeatedly until none is found.
    Killing {
        give_up: Instant,
    },
    /// The direct child has ended and the pipes are drained.
    Draining {
        until: Instant,
    },
    Finished,
}

/// A descriptor that became ready.
#[derive(Debug, Clone, Copy)]
enum Ready {
    Children,
    Output(Stream),
    Input,
    NewClient,
    Connection(u64),
}

/// The state of the event loop.
pub(super) struct Watch {
    pub(super) identity: Identity,
    pub(super) child: Child,
    pub(super) server: Server,
    output: Sink,
    errors: Option<Sink>,
    combined: Combined,
    signals: OwnedFd,
    started: Instant,
    deadline: Option<Instant>,
    leftover_policy: Leftovers,
    phase: Phase,
    cause: Cause,
    child_status: Option<WaitStatus>,
    leftovers: u32,
    survivors: u32,
    /// True once the leftover processes were counted or killed.
    leftovers_handled: bool,
    priority: PriorityChange,
    buffer: Vec<u8>,
}

impl Watch {
    /// Creates the watch of a command that has just started.
    pub(super) fn new(spec: &ShimSpec, command: StartedCommand, signals: OwnedFd) -> Self {
        let started = Instant::now();
        let limit = spec.timeout_ms.map(Duration::from_millis);
        let priority = PriorityChange::begin(command.child.pid(), spec.niceness, started);
        Self {
            identity: command.identity,
            child: command.child,
            server: command.server,
            output: command.output,
            errors: command.errors,
            combined: Combined::new(spec.combined_path.as_deref(), spec.output_cap_bytes),
            signals,
            started,
            deadline: limit.and_then(|limit| started.checked_add(limit)),
            leftover_policy: spec.leftovers,
            phase: Phase::Running,
            cause: Cause::Itself,
            child_status: None,
            leftovers: 0,
            survivors: 0,
            leftovers_handled: false,
            priority,
            buffer: vec![0; READ_BYTES],
        }
    }

    /// Runs the loop until the command has ended, and returns the server for the final replies.
    pub(super) fn run(mut self) -> (EndRecord, Server) {
        while self.phase != Phase::Finished {
            for ready in self.wait() {
                self.handle(ready);
            }
            self.advance(Instant::now());
        }
        self.output.finish();
        if let Some(errors) = &mut self.errors {
            errors.finish();
        }
        self.combined.finish();
        let ended = EndRecord {
            task_id: self.identity.task_id.clone(),
            end: self.end(),
            stopped: self.cause == Cause::Stopped,
            started_at: self.identity.started_at,
            ended_at: now(),
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            output: self.facts(),
            leftovers: self.leftovers,
            survivors: self.survivors,
        };
        (ended, self.server)
    }

    fn end(&self) -> CommandEnd {
        if self.cause == Cause::TimedOut {
            return CommandEnd::TimedOut;
        }
        let status = self.child_status;
        match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            Some((Some(status), _)) => CommandEnd::Exited { status },
            Some((None, Some(signal))) => CommandEnd::Signalled { signal },
            // It was killed and has not died before the timeout.
            Some((None, None)) | None => CommandEnd::Signalled {
                signal: Signal::KILL.as_raw(),
            },
        }
    }

    /// Returns the facts about both streams.
    pub(super) fn facts(&self) -> OutputRecord {
        OutputRecord {
            output: self.output.facts(),
            errors: self.errors.as_ref().map(Sink::facts),
        }
    }

    /// Returns the sink of one stream.
    pub(super) const fn sink(&self, stream: Stream) -> Option<&Sink> {
        match stream {
            Stream::Output => Some(&self.output),
            Stream::Errors => self.errors.as_ref(),
        }
    }

    /// Waits until a descriptor is ready or a deadline expires.
    fn wait(&self) -> Vec<Ready> {
        let mut interests = vec![
            (Ready::Children, self.signals.as_fd(), PollFlags::IN),
            (Ready::NewClient, self.server.listener(), PollFlags::IN),
        ];
        for stream in [Stream::Output, Stream::Errors] {
            if let Some(source) = self.sink(stream).and_then(Sink::source) {
                interests.push((Ready::Output(stream), source, PollFlags::IN));
            }
        }
        if let Some(target) = self.child.input.poll_target() {
            interests.push((Ready::Input, target, PollFlags::OUT));
        }
        let connections = self.server.interests();
        interests.extend(connections.map(|(id, fd, flags)| (Ready::Connection(id), fd, flags)));
        let mut fds: Vec<PollFd<'_>> = interests
            .iter()
            .map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
            .collect();
        let timeout = self.due().map(|due| {
            let left = due.saturating_duration_since(Instant::now());
            // Rounded up, because otherwise the last millisecond would be a busy loop.
            Timespec::try_from(left + Duration::from_micros(100)).unwrap_or(LONGEST)
        });
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        let ready = fds.iter().zip(&interests);
        ready
            .filter(|(fd, _)| !fd.revents().is_empty())
            .map(|(_, (ready, _, _))| *ready)
            .collect()
    }

    /// Time at which the loop has to wake up even if no descriptor is ready.
    fn due(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Running => self.deadline,
            Phase::Terminating { kill_at } => Some(kill_at),
            Phase::Killing { .. } => Some(Instant::now() + SWEEP),
            Phase::Draining { until } => Some(until),
            Phase::Finished => None,
        };
        [phase, self.priority.due()].into_iter().flatten().min()
    }

    /// Reads what one stream has, into its own file and the combined one.
    fn pump(&mut self, stream: Stream) {
        let (source, other) = match (stream, self.errors.as_mut()) {
            (Stream::Output, errors) => (&mut self.output, errors),
            (Stream::Errors, Some(errors)) => (errors, Some(&mut self.output)),
            (Stream::Errors, None) => return,
        };
        let (combined, other) = (&mut self.combined, other.as_deref());
        source.pump(&mut self.buffer, |bytes| combined.add(bytes, other));
    }

    fn handle(&mut self, ready: Ready) {
        match ready {
            Ready::Children => self.reap(),
            Ready::Output(stream) => self.pump(stream),
            Ready::Input => self.child.input.flush(),
            Ready::NewClient => self.server.accept(),
            Ready::Connection(id) => {
                if let Some(request) = self.server.advance(id) {
                    self.handle_request(id, &request);
                }
            }
        }
    }

    fn reap(&mut self) {
        // The content of the descriptor only says that a child has ended.
        let mut scratch = [0; 1024];
        while rustix::io::read(&self.signals, &mut scratch).is_ok_and(|read| read > 0) {}
        let direct = self.child.pid();
        tree::reap(|pid, status| {
            if pid == direct {
                self.child_status = Some(status);
                self.child.close_peer();
                self.priority.forget();
            }
        });
    }

    /// Advances to the next phase as far as possible.
    fn advance(&mut self, at: Instant) {
        self.priority.advance(at);
        match self.phase {
            Phase::Running if self.child_status.is_some() => self.drain(at),
            Phase::Running if self.deadline.is_some_and(|deadline| deadline <= at) => {
                self.terminate(Cause::TimedOut, GRACE);
            }
            Phase::Terminating { .. } if !tree::any_left() => self.drain(at),
            Phase::Terminating { kill_at } if kill_at <= at => {
                self.leftovers = self.others();
                self.kill(at);
            }
            Phase::Killing { give_up } => self.sweep(at, give_up),
            Phase::Draining { until } if until <= at || self.is_drained() => self.finish_drain(at),
            Phase::Running
            | Phase::Terminating { .. }
            | Phase::Draining { .. }
            | Phase::Finished => {}
        }
    }

    /// Sends SIGTERM to every process of the tree and sets the deadline for SIGKILL, unless the command has ended.
    fn terminate(&mut self, cause: Cause, grace: Duration) {
        let at = Instant::now();
        let kill_at = at + grace;
        self.reap();
        match self.phase {
            // The command has ended first, and its own end counts.
            Phase::Running if self.child_status.is_some() => self.drain(at),
            Phase::Running => {
                self.cause = cause;
                self.phase = Phase::Terminating { kill_at };
                let members = tree::members();
                tree::signal_all(&members, Signal::TERM);
                if self.child.has_terminal() {
                    // An interactive shell ignores SIGTERM and ends on SIGHUP.
                    tree::signal_all(&members, Signal::HUP);
                }
                // A suspended process handles the signals only after SIGCONT.
                tree::signal_all(&members, Signal::CONT);
            }
            Phase::Terminating { kill_at: before } => {
                self.phase = Phase::Terminating {
                    kill_at: before.min(kill_at),
                };
            }
            Phase::Draining { .. } | Phase::Killing { .. } | Phase::Finished => {}
        }
    }

    /// Stops the command on the host's request.
    pub(super) fn stop(&mut self, grace: Duration) {
        // Also for a command that has ended by itself: a stop leaves no process behind.
        self.leftover_policy = Leftovers::Kill;
        self.terminate(Cause::Stopped, grace);
    }

    /// Signals the foreground group of the terminal.
    pub(super) fn signal(&self, signal: Signal) {
        let group = self.child.foreground().as_raw_pid();
        let mut members = tree::members();
        let all = members.clone();
        members.retain(|member| member.group == group);
        tree::signal_members(&members, &all, signal);
    }

    fn kill(&mut self, at: Instant) {
        self.leftovers_handled = true;
        self.phase = Phase::Killing {
            give_up: at + DEATH,
        };
        self.sweep(at, at + DEATH);
    }

    /// Kills the remaining processes, and goes on to the drain when none is left.
    fn sweep(&mut self, at: Instant, give_up: Instant) {
        self.reap();
        if !tree::any_left() {
            return self.drain(at);
        }
        let left = tree::kill();
        if give_up <= at && left.dying == 0 {
            self.survivors = left.unkillable;
            self.drain(at);
        }
    }

    fn drain(&mut self, at: Instant) {
        self.phase = Phase::Draining { until: at + DRAIN };
        if self.is_drained() {
            self.finish_drain(at);
        }
    }

    fn is_drained(&self) -> bool {
        let open = |sink: &Sink| sink.source().is_some();
        !open(&self.output) && !self.errors.as_ref().is_some_and(open)
    }

    /// Finishes the drain: counts the leftover processes, and kills them if the policy says so.
    fn finish_drain(&mut self, at: Instant) {
        if self.leftovers_handled || !tree::any_left() {
            self.phase = Phase::Finished;
            return;
        }
        self.leftovers_handled = true;
        self.leftovers = self.others();
        match self.leftover_policy {
            Leftovers::Kill => self.kill(at),
            Leftovers::Keep => self.phase = Phase::Finished,
        }
    }

    /// Counts the living processes besides the direct child.
    fn others(&self) -> u32 {
        let direct = self.child.pid().as_raw_pid();
        let others = tree::members()
            .iter()
            .filter(|member| member.pid != direct)
            .count();
        u32::try_from(others).unwrap_or(u32::MAX)
    }
}

/// Poll timeout for deadlines that do not fit: one hour, after which the loop polls again.
const LONGEST: Timespec = Timespec {
    tv_sec: 3600,
    tv_nsec: 0,
};
