//! The composition root: opens the home and its store, binds adapters to the engine's ports, and serves or runs once.
//!
//! This crate owns start and end of a host process: locks, listeners, signals, logs, and the record by which other
//! processes find it. It makes no decision about agents and prints nothing; messages go to a callback or to the log.

pub mod checkout;
mod compose;
mod daemon_record;
mod endpoint;
mod error;
mod files;
mod host_files;
pub mod keyring;
mod log;
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
mod socket_keeper;
mod survey;
pub mod templates;

pub use daemon_record::DaemonRecord;
pub use endpoint::{Endpoints, socket_path};
pub use error::Error;
pub use holon_engine::RunNews;
pub use log::{LogLevel, start_logging};
pub use policy::{retry_policy, waiting_failure_kinds};
pub use port::{Commands, wall_clock};
pub use probe::{Probe, local_models, probe};
pub use run_local::run_local;
pub use runtime::{run_runtime, serve_runtime};
pub use serve::serve;
pub use setup::SettingsReader;
pub use survey::{learned_limits, survey};

pub use holon_store::{LearnedModel, owner_pid};
