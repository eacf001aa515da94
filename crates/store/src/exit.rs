//! Exit marks of earlier processes in `meta`: one for hosts, and one per agent that a single run served.
//!
//! A host performs the work of all agents, so its mark (`clean_exit`) counts for every agent. A process for one run
//! performs the work of one agent only. It must neither hide a crash of the last host nor make a clean exit look like a
//! crash, so it writes its own mark (`run/AGENT`), which counts for that agent until the next host starts.

use crate::budget_sums::RELEASE_STRAYS;
use crate::error::Error;
use crate::row::{all, first, run};
use holon_domain::AgentId;
use holon_domain::previous_exit::PreviousExit;
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
/// Value after a restoration, until a host has recovered every agent.
const RESTORED: &str = "restored";

/// The kind of process that opens a store, by the agents whose work it performs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occupant {
    Host,
    /// A process for one run of a named agent, or of a temporary agent, which does not outlive it.
    Run(Option<AgentId>),
}

/// The exits of the processes before this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastExit {
    host: PreviousExit,
    /// Agents served by single runs since the last host; true if the agent's last run ended in order.
    runs: BTreeMap<AgentId, bool>,
}

impl LastExit {
    /// Returns true if the last host closed the store in order. A new store counts as closed.
    #[must_use]
    pub const fn was_clean(&self) -> bool {
        matches!(self.host, PreviousExit::Clean)
    }

    /// Returns true if the last host and every run since then ended in order.
    #[must_use]
    pub fn was_clean_for_all(&self) -> bool {
        self.was_clean() && self.runs.values().all(|clean| *clean)
    }

    /// Returns the end of the last process that performed this agent's work.
    #[must_use]
    pub fn of(&self, agent_id: &AgentId) -> PreviousExit {
        match (self.runs.get(agent_id), self.host) {
            (Some(true), _) => PreviousExit::Clean,
            (Some(false), PreviousExit::Restored) => PreviousExit::Restored,
            (Some(false), PreviousExit::Clean | PreviousExit::Unclean) => PreviousExit::Unclean,
            (None, host) => host,
        }
    }
}

/// Reads the exits of the last processes and records that the store is in use, in one transaction.
pub(crate) fn occupy(conn: &Connection, occupant: &Occupant) -> Result<LastExit, Error> {
    let whole = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let last = last_exit(conn)?;
    match occupant {
        Occupant::Host => {
            // A crash before the host has recovered every agent must not hide that the store is a restored one.
            if last.host != PreviousExit::Restored {
                set(conn, CLEAN_EXIT, IN_USE)?;
            }
            run(conn, UNSET_RUNS, [])?;
            run(conn, RELEASE_STRAYS, [])?;
        }
        Occupant::Run(Some(agent_id)) => set(conn, &run_key(agent_id), IN_USE)?,
        Occupant::Run(None) => {}
    }
    whole.commit()?;
    Ok(last)
}

/// Records a clean exit of the occupant.
pub(crate) fn leave(conn: &Connection, occupant: &Occupant) -> Result<(), Error> {
    match occupant {
        Occupant::Host => set(conn, CLEAN_EXIT, CLEAN),
        // If the last host ended in order too, the agent needs no mark of its own.
        Occupant::Run(Some(agent_id)) if last_exit(conn)?.was_clean() => {
            run(conn, UNSET, [run_key(agent_id)])?;
            Ok(())
        }
        Occupant::Run(Some(agent_id)) => set(conn, &run_key(agent_id), CLEAN),
        Occupant::Run(None) => Ok(()),
    }
}

fn last_exit(conn: &Connection) -> Result<LastExit, Error> {
    // A missing or unreadable mark counts as unclean.
    let host = first(conn, VALUE, [CLEAN_EXIT], |row| {
        Ok(match row.get_ref(0)?.as_str() {
            Ok(CLEAN) => PreviousExit::Clean,
            Ok(RESTORED) => PreviousExit::Restored,
            Ok(_) | Err(_) => PreviousExit::Unclean,
        })
    })?;
    let runs = all(conn, RUNS, [], |row| {
        let key = row.get_ref(0)?.as_str().unwrap_or_default();
        let name = key.strip_prefix("run/").unwrap_or_default();
        let is_clean = row.get_ref(1)?.as_str() == Ok(CLEAN);
        Ok(AgentId::parse_stored(name).ok().map(|id| (id, is_clean)))
    })?;
    Ok(LastExit {
        host: host.unwrap_or(PreviousExit::Unclean),
        runs: runs.into_iter().flatten().collect(),
    })
}

/// Records that a host has recovered every agent, so that the store counts as its own from now on.
pub(crate) fn note_recovered(conn: &Connection) -> Result<(), Error> {
    if last_exit(conn)?.host == PreviousExit::Restored {
        set(conn, CLEAN_EXIT, IN_USE)?;
    }
    Ok(())
}

/// Marks the store as restored from a backup: no process has used it here.
pub(crate) fn mark_restored(conn: &Connection) -> Result<(), Error> {
    set(conn, CLEAN_EXIT, RESTORED)?;
    run(conn, UNSET_RUNS, [])?;
    Ok(())
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
        let of = |name| last.of(&agent(name)) == PreviousExit::Clean;
        (last.was_clean(), of("a"), of("b"))
    }

    #[test]
    fn a_run_in_between_changes_nothing_for_others() {
        let run = Occupant::Run(Some(agent("a")));
        let conn = Db::in_memory().expect("opens").conn;
        // A host uses the store and crashes; then a run ends in order.
        assert_eq!(occupied_by(&conn, &run), (false, false, false));
        leave(&conn, &run).expect("notes");
        assert_eq!(occupied_by(&conn, &run), (false, true, false));
        // Now the run crashes as well.
        assert_eq!(occupied_by(&conn, &run), (false, false, false));
        leave(&conn, &run).expect("notes");
        assert_eq!(occupied_by(&conn, &Occupant::Host), (false, true, false));
        leave(&conn, &Occupant::Host).expect("notes");
        // After a clean exit of a host, a crash of a run affects its own agent only.
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

    #[test]
    fn a_restored_store_stays_one_until_a_host_has_recovered_it() {
        let conn = Db::in_memory().expect("opens").conn;
        mark_restored(&conn).expect("notes");
        let of = |last: &LastExit| last.of(&agent("a"));
        for _ in 0..2 {
            // The host crashes before it has recovered every agent.
            let last = occupy(&conn, &Occupant::Host).expect("notes");
            assert_eq!(of(&last), PreviousExit::Restored);
        }
        let run = Occupant::Run(Some(agent("a")));
        occupy(&conn, &run).expect("notes");
        let last = occupy(&conn, &Occupant::Host).expect("notes");
        assert_eq!(
            of(&last),
            PreviousExit::Restored,
            "also after a run that crashed"
        );
        note_recovered(&conn).expect("notes");
        let last = occupy(&conn, &Occupant::Host).expect("notes");
        assert_eq!(of(&last), PreviousExit::Unclean);
    }
}
