//! Reads of work items, waits and timers, and the explanation of an agent.

use super::{ReadHandle, or_default_if_unreadable, page_size};
use crate::control::WebhookTerms;
use crate::error::Error;
use holon_core::explain::{self, ExplainedRows};
use holon_core::{Rejection, summary};
use holon_domain::agent::AgentRecord;
use holon_domain::explanation::Explanation;
use holon_domain::feed::{EventOrder, EventQuery, EventRecord};
use holon_domain::intent::WorkItemFilter;
use holon_domain::needs::Part;
use holon_domain::summary::WorkSummary;
use holon_domain::timer::TimerView;
use holon_domain::trigger::{TriggerRecord, WakeHint};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{WorkItemCursor, WorkItemRecord, WorkItemView};
use holon_domain::{AgentId, WorkItemId, limits};
use holon_store::{AgentNo, Reader};

/// Open items shown with a status, and completed ones with a snapshot.
const STATUS_ITEMS: usize = 20;
/// Due entries shown in an explanation.
const PLANNED: usize = 10;

/// A page of work items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkItemPage {
    /// Item that has the focus.
    pub current: Option<WorkItemId>,
    pub items: Vec<WorkItemView>,
    /// Number of all items that match the filter, on any page.
    pub total: u64,
    /// Position behind which the next page begins; absent on the last one.
    pub next: Option<WorkItemCursor>,
}

/// Selects active entries or all entries of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryFilter {
    /// Active entries, oldest first.
    Active,
    /// All stored entries, newest first.
    All,
}

impl ReadHandle {
    /// Returns a page of an agent's work items.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn work_items(
        &self,
        agent_id: &AgentId,
        filter: WorkItemFilter,
        after: Option<WorkItemCursor>,
        limit: u64,
    ) -> Result<WorkItemPage, Error> {
        self.read_agent(agent_id, move |reader, no, agent| {
            let page = reader.work_item_page(no, &agent, filter, after, page_size(limit))?;
            let view = |(_, item): &(WorkItemCursor, WorkItemRecord)| {
                summary::work_item_view(&agent, item).with_short_plan()
            };
            Ok(WorkItemPage {
                items: page.items.iter().map(view).collect(),
                total: page.total,
                next: page.next,
                current: agent.work.current.map(|current| current.id),
            })
        })
        .await
    }

    /// Returns one work item of an agent, open or completed, with its plan as the file is now.
    ///
    /// # Errors
    /// When there is no such agent or the agent has no such item, or storage fails.
    pub async fn work_item(
        &self,
        agent_id: &AgentId,
        id: &WorkItemId,
    ) -> Result<WorkItemView, Error> {
        let id = id.clone();
        let found = self.read_agent(agent_id, move |reader, no, agent| {
            let item = reader.work_item(no, &id)?;
            Ok(item.map(|item| (agent, item)))
        });
        let (agent, mut item) = found.await?.ok_or_else(|| Rejection::NoSuchWorkItem {
            agent_id: agent_id.clone(),
        })?;
        item.plan = self.plans.read(&agent.agent_home, &item.id).await;
        Ok(summary::work_item_view(&agent, &item))
    }

    /// Returns the waits of an agent and of its work items.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn waits(
        &self,
        agent_id: &AgentId,
        filter: EntryFilter,
        limit: u64,
    ) -> Result<Vec<WaitRecord>, Error> {
        self.read_agent(agent_id, move |reader, no, _| {
            let mut waits = match filter {
                EntryFilter::Active => reader.active_waits(no)?,
                EntryFilter::All => reader.newest_waits(no, page_size(limit))?,
            };
            waits.truncate(page_size(limit));
            Ok(waits)
        })
        .await
    }

    /// Returns the timers of an agent.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn timers(
        &self,
        agent_id: &AgentId,
        filter: EntryFilter,
        limit: u64,
    ) -> Result<Vec<TimerView>, Error> {
        self.read_agent(agent_id, move |reader, no, _| {
            let timers = match filter {
                EntryFilter::Active => reader.active_timers(no, page_size(limit))?,
                EntryFilter::All => reader.newest_timers(no, page_size(limit))?,
            };
            Ok(timers.iter().map(|timer| timer.view()).collect())
        })
        .await
    }

    /// Returns the external triggers of an agent, newest first, without the part that only the agent may know.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn triggers(&self, agent_id: &AgentId) -> Result<Vec<TriggerRecord>, Error> {
        self.read_agent(agent_id, move |reader, no, _| {
            let triggers = reader.triggers(no)?;
            Ok(triggers.iter().map(TriggerRecord::view).collect())
        })
        .await
    }

    /// Returns an agent's terms for webhooks, and the address of the host for senders.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn webhook_terms(&self, agent_id: &AgentId) -> Result<(WebhookTerms, String), Error> {
        let read = self.read_agent(agent_id, |reader, _, agent| {
            let birth = reader.birth(&agent.identity.agent_id)?;
            Ok(WebhookTerms {
                allow_unsigned: agent.unsigned_webhooks,
                birth: birth.unwrap_or_default(),
            })
        });
        let base = self.facts.now().callback_base.clone();
        Ok((read.await?, base))
    }

    /// Explains the state of an agent: its reason and the next event that changes it.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn explain(&self, agent_id: &AgentId) -> Result<Explanation, Error> {
        let (agent, queue, rows, aside) = self
            .read_agent(agent_id, move |reader, no, agent| {
                let rows = explained_rows(reader, no, &agent)?;
                let aside = reader.aside(&agent.identity.agent_id)?;
                let mut queue = reader.queue(no)?;
                let soonest = or_default_if_unreadable(reader.soonest_due(no))?;
                queue.soonest = Part::Loaded(soonest);
                Ok((agent, queue, rows, aside))
            })
            .await?;
        let mut explanation = explain::explain(&agent, &queue, rows);
        self.stalled
            .explain(agent_id, &mut explanation.scheduling_posture);
        if let Some(reason) = aside {
            summary::explain_aside(&mut explanation, &reason);
        }
        Ok(explanation)
    }
}

