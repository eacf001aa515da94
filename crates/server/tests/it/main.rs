//! The server over real sockets, with a scripted engine behind it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod engine;
mod gate;
mod limits;
mod routes;
mod streams;
mod typed;
mod world;
