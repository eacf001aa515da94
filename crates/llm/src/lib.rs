//! One attempt at one provider round: encode, send, decode, classify.
//!
//! Owns the way from a provider-neutral request to a provider-neutral answer or a classified failure.
//! Retrying, falling back to another model and remembering what was said belong to the caller.
//! The only provider so far is `scripted`, which plays answers from a file and touches no network.

mod codec;
mod error;
mod placeholder;
mod reading;
mod router;
mod script;
mod scripted;

pub use error::Error;
pub use router::Router;
pub use script::{
    Call, EndPolicy, ErrorKind, Expectation, Round, Script, ScriptedError, Stop, Usage,
};
