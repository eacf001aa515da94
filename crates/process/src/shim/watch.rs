//! The shim's loop: from the command's first byte to its last process.
//!
//! A command is over when its direct child has ended and its output was drained for a moment. A stop or a timeout
//! asks every process of the tree, and after a grace kills whoever is left, however it tried to get away.

use super::child::Child;
use super::rank::StepBack;
use super::server::Server;
use super::sink::Sink;
use super::{Begun, now, tree};
use crate::record::{Ended, Identity, OutputFacts, Stream};
use crate::spec::{Leftovers, ShimSpec};
use holon_domain::command::CommandEnd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitStatus};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// How long output is read after the direct child has ended.
const DRAIN: Duration = Duration::from_millis(200);
/// How long processes have between being asked and being killed when the time is up.
const GRACE: Duration = Duration::from_millis(500);
/// How long killed processes may take to die. Who is stuck inside the system longer, or may not be killed, is counted as
/// a survivor; while anybody is left who can be killed, it goes on.
const DEATH: Duration = Duration::from_secs(30);
/// How soon to look again for processes that were born while others were killed.
const SWEEP: Duration = Duration::from_millis(5);
/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// Why a command is made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Itself,
    Stopped,
    TimedOut,
}

/// Where the command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Everybody was asked to end.
    Asked {
        kill_at: Instant,
    },
    /// Everybody is killed, again and again until nobody is found.
    Killing {
        give_up: Instant,
    },
    /// The direct child has ended; what stands in the pipes is read.
    Draining {
        until: Instant,
    },
    Over,
}

/// What became ready.
#[derive(Debug, Clone, Copy)]
enum Ready {
    Children,
    Output(Stream),
    Input,
    Caller,
    Connection(u64),
}

/// Everything the loop holds.
pub(super) struct Watch {
    pub(super) identity: Identity,
    pub(super) child: Child,
    pub(super) server: Server,
    output: Sink,
    errors: Option<Sink>,
    signals: OwnedFd,
    started: Instant,
    deadline: Option<Instant>,
    leftover_policy: Leftovers,
    phase: Phase,
    cause: Cause,
    ended: Option<WaitStatus>,
    leftovers: u32,
    survivors: u32,
    /// Whether what was left behind has been dealt with.
    swept: bool,
    step_back: StepBack,
    buffer: Vec<u8>,
}

impl Watch {
    /// A watch over a command that has just begun.
    pub(super) fn new(spec: &ShimSpec, begun: Begun, signals: OwnedFd) -> Self {
        let started = Instant::now();
        let limit = spec.timeout_ms.map(Duration::from_millis);
        let step_back = StepBack::begin(begun.child.pid(), spec.niceness, started);
        Self {
            identity: begun.identity,
            child: begun.child,
            server: begun.server,
            output: begun.output,
            errors: begun.errors,
            signals,
            started,
            deadline: limit.and_then(|limit| started.checked_add(limit)),
            leftover_policy: spec.leftovers,
            phase: Phase::Running,
            cause: Cause::Itself,
            ended: None,
            leftovers: 0,
            survivors: 0,
            swept: false,
            step_back,
            buffer: vec![0; READ_BYTES],
        }
    }

    /// Watches the command to its end, and hands back the server for the last words.
    pub(super) fn run(mut self) -> (Ended, Server) {
        while self.phase != Phase::Over {
            for ready in self.wait() {
                self.handle(ready);
            }
            self.advance(Instant::now());
        }
        self.output.finish();
        if let Some(errors) = &mut self.errors {
            errors.finish();
        }
        let ended = Ended {
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
        let status = self.ended;
        match status.map(|status| (status.exit_status(), status.terminating_signal())) {
            Some((Some(status), _)) => CommandEnd::Exited { status },
            Some((None, Some(signal))) => CommandEnd::Signalled { signal },
            // It was killed and has not died in time.
            Some((None, None)) | None => CommandEnd::Signalled {
                signal: Signal::KILL.as_raw(),
            },
        }
    }

    /// What is kept of the output.
    pub(super) fn facts(&self) -> OutputFacts {
        OutputFacts {
            output: self.output.facts(),
            errors: self.errors.as_ref().map(Sink::facts),
        }
    }

    /// One of the streams.
    pub(super) const fn sink(&self, stream: Stream) -> Option<&Sink> {
        match stream {
            Stream::Output => Some(&self.output),
            Stream::Errors => self.errors.as_ref(),
        }
    }

    /// Waits until something is ready or due.
    fn wait(&self) -> Vec<Ready> {
        let mut interests = vec![
            (Ready::Children, self.signals.as_fd(), PollFlags::IN),
            (Ready::Caller, self.server.listener(), PollFlags::IN),
        ];
        for stream in [Stream::Output, Stream::Errors] {
            if let Some(source) = self.sink(stream).and_then(Sink::source) {
                interests.push((Ready::Output(stream), source, PollFlags::IN));
            }
        }
        if let Some(target) = self.child.input.wanting() {
            interests.push((Ready::Input, target, PollFlags::OUT));
        }
        let connections = self.server.interests();
        interests.extend(connections.map(|(id, fd, flags)| (Ready::Connection(id), fd, flags)));
        let mut fds: Vec<PollFd<'_>> = interests
            .iter()
            .map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
            .collect();
        let patience = self.due().map(|due| {
            let left = due.saturating_duration_since(Instant::now());
            // Rounded up, or the last millisecond would be spent in a tight loop.
            Timespec::try_from(left + Duration::from_micros(100)).unwrap_or(LONGEST)
        });
        if poll(&mut fds, patience.as_ref()).is_err() {
            return Vec::new();
        }
        let ready = fds.iter().zip(&interests);
        ready
            .filter(|(fd, _)| !fd.revents().is_empty())
            .map(|(_, (ready, _, _))| *ready)
            .collect()
    }

    /// When something has to happen even if nothing becomes ready.
    fn due(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Running => self.deadline,
            Phase::Asked { kill_at } => Some(kill_at),
            Phase::Killing { .. } => Some(Instant::now() + SWEEP),
            Phase::Draining { until } => Some(until),
            Phase::Over => None,
        };
        [phase, self.step_back.due()].into_iter().flatten().min()
    }

