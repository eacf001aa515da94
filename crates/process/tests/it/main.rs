//! Tests that run real commands through the public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod ending;
mod failure;
mod output;
mod shim;
mod support;
