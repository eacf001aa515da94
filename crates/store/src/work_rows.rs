//! Reads of an agent's work for the performer of an effect: the rows a prompt shows, the answers of queries, and the
//! plan folders without an item. Each function runs inside one read transaction, and each read is bounded.

use crate::error::Error;
use crate::reader::Reader;
use crate::row::AgentNo;
use crate::work_items::ListedItem;
use crate::{agents, item_trace, timers, turn_rows, waits, work_items};
use holon_domain::agent::{AgentRecord, ItemCounts};
use holon_domain::block::calls_of;
use holon_domain::intent::{WorkItemFilter, WorkQuery};
use holon_domain::limits::RECHECKS_PER_TICK;
use holon_domain::log::LogEntry;
use holon_domain::timer::TimerRecord;
use holon_domain::turn::{LogSeq, Phase};
use holon_domain::wait::{WaitRecord, WaitStatus};
use holon_domain::work_item::{
    WorkItemCursor, WorkItemRecord, WorkItemSchedulingState, WorkItemState, WorkOverview,
};
use holon_domain::{AgentId, WorkItemId};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Items of each class that a prompt may show. One more is read where the current item may be among them.
const TRIGGERED: usize = 3;
const QUEUED: usize = 5;
const WAITING_OPERATOR: usize = 3;
const BLOCKED: usize = 3;
const COMPLETED: usize = 3;
/// Waits and timers that a prompt may show; of the others it shows the number.
const WAITS: usize = 8;
const TIMERS: usize = 8;
/// Newest declared waits that are searched for ended ones.
const ENDED_WAITS: usize = 64;

/// Most items of a class that a page leaves out and reads over; behind more of them a page may be short.
const LEFT_OUT_READ: usize = 500;

/// The answer of a query, with the agent it concerns.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkLook {
    pub agent: AgentRecord,
    pub found: WorkQueryRows,
}

/// A page of a list of work items.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkItemRows {
    /// Items with their positions, newest change first.
    pub items: Vec<(WorkItemCursor, WorkItemRecord)>,
    /// Number of matching items, shown or not.
    pub total: u64,
    /// Position behind which the next page begins; absent on the last one. A page may be short and have a next one.
    pub next: Option<WorkItemCursor>,
}

/// The result of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkQueryRows {
    Item {
        asked: WorkItemId,
        /// Absent if the agent has no such item.
        item: Option<Box<WorkItemRecord>>,
    },
    Items {
        filter: WorkItemFilter,
        limit: u32,
        page: WorkItemRows,
    },
    Timers {
        timers: Vec<TimerRecord>,
        total: u64,
    },
}

impl WorkQueryRows {
    /// Iterates over the work items of the result.
    pub fn items_mut(&mut self) -> impl Iterator<Item = &mut WorkItemRecord> {
        let (one, many): (_, &mut [(WorkItemCursor, WorkItemRecord)]) = match self {
            Self::Item { item, .. } => (item.as_deref_mut(), &mut []),
            Self::Items { page, .. } => (None, &mut page.items),
            Self::Timers { .. } => (None, &mut []),
        };
        one.into_iter().chain(many.iter_mut().map(|(_, item)| item))
    }
}

/// Reads everything a prompt shows of an agent's work. `before` is the log position at which the turn began.
pub(crate) fn shown(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
    before: LogSeq,
) -> Result<WorkOverview, Error> {
    let conn = reader.conn();
    let work = &agent.work;
    let completed = work_items::newest(reader, no, WorkItemFilter::Completed, COMPLETED)?;
    let mut rows = WorkOverview {
        completed,
        ..WorkOverview::default()
    };
    if work.active_waits > 0 {
        rows.waits = waits::active(conn, no, reader.unreadable())?;
    }
    if work.active_timers > 0 {
        rows.timers = timers::active(conn, no, TIMERS, reader.unreadable())?;
    }
    if work.items.open() > 0 {
        fill_open(reader, no, agent, &mut rows)?;
    }
    rows.waits.truncate(WAITS);
    if let Some(item) = &rows.current {
        rows.trace = item_trace::read(conn, no, item, before)?;
    }
    Ok(rows)
}

