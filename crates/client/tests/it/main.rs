//! The client against a host that answers from a script.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod calls;
mod canned;
mod newer;
mod streams;
