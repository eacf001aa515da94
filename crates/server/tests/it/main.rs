//! The server over real sockets, with a real engine behind it whose ports are scripted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod archives;
mod callbacks;
mod concealment;
mod context;
mod delivery;
mod gate;
mod host;
mod host_status;
mod host_stream;
mod inspection;
mod keys;
mod limits;
mod memory;
mod peers;
mod reference;
mod refusals;
mod requests;
mod routes;
mod schemas;
mod seq_pages;
mod streams;
mod tasks;
mod third_parties;
mod tokens;
mod typed;
mod webhooks;
mod work;
mod workspaces;
mod world;
