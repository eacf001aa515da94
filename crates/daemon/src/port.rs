//! The engine's ports, implemented over the adapters of this build. Each one only delegates.

mod archive;
mod attached;
mod clock;
mod command;
mod credential;
mod credential_watch;
mod entropy;
mod file;
mod guidance;
mod home;
mod image;
mod memory;
mod model;
mod outbound;
mod peer;
mod plan;
mod reloadable;
mod web;
mod workspace;

pub(crate) use archive::Archives;
pub(crate) use attached::Attachments;
pub(crate) use clock::SystemClock;
pub use clock::{Deadline, wall_clock};
pub use command::Commands;
pub(crate) use credential::shell_words;
pub(crate) use entropy::OsEntropy;
pub(crate) use file::Files;
pub(crate) use guidance::GuidanceFiles;
pub(crate) use home::Homes;
pub(crate) use memory::MemoryFolder;
pub(crate) use model::{Models, ProviderBinding, limits};
pub(crate) use outbound::{AttachedFiles, Outbound};
pub(crate) use peer::ShimPeers;
pub(crate) use plan::Plans;
pub(crate) use reloadable::ReloadableAdapters;
pub(crate) use workspace::Workspaces;
