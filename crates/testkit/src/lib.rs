//! Test environments: a private home, scripted models, the real program as a user runs it, and fakes of the engine's
//! ports for tests below the program.
//!
//! No test here waits for time to pass: a host is ready when it says so, and gone when its process is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set up its world has failed"
)]

pub mod checker;
pub mod damage;
pub mod engine;
mod host_process;
mod log;
mod meeting;
pub mod outbound;
pub mod ports;
pub mod provider;
pub mod recall;
mod world;

pub use host_process::HostProcess;
pub use meeting::Meeting;
pub use world::{ProgramOutput, World};