/// Reads the work shown in a status. An unreadable row hides no other row.
pub(super) fn status_rows(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<(WorkSummary, Vec<WakeHint>), holon_store::Error> {
    let work = &agent.work;
    let items = match work.items.open() {
        0 => Vec::new(),
        _ => or_default_if_unreadable(reader.work_items(no, WorkItemFilter::Open, STATUS_ITEMS))?.0,
    };
    let completed = reader.work_items(no, WorkItemFilter::Completed, STATUS_ITEMS);
    let completed = or_default_if_unreadable(completed)?.0;
    let waiting_intents = match work.active_waits {
        0 => Vec::new(),
        _ => or_default_if_unreadable(reader.active_waits(no))?,
    };
    let timers = match work.active_timers {
        0 => Vec::new(),
        _ => or_default_if_unreadable(reader.active_timers(no, limits::STATUS_TIMERS))?,
    };
    let hints = match work.hints {
        0 => Vec::new(),
        _ => or_default_if_unreadable(reader.hints(no))?,
    };
    let triggers = or_default_if_unreadable(reader.triggers(no))?;
    let triggers = triggers.iter().filter(|trigger| trigger.is_active());
    let entry = |item: &WorkItemRecord| summary::work_item_view(agent, item).list_entry();
    let summary = WorkSummary {
        work_items: items.iter().map(entry).collect(),
        waiting_intents,
        timers: timers.iter().map(|timer| timer.view()).collect(),
        external_triggers: triggers.map(TriggerRecord::view).collect(),
        completed_items: completed.iter().map(entry).collect(),
        notifications: Vec::new(),
    };
    Ok((summary, hints))
}

/// Reads the newest events of an agent, as many as a reader gets by default.
pub(super) fn recent_events(
    reader: &Reader<'_>,
    no: AgentNo,
) -> Result<Vec<EventRecord>, holon_store::Error> {
    let newest = EventQuery {
        before_seq: None,
        after_seq: None,
        limit: limits::EVENT_PAGE,
        order: EventOrder::Descending,
    };
    Ok(reader.events(no, newest)?.events)
}

fn explained_rows(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<ExplainedRows, holon_store::Error> {
    let newest = EventQuery {
        before_seq: None,
        after_seq: None,
        limit: limits::EVENT_PAGE_MAX,
        order: EventOrder::Descending,
    };
    let current = match &agent.work.current {
        Some(current) => or_default_if_unreadable(reader.work_item(no, &current.id))?,
        None => None,
    };
    Ok(ExplainedRows {
        oldest: or_default_if_unreadable(reader.oldest_queued(no))?,
        due: or_default_if_unreadable(reader.due_of_agent(no, PLANNED))?,
        waits: or_default_if_unreadable(reader.active_waits(no))?,
        hints: or_default_if_unreadable(reader.hints(no))?,
        current,
        events: reader.events(no, newest)?.events,
    })
}
