//! Signals: those that end the program, those that suspend it and the one that continues it.

use rustix::process::{Signal, getpgrp, getpid, getsid, kill_current_process_group, kill_process};
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// Signals that end a program and can be caught. Those of a fault of the program itself are left out: a handler would
/// return to the fault.
const ENDING: &[Signal] = &[
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::ABORT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::XCPU,
    Signal::XFSZ,
    Signal::IO,
    #[cfg(target_os = "linux")]
    Signal::STKFLT,
    #[cfg(target_os = "linux")]
    Signal::POWER,
];

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    End,
    /// The process alone is to stop.
    Suspend,
    /// The process goes on after it was stopped, by whichever signal.
    Continue,
}

/// Signals that the console listens to.
#[derive(Debug)]
pub(super) struct Signals {
    streams: Vec<(Heard, Stream)>,
}

impl Signals {
    /// Starts to listen. From here on, none of these signals has its default effect.
    pub(super) fn listen() -> io::Result<Self> {
        let ending = ENDING.iter().map(|signal| (Heard::End, *signal));
        let others = [
            (Heard::Suspend, Signal::TSTP),
            (Heard::Continue, Signal::CONT),
        ];
        let listen = |(heard, number): (Heard, Signal)| {
            let kind = SignalKind::from_raw(number.as_raw());
            signal(kind).map(|stream| (heard, stream))
        };
        let streams = ending
            .chain(others)
            .map(listen)
            .collect::<io::Result<_>>()?;
        Ok(Self { streams })
    }

    /// Waits for the next signal. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Heard {
        poll_fn(|context| {
            for (heard, stream) in &mut self.streams {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*heard);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Returns true if a shell of the session can continue the process after a stop. The group of the leader of a session
/// has no such shell, as in a terminal that was opened for the console alone.
pub(super) fn can_be_continued() -> bool {
    getsid(None).is_ok_and(|session| session != getpgrp())
}

/// Stops this process, and with it the rest of its group if the key of the terminal asked for it: a shell that runs the
/// console as a part of a command line stops with it.
pub(super) fn stop(with_group: bool) -> io::Result<()> {
    if with_group {
        kill_current_process_group(Signal::STOP)?;
    } else {
        kill_process(getpid(), Signal::STOP)?;
    }
    Ok(())
}
