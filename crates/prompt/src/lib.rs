//! Builds the prompt frame: selects, bounds, orders and renders what a model is shown.
//!
//! Owns the system policy, the description of the agent's surroundings and work, the labels and fences around messages,
//! and the identity under which a provider may cache a prompt. Pure: the same input gives the same frame, byte for
//! byte. It reads no files and no clock, and knows neither a provider's wire format nor the tools' schemas.

mod context;
pub mod conversation;
mod digest;
mod fence;
pub mod frame;
mod instructions;
mod measured;
mod policy;
mod provenance;
mod scope;
mod skills;
mod visible;
mod work;

pub use context::{HistoryItem, interjection_text};
pub use digest::hash;
pub use frame::{BuiltFrame, FrameInput, build, rebuild};
pub use work::{PlanFile, Work};
