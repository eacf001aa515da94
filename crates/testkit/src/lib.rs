//! Worlds for tests: a home of its own, scripted models, and the real program as a user would run it.
//!
//! Nothing here waits by time: a host is ready when it says so, and it is gone when its process is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set up its world has failed"
)]

pub mod checker;
#[cfg(feature = "engine")]
pub mod engine;
mod log;
mod meeting;
pub mod provider;
mod served;
mod world;

pub use meeting::Meeting;
pub use served::Served;
pub use world::{Ran, World};
