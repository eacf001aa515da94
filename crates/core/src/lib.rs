//! Every state machine and decision of the runtime, pure.
//!
//! One door: [`step()`] takes a view of one agent, one input, the time and a source of chance, and returns the
//! facts that follow. [`needs()`] says beforehand which rows it will want to see. No clock, file, socket or lock is in reach, so every rule here is tested as a table.
//!
//! Who may cause what: `admission` lets messages in, `schedule` picks the next one, `turn` runs it to its end,
//! `attempt` judges a failed request and `patience` a failed chain of models, `rest` sets pauses and ends them, `lifecycle` makes, starts, stops and
//! removes agents, `home` their homes, `delivery` passes on what one agent sends another, `task` follows commands that go on without their call, `recovery` settles what
//! a dead process left open. `assess` is the only place that says where an agent stands, and `invariant` checks what
//! must always hold.

pub mod admission;
pub mod assess;
pub mod attempt;
mod clock;
pub mod continuation;
mod delivery;
mod detached;
mod draft;
pub mod explain;
mod hint;
mod home;
mod ingress;
pub mod input;
pub mod invariant;
pub mod lifecycle;
mod needs;
pub mod patience;
mod recovery;
mod rejection;
mod rest;
mod resumption;
mod schedule;
mod step;
mod subsystem;
pub mod summary;
mod task;
mod tick;
mod timer;
mod turn;
mod wait;
mod work;

pub use ingress::Ingress;
pub use input::{AgentView, HostFacts, Input, Reply, RoundAnswer, Stamp};
pub use needs::needs;
pub use rejection::Rejection;
pub use step::{Step, Undecided, step};
