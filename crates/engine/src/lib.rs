//! The engine: the deterministic kernel and the shell around it.
//!
//! `kernel` handles one input inside the writer's transaction and decides through `core`.
//! `shell` is the only async code; it performs effects and brings their outcomes back, and decides nothing.
//! The engine defines the ports it needs (`ports`) and reaches no network, terminal or HTTP crate.

pub mod error;
pub mod handle;
pub mod host;
pub mod kernel;
pub mod ports;
pub mod request;
mod run_once;
mod shell;

pub use error::Error;
pub use handle::{Acts, Reads};
pub use host::{Conduct, Host, HostConfig, Scope};
