//! Commands of agents: where a command keeps its state and output, what it finds in its environment, what it printed,
//! and the state it is in.
//!
//! Everything here works for one agent and over `process`, which starts and supervises the command's shim. A command's
//! directory stands under the host's state, its output files in the agent's home.
//! [`CommandState`](holon_domain::command::CommandState) is the one answer to whether a command runs and how it ended.
//! Not here: the database, decisions about agents, and the words a model reads of a result.
//! Invariants: a command of one key is started at most once, and no lookup runs while it is being started.

mod commands;
mod decode;
mod environment;
mod facts;
mod folders;
mod input;
mod login;
mod off_thread;
mod place;
mod printed;
mod prune;
mod registry;
mod report;
mod run;
mod state;
mod sweep;

pub use commands::Commands;
