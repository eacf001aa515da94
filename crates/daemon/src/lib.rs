//! The composition root: opens the home and its store, binds adapters to the engine's ports, and serves or runs once.
//!
//! This crate owns start and end of a host process: locks, listeners, signals, logs, and the record by which other
//! processes find it. It makes no decision about agents and prints nothing; messages go to a callback or to the log.

mod background;
pub mod backup;
pub mod checkout;
pub mod checkup;
mod compose;
mod daemon_record;
mod effective_config;
mod endpoint;
mod error;
mod failure_record;
mod files;
mod heap;
mod host_facts;
mod host_files;
mod in_force;
pub mod keyring;
pub mod lifecycle;
mod log;
mod log_file;
mod log_tail;
mod no_space;
mod notify;
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
mod socket_place;
mod survey;
pub mod templates;
mod token_mark;

pub use background::{detach, release_stdin, release_stdout};
pub use daemon_record::DaemonRecord;
pub use effective_config::{ConfigMarks, EffectiveConfig};
pub use endpoint::{Endpoints, check_exposure};
pub use error::Error;
pub use failure_record::{FailureFiles, FailurePhase, FailureRecord};
pub use holon_engine::RunNews;
pub use holon_server::{RefusalEntry, refusals};
pub use log::{LogLevel, LogTarget, start_logging};
pub use log_file::{log_path, open_log};
pub use log_tail::{LogFollower, log_tail};
pub use policy::{retry_policy, waiting_failure_kinds};
pub use port::{Commands, Deadline, wall_clock};
pub use probe::{Probe, local_models, probe};
pub use run_local::{LocalRun, run_local};
pub use runtime::{run_runtime, serve_runtime};
pub use serve::{HostStart, serve};
pub use setup::SettingsReader;
pub use socket_place::{home_tag, socket_path};
pub use survey::{learned_limits, newest_agent_failure, survey};
pub use token_mark::token_mark;

pub use holon_store::{
    Home, HomeError, HomeOwner, HomeState, LearnedModel, home_owner, is_home_denied, owner_pid,
};
