//! The scripted provider and providers over HTTP, tested through the router.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod continuation;
mod failure;
mod faults;
mod freeform;
mod guide;
mod play;
mod proxy;
mod refused_key;
mod routes;
mod secrets;
mod streaming;
mod support;
mod transport_faults;
mod windows;
mod wire;
