//! The tools, one file each: typed arguments, the spec derived from them, and what a call asks for.
//!
//! A tool's file owns its schema, its semantic rules and, where the shell performs it, its result envelope.
//! Which agent has which tool stands in `registry`.

pub(crate) mod agent_get;
pub mod apply_patch;
pub(crate) mod enqueue;
pub mod exec_command;
pub(crate) mod sleep;
