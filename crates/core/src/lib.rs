//! Every state machine and decision of the runtime, as pure functions.
//!
//! [`step()`] is the only entry point: it takes a view of one agent, one input, the time and a source of randomness,
//! and returns the facts that follow. [`needs()`] forecasts the rows that an input will read. The crate has no access
//! to clocks, files, sockets or locks, so every rule is tested as a table.
//!
//! Modules by task: `admission` accepts messages, `schedule` picks the next one, `turn` runs it to its end, `attempt`
//! decides retries of a failed request and `patience` those of a failed chain of models. `rest` sets pauses and ends
//! them, `work` changes work items, `workspace` changes the active workspace, `wait` declares and ends waits, `tick` sends the agent back to its work, `timer`
//! fires slots, `hint` collects wake hints and `trigger` accepts deliveries from outside. `lifecycle` creates, starts,
//! stops and removes agents, `import` makes one from an archive, `home` checks and removes their homes, `delivery` passes
//! messages between agents, `outbox` and `routing` bring briefs to operators and `transport` admits remote ones, `task`
//! supervises commands that outlive their call,
//! and `recovery` resumes open effects after a crash. Only `assess` computes the state of an agent, `explain` describes
//! it for people, and `invariant` checks the rows.

pub mod admission;
pub mod assess;
pub mod attempt;
pub mod budget;
mod clock;
mod context;
pub mod continuation;
pub mod delegation;
mod delivery;
mod detached;
mod draft;
pub mod due_order;
pub mod explain;
mod hint;
mod home;
pub mod import;
mod ingress;
pub mod input;
pub mod invariant;
pub mod lifecycle;
mod memory;
mod needs;
mod occupancy;
mod outbox;
pub mod patience;
#[cfg(feature = "planted")]
pub mod planted;
#[cfg(not(feature = "planted"))]
mod planted;
pub mod policy;
mod recovery;
mod rejection;
mod rest;
mod restart_policy;
mod routing;
mod schedule;
mod skill;
mod step;
mod subsystem;
pub mod summary;
mod task;
mod tick;
pub mod timer;
mod transport;
mod trigger;
mod turn;
mod usage;
mod wait;
mod work;
pub mod workspace;

pub use ingress::Ingress;
pub use input::{AgentView, HostConditions, Input, Reply, RoundAnswer, Stamp};
pub use needs::needs;
pub use planted::reply_is_forgotten;
pub use rejection::Rejection;
pub use step::{Step, StepError, step};
