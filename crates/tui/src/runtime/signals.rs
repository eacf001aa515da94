//! Signals: those that end the program, those that suspend it, the one that continues it and that of another size.
//!
//! A thread hears those that end the program and ends it if the console does not: a terminal that takes no more output
//! holds up the console, and with it everything that is not on another thread.

use ratatui::crossterm::terminal::disable_raw_mode;
use rustix::process::{Signal, getpgrp, getpid, getsid, kill_current_process_group, kill_process};
use rustix::termios::{QueueSelector, tcflush};
use signal_hook::iterator::Signals as EndingSignals;
use signal_hook::low_level::emulate_default_handler;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::mpsc;

/// Time that a console has to end after a signal before what the terminal has not taken is thrown away.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time that it has then, which is more than it waits for messages that are under way.
const LAST_PATIENCE: Duration = Duration::from_secs(8);

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
pub(super) enum SignalRequest {
    /// The program is to end, by the signal of this number.
    End(i32),
    /// The process alone is to stop.
    Suspend,
    /// The terminal has another size.
    Resize,
    /// The process goes on after it was stopped, by whichever signal.
    Continue,
}

/// Signals that the console listens to.
#[derive(Debug)]
pub(super) struct Signals {
    ending: mpsc::UnboundedReceiver<i32>,
    streams: Vec<(SignalRequest, Stream)>,
}

impl Signals {
    /// Starts to listen. From here on, none of these signals has its default effect.
    pub(super) fn listen() -> io::Result<Self> {
        let heard = EndingSignals::new(ENDING.iter().map(|signal| signal.as_raw()))?;
        let (sender, ending) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || end_for_certain(heard, &sender))?;
        let others = [
            (SignalRequest::Suspend, Signal::TSTP),
            (SignalRequest::Continue, Signal::CONT),
            (SignalRequest::Resize, Signal::WINCH),
        ];
        let listen = |(heard, number): (SignalRequest, Signal)| {
            let kind = SignalKind::from_raw(number.as_raw());
            signal(kind).map(|stream| (heard, stream))
        };
        let streams = others.into_iter().map(listen).collect::<io::Result<_>>()?;
        Ok(Self { ending, streams })
    }

    /// Waits for the next signal. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> SignalRequest {
        poll_fn(|context| {
            if let Poll::Ready(Some(number)) = self.ending.poll_recv(context) {
                return Poll::Ready(SignalRequest::End(number));
            }
            for (heard, stream) in &mut self.streams {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*heard);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Waits for a signal that ends the program and returns its number.
    pub(super) async fn end(&mut self) -> i32 {
        loop {
            if let SignalRequest::End(number) = self.next().await {
                return number;
            }
        }
    }
}

/// Passes on the first signal that ends the program. A console that does not end by itself is ended.
fn end_for_certain(mut heard: EndingSignals, sender: &mpsc::UnboundedSender<i32>) {
    let Some(number) = heard.forever().next() else {
        return;
    };
    // A console that has ended needs no word.
    sender.send(number).ok();
    std::thread::sleep(PATIENCE);
    // A write that waits for the reader of the terminal goes on, so that the console can restore it. It looks again when
    // a signal comes, whichever.
    tcflush(io::stdout(), QueueSelector::OFlush).ok();
    kill_process(getpid(), Signal::WINCH).ok();
    std::thread::sleep(LAST_PATIENCE);
    disable_raw_mode().ok();
    end_by(number);
}

/// Ends the program by this signal, so that its parent process sees what ended it.
pub(super) fn end_by(number: i32) {
    emulate_default_handler(number).ok();
    // A few signals are not known there.
    emulate_default_handler(Signal::TERM.as_raw()).ok();
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
