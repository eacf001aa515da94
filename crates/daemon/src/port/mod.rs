//! The engine's ports over the adapters of this build. Each is delegation only.

mod clock;
mod command;
mod entropy;
mod home;
mod model;

pub(crate) use clock::{SystemClock, wall_clock};
pub(crate) use command::Commands;
pub(crate) use entropy::OsEntropy;
pub(crate) use home::Homes;
pub(crate) use model::Models;
