//! Providers over HTTP: addresses, credentials, limits, and one attempt after the other's request.
//!
//! Owns the way of a request to a provider and back. What requests and answers look like is the codecs' business;
//! whether and whom to ask again is the caller's.

mod address;
mod cause;
mod classify;
mod clean;
mod client;
mod deadline;
mod exchange;
mod headers;
mod known;
mod limits;
mod listing;
mod names;
mod provider;
mod recent;
mod report;
mod retry_after;
mod said;
mod words;

pub(crate) use address::Provider;
pub use limits::HttpLimits;
#[cfg(test)]
pub(crate) use names::Lookup;
pub(crate) use provider::Http;
