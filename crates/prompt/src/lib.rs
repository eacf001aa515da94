//! Builds the prompt frame: selects, bounds, orders and renders what a model is shown.
//!
//! Owns the system policy, the description of the agent's surroundings and work, the labels and fences around messages,
//! and the identity under which a provider may cache a prompt. Pure: the same input gives the same frame, byte for
//! byte. It reads no files and no clock, and knows neither a provider's wire format nor the tools' schemas.

mod candidate;
mod context;
pub mod conversation;
mod delegation;
mod digest;
mod entered;
mod excerpt;
mod fence;
pub mod frame;
mod instructions;
mod measured;
mod memory;
mod notes;
mod now;
mod plan;
mod policy;
mod provenance;
mod repair;
mod scope;
mod skills;
mod stable;
pub mod thread;
mod visible;
mod wait_notes;
mod work;

pub use context::{Tasks, interjection_text};
pub use digest::hash;
pub use entered::entered_guidance;
pub use frame::{BuiltFrame, ExplainedPart, FrameInput, KeptFrame, build, explain, rebuild};
pub use instructions::shown_sources;
pub use memory::Memory;
pub use repair::repaired_failure;
pub use work::{PlanFile, Work};
