//! Settings, providers, credentials and the control token, from the outside.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod codex;
mod credential;
mod credentials;
mod doctor;
mod edit;
mod effective;
mod file;
mod properties;
mod provider;
mod resolve;
mod support;
mod token;
mod web;
