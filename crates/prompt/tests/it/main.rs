//! The prompt crate from outside: whole frames, their cache identity, and what outsiders can and cannot do to them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cache;
mod fixture;
mod frame;
mod hostile;
mod work;
