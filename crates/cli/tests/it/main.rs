//! The real program, run as a user would run it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "tests"
)]

#[cfg(feature = "crash-points")]
mod crash_sweep;
mod demo;
mod disk;
mod hosting;
mod looking;
mod models;
mod models_faults;
mod models_secrets;
mod refusals;
mod runs;
mod support;
