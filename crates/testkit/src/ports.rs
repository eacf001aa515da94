//! Fake implementations of the engine's ports, for tests that run a host without real processes, files or networks.
//!
//! There are two kinds. The scripted ones give the test control: a call waits until the test answers it, the clock
//! moves when the test moves it, and a command ends when the test says so. The instant ones ([`FixedModel`],
//! [`InstantPorts`]) answer every call at once, for measurements and for tests of other things.
//!
//! Unit tests inside the engine cannot use these: there the engine under test and the engine this crate links are two
//! crates with two sets of traits.

mod clock;
mod commands;
mod entropy;
mod file;
mod guidance;
mod home;
mod image;
mod instant;
mod memory;
mod model;
mod pending;
mod plan;
mod web;
mod workspace;

pub use clock::ManualClock;
pub use commands::{CommandLog, FakeCommand, FakeCommandHost, FakeCommands};
pub use entropy::CountingEntropy;
pub use file::{FinishRequest, ScriptedFiles, added_file};
pub use guidance::MemoryGuidance;
pub use home::ScriptedHomes;
pub(crate) use home::refuse_template;
pub use image::SentImagesInMemory;
pub use instant::InstantPorts;
pub use memory::EpisodeShelf;
pub use model::{
    FixedModel, SMALL_POLICY, ScriptedModel, WIDE_POLICY, calls, failure, reply, says,
    says_and_calls,
};
pub use pending::{CallQueue, PendingCall};
pub use plan::MemoryPlans;
pub use web::{ScriptedWeb, fetched_page};
pub use workspace::ScriptedWorkspaces;
