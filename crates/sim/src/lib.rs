//! Seeded simulation of the kernel against an independent model.
//!
//! One seed decides everything: who writes, what models answer, what commands do, when the clock jumps and the process
//! dies. The kernel and the store are the real ones, on a database in memory; everything around them is simulated.
//! After every commit an oracle that knows only the contract compares what it expects with what is stored.

mod act;
mod boot;
mod calls;
mod cast;
mod check;
mod clock;
mod command;
mod commands;
mod commit;
mod coverage;
mod damage;
mod envelope;
mod flight;
mod follow;
mod ingress;
mod keys;
mod known;
mod letter;
mod message;
mod model;
mod outage;
mod perform;
pub mod plan;
mod post;
mod probe;
mod provider;
mod receiver;
mod request;
pub mod rng;
mod round;
mod rules;
mod run;
mod run_command;
pub mod shrink;
mod store;
mod talk;
mod task_rules;
mod tasks;
mod tool_run;
mod tools;
mod trace;
mod violation;
mod world;

pub use coverage::Coverage;
pub use run::{Broken, Played, play};
pub use trace::Keep;
pub use violation::Violation;

/// Plans that once broke a rule; played first, for ever.
#[must_use]
pub fn known_bugs() -> Vec<plan::Plan> {
    include_str!("../bugs/seeds.txt")
        .lines()
        .filter_map(plan::Plan::parse)
        .collect()
}
