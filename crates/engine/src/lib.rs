//! The engine: the deterministic kernel and the shell around it.
//!
//! `kernel` handles one input inside the writer's transaction and decides through `core`.
//! `shell` is the only async code; it performs effects and brings their outcomes back, and decides nothing.
//! `reads` and `acts` are its two doors: one looks, the other changes.
//! The engine defines the ports it needs (`ports`) and reaches no network, terminal or HTTP crate.

pub mod acts;
pub mod conduct;
pub mod error;
pub mod facts;
pub mod finding;
pub mod host;
pub mod kernel;
pub mod model_request;
mod news;
pub mod ports;
pub mod reads;
pub mod request;
mod run_once;
mod shell;
mod stalled;
pub mod tool_outcome;
pub mod tool_run;
pub mod work_answer;

pub use acts::Acts;
pub use conduct::{Conduct, Scope};
pub use error::Error;
pub use facts::SharedFacts;
/// Why the core refuses an input; see [`Error::Rejected`].
pub use holon_core::Rejection;
/// The rules by which failed attempts are tried again, for those who explain them.
pub use holon_core::attempt;
pub use host::{Host, HostConfig};
pub use reads::{Reads, Which, WorkItemPage};
