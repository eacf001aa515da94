//! Runs commands: start, drain, watch, stop.
//!
//! `run` holds a short command as its own child and ends it with its own life. Everything else runs under a shim, a
//! small process that outlives us ([`shim_main`]); [`start`] and [`attach`] are our side of it.
//! Where a command may run and what a model reads of its output is decided elsewhere.
//! Invariants: when a `run` is over, for whatever reason (also because its future was dropped), no member of its
//! process group is left alive. A shim's command runs at most once, its end is on disk before anybody hears of it,
//! and nothing is ever signalled by a bare process id.

mod capture;
mod error;
mod failure;
mod group;
mod hunt;
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

pub use error::Error;
pub use measure::start_latencies;
pub use record::{Ended, Identity, OutputFacts, Stream, StreamFacts};
pub use run::{CommandSpec, run, run_with_input};
pub use shim::shim_main;
pub use spec::{Confinement, Leftovers, NICENESS, ShimSpec, VERSION, WindowSize};
pub use supervise::{
    Image, Shims, Slice, Sought, StoppedState, Task, TaskState, attach, attach_within, kept_output,
    put_down, start, stop,
};
