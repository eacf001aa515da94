//! Providers over HTTP: URLs, credentials, limits and single attempts.
//!
//! Owns the transport of a request and its response. Codecs own their content; the caller owns retries and fallbacks.

mod attempt;
mod caller;
mod cause;
mod classify;
mod clean;
mod client;
mod deadline;
mod description;
mod error_body;
mod exchange;
mod headers;
mod limits;
mod listing;
mod lru_map;
mod names;
mod optional;
mod provider;
mod report;
mod retry_after;
mod snapshot_cache;
mod statements;
mod whole_answers;
mod window;
mod words;

pub(crate) use caller::HttpCaller;
pub use limits::HttpLimits;
#[cfg(test)]
pub(crate) use names::Lookup;
pub(crate) use provider::Provider;
