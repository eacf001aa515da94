//! Damages single rows of an agent behind the store's back and repairs them later.
//!
//! Rules: only that agent is put aside, with a reason and one event; all others continue. Once the row is repaired, a
//! start takes the agent back with everything it owed. The oracle reads a repaired copy of the store, so that every
//! other rule is still checked for the damaged agent.

use crate::store::{now, refused_by_store};
use crate::violation::{Verdict, ensure, stored, violation};
use crate::world::{InputResult, World};
use holon_core::Input;
use holon_domain::AgentId;
use holon_store::{Db, Error, Inline, Ledger, WriteOrder, commit};
use holon_testkit::damage::in_image;

/// Rows that may be damaged: table, column, and the condition that selects the agent's rows.
const ROWS: [(&str, &str, &str); 8] = [
    ("agents", "record", "TRUE"),
    ("agents", "settings", "settings IS NOT NULL"),
    (
        "messages",
        "envelope",
        "seq = (SELECT max(seq) FROM messages WHERE agent_no = {no})",
    ),
    (
        "log",
        "entry",
        "seq = (SELECT max(seq) FROM log WHERE agent_no = {no})",
    ),
    ("tasks", "record", "ended IS NULL"),
    ("due", "due", "TRUE"),
    ("attempts", "record", "TRUE"),
    ("effects", "effect", "TRUE"),
];

/// Rows of a child that its parent reads beside its own. An unreadable one costs the child at most.
const ROWS_OF_CHILDREN: [(&str, &str, &str); 3] = [
    (
        "briefs",
        "row",
        "seq = (SELECT max(seq) FROM briefs WHERE agent_no = {no})",
    ),
    ("work_items", "record", "TRUE"),
    ("tasks", "record", "ended IS NULL"),
];

/// Damaged rows of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) table: &'static str,
    /// SQL that repairs the rows that are still damaged. No stored row begins with the mark that damage leaves.
    repair_sql: String,
}

impl World {
    /// Damages a row of some undamaged agent.
    pub(crate) fn damage_any(&mut self) -> Verdict<()> {
        let child = self.any_child();
        let rows: &[_] = match child {
            Some(_) => &ROWS_OF_CHILDREN,
            None => &ROWS,
        };
        let id = child.clone().or_else(|| self.any_agent());
        let Some(id) = id.filter(|id| self.may_be_damaged(id)) else {
            return Ok(());
        };
        let first = self.dice.index(rows.len());
        // A young child has few rows, so all tables are tried.
        let tried = if child.is_some() { rows.len() } else { 1 };
        for at in (first..rows.len()).chain(0..first).take(tried) {
            if let Some(row) = rows.get(at)
                && self.damage_row(&id, *row)?
            {
                if child.is_some() {
                    self.model.coverage.count("damaged:child");
                }
                break;
            }
        }
        Ok(())
    }

