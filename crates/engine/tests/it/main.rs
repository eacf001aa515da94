//! The shell with scripted ports and a manual clock: no test waits for real time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod aborts;
mod aside;
mod aside_acts;
mod aside_children;
mod bad_columns;
mod bindings;
mod clock;
mod commands;
mod commits;
mod context;
mod delegation;
mod delegation_crash;
mod deliveries;
mod deltas;
mod disk;
mod due;
mod feed;
mod fixed_part;
mod forgetting;
mod guidance;
mod history;
mod house;
mod images;
mod kernel;
mod keyed_runs;
mod keys;
mod lifecycle;
mod long_turns;
mod memory;
mod models;
mod month;
mod patches;
mod patience;
mod prompts;
mod recall;
mod refusals;
mod renewals;
mod restarts;
mod runs;
mod small_windows;
mod stopping;
mod talk;
mod task_acts;
mod task_calls;
mod task_catch_up;
mod task_restarts;
mod task_runs;
mod tasks;
mod thread;
mod thread_odds;
mod triggers;
mod turns;
mod upgrade;
mod web;
mod windows;
mod work;
mod workspaces;
