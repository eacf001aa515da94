//! The control plane's server: HTTP over TCP and a unix socket, event streams, and who is let in.
//!
//! Owns listeners, limits of requests, authentication and the translation between wire and engine.
//! Decides nothing about agents: a handler turns JSON into one call on the engine. Whether that is refused is for the
//! engine to say; only what is wrong with the request itself is refused here ([`refusals`] lists all of both).
//! Routes that read hold only the engine's `Reads`, so looking at an agent cannot wake it.
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

pub use door::{Doors, Manage, Setup};
pub use error::Error;
pub use gate::PUBLIC;
pub use listen::bind_unix;
pub use refusal::{RefusalEntry, refusals};
pub use router::routes;
pub use serve::{ServerConfig, serve};
pub use token::Token;
