//! Runs one attempt at one provider round: encode, send, decode, classify.
//!
//! Turns a provider-neutral request into a provider-neutral answer or a classified failure. The caller owns retries,
//! fallback to another model and the stored conversation. Four wire protocols are supported over HTTP; the provider
//! `scripted` plays answers from a file and uses no network.

mod codec;
mod credential;
mod error;
mod host;
mod http;
mod placeholder;
mod request_view;
mod router;
mod script;
mod scripted;
mod search;
mod secrets;

pub use credential::{Credential, Credentials};
pub use error::Error;
pub use http::HttpLimits;
pub use router::{Router, TransportRefusal};
pub use script::{
    Call, EndPolicy, ErrorKind, Expectation, Round, Script, ScriptedError, Stop, Usage,
};
pub use secrets::Secrets;
