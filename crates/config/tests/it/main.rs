//! Settings and the control token, from the outside.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod file;
mod resolve;
mod token;
