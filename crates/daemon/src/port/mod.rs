//! The engine's ports over the adapters of this build. Each is delegation only.

mod attached;
mod clock;
mod command;
mod credential;
mod entropy;
mod file;
mod home;
mod live;
mod model;
mod plan;

pub(crate) use attached::Attachments;
pub(crate) use clock::SystemClock;
pub use clock::wall_clock;
pub use command::Commands;
pub(crate) use credential::shell_words;
pub(crate) use entropy::OsEntropy;
pub(crate) use file::Files;
pub(crate) use home::Homes;
pub(crate) use live::Live;
pub(crate) use model::{Bound, Models, limits};
pub(crate) use plan::Plans;
