//! End-to-end tests of the program, run as a user would run it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "tests"
)]

mod archived;
mod archives;
mod aside;
mod attachments;
mod backups;
mod backups_refused;
mod bad_work;
mod budgets;
mod called_off;
mod commands;
mod config;
mod connect;
mod console;
mod context;
mod conversation;
#[cfg(feature = "crash-points")]
mod crash_sweep;
mod daemon;
mod daemon_hangs;
mod daemon_limits;
mod daemon_places;
mod daemon_race;
mod delegation;
mod delivering;
mod delivery_examples;
mod demo;
mod disk;
mod doctor;
mod fallback;
mod freeform;
mod hands;
mod hosting;
mod identity;
mod images;
mod init;
mod instructions;
mod journey;
mod keyring;
mod logging;
mod logins;
mod long_turns;
mod looking;
mod lost;
mod lost_output;
mod memory;
mod memory_index;
mod model;
mod models;
mod models_faults;
mod models_secrets;
mod notes;
mod operator_tasks;
mod operators;
mod outage;
mod own_commands;
mod patches;
mod place;
mod plans;
mod processes;
mod proposals;
mod real_server;
mod refusals;
mod reload;
mod remote;
mod restarts;
mod runs;
mod service;
mod solve;
mod storage;
mod streaming;
mod support;
mod tailing;
mod templates;
mod terminal;
mod triggers;
mod usage;
mod waiting;
mod web;
mod windows;
mod work;
mod worktrees;
