//! Where log lines go: to standard error, as the settings filter them.
//!
//! A line that cannot be written is lost, and nothing else: a host goes on without its log.

use holon_config::{Settings, Source};
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
            .with_writer(std::io::stderr)
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
