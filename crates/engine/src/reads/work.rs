//! Reads of work items, waits and timers, and the explanation of an agent.

use super::{ReadHandle, page_size, task};
use crate::control::WebhookTerms;
use crate::error::Error;
use holon_core::explain::{self, ExplainedRows};
use holon_core::timer::TimerCost;
use holon_core::{Rejection, summary};
use holon_domain::agent::AgentRecord;
use holon_domain::explanation::Explanation;
use holon_domain::feed::{EventOrder, EventQuery, EventRecord};
use holon_domain::intent::WorkItemFilter;
use holon_domain::needs::Part;
use holon_domain::summary::WorkSummary;
use holon_domain::timer::TimerView;
use holon_domain::trigger::{TriggerRecord, TriggerView, WakeHint};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{
    DeliverySummaryRecord, WorkItemCursor, WorkItemRecord, WorkItemView,
};
use holon_domain::{AgentId, TimerId, WorkItemId, limits};
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
    /// Returns a page of an agent's work items, each with its plan as the file is now.
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
        let read = self.read_agent(agent_id, move |reader, no, agent| {
            let reader = reader.passing_over();
            let page = reader.work_item_page(no, &agent, filter, after, page_size(limit))?;
            let found = page.items.iter();
            let summaries = found.map(|(_, item)| summary_beginning(&reader, no, item));
            let summaries = summaries.collect::<Result<Vec<_>, _>>()?;
            Ok((agent, page, summaries))
        });
        let (agent, page, summaries) = read.await?;
        let mut items = Vec::with_capacity(page.items.len());
        for ((_, mut item), summary) in page.items.into_iter().zip(summaries) {
            item.plan = self.plans.read(&agent.agent_home, &item.id).await;
            let view = summary::work_item_view(&agent, &item).with_short_plan();
            items.push(with_summary(view, summary));
        }
        Ok(WorkItemPage {
            items,
            total: page.total,
            next: page.next,
            current: agent.work.current.map(|current| current.id),
        })
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
            let Some(item) = reader.work_item(no, &id)? else {
                return Ok(None);
            };
            let summary = whole_summary(&reader.passing_over(), no, &item)?;
            Ok(Some((agent, item, summary)))
        });
        let (agent, mut item, summary) = found.await?.ok_or_else(|| Rejection::NoSuchWorkItem {
            agent_id: agent_id.clone(),
        })?;
        item.plan = self.plans.read(&agent.agent_home, &item.id).await;
        Ok(with_summary(
            summary::work_item_view(&agent, &item),
            summary,
        ))
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
            let reader = reader.passing_over();
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
        self.read_agent(agent_id, move |reader, no, agent| {
            let reader = reader.passing_over();
            let timers = match filter {
                EntryFilter::Active => reader.active_timers(no, page_size(limit))?,
                EntryFilter::All => reader.newest_timers(no, page_size(limit))?,
            };
            let view = |timer| TimerCost::view(timer, &agent);
            Ok(timers.iter().map(view).collect())
        })
        .await
    }

    /// Returns one timer of an agent, active or not.
    ///
    /// # Errors
    /// When there is no such agent or the agent has no such timer, or storage fails.
    pub async fn timer(&self, agent_id: &AgentId, id: TimerId) -> Result<TimerView, Error> {
        let read = self.read_agent(agent_id, move |reader, no, agent| {
            let timer = reader.timer(no, &id)?;
            Ok(timer.map(|timer| TimerCost::view(&timer, &agent)))
        });
        let found = read.await?.ok_or_else(|| Rejection::NoSuchTimer {
            agent_id: agent_id.clone(),
        });
        Ok(found?)
    }

    /// Returns the external triggers of an agent, newest first, without the part that only the agent may know. A row that
    /// cannot be read is an error: without it the agent would seem to have fewer capabilities than it has.
    ///
    /// # Errors
    /// When there is no such agent, a row cannot be read, or storage fails.
    pub async fn triggers(&self, agent_id: &AgentId) -> Result<Vec<TriggerView>, Error> {
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

    /// Lists the agents that may accept webhooks, each with true if it accepts those without a signature.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook_agents(&self) -> Result<Vec<(AgentId, bool)>, Error> {
        let listed = self.readers.agents().await?.into_iter();
        let terms = listed.filter_map(|listed| {
            let agent = listed.record.ok().filter(|_| listed.aside.is_none())?;
            Some((listed.agent_id, agent.unsigned_webhooks))
        });
        Ok(terms.collect())
    }

    /// Explains the state of an agent: its reason and the next event that changes it.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn explain(&self, agent_id: &AgentId) -> Result<Explanation, Error> {
        let (agent, queue, rows, aside) = self
            .read_agent(agent_id, move |reader, no, agent| {
                let reader = &reader.passing_over();
                let rows = explained_rows(reader, no, &agent)?;
                let aside = reader.aside(&agent.identity.agent_id)?;
                let mut queue = reader.queue(no)?;
                let soonest = reader.soonest_due(no)?;
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

/// Reads the delivery summary of an item with the beginning of its text. `None` without one, or if it cannot be read.
fn summary_beginning(
    reader: &Reader<'_>,
    no: AgentNo,
    item: &WorkItemRecord,
) -> Result<Option<DeliverySummaryRecord>, holon_store::Error> {
    let beginning = item.result_summary.clone().unwrap_or_default();
    let Some(id) = &item.delivery_summary_id else {
        return Ok(summary_in_item(item, beginning));
    };
    let row = reader.delivery_summary(no, id)?;
    Ok(row.map(|row| row.with_text(beginning)))
}

/// Reads the delivery summary of an item with its whole text, or with the beginning if the rest cannot be read.
fn whole_summary(
    reader: &Reader<'_>,
    no: AgentNo,
    item: &WorkItemRecord,
) -> Result<Option<DeliverySummaryRecord>, holon_store::Error> {
    let beginning = || item.result_summary.clone().unwrap_or_default();
    let trimmed = |text: Option<String>| text.map(|text| text.trim().to_owned());
    if let Some(id) = &item.delivery_summary_id {
        let Some(row) = reader.delivery_summary(no, id)? else {
            return Ok(None);
        };
        let text = trimmed(reader.report_text(no, row.text.clone())?);
        return Ok(Some(row.with_text(text.unwrap_or_else(beginning))));
    }
    let brief = item.delivery.as_ref().and_then(|origin| origin.brief_seq);
    let text = match brief {
        Some(brief) => trimmed(reader.brief_text(no, brief)?),
        None => None,
    };
    Ok(summary_in_item(item, text.unwrap_or_else(beginning)))
}

/// Builds the delivery summary of an item that an earlier build completed, whose own row has the origin of its report.
fn summary_in_item(item: &WorkItemRecord, text: String) -> Option<DeliverySummaryRecord> {
    Some(DeliverySummaryRecord {
        id: None,
        work_item_id: item.id.clone(),
        agent_id: item.agent_id.clone(),
        text,
        delivery: item.delivery.clone()?,
    })
}

fn with_summary(view: WorkItemView, summary: Option<DeliverySummaryRecord>) -> WorkItemView {
    match summary {
        Some(summary) => view.with_delivery(summary),
        None => view,
    }
}

/// Reads the work shown in a status, with a reader that passes over unreadable rows.
pub(super) fn status_rows(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<(WorkSummary, Vec<WakeHint>), holon_store::Error> {
    let work = &agent.work;
    let items = match work.items.open() {
        0 => Vec::new(),
        _ => reader.work_items(no, WorkItemFilter::Open, STATUS_ITEMS)?.0,
    };
    let (completed, _) = reader.work_items(no, WorkItemFilter::Completed, STATUS_ITEMS)?;
    let waiting_intents = match work.active_waits {
        0 => Vec::new(),
        _ => reader.active_waits(no)?,
    };
    let timers = match work.active_timers {
        0 => Vec::new(),
        _ => reader.active_timers(no, limits::STATUS_TIMERS)?,
    };
    let hints = match work.hints {
        0 => Vec::new(),
        _ => reader.hints(no)?,
    };
    let triggers = reader.triggers(no)?;
    let triggers = triggers.iter().filter(|trigger| trigger.is_active());
    let entry = |item: &WorkItemRecord| summary::work_item_view(agent, item).list_entry();
    let summary = WorkSummary {
        work_items: items.iter().map(entry).collect(),
        waiting_intents,
        timers: timers
            .iter()
            .map(|timer| TimerCost::view(timer, agent))
            .collect(),
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
        Some(current) => reader.work_item(no, &current.id)?,
        None => None,
    };
    let tasks = reader.active_tasks(no)?;
    Ok(ExplainedRows {
        children: task::children(reader, no, agent, &tasks)?,
        oldest: reader.oldest_queued(no)?,
        due: reader.due_of_agent(no, PLANNED)?,
        waits: reader.active_waits(no)?,
        hints: reader.hints(no)?,
        timers: reader.active_timers(no, limits::STATUS_TIMERS)?,
        current,
        events: reader.events(no, newest)?.events,
    })
}
