//! Patches through the public door: what they do, and what they are told when they cannot.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bounds;
mod diffs;
mod fuzzing;
mod git;
mod headers;
mod leniency;
mod line_ends;
mod placing;
mod properties;
mod refusals;
mod support;
