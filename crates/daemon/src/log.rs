//! Where log lines go: to standard error, as the settings filter them.
//!
//! A line that cannot be written is lost, and nothing else: a host goes on without its log. What would steer the terminal
//! that may read it is spelled out.

use holon_config::{Settings, Source};
use holon_domain::text::is_display_control;
use std::fmt::Write as _;
use std::io::{self, Write};
use tracing_subscriber::EnvFilter;

/// What is logged when nobody asks for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// What a host does.
    Info,
    /// Only what went wrong: for commands whose output is their answer, and which tell of models themselves.
    Warn,
}

/// Starts logging; a filter that cannot be read is noted and the usual one used instead.
pub fn start_logging(settings: &Settings, unasked: LogLevel) {
    let usual = match unasked {
        LogLevel::Info => "info",
        LogLevel::Warn => "warn,holon_daemon::port::model=error",
    };
    let asked = match settings.log_filter.source {
        Source::Builtin => usual,
        Source::Flag | Source::Environment | Source::File | Source::Credentials => {
            settings.log_filter.value.as_str()
        }
    };
    let (filter, unreadable) = match EnvFilter::try_new(asked) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(usual), Some(error)),
    };
    // A second start in one process keeps the first; there is nothing to mend.
    drop(
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(|| Plain(io::stderr()))
            // Told of on standard error, which is what failed, and a panic when that fails too.
            .log_internal_errors(false)
            .with_ansi(false)
            .with_target(false)
            .try_init(),
    );
    if let Some(error) = unreadable {
        tracing::warn!(%error, "RUST_LOG cannot be read; logging {usual} instead");
    }
}

/// Lines with everything spelled out that would steer a terminal.
struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A line comes in one piece, so no character is cut.
        self.0
            .write_all(plain(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    for c in line.chars() {
        if is_display_control(c) && !matches!(c, '\n' | '\t') {
            // Writing to a string cannot fail.
            write!(plain, "{}", c.escape_unicode()).ok();
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_steer_the_terminal_it_is_read_on() {
        let mut lines = Plain(Vec::new());
        let line = "a\u{1b}[2J\u{9b}\u{202e}b\té\n";
        assert_eq!(lines.write(line.as_bytes()).unwrap(), line.len());
        let written = String::from_utf8(lines.0).unwrap();
        assert_eq!(written, "a\\u{1b}[2J\\u{9b}\\u{202e}b\té\n");
    }
}
