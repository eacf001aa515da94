//! A model provider for tests: a real server on loopback that speaks all four protocols from one script.
//!
//! It answers each request in the request's protocol and checks the request by the rules of that protocol. The script
//! can hold an answer at a gate until the test opens it, and can cut off, stall, slow down or falsify an answer. Tests
//! wait for a request, a gate or a closed connection, not for time. There are two exceptions, documented in place: a
//! slow answer needs real time, and a wait that would never end panics.
//!
//! ```
//! use holon_testkit::provider::{Fault, Point, Provider, Round, Script};
//! use serde_json::json;
//!
//! let provider = Provider::start(Script::of([
//!     Round::fault(Fault::RateLimited { retry_after: None }),
//!     Round::text("I look.").call("ExecCommand", json!({ "cmd": "true" })),
//!     Round::text("Done.").usage(1_200, 30, 1_000).hold(Point::AfterHeaders, "late"),
//! ]));
//! let base_url = provider.base_url(); // one address for all four protocols
//! let late = provider.gate("late"); // late.reached() waits for the server, late.open() lets it go on
//! # drop((base_url, late));
//! // ... let the program under test talk to it, then: provider.finish();
//! ```

mod answer;
mod check;
mod connection;
mod error_body;
mod falsify;
mod fault;
mod gate;
mod http;
mod mint;
mod packing;
mod plan;
mod protocol;
mod recorded_request;
mod render;
mod round;
mod script;
mod server;
mod shared;
mod unreachable;

#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use gate::Gate;
pub use protocol::Protocol;
pub use recorded_request::RecordedRequest;
pub use round::{Point, Round, Stop};
pub use script::Script;
pub use server::Provider;
pub use unreachable::UnreachableAddress;
