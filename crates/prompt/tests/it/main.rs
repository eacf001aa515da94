//! The prompt crate from outside: whole frames, their cache identity, and attacks by outsiders.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cache;
mod conversation;
mod deeds;
mod fixture;
mod frame;
mod histories;
mod hostile;
mod instructions;
mod joining;
mod long_turn;
mod notes;
mod oversized;
mod properties;
mod recap;
mod situations;
mod skills;
mod thread;
mod work;
