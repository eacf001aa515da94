//! The log of a host, read while it is written. A test can wait for a line and read the log to its end.
//!
//! A separate thread reads it, so that a full pipe never blocks the host.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest wait for a line. Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_secs(50);

/// A log that is being read.
#[derive(Debug)]
pub(crate) struct Log {
    shared: Arc<Shared>,
    reading: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    read: Mutex<Text>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Text {
    text: String,
    at_its_end: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Text> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Text)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Log {
    /// Starts a thread that reads until the end of the stream.
    pub(crate) fn read(from: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let told = Arc::clone(&shared);
        let reading = std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                told.change(|log| log.text.push_str(&String::from_utf8_lossy(&line)));
                line.clear();
            }
            told.change(|log| log.at_its_end = true);
        });
        Self {
            shared,
            reading: Some(reading),
        }
    }

    /// Waits until this text was logged.
    ///
    /// # Panics
    /// When it is not logged in time.
    pub(crate) fn wait_for(&self, words: &str) {
        let waiting = |log: &mut Text| !log.at_its_end && !log.text.contains(words);
        let log = self.shared.lock();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(log, PATIENCE, waiting);
        let (log, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(
            log.text.contains(words),
            "{words:?} was not logged:\n{}",
            log.text
        );
    }

    /// Returns the whole log once the stream has ended.
    pub(crate) fn whole(&mut self) -> String {
        if let Some(reading) = self.reading.take() {
            reading.join().expect("the log is read to its end");
        }
        self.shared.lock().text.clone()
    }
}
