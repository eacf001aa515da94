//! The shell with scripted ports and a clock the tests move: nothing here waits by time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod commits;
mod feed;
mod house;
mod models;
mod patches;
mod ports;
mod restarts;
mod runs;
mod stopping;
mod turns;
