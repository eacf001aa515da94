//! What a model is shown: the prompt frame, chosen, bounded, ordered and rendered.
//!
//! Owns the system policy, the description of the agent's surroundings and of its work, the labels and fences around messages, and
//! the identity under which a provider may cache a prompt. Pure: the same input gives the same frame, byte for byte.
//! Deliberately absent: reading files, the clock, any provider's wire format, and the tools' own schemas.

mod context;
mod digest;
mod fence;
pub mod frame;
mod policy;
mod provenance;
mod scope;
mod visible;
mod work;

pub use context::{HistoryItem, interjection_text};
pub use digest::hash;
pub use frame::{Built, FrameInput, build, rebuild};
pub use work::{PlanLook, Work};
