//! The prompt crate from outside: whole frames, their cache identity, and attacks by outsiders.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cache;
mod conversation;
mod day;
mod fixture;
mod frame;
mod hostile;
mod instructions;
mod oversized;
mod properties;
mod situations;
mod skills;
mod work;
