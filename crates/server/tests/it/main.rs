//! The server over real sockets, with a scripted engine behind it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(
    clippy::result_large_err,
    reason = "the scripted engine answers with the engine's own error"
)]

mod engine;
mod gate;
mod limits;
mod routes;
mod streams;
mod typed;
mod world;
