//! Runs one command to its end: start, drain, watch, stop.
//!
//! Owns the child process, its process group and its two pipes, and bounds everything it keeps of them.
//! Where a command may run and what a model reads of its output is decided elsewhere.
//! Invariant: when a run is over, for whatever reason (also because its future was dropped), no member of its
//! process group is left alive. A descendant that moved to another group or session is out of reach.

mod capture;
mod group;
mod pipe;
mod run;

pub use run::{CommandSpec, run, run_with_input};