    /// Damages the rows of an agent in one table. Returns false if there are none.
    fn damage_row(
        &mut self,
        id: &AgentId,
        (table, column, which): (&'static str, &str, &str),
    ) -> Verdict<bool> {
        let no = format!("(SELECT agent_no FROM agents WHERE agent_id = '{id}')");
        let which = which.replace("{no}", &no);
        let at = format!("agent_no = {no} AND {which}");
        let image = stored(self.store.db().image())?;
        let breaks = format!("UPDATE {table} SET {column} = 'x' || {column} WHERE {at}");
        let (image, changed) = in_image(&image, &breaks);
        if changed == 0 {
            return Ok(false);
        }
        self.trace
            .note(|| format!("{id} {changed} of {table} damaged"));
        self.model.coverage.count(format!("damaged:{table}"));
        self.store = Inline::new(stored(Db::from_image(&image))?);
        let repair_sql = format!(
            "UPDATE {table} SET {column} = substr({column}, 2) WHERE agent_no = {no} AND substr({column}, 1, 1) = 'x'"
        );
        let damage = Damage { table, repair_sql };
        self.damage.insert(id.clone(), damage);
        Ok(true)
    }

    /// Returns some child, in two of three cases in which there is one.
    fn any_child(&mut self) -> Option<AgentId> {
        let mut children = self.model.names();
        children.retain(|id| self.model.is_child(id));
        if children.is_empty() || self.dice.percent(33) {
            return None;
        }
        children.get(self.dice.index(children.len())).cloned()
    }

    fn may_be_damaged(&self, id: &AgentId) -> bool {
        let known = self.model.agent(id);
        known.is_some_and(|known| !known.removing) && !self.damage.contains_key(id)
    }

    /// Returns a copy of the store without damage; `None` if there is no damage.
    pub(crate) fn repaired_copy(&self) -> Verdict<Option<Db>> {
        if self.damage.is_empty() {
            return Ok(None);
        }
        let mut image = stored(self.store.db().image())?;
        for damage in self.damage.values() {
            image = in_image(&image, &damage.repair_sql).0;
        }
        stored(Db::from_image(&image)).map(Some)
    }

    /// Repairs the rows of an agent.
    fn repair(&mut self, id: &AgentId) -> Verdict<()> {
        let Some(damage) = self.damage.remove(id) else {
            return Ok(());
        };
        self.trace.note(|| format!("{id} repaired"));
        let image = stored(self.store.db().image())?;
        let (image, _) = in_image(&image, &damage.repair_sql);
        self.store = Inline::new(stored(Db::from_image(&image))?);
        Ok(())
    }

    /// Returns true if an agent is put aside.
    pub(crate) fn is_aside(&self, id: &AgentId) -> Verdict<bool> {
        Ok(self.read(|reader| reader.aside(id))?.is_some())
    }

    fn agents_aside(&self) -> Verdict<Vec<AgentId>> {
        let mut aside = Vec::new();
        for id in self.model.names() {
            if self.is_aside(&id)? {
                aside.push(id);
            }
        }
        Ok(aside)
    }

    /// Starts an agent that was put aside, mostly after repairing its rows.
    pub(crate) fn take_back_any(&mut self) -> Verdict<()> {
        let aside = self.agents_aside()?;
        let Some(id) = aside.get(self.dice.index(aside.len())).cloned() else {
            return Ok(());
        };
        if self.dice.percent(70) {
            self.repair(&id)?;
        }
        self.control(&id, &Input::Start)?;
        if !self.is_aside(&id)? {
            self.model.coverage.count("taken_back");
        }
        Ok(())
    }

    /// Ends all damage. A message to an agent with a damaged row of its own puts it aside; then every row is repaired,
    /// and every agent that was put aside is taken back by a start.
    pub(crate) fn repair_all(&mut self) -> Verdict<()> {
        let damaged: Vec<AgentId> = self.damage.keys().cloned().collect();
        for id in damaged {
            let own_row = self
                .damage
                .get(&id)
                .is_some_and(|damage| damage.table == "agents");
            if own_row && self.model.agent(&id).is_some_and(|known| !known.removing) {
                self.speak_to(&id)?;
                ensure(
                    self.is_aside(&id)?,
                    "an agent whose row cannot be read is put aside",
                    || id.to_string(),
                )?;
            }
            self.repair(&id)?;
        }
        for id in self.agents_aside()? {
            self.control(&id, &Input::Start)?;
            ensure(
                !self.is_aside(&id)?,
                "a start takes back an agent whose rows can be read",
                || id.to_string(),
            )?;
        }
        Ok(())
    }

    /// Passes on a read of an effect's performer, as the shell does: an unreadable row puts the agent aside, and
    /// nothing is performed for an agent that is aside.
    pub(crate) fn check_readable<T>(
        &mut self,
        id: &AgentId,
        read: Result<T, Error>,
    ) -> Verdict<Option<T>> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.note_unreadable(id, &error)?;
                Ok(None)
            }
        }
    }

    /// Handles an unreadable row of an agent. Only damage may cause it.
    pub(crate) fn note_unreadable(&mut self, id: &AgentId, error: &Error) -> Verdict<()> {
        match error {
            Error::Aside { .. } => Ok(()),
            Error::Row { .. } => {
                let Some(damage) = self.damage.get(id) else {
                    let found = format!("{id}: {error}");
                    return violation("every row that was not damaged can be read", found);
                };
                let table = damage.table;
                self.model.coverage.count(format!("unreadable:{table}"));
                self.put_aside(id, error.to_string())
            }
            other => violation("the store answers", other.to_string()),
        }
    }

    /// Puts an agent aside, and checks that this wrote only its reason and one event.
    pub(crate) fn put_aside(&mut self, id: &AgentId, reason: String) -> Verdict<()> {
        let events = |world: &Self| world.model.agent(id).map_or(0, |known| known.put_aside);
        let before = events(self);
        let (agent_id, why, at) = (id.clone(), reason.clone(), self.now);
        let mark = move |ledger: &mut dyn Ledger| ledger.put_aside(&agent_id, &why, at);
        let marked = now(commit(&self.store, WriteOrder::runtime(0), mark))?;
        let marked = marked.map_err(|error| refused_by_store(&error))?;
        self.trace.note(|| format!("{id} put aside: {marked}"));
        self.observe_commit(&[id.clone()].into(), Default::default())?;
        let kept = self.read(|reader| reader.aside(id))?;
        ensure(
            !marked || kept == Some(reason),
            "an agent is put aside with its reason",
            || format!("{id}: {kept:?}"),
        )?;
        // Nothing is observed of an agent whose rows are being removed.
        let observed = self.model.agent(id).is_some_and(|known| !known.removing);
        ensure(
            !observed || events(self) == before + u64::from(marked),
            "one event tells that an agent was put aside",
            || format!("{id}: {before}, then {}", events(self)),
        )
    }

    /// Checks that a start of an agent that is aside is refused only because of damage.
    pub(crate) fn check_start(
        &self,
        id: &AgentId,
        input: &Input,
        sent: &InputResult,
    ) -> Verdict<()> {
        let refused = matches!((input, sent), (Input::Start, InputResult::Aside));
        ensure(
            !refused || self.damage.contains_key(id),
            "a start takes back an agent whose rows can be read",
            || id.to_string(),
        )
    }
}
