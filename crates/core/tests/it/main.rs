//! Tests of the core as tables and properties.
//!
//! `world` is a small model of the store that applies decisions and panics on writes that no store could make. `make`
//! and `commands` build inputs, `states` builds agents in named states, and `render` prints steps for the tables.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "tables are long, and their rows hold functions"
)]

mod admission;
mod archived;
mod assessment;
mod bounds;
mod budgets;
mod calls;
mod candidates;
mod children;
mod clock;
mod commands;
mod context;
mod continuation;
mod delivery;
mod imports;
mod interjections;
mod laws;
mod lifecycle;
mod make;
mod outbox;
mod pacing;
mod patches;
mod patience;
mod policy;
mod profile;
mod provenance;
mod random;
mod recovery;
mod render;
mod rows;
mod signals;
mod skills;
mod states;
mod tasks;
mod tool_times;
mod transitions;
mod transport;
mod turns;
mod usage;
mod work;
mod work_rows;
mod workspaces;
mod world;
