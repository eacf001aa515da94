//! The store from outside: writes, reads, refusals and restarts.
#![allow(clippy::expect_used, reason = "tests")]

mod apply;
mod budget_cost;
mod damage;
mod golden;
mod history;
mod home;
mod host_events;
mod lost;
mod memory;
mod pages;
mod property;
mod reading;
mod recovery;
mod retention;
mod tasks;
mod work;
mod workspaces;
mod writer;

#[path = "../../src/samples.rs"]
mod samples;

use holon_domain::agent::AgentRecord;
use holon_domain::decision::Decision;
use holon_store::{AgentNo, Db, WriteError};

/// An in-memory store with one agent.
fn with_agent(record: &AgentRecord) -> (Db, AgentNo) {
    let mut db = Db::in_memory().expect("opens");
    let no = db.write(|tx| tx.create_agent(record)).expect("creates");
    (db, no)
}

/// Writes one decision in a commit of its own.
fn apply(db: &mut Db, no: AgentNo, decision: &Decision) -> Result<(), WriteError> {
    db.write(|tx| tx.apply(no, decision))
}
