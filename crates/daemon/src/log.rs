//! Logging to standard error or to a host's log file, filtered by the settings.
//!
//! A line that cannot be written is lost; the host continues without its log. Control characters are escaped, so that
//! a line cannot affect the terminal that shows it.

use crate::log_file::RotatingLog;
use holon_config::{Settings, Source};
use holon_domain::visible::show_all;
use holon_engine::MODEL_CALL_LOG;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::EnvFilter;

/// The log level used if the settings name none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// For a host: everything it does.
    Info,
    /// Only problems: for commands that print their answer and report model failures themselves.
    Warn,
}

/// The place that log lines go to.
#[derive(Debug, Clone)]
pub enum LogTarget {
    Stderr,
    /// Standard error, on which the command also shows a line of progress. The function returns what removes that line,
    /// so that a log line begins at the beginning of one.
    SharedStderr {
        clear_progress: fn() -> &'static str,
    },
    /// A file that is rotated by size. Standard error goes there too.
    File(PathBuf),
}

/// Starts logging. A filter that cannot be parsed is reported, and the default level is used instead.
pub fn start_logging(settings: &Settings, default_level: LogLevel, target: LogTarget) {
    let default_filter = match default_level {
        LogLevel::Info => "info".to_owned(),
        LogLevel::Warn => format!("warn,{MODEL_CALL_LOG}=error"),
    };
    let requested = match settings.log_filter.source {
        Source::Builtin => default_filter.as_str(),
        Source::Flag | Source::Environment | Source::File | Source::Credentials => {
            settings.log_filter.value.as_str()
        }
    };
    let (filter, unreadable) = match EnvFilter::try_new(requested) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(&default_filter), Some(error)),
    };
    let (log, unopened) = LogWriter::open(target);
    // A second start in one process keeps the first one.
    drop(
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(move || EscapingWriter(log.clone()))
            // Such an error would be printed to standard error, which is what failed, and panic if that fails too.
            .log_internal_errors(false)
            .with_ansi(false)
            .with_target(false)
            .try_init(),
    );
    if let Some(error) = unreadable {
        tracing::warn!(%error, "RUST_LOG cannot be read; logging {default_filter} instead");
    }
    if let Some(error) = unopened {
        tracing::warn!(%error, "the log file cannot be used; logging to standard error instead");
    }
}

/// The writer of whole lines behind the escaping.
#[derive(Clone)]
enum LogWriter {
    Stderr,
    SharedStderr(fn() -> &'static str),
    File(Arc<Mutex<RotatingLog>>),
}

impl LogWriter {
    /// Opens the target. If its file cannot be opened, standard error takes its place, and the reason is returned.
    fn open(target: LogTarget) -> (Self, Option<io::Error>) {
        match target {
            LogTarget::Stderr => (Self::Stderr, None),
            LogTarget::SharedStderr { clear_progress } => {
                (Self::SharedStderr(clear_progress), None)
            }
            LogTarget::File(path) => match RotatingLog::of_process(path) {
                Ok(log) => (Self::File(Arc::new(Mutex::new(log))), None),
                Err(error) => (Self::Stderr, Some(error)),
            },
        }
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stderr => io::stderr().write(line),
            Self::SharedStderr(clear_progress) => {
                let mut stderr = io::stderr();
                stderr.write_all(clear_progress().as_bytes())?;
                stderr.write(line)
            }
            Self::File(log) => log
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .write(line),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stderr | Self::SharedStderr(_) => io::stderr().flush(),
            Self::File(_) => Ok(()),
        }
    }
}

/// A writer that escapes control characters.
struct EscapingWriter<W>(W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A line is written in one call, so no character is cut.
        self.0
            .write_all(show_all(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_steer_the_terminal_it_is_read_on() {
        let mut lines = EscapingWriter(Vec::new());
        let line = "a\u{1b}[2J\u{9b}\u{202e}b\té\n";
        assert_eq!(lines.write(line.as_bytes()).unwrap(), line.len());
        let written = String::from_utf8(lines.0).unwrap();
        assert_eq!(written, "a\\u{1b}[2J\\u{9b}\\u{202e}b\té\n");
    }
}