fn fill_open(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
    rows: &mut WorkOverview,
) -> Result<(), Error> {
    let work = &agent.work;
    if let Some(current) = &work.current {
        rows.current = reader.work_item(no, &current.id)?;
        let waits_for = |wait: &&WaitRecord| wait.work_item_id.as_ref() == Some(&current.id);
        rows.current_wait = rows.waits.iter().find(waits_for).cloned();
    }
    if work.due_rechecks > 0 {
        rows.due_rechecks = reader.due_rechecks(no)?;
        rows.due_rechecks.truncate(RECHECKS_PER_TICK);
    }
    let mut shown: BTreeSet<WorkItemId> = rows.current.iter().map(|item| item.id.clone()).collect();
    rows.triggered = triggered(reader, no, &shown)?;
    shown.extend(rows.triggered.iter().map(|item| item.id.clone()));
    let more = TRIGGERED + 1;
    let fresh = |items: Vec<WorkItemRecord>, count: usize| {
        let new = items.into_iter().filter(|item| !shown.contains(&item.id));
        new.take(count).collect::<Vec<_>>()
    };
    rows.queued = fresh(
        work_items::oldest_runnable(reader.conn(), no, QUEUED + more)?,
        QUEUED,
    );
    let newest = |filter, count| -> Result<Vec<WorkItemRecord>, Error> {
        let found = work_items::newest(reader, no, filter, count + more)?;
        Ok(fresh(found, count))
    };
    rows.waiting_operator = newest(WorkItemFilter::WaitingForOperator, WAITING_OPERATOR)?;
    rows.blocked = newest(WorkItemFilter::Blocked, BLOCKED)?;
    Ok(())
}

/// Lists open items whose wait was triggered or timed out and that did not change since. Only the newest declared waits
/// are searched.
fn triggered(
    reader: &Reader<'_>,
    no: AgentNo,
    shown: &BTreeSet<WorkItemId>,
) -> Result<Vec<WorkItemRecord>, Error> {
    let mut ended: Vec<WaitRecord> = reader
        .newest_waits(no, ENDED_WAITS)?
        .into_iter()
        .filter(|wait| match wait.status {
            WaitStatus::Resolved | WaitStatus::Expired => true,
            WaitStatus::Active | WaitStatus::Cancelled => false,
        })
        .collect();
    ended.sort_by_key(|wait| Reverse(wait.updated_at));
    let mut found: Vec<WorkItemRecord> = Vec::new();
    for wait in ended {
        let Some(id) = wait.work_item_id.as_ref().filter(|id| !shown.contains(*id)) else {
            continue;
        };
        if found.iter().any(|item| item.id == *id) {
            continue;
        }
        let unchanged = |item: &WorkItemRecord| {
            item.state == WorkItemState::Open && item.updated_at == wait.updated_at
        };
        found.extend(reader.work_item(no, id)?.filter(unchanged));
        if found.len() == TRIGGERED {
            break;
        }
    }
    Ok(found)
}

/// Answers a query. `None` if there is no such agent.
pub(crate) fn look(
    reader: &Reader<'_>,
    id: &AgentId,
    query: &WorkQuery,
) -> Result<Option<WorkLook>, Error> {
    let Some((no, agent)) = agents::read_unless_aside(reader.conn(), id)? else {
        return Ok(None);
    };
    let found = match query {
        WorkQuery::Item { work_item_id, .. } => {
            let item = reader.work_item(no, work_item_id)?.map(Box::new);
            let asked = work_item_id.clone();
            WorkQueryRows::Item { asked, item }
        }
        WorkQuery::Items {
            filter,
            limit,
            after,
            ..
        } => WorkQueryRows::Items {
            filter: *filter,
            limit: *limit,
            page: page(reader, no, &agent, *filter, *after, *limit as usize)?,
        },
        WorkQuery::Timers { limit } => WorkQueryRows::Timers {
            timers: reader.active_timers(no, *limit as usize)?,
            total: u64::from(agent.work.active_timers),
        },
    };
    Ok(Some(WorkLook { agent, found }))
}

