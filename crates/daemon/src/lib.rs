//! The composition root: opens the home and its store, binds adapters to the engine's ports, serves or runs once.
//!
//! Owns start and end of a host process: locks, listeners, signals, logs, the record other processes find it by.
//! Deliberately absent: any decision about agents, and any printing; what is worth telling goes to a callback or
//! to the log.

mod compose;
mod daemon_record;
mod endpoint;
mod error;
mod files;
pub mod keyring;
mod log;
mod marks;
mod no_space;
mod open;
mod policy;
mod port;
mod probe;
mod run_files;
mod run_local;
mod runtime;
mod serve;
mod setup;
mod signal;
mod survey;

pub use daemon_record::DaemonRecord;
pub use endpoint::{Endpoints, socket_path};
pub use error::Error;
pub use log::{LogLevel, start_logging};
pub use policy::{retry_policy, waiting_failure_kinds};
pub use port::{Commands, wall_clock};
pub use probe::{Probe, local_models, probe};
pub use run_local::run_local;
pub use runtime::{run_runtime, serve_runtime};
pub use serve::serve;
pub use setup::Reread;
pub use survey::survey;
