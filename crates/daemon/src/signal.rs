//! Listens to signals: those that end the process, and the one that makes it read its settings again.

use crate::error::Error;
use std::io::IsTerminal as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the process: SIGTERM and SIGINT, and for a single run also SIGHUP.
#[derive(Debug)]
pub(crate) struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
    /// SIGXFSZ ends nothing: a write beyond the largest file that the system allows fails like one on a full disk.
    _too_large: Signal,
}

impl EndSignals {
    /// Listens from now on; the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// Fails if the system refuses it.
    pub(crate) fn listen() -> Result<Self, Error> {
        Ok(Self {
            terminate: listen_for(SignalKind::terminate())?,
            interrupt: listen_for(SignalKind::interrupt())?,
            hangup: None,
            _too_large: listen_for(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    /// Listens to SIGHUP as well: a run belongs to the terminal that it was started from.
    ///
    /// # Errors
    /// Fails if the system refuses it.
    pub(crate) fn listen_for_run() -> Result<Self, Error> {
        Ok(Self {
            hangup: Some(listen_for(SignalKind::hangup())?),
            ..Self::listen()?
        })
    }

    /// Waits for the next signal and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hangup => "SIGHUP",
        }
    }
}

fn listen_for(kind: SignalKind) -> Result<Signal, Error> {
    signal(kind).map_err(|source| Error::System {
        what: "listen for signals",
        source,
    })
}

/// The meaning of a SIGHUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// The operator wants the settings to be read again.
    Reload,
    /// The terminal of the process was closed.
    TerminalGone,
}

/// The stream of SIGHUP signals.
#[derive(Debug)]
pub(crate) struct Hangups {
    signal: Signal,
    /// True if the process was started from a terminal.
    has_terminal: bool,
}

impl Hangups {
    /// Listens from now on.
    ///
    /// # Errors
    /// Fails if the system refuses it.
    pub(crate) fn listen() -> Result<Self, Error> {
        Ok(Self {
            signal: listen_for(SignalKind::hangup())?,
            has_terminal: std::io::stdin().is_terminal(),
        })
    }

    /// Waits for the next SIGHUP. A closed terminal is detected because it is no terminal any more.
    pub(crate) async fn next(&mut self) -> Hangup {
        if self.signal.recv().await.is_none() {
            // The runtime is shutting down, and this task with it.
            std::future::pending::<()>().await;
        }
        if self.has_terminal && !std::io::stdin().is_terminal() {
            Hangup::TerminalGone
        } else {
            Hangup::Reload
        }
    }
}
