//! Typed client of the control plane: over the unix socket or TCP, one connection per request.
//!
//! Owns connecting, encoding, bounded reading and streams that come back by cursor. Decides nothing about agents,
//! prints nothing, reads no file and no environment: where to connect and with which token are arguments.

mod client;
mod endpoint;
mod error;
mod exchange;
mod reader;
mod stream;
mod work;

pub use client::{Client, EventsQuery};
pub use error::Error;
pub use stream::EventStream;
