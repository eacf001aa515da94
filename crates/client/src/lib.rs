//! Typed client of the control plane: over the unix socket or TCP, one connection per request.
//!
//! Owns connecting, encoding, bounded reading and streams that come back by cursor. Decides nothing about agents,
//! prints nothing, reads no file and no environment: where to connect and with which token are arguments.
//! A host may be newer: its words are taken as they are spelled ([`view`]), and its answers are kept whole ([`Told`]).

mod client;
mod endpoint;
mod error;
mod exchange;
mod reader;
mod stream;
mod told;
pub mod view;
mod work;

pub use client::{Client, EventsQuery};
pub use error::Error;
pub use stream::EventStream;
pub use told::Told;
