//! The scripted provider through its public door: the router.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod failure;
mod guide;
mod play;
mod support;
