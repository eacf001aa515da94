//! One attempt at one provider round: encode, send, decode, classify.
//!
//! Owns the way from a provider-neutral request to a provider-neutral answer or a classified failure.
//! Retrying, falling back to another model and remembering what was said belong to the caller.
//! Four wire protocols are spoken over HTTP; the provider `scripted` plays answers from a file and touches no network.

mod codec;
mod credential;
mod error;
mod host;
mod http;
mod placeholder;
mod reading;
mod router;
mod script;
mod scripted;
mod search;
mod secrets;

pub use credential::{Credential, Credentials};
pub use error::Error;
pub use http::HttpLimits;
pub use router::Router;
pub use script::{
    Call, EndPolicy, ErrorKind, Expectation, Round, Script, ScriptedError, Stop, Usage,
};
pub use secrets::Secrets;
