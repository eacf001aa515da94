//! The engine: the deterministic kernel and the asynchronous shell around it.
//!
//! - `kernel` handles one input inside the writer's transaction. All decisions are made by `core`.
//! - `shell` is the only async code. It performs effects and commits their outcomes, and decides nothing.
//! - `reads` looks at agents and can write nothing; `acts` changes them.
//! - `ports` holds the traits the engine needs. The engine uses no network, terminal or HTTP crate itself.

pub mod archive;
mod concealment;
pub mod conditions;
pub mod conduct;
pub mod control;
mod deltas;
pub mod error;
pub mod finding;
pub mod host;
pub mod kernel;
pub mod memory;
pub mod meters;
pub mod model_request;
mod news;
pub mod ports;
pub mod reads;
pub mod request;
mod request_trail;
mod run_once;
mod shell;
mod skill_use;
mod stalled;
pub mod tool_outcome;
pub mod tool_run;
pub mod work_answer;

pub use conditions::SharedConditions;
pub use conduct::{Conduct, HistoryTerms, Scope};
pub use control::{
    BindingAddition, ControlHandle, PruneOrder, PruneReport, TargetMaking, TokenMaking,
    TokenRemoval, WebhookTerms,
};
pub use error::Error;
/// The reason for which the core refuses an input; see [`Error::Rejected`].
pub use holon_core::Rejection;
/// The retry rules for failed attempts, for callers that explain them to users.
pub use holon_core::attempt;
/// What an agent does after its run was aborted.
pub use holon_core::input::AfterAbort;
pub use holon_core::patience;
/// Rows of deliveries that the control plane shows.
pub use holon_store::{BudgetChange, LaneView};
pub use host::{Host, HostConfig};
pub use meters::HostMeters;
pub use model_request::ThreadTerms;
pub use reads::{
    EntryFilter, HostActivity, HostFigures, ReadHandle, StorageSizes, TurnMeasure, WorkItemPage,
};
pub use run_once::RunNews;
pub use shell::MODEL_CALL_LOG;
