//! Homes and confinement on a real filesystem.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod archive;
mod attachment;
mod choose;
mod git;
mod home;
mod hostile_guidance;
mod hostile_reads;
mod hostile_remote;
mod hub;
mod instructions;
mod plan;
mod remote;
mod remote_http;
mod root;
mod skills;
mod templates;
mod tree;
