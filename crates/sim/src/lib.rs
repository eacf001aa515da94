//! Seeded simulation of the kernel against an independent model.
//!
//! One seed decides everything: the senders, the answers of models, the commands, clock jumps and crashes. The kernel
//! and the store are the real ones, on a database in memory; everything around them is simulated. After every commit an
//! oracle that knows only the contract compares its expectation with the stored rows.

mod act;
mod agents;
mod boot;
mod budgets;
mod callbacks;
mod calls;
mod check;
mod clock;
mod command;
mod commands;
mod commit;
mod coverage;
mod damage;
mod delivery;
mod envelope;
mod flight;
mod follow;
mod ingress;
mod keys;
mod letter;
mod log_checker;
mod memory_calls;
mod message;
mod model;
mod noise;
mod observed_agent;
mod operators;
mod outage;
mod perform;
pub mod plan;
#[cfg(feature = "planted")]
pub mod planted;
mod post;
mod probe;
mod provider;
mod receiver;
mod request;
mod retention;
pub mod rng;
mod round;
mod rules;
mod run;
mod run_command;
pub mod shrink;
mod slots;
mod store;
mod task_rules;
mod task_stops;
mod tasks;
mod tool_run;
mod tool_world;
mod trace;
mod trees;
mod violation;
mod week;
mod work_calls;
mod work_rules;
mod workspaces;
mod world;

pub use coverage::Coverage;
pub use run::{RunFailure, RunReport, play};
pub use trace::TraceDetail;
pub use violation::Violation;
pub use week::{TimerWeek, play_week};

/// Returns the plans that once broke a rule. Every run plays them first.
#[must_use]
pub fn known_bugs() -> Vec<plan::Plan> {
    include_str!("../bugs/seeds.txt")
        .lines()
        .filter_map(plan::Plan::parse)
        .collect()
}
