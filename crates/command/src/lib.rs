//! Starts, finds, follows, stops and forgets the commands of agents, and reads their output.
//!
//! This crate works for one agent at a time, on top of `process`, which starts and supervises the command's shim. A
//! command's claim directory is under the host's state, its output files are in the agent's home.
//! [`CommandState`](holon_domain::command::CommandState) is the only source for whether a command runs and how it
//! ended. The database, decisions about agents, and the texts a model reads are in other crates.
//!
//! Invariants: a command key is started at most once, and no lookup runs while the command is being started.

mod commands;
mod decode;
mod environment;
mod facts;
mod folders;
mod input;
mod login;
mod off_thread;
mod paths;
mod printed;
mod prune;
mod registry;
mod report;
mod run;
mod state;
mod sweep;

pub use commands::{Commands, usable_shell};
