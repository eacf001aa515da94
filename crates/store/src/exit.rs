//! How the processes before this one ended: marks in `meta`, one for hosts and one for each agent a single run served.
//!
//! A host takes up everybody's work, so its mark (`clean_exit`) speaks for every agent. A process that serves one run
//! takes up one agent's work and leaves the others' alone: it must neither hide that the last host crashed nor make a
//! clean exit look like a crash. So it writes a mark of its own (`run/AGENT`), which counts for that agent until the
//! next host takes over.

use crate::error::Error;
use crate::row::{all, first, run};
use holon_domain::AgentId;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::BTreeMap;

const VALUE: &str = "SELECT value FROM meta WHERE key = ?1";
const SET: &str = "INSERT INTO meta (key, value) VALUES (?1, ?2) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const UNSET: &str = "DELETE FROM meta WHERE key = ?1";
const RUNS: &str = "SELECT key, value FROM meta WHERE key >= 'run/' AND key < 'run0'";
const UNSET_RUNS: &str = "DELETE FROM meta WHERE key >= 'run/' AND key < 'run0'";

const CLEAN_EXIT: &str = "clean_exit";
const CLEAN: &str = "1";
const IN_USE: &str = "0";

/// Whose work the process that opens a store takes up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occupant {
    /// Everybody's.
    Host,
    /// One run's: that of a named agent, or of a temporary one, which does not outlive its process.
    Run(Option<AgentId>),
}

/// How the processes before this one ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastExit {
    clean: bool,
    /// Agents that a single run served since the last host, and whether the last such run ended in order.
    runs: BTreeMap<AgentId, bool>,
}

impl LastExit {
    /// Whether the last host closed the store in order. A new store counts as closed.
    #[must_use]
    pub const fn was_clean(&self) -> bool {
        self.clean
    }

    /// Whether the last host and every run since ended in order.
    #[must_use]
    pub fn was_clean_for_all(&self) -> bool {
        self.clean && self.runs.values().all(|clean| *clean)
    }

    /// Whether the last process that took up this agent's work ended in order.
    #[must_use]
    pub fn was_clean_for(&self, agent_id: &AgentId) -> bool {
        self.runs.get(agent_id).copied().unwrap_or(self.clean)
    }
}

/// Reads how the last processes ended, and notes that the store is in use from now on. Both in one transaction.
pub(crate) fn occupy(conn: &Connection, occupant: &Occupant) -> Result<LastExit, Error> {
    let whole = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let last = last_exit(conn)?;
    match occupant {
        Occupant::Host => {
            set(conn, CLEAN_EXIT, IN_USE)?;
            run(conn, UNSET_RUNS, [])?;
        }
        Occupant::Run(Some(agent_id)) => set(conn, &run_key(agent_id), IN_USE)?,
        Occupant::Run(None) => {}
    }
    whole.commit()?;
    Ok(last)
}

/// Notes that the occupant leaves in order.
pub(crate) fn leave(conn: &Connection, occupant: &Occupant) -> Result<(), Error> {
    match occupant {
        Occupant::Host => set(conn, CLEAN_EXIT, CLEAN),
        // Where the last host ended in order too, the agent needs no mark of its own.
        Occupant::Run(Some(agent_id)) if last_exit(conn)?.clean => {
            run(conn, UNSET, [run_key(agent_id)])?;
            Ok(())
        }
        Occupant::Run(Some(agent_id)) => set(conn, &run_key(agent_id), CLEAN),
        Occupant::Run(None) => Ok(()),
    }
}

fn last_exit(conn: &Connection) -> Result<LastExit, Error> {
    // A mark that is missing or cannot be read says nothing good.
    let clean = first(conn, VALUE, [CLEAN_EXIT], |row| {
        Ok(row.get_ref(0)?.as_str() == Ok(CLEAN))
    })?;
    let runs = all(conn, RUNS, [], |row| {
        let key = row.get_ref(0)?.as_str().unwrap_or_default();
        let name = key.strip_prefix("run/").unwrap_or_default();
        let is_clean = row.get_ref(1)?.as_str() == Ok(CLEAN);
        Ok(AgentId::parse_stored(name).ok().map(|id| (id, is_clean)))
    })?;
    Ok(LastExit {
        clean: clean.unwrap_or(false),
        runs: runs.into_iter().flatten().collect(),
    })
}

fn run_key(agent_id: &AgentId) -> String {
    format!("run/{agent_id}")
}

fn set(conn: &Connection, key: &str, value: &str) -> Result<(), Error> {
    run(conn, SET, [key, value])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    fn agent(name: &str) -> AgentId {
        AgentId::parse(name).expect("a name")
    }

    fn occupied_by(conn: &Connection, occupant: &Occupant) -> (bool, bool, bool) {
        let last = occupy(conn, occupant).expect("notes");
        let of = |name| last.was_clean_for(&agent(name));
        (last.was_clean(), of("a"), of("b"))
    }

    #[test]
    fn a_run_in_between_changes_nothing_for_others() {
        let run = Occupant::Run(Some(agent("a")));
        let conn = Db::in_memory().expect("opens").conn;
        // In use by a host, which crashes; then a run that ends in order.
        assert_eq!(occupied_by(&conn, &run), (false, false, false));
        leave(&conn, &run).expect("notes");
        assert_eq!(occupied_by(&conn, &run), (false, true, false));
        // Now the run crashes as well.
        assert_eq!(occupied_by(&conn, &run), (false, false, false));
        leave(&conn, &run).expect("notes");
        assert_eq!(occupied_by(&conn, &Occupant::Host), (false, true, false));
        leave(&conn, &Occupant::Host).expect("notes");
        // After a clean exit of a host, a run that crashes costs its own agent alone.
        assert_eq!(occupied_by(&conn, &run), (true, true, true));
        assert_eq!(
            occupied_by(&conn, &Occupant::Run(None)),
            (true, false, true)
        );
        assert_eq!(occupied_by(&conn, &Occupant::Host), (true, false, true));
    }

    #[test]
    fn a_run_after_a_clean_exit_leaves_no_mark() {
        let run = Occupant::Run(Some(agent("a")));
        let conn = Db::in_memory().expect("opens").conn;
        leave(&conn, &Occupant::Host).expect("notes");
        occupy(&conn, &run).expect("notes");
        leave(&conn, &run).expect("notes");
        let marks = all(&conn, RUNS, [], |_| Ok(())).expect("reads");
        assert_eq!(marks.len(), 0);
    }
}
