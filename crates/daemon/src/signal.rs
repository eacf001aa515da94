//! The signals that ask a process to end.

use crate::error::Error;
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
        let of = |kind| {
            signal(kind).map_err(|source| Error::System {
                what: "listen for signals",
                source,
            })
        };
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
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
