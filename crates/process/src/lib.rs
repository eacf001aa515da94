//! Runs commands: starts them, drains their output, watches and stops them.
//!
//! `run` holds a short command as a direct child that ends with the host. Every other command runs under a shim, a
//! small process that outlives the host ([`shim_main`]); [`start`] and [`attach`] are the host's side of it. Other
//! crates decide where a command may run and what a model reads of its output.
//!
//! Invariants: when a `run` is over, also because its future was dropped, no member of its process group is alive. A
//! shim's command runs at most once, its end is on disk before it is reported, and no process is signalled by a bare
//! process id.

mod ancestry;
mod capture;
mod error;
mod failure;
mod group;
mod kill_tree;
mod measure;
mod pipe;
mod record;
mod run;
mod shim;
mod spec;
mod supervise;
mod table;
mod unix;
mod wire;

pub use ancestry::command_dir_of;
pub use error::Error;
pub use measure::start_latencies;
pub use record::{EndRecord, Identity, OutputRecord, Stream, StreamRecord};
pub use run::{CommandSpec, run, run_with_input};
pub use shim::shim_main;
pub use spec::{Confinement, Leftovers, NICENESS, ShimSpec, VERSION, WindowSize};
pub use supervise::{
    CommandLocator, Image, ShimmedCommand, ShimmedState, Shims, Slice, StoppedState, attach,
    attach_within, kept_output, kill_command, start, stop,
};
