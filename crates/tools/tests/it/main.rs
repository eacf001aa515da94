//! The tools crate from outside: schemas against a real validator, calls to intents, envelopes to receipts.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod batch;
mod command;
mod emission;
mod interpret;
mod memory;
mod profile;
mod receipt;
mod receipt_work;
mod refusal;
mod running;
mod samples;
mod task;
mod task_output;
mod wait;
mod web;
mod work;
mod workspace;
