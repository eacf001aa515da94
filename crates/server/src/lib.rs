//! The server of the control plane: HTTP over TCP and a unix socket, event streams, and authentication.
//!
//! Owns listeners, request limits, authentication and the translation between wire and engine. A handler turns JSON
//! into one call on the engine and decides nothing about agents. The server refuses only malformed requests; every
//! other refusal comes from the engine ([`refusals`] lists both). Read-only routes hold only the engine's `ReadHandle`, so a
//! read cannot wake an agent. Invariant: a request reaches a handler only through the gate at the router's root, which
//! denies by default.

mod body;
mod body_room;
mod chunks;
mod delivery_limits;
mod error;
mod extract;
mod frame;
mod gate;
mod hosts;
mod keyed;
mod listen;
mod named_tokens;
mod openapi;
mod ports;
mod refusal;
mod rising_counters;
mod route;
mod route_table;
mod router;
mod run_stream;
mod serve;
mod signature;
mod slots;
mod source;
mod sse;
mod state;
mod token;
mod webhook_secrets;

pub use error::Error;
pub use gate::{Access, PUBLIC};
pub use listen::bind_unix;
pub use openapi::document as openapi_document;
pub use ports::{HostFacts, HostPorts, PeerCommand, PeerFinder, SetupManager, SetupReader};
pub use refusal::{RefusalEntry, refusals};
pub use router::{route_access, routes};
pub use serve::{ServerConfig, serve};
pub use token::Token;
