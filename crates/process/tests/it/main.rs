//! Commands run for real, through the public door.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod ending;
mod failure;
mod output;
mod shim;
mod support;
