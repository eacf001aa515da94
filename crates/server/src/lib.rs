//! The control plane's server: HTTP over TCP and a unix socket, event streams, and who is let in.
//!
//! Owns listeners, limits of requests, authentication and the translation between wire and engine.
//! Decides nothing about agents: every handler is one call on a door. Reads are served by routes that
//! hold only the reading door, so looking at an agent cannot wake it.
//! Invariant: a request reaches a handler only through the gate at the router's root, which denies by default.

mod body;
mod door;
mod error;
mod extract;
mod frame;
mod gate;
mod hosts;
mod listen;
mod refusal;
mod route;
mod router;
mod serve;
mod sse;
mod state;
mod token;

pub use door::{Act, Doors, Look, Manage, Setup};
pub use error::Error;
pub use gate::PUBLIC;
pub use listen::bind_unix;
pub use router::routes;
pub use serve::{ServerConfig, serve};
pub use token::Token;
