//! The signals a process listens to: those that ask it to end, and the one that asks it to read its settings again.

use crate::error::Error;
use std::io::IsTerminal as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Asks to end: SIGTERM and SIGINT.
#[derive(Debug)]
pub(crate) struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    /// Listens from now on; the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn listen() -> Result<Self, Error> {
        Ok(Self {
            terminate: heard(SignalKind::terminate())?,
            interrupt: heard(SignalKind::interrupt())?,
        })
    }

    /// The next of them, by name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

fn heard(kind: SignalKind) -> Result<Signal, Error> {
    signal(kind).map_err(|source| Error::System {
        what: "listen for signals",
        source,
    })
}

/// What a hangup means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// Somebody asks for the settings to be read again.
    Reload,
    /// The terminal the process was started from has gone.
    TerminalGone,
}

/// SIGHUP.
#[derive(Debug)]
pub(crate) struct Hangups {
    signal: Signal,
    /// Whether the process was started from a terminal.
    attended: bool,
}

impl Hangups {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn listen() -> Result<Self, Error> {
        Ok(Self {
            signal: heard(SignalKind::hangup())?,
            attended: std::io::stdin().is_terminal(),
        })
    }

    /// The next of them. A terminal that is gone answers nothing any more, by which it is known.
    pub(crate) async fn next(&mut self) -> Hangup {
        if self.signal.recv().await.is_none() {
            // The runtime goes down, and this task with it.
            std::future::pending::<()>().await;
        }
        if self.attended && !std::io::stdin().is_terminal() {
            Hangup::TerminalGone
        } else {
            Hangup::Reload
        }
    }
}