/// Reads a page of items that match a filter, newest change first. Unlike the classes of the table, a filter
/// distinguishes the current item from queued ones and stalled items from runnable ones.
pub(crate) fn page(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
    filter: WorkItemFilter,
    after: Option<WorkItemCursor>,
    limit: usize,
) -> Result<WorkItemRows, Error> {
    let (conn, work) = (reader.conn(), &agent.work);
    let current = work.current.as_ref();
    let current_id = current.map(|current| &current.id);
    let every = |_: &WorkItemRecord| true;
    match filter {
        WorkItemFilter::Current => {
            let item = match current_id {
                Some(id) => work_items::listed(reader, no, id)?,
                None => None,
            };
            let total = u64::from(item.is_some());
            let behind = |cursor: &WorkItemCursor| after.is_none_or(|after| *cursor < after);
            let item = item.and_then(|(at, item)| Some((at, item?)));
            let items: Vec<_> = item.into_iter().filter(|(at, _)| behind(at)).collect();
            Ok(WorkItemRows {
                items,
                total,
                next: None,
            })
        }
        WorkItemFilter::Queued => {
            let blocked = work.items.blocked;
            let is_current = current.is_some_and(|current| is_queued(current.state));
            let total = work.items.open().saturating_sub(blocked);
            let total = total.saturating_sub(u32::from(is_current));
            let count = limit + passed_over(blocked) + 2;
            let found = work_items::behind(reader, no, filter, after, count)?;
            let keep =
                |item: &WorkItemRecord| Some(&item.id) != current_id && item.blocked_by.is_none();
            Ok(cut(found, count, limit, u64::from(total), keep))
        }
        WorkItemFilter::Blocked => {
            let ItemCounts {
                waiting_task,
                waiting_external,
                waiting_timer,
                blocked,
                ..
            } = work.items;
            let waiting = waiting_task + waiting_external + waiting_timer;
            let count = limit + passed_over(waiting) + 1;
            let found = work_items::behind(reader, no, filter, after, count)?;
            let keep = |item: &WorkItemRecord| item.blocked_by.is_some();
            Ok(cut(found, count, limit, u64::from(blocked), keep))
        }
        WorkItemFilter::Runnable => {
            let ItemCounts {
                runnable, stalled, ..
            } = work.items;
            let count = limit + passed_over(stalled) + 1;
            let found = work_items::behind(reader, no, filter, after, count)?;
            let keep = |item: &WorkItemRecord| {
                item.scheduling_state(work.wake_count) == WorkItemSchedulingState::Runnable
            };
            Ok(cut(found, count, limit, u64::from(runnable), keep))
        }
        WorkItemFilter::All
        | WorkItemFilter::Open
        | WorkItemFilter::Completed
        | WorkItemFilter::WaitingForOperator => {
            let total = work_items::count_matching(conn, no, filter)?;
            let found = work_items::behind(reader, no, filter, after, limit + 1)?;
            Ok(cut(found, limit + 1, limit, total, every))
        }
    }
}

/// Cuts a page out of the rows that were read for it, at most `count` of them, and finds the position of the next page.
fn cut(
    found: Vec<ListedItem>,
    count: usize,
    limit: usize,
    total: u64,
    keep: impl Fn(&WorkItemRecord) -> bool,
) -> WorkItemRows {
    let last_read = found.last().map(|(cursor, _)| *cursor);
    let may_have_more = found.len() == count;
    let readable = found.into_iter().filter_map(|(at, item)| Some((at, item?)));
    let mut found: Vec<_> = readable.filter(|(_, item)| keep(item)).collect();
    let is_cut = found.len() > limit;
    found.truncate(limit);
    let last_shown = found.last().map(|(cursor, _)| *cursor);
    WorkItemRows {
        items: found,
        total,
        next: match (is_cut, may_have_more) {
            (true, _) => last_shown,
            (false, true) => last_read,
            (false, false) => None,
        },
    }
}

/// Returns true if an item in this state is queued unless it has the focus: it is open and has no blocker.
const fn is_queued(state: WorkItemSchedulingState) -> bool {
    match state {
        WorkItemSchedulingState::Runnable
        | WorkItemSchedulingState::Stalled
        | WorkItemSchedulingState::WaitingOperator
        | WorkItemSchedulingState::WaitingTask
        | WorkItemSchedulingState::WaitingExternal
        | WorkItemSchedulingState::WaitingTimer => true,
        WorkItemSchedulingState::Blocked | WorkItemSchedulingState::Completed => false,
    }
}

/// Returns how many rows of a page are read beyond it, because the list leaves out items of its class. A page may be
/// short beyond the bound; its position goes on behind what was read.
fn passed_over(left_out: u32) -> usize {
    let left_out = usize::try_from(left_out).unwrap_or(usize::MAX);
    left_out.min(LEFT_OUT_READ)
}

/// Returns those of the given items that do not exist and that no running call is about to create. A plan is written
/// while its call runs, and the commit that ends the call writes the row, so a folder seen before this transaction
/// belongs to one of the two or to none.
pub(crate) fn without_row(
    reader: &Reader<'_>,
    id: &AgentId,
    mut items: Vec<WorkItemId>,
) -> Result<Vec<WorkItemId>, Error> {
    let Some((no, agent)) = agents::read_unless_aside(reader.conn(), id)? else {
        return Ok(Vec::new());
    };
    let phase = agent.open_turn.as_ref().map(|turn| turn.phase.clone());
    if let Some(Phase::RunningTool { call_index, .. }) = phase
        && let Some((_, entry)) = turn_rows::round_in_hand(reader, id)?
        && let LogEntry::AssistantRound { blocks, .. } = entry
        && let Some(call) = calls_of(&blocks).nth(call_index)
    {
        let made = WorkItemId::of_call(&call.id);
        items.retain(|item| *item != made);
    }
    let mut missing = Vec::new();
    for item in items {
        if !work_items::exists(reader.conn(), no, &item)? {
            missing.push(item);
        }
    }
    Ok(missing)
}
