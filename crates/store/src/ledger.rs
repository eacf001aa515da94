//! `Ledger`: the operations of the kernel inside a transaction. Exposes no database type.
//!
//! The kernel, the shell and the simulation use this trait and [`Store`](crate::Store). [`Tx`] on SQLite is the one
//! implementation today.

use crate::budgets::{self, BudgetChange};
use crate::deliveries::{self, WaitingAgents};
use crate::delivery_targets::{self, TargetAddition};
use crate::error::Error;
use crate::member::panic_message;
use crate::row::{AgentNo, Unreadable};
use crate::tokens::TokenAddition;
use crate::tx::{Hook, Tx};
use crate::{
    agents, aside, attempts, children, effects, episodes, generations, hints, kept_replies, log,
    queue, tasks, timers, tokens, tombstones, triggers, waits, work_items,
};
use holon_domain::agent::AgentRecord;
use holon_domain::budget::{Budget, BudgetKey};
use holon_domain::decision::Decision;
use holon_domain::delivery::{DeliveryRoute, DeliveryTarget};
use holon_domain::effect::EffectId;
use holon_domain::needs::{LoadedRows, Needs, Part};
use holon_domain::request_key::{KeptReply, RequestKey, TokenRecord};
use holon_domain::{AgentId, Timestamp, limits};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One open transaction. Its writes hold together or not at all.
pub trait Ledger {
    /// Reads an agent by name.
    ///
    /// # Errors
    /// `Aside` when it was put aside, `Row` when its row cannot be read, or when the database fails.
    fn agent(&mut self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error>;

    /// Loads the rows a decision asked for, a bounded number of each kind.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    fn load(&mut self, no: AgentNo, needs: &Needs) -> Result<LoadedRows, Error>;

    /// Writes a new agent. Its first events follow by [`Ledger::apply`].
    ///
    /// # Errors
    /// `AgentExists` when the name is taken, or when the database fails.
    fn create(&mut self, record: &AgentRecord) -> Result<AgentNo, Error>;

    /// Writes a decision: every fact, then the agent's row.
    ///
    /// # Errors
    /// `Contradiction` when a fact does not fit the stored rows, or when the database fails. The caller then abandons
    /// the transaction or its nested part.
    fn apply(&mut self, no: AgentNo, decision: &Decision) -> Result<(), Error>;

    /// Runs a nested part in a savepoint. If it fails or panics, it is rolled back alone.
    ///
    /// # Errors
    /// The error of the part; `Panicked` when it panicked. If the transaction itself is gone, that error.
    fn nested(
        &mut self,
        part: &mut dyn FnMut(&mut dyn Ledger) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Returns the newest generation that the host has given out, for a new agent. Decisions about other agents load it
    /// by their needs.
    ///
    /// # Errors
    /// When the database fails.
    fn newest_generation(&mut self) -> Result<u64, Error>;

    /// Returns the number after which a new agent of this name numbers its events; 0 if no agent of this name was removed.
    ///
    /// # Errors
    /// When the database fails.
    fn event_floor(&mut self, id: &AgentId) -> Result<u64, Error>;

    /// Puts an agent aside, records one event and notifies subscribers. Returns true if it was not aside before.
    ///
    /// # Errors
    /// When the database fails.
    fn put_aside(&mut self, id: &AgentId, reason: &str, now: Timestamp) -> Result<bool, Error>;

    /// Removes the mark from an agent that was put aside. Returns true if it was aside. Later operations read its rows
    /// again.
    ///
    /// # Errors
    /// When the database fails.
    fn take_back(&mut self, id: &AgentId) -> Result<bool, Error>;

    /// Lists the numbers of an agent's open effects in the order they were opened.
    ///
    /// # Errors
    /// When the database fails.
    fn open_effects(&mut self, no: AgentNo) -> Result<Vec<EffectId>, Error>;

    /// Reads the reply that is kept for a request, unless it has expired.
    ///
    /// # Errors
    /// When the database fails.
    fn kept_reply(&mut self, id: &str, now: Timestamp) -> Result<Option<KeptReply>, Error>;

    /// Keeps the reply to a request, as JSON. `agent` is the one that the request was about.
    ///
    /// # Errors
    /// When the database fails.
    fn keep_reply(
        &mut self,
        key: &RequestKey,
        agent: Option<&AgentId>,
        reply: &str,
        now: Timestamp,
    ) -> Result<(), Error>;

    /// Returns the number that tells an agent apart from others of its name; `None` if there is no such agent.
    ///
    /// # Errors
    /// When the database fails.
    fn birth(&mut self, id: &AgentId) -> Result<Option<i64>, Error>;

    /// Notes that an agent is removed.
    ///
    /// # Errors
    /// When the database fails.
    fn add_tombstone(&mut self, id: &AgentId, now: Timestamp) -> Result<(), Error>;

    /// Adds a named token.
    ///
    /// # Errors
    /// When the database fails.
    fn add_token(&mut self, token: &TokenRecord) -> Result<TokenAddition, Error>;

    /// Removes a named token. Returns false if there is none of this name.
    ///
    /// # Errors
    /// When the database fails.
    fn remove_token(&mut self, name: &str) -> Result<bool, Error>;

    /// Adds a delivery target of the host.
    ///
    /// # Errors
    /// When the database fails.
    fn add_delivery_target(&mut self, target: &DeliveryTarget) -> Result<TargetAddition, Error>;

    /// Removes a delivery target. Returns the route of its deliveries; `None` if there is none of this name.
    ///
    /// # Errors
    /// When the database fails.
    fn remove_delivery_target(&mut self, name: &str) -> Result<Option<DeliveryRoute>, Error>;

    /// Returns a page of the agents with a delivery on this route that has not ended, those after `after` only.
    ///
    /// # Errors
    /// When the database fails.
    fn waiting_agents(
        &mut self,
        route: &DeliveryRoute,
        after: Option<AgentNo>,
        limit: usize,
    ) -> Result<WaitingAgents, Error>;

    /// Adds a budget or changes its limits; one that is absent stays as it is. A new budget counts what was used
    /// before, on `day` if it is one for a day.
    ///
    /// # Errors
    /// When the database fails.
    fn set_budget(&mut self, budget: &Budget, day: &str) -> Result<BudgetChange, Error>;

    /// Removes a budget. Returns false if there is none of this name.
    ///
    /// # Errors
    /// When the database fails.
    fn remove_budget(&mut self, key: &BudgetKey) -> Result<bool, Error>;

    /// Runs `hook` once the commit holds, before the callers are answered. It never runs if this transaction is
    /// abandoned.
    fn after_commit(&mut self, hook: Hook);
}

impl Ledger for Tx<'_> {
    fn agent(&mut self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        self.decided_agent(id)
    }

    fn load(&mut self, no: AgentNo, needs: &Needs) -> Result<LoadedRows, Error> {
        let conn = self.conn();
        let queue = queue::view(conn, no, &agents::tally(conn, no)?, needs)?;
        let queued_prompts = if needs.queued_prompts {
            Part::Loaded(queue::prompts(conn, no)?)
        } else {
            Part::Missing
        };
        let round = match needs.round {
            Some(seq) => Part::Loaded((seq, log::entry(conn, no, seq)?)),
            None => Part::Missing,
        };
        let active_tasks = part(needs.active_tasks, || {
            tasks::active(conn, no, Unreadable::Fails)
        })?;
        let named = needs.tasks.iter();
        let tasks = named.map(|id| Ok((id.clone(), tasks::one(conn, no, id)?)));
        let open = needs.effects.iter();
        let effects = open.map(|id| Ok((*id, effects::one(conn, no, *id)?)));
        let attempts = part(needs.attempts, || attempts::of_agent(conn, no))?;
        let generation = part(needs.generation, || generations::newest(conn))?;
        let items = needs.work_items.iter();
        let items = items.map(|id| {
            Ok((
                id.clone(),
                work_items::one(conn, no, id, Unreadable::Fails)?,
            ))
        });
        let fired = needs.timers.iter();
        let fired = fired.map(|id| Ok((id.clone(), timers::one(conn, no, id)?)));
        let seen = needs.children.iter();
        let seen = seen.map(|id| Ok((id.clone(), children::facts(conn, no, id)?)));
        let wakes = needs.next_items;
        Ok(LoadedRows {
            work_items: items.collect::<Result<_, Error>>()?,
            timers: fired.collect::<Result<_, Error>>()?,
            next_items: match wakes {
                Some(wakes) => Part::Loaded(work_items::next(conn, no, wakes)?),
                None => Part::Missing,
            },
            due_rechecks: part(needs.due_rechecks, || work_items::due_rechecks(conn, no))?,
            active_waits: part(needs.active_waits, || {
                waits::active(conn, no, Unreadable::Fails)
            })?,
            hints: part(needs.hints, || hints::pending(conn, no, Unreadable::Fails))?,
            triggers: part(needs.triggers, || {
                triggers::of_agent(conn, no, Unreadable::Fails)
            })?,
            deferred_timers: part(needs.deferred_timers, || timers::deferred(conn, no))?,
            active_timers: part(needs.active_timers, || {
                timers::active(conn, no, limits::STATUS_TIMERS, Unreadable::Fails)
            })?,
            meters: needs
                .meters
                .iter()
                .map(|key| Ok((key.clone(), budgets::meter(conn, key, &needs.day, no)?)))
                .collect::<Result<_, Error>>()?,
            all_timers: part(needs.all_timers, || {
                timers::active(conn, no, limits::ACTIVE_TIMERS as usize, Unreadable::Fails)
            })?,
            tree: part(needs.tree, || children::standing(conn, no))?,
            children: seen.collect::<Result<_, Error>>()?,
            memory: part(needs.memory, || Ok(Box::new(episodes::memory(conn, no)?)))?,
            generation,
            queue,
            queued_prompts,
            attempts,
            round,
            active_tasks,
            tasks: tasks.collect::<Result<_, Error>>()?,
            effects: effects.collect::<Result<_, Error>>()?,
        })
    }

    fn create(&mut self, record: &AgentRecord) -> Result<AgentNo, Error> {
        self.create_agent(record)
    }

    fn apply(&mut self, no: AgentNo, decision: &Decision) -> Result<(), Error> {
        Tx::apply(self, no, decision)
    }

    fn nested(
        &mut self,
        part: &mut dyn FnMut(&mut dyn Ledger) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let conn = self.conn();
        crate::row::run(conn, "SAVEPOINT nested", [])?;
        let mut inner = self.nested_part();
        let outcome = catch_unwind(AssertUnwindSafe(|| part(&mut inner)));
        let failed = match outcome {
            Ok(Ok(())) => {
                crate::row::run(conn, "RELEASE nested", [])?;
                self.take_over(inner);
                return Ok(());
            }
            Ok(Err(error)) => error,
            Err(panic) => Error::Panicked {
                message: panic_message(panic.as_ref()),
            },
        };
        // A full disk or an I/O error can end the whole transaction. Then there is no savepoint to return to.
        if conn.is_autocommit() {
            // There is no transaction any more, so no further write may follow, no matter how the part failed.
            return Err(Error::transaction_gone(failed));
        }
        crate::row::run(conn, "ROLLBACK TO nested", [])?;
        crate::row::run(conn, "RELEASE nested", [])?;
        Err(failed)
    }

    fn newest_generation(&mut self) -> Result<u64, Error> {
        generations::newest(self.conn())
    }

    fn event_floor(&mut self, id: &AgentId) -> Result<u64, Error> {
        tombstones::event_floor(self.conn(), id.as_str())
    }

    fn put_aside(&mut self, id: &AgentId, reason: &str, now: Timestamp) -> Result<bool, Error> {
        Tx::put_aside(self, id, reason, now)
    }

    fn take_back(&mut self, id: &AgentId) -> Result<bool, Error> {
        aside::clear(self.conn(), id)
    }

    fn open_effects(&mut self, no: AgentNo) -> Result<Vec<EffectId>, Error> {
        effects::ids(self.conn(), no)
    }

    fn kept_reply(&mut self, id: &str, now: Timestamp) -> Result<Option<KeptReply>, Error> {
        kept_replies::one(self.conn(), id, now)
    }

    fn keep_reply(
        &mut self,
        key: &RequestKey,
        agent: Option<&AgentId>,
        reply: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        kept_replies::keep(self.conn(), key, agent, reply, now)
    }

    fn birth(&mut self, id: &AgentId) -> Result<Option<i64>, Error> {
        agents::birth(self.conn(), id)
    }

    fn add_tombstone(&mut self, id: &AgentId, now: Timestamp) -> Result<(), Error> {
        Tx::add_tombstone(self, id, now)
    }

    fn add_token(&mut self, token: &TokenRecord) -> Result<TokenAddition, Error> {
        tokens::add(self.conn(), token)
    }

    fn remove_token(&mut self, name: &str) -> Result<bool, Error> {
        tokens::remove(self.conn(), name)
    }

    fn add_delivery_target(&mut self, target: &DeliveryTarget) -> Result<TargetAddition, Error> {
        delivery_targets::add(self.conn(), target)
    }

    fn remove_delivery_target(&mut self, name: &str) -> Result<Option<DeliveryRoute>, Error> {
        delivery_targets::remove(self.conn(), name)
    }

    fn waiting_agents(
        &mut self,
        route: &DeliveryRoute,
        after: Option<AgentNo>,
        limit: usize,
    ) -> Result<WaitingAgents, Error> {
        deliveries::waiting_agents(self.conn(), route, after, limit)
    }

    fn set_budget(&mut self, budget: &Budget, day: &str) -> Result<BudgetChange, Error> {
        budgets::set(self.conn(), budget, day)
    }

    fn remove_budget(&mut self, key: &BudgetKey) -> Result<bool, Error> {
        budgets::remove(self.conn(), key)
    }

    fn after_commit(&mut self, hook: Hook) {
        Tx::after_commit(self, hook);
    }
}

/// Loads a part if it was asked for.
fn part<T>(asked: bool, load: impl FnOnce() -> Result<T, Error>) -> Result<Part<T>, Error> {
    if asked {
        load().map(Part::Loaded)
    } else {
        Ok(Part::Missing)
    }
}