    fn handle(&mut self, ready: Ready) {
        match ready {
            Ready::Children => self.reap(),
            Ready::Output(Stream::Output) => self.output.pump(&mut self.buffer),
            Ready::Output(Stream::Errors) => {
                if let Some(errors) = &mut self.errors {
                    errors.pump(&mut self.buffer);
                }
            }
            Ready::Input => self.child.input.flush(),
            Ready::Caller => self.server.accept(),
            Ready::Connection(id) => {
                if let Some(asked) = self.server.advance(id) {
                    self.obey(id, &asked);
                }
            }
        }
    }

    fn reap(&mut self) {
        // What is in the descriptor only says that there is something to reap.
        let mut scratch = [0; 1024];
        while rustix::io::read(&self.signals, &mut scratch).is_ok_and(|read| read > 0) {}
        let direct = self.child.pid();
        tree::reap(|pid, status| {
            if pid == direct {
                self.ended = Some(status);
                self.child.has_ended();
                self.step_back.forget();
            }
        });
    }

    /// Goes from one phase to the next as far as it can.
    fn advance(&mut self, at: Instant) {
        self.step_back.advance(at);
        match self.phase {
            Phase::Running if self.ended.is_some() => self.drain(at),
            Phase::Running if self.deadline.is_some_and(|deadline| deadline <= at) => {
                self.ask_to_end(Cause::TimedOut, GRACE);
            }
            Phase::Asked { .. } if !tree::any() => self.drain(at),
            Phase::Asked { kill_at } if kill_at <= at => {
                self.leftovers = self.others();
                self.kill(at);
            }
            Phase::Killing { give_up } => self.sweep(at, give_up),
            Phase::Draining { until } if until <= at || self.is_drained() => self.settle(at),
            Phase::Running | Phase::Asked { .. } | Phase::Draining { .. } | Phase::Over => {}
        }
    }

    /// Asks every process of the tree to end, and sets the time until which they may, unless the command has ended.
    fn ask_to_end(&mut self, cause: Cause, grace: Duration) {
        let at = Instant::now();
        let kill_at = at + grace;
        self.reap();
        match self.phase {
            // It was faster, and its own end stands, whichever of the two was seen first.
            Phase::Running if self.ended.is_some() => self.drain(at),
            Phase::Running => {
                self.cause = cause;
                self.phase = Phase::Asked { kill_at };
                let members = tree::members();
                tree::signal(&members, Signal::TERM);
                if self.child.has_terminal() {
                    // An interactive shell takes only this for an end.
                    tree::signal(&members, Signal::HUP);
                }
                // Who was suspended could not heed it.
                tree::signal(&members, Signal::CONT);
            }
            Phase::Asked { kill_at: before } => {
                self.phase = Phase::Asked {
                    kill_at: before.min(kill_at),
                };
            }
            Phase::Draining { .. } | Phase::Killing { .. } | Phase::Over => {}
        }
    }

    /// Stops the command on request.
    pub(super) fn stop(&mut self, grace: Duration) {
        // Also of one that has ended by itself: who asks wants nobody left behind.
        self.leftover_policy = Leftovers::Kill;
        self.ask_to_end(Cause::Stopped, grace);
    }

    /// Signals the group that would get what is typed at a terminal.
    pub(super) fn signal(&self, signal: Signal) {
        let group = self.child.foreground().as_raw_pid();
        let mut members = tree::members();
        let all = members.clone();
        members.retain(|member| member.group == group);
        tree::signal_of(&members, &all, signal);
    }

    fn kill(&mut self, at: Instant) {
        self.swept = true;
        self.phase = Phase::Killing {
            give_up: at + DEATH,
        };
        self.sweep(at, at + DEATH);
    }

    /// Kills whoever is left, and is done when nobody is.
    fn sweep(&mut self, at: Instant, give_up: Instant) {
        self.reap();
        if !tree::any() {
            return self.drain(at);
        }
        let left = tree::kill();
        if give_up <= at && left.dying == 0 {
            self.survivors = left.beyond;
            self.drain(at);
        }
    }

    fn drain(&mut self, at: Instant) {
        self.phase = Phase::Draining { until: at + DRAIN };
        if self.is_drained() {
            self.settle(at);
        }
    }

    fn is_drained(&self) -> bool {
        let open = |sink: &Sink| sink.source().is_some();
        !open(&self.output) && !self.errors.as_ref().is_some_and(open)
    }

    /// After the drain: counts what was left behind, and kills it if that is wanted.
    fn settle(&mut self, at: Instant) {
        if self.swept || !tree::any() {
            self.phase = Phase::Over;
            return;
        }
        self.swept = true;
        self.leftovers = self.others();
        match self.leftover_policy {
            Leftovers::Kill => self.kill(at),
            Leftovers::Keep => self.phase = Phase::Over,
        }
    }

    /// Living processes beside the direct child.
    fn others(&self) -> u32 {
        let direct = self.child.pid().as_raw_pid();
        let others = tree::members()
            .iter()
            .filter(|member| member.pid != direct)
            .count();
        u32::try_from(others).unwrap_or(u32::MAX)
    }
}

/// For a time that fits into no timeout: an hour, after which the loop asks again.
const LONGEST: Timespec = Timespec {
    tv_sec: 3600,
    tv_nsec: 0,
};
