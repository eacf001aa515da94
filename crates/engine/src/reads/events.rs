//! Reads pages by cursor: events of one agent or of all agents that callers know, briefs and transcript.
//!
//! A cursor belongs to one agent. Another agent of the same name numbers its events above those of the removed one, so a
//! cursor of the removed agent is recognised and refused.

use super::{BriefTexts, ReadHandle, add_labels};
use crate::error::Error;
use holon_domain::AgentId;
use holon_domain::brief::BriefRecord;
use holon_domain::event::Event;
use holon_domain::feed::{
    EventOrder, EventPage, EventQuery, EventRecord, HostEntry, HostEntryContent, HostPage, HostSeq,
    SeqPage, SeqQuery,
};
use holon_domain::transcript::TranscriptEntry;
use holon_store::{AgentNo, HostQuery, HostRow, HostRowContent, HostRows, Reader, Tombstone};

impl ReadHandle {
    /// Returns a page of an agent's events.
    ///
    /// # Errors
    /// When there is no such agent or its rows are being removed, the cursor is too old or belongs to a removed agent, or
    /// storage fails.
    pub async fn events(&self, agent_id: &AgentId, query: EventQuery) -> Result<EventPage, Error> {
        let id = agent_id.clone();
        let (page, tombstone, is_whole) = self
            .read_agent(agent_id, move |reader, no, _| {
                let mut page = reader.events(no, query)?;
                add_labels(reader, no, &mut page.events, &mut BriefTexts::of_page())?;
                let is_whole = query.after_seq == Some(0) && has_first_event(reader, no);
                Ok((page, reader.tombstone(&id)?, is_whole))
            })
            .await?;
        check_cursor(agent_id, query.after_seq, &page, tombstone, is_whole)?;
        Ok(page)
    }

    /// Returns a page of an agent's briefs in ascending order.
    ///
    /// # Errors
    /// When there is no such agent, the cursor is too old, or storage fails.
    pub async fn briefs_page(
        &self,
        agent_id: &AgentId,
        query: SeqQuery,
    ) -> Result<SeqPage<BriefRecord>, Error> {
        let id = agent_id.clone();
        let (page, ends) = self
            .read_agent(agent_id, move |reader, no, agent| {
                let tombstone = reader.tombstone(&id)?;
                let page = SeqPage {
                    entries: reader.briefs_page(no, query)?,
                    predecessor: tombstone.map_or(0, Tombstone::last_seq),
                };
                let (_, oldest) = reader.oldest_history(no)?;
                Ok((page, (oldest, agent.counters.briefs)))
            })
            .await?;
        check_position(query.after_seq, ends)?;
        Ok(page)
    }

    /// Returns a page of an agent's transcript in ascending order.
    ///
    /// # Errors
    /// When there is no such agent, the cursor is too old, or storage fails.
    pub async fn transcript_page(
        &self,
        agent_id: &AgentId,
        query: SeqQuery,
    ) -> Result<SeqPage<TranscriptEntry>, Error> {
        let id = agent_id.clone();
        let (page, ends) = self
            .read_agent(agent_id, move |reader, no, agent| {
                let tombstone = reader.tombstone(&id)?;
                let page = SeqPage {
                    entries: reader.transcript_page(no, query)?,
                    predecessor: tombstone.map_or(0, Tombstone::last_seq),
                };
                let (oldest, _) = reader.oldest_history(no)?;
                Ok((page, (oldest, agent.counters.log)))
            })
            .await?;
        check_position(query.after_seq, ends)?;
        Ok(page)
    }

    /// Returns a page of the events of all agents that callers know.
    ///
    /// # Errors
    /// When the cursor is too old, or storage fails.
    pub async fn host_events(&self, query: EventQuery) -> Result<HostPage, Error> {
        let rows = select_rows(query);
        let read = self.readers.read(move |reader| read_rows(reader, rows));
        let rows = read.await?;
        let oldest_seq = match rows.trimmed {
            0 => 0,
            row => HostSeq::end_of(row).0,
        };
        let newest_seq = match rows.newest {
            0 => 0,
            row => HostSeq::end_of(row).0,
        };
        if query.after_seq.is_some_and(|after| after < oldest_seq) {
            return Err(Error::CursorTooOld {
                oldest_seq: oldest_seq.saturating_add(1),
                newest_seq,
            });
        }
        Ok(to_page(query, rows, oldest_seq, newest_seq))
    }
}

/// Refuses a cursor behind which retention has removed rows. The cursor 0 stands for the oldest row that is kept.
/// `ends` are the oldest position that is kept and the newest one.
fn check_position(after: Option<u64>, ends: (Option<u64>, u64)) -> Result<(), Error> {
    let (Some(oldest_seq), newest_seq) = ends else {
        return Ok(());
    };
    match after {
        Some(after) if after > 0 && after.saturating_add(1) < oldest_seq => {
            Err(Error::CursorTooOld {
                oldest_seq,
                newest_seq,
            })
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns true if the first event of an agent is kept. Its number does not tell: an agent counts above the numbers of
/// removed agents.
fn has_first_event(reader: &Reader<'_>, no: AgentNo) -> bool {
    let oldest = EventQuery {
        limit: 1,
        order: EventOrder::Ascending,
        ..EventQuery::default()
    };
    let is_first = |record: &EventRecord| matches!(record.event, Event::AgentCreated(_));
    let page = reader.events(no, oldest);
    page.is_ok_and(|page| page.events.first().is_some_and(is_first))
}

/// Refuses a cursor that this agent cannot continue. The cursor 0 stands for the beginning of its events.
fn check_cursor(
    agent_id: &AgentId,
    after: Option<u64>,
    page: &EventPage,
    tombstone: Option<Tombstone>,
    is_whole: bool,
) -> Result<(), Error> {
    let (Some(oldest_seq), Some(newest_seq)) = (page.oldest_seq, page.newest_seq) else {
        return Ok(());
    };
    let predecessor = tombstone.map_or(0, Tombstone::last_seq);
    if tombstone.is_some_and(|tombstone| tombstone.newest_event >= oldest_seq) {
        return Err(Error::AgentNotFound {
            agent_id: agent_id.clone(),
        });
    }
    match after {
        Some(0) if is_whole || oldest_seq == predecessor + 1 => Ok(()),
        Some(after) if after > 0 && after <= predecessor => Err(Error::AgentReplaced {
            agent_id: agent_id.clone(),
            oldest_seq,
            newest_seq,
        }),
        Some(after) if after.saturating_add(1) < oldest_seq => Err(Error::CursorTooOld {
            oldest_seq,
            newest_seq,
        }),
        Some(_) | None => Ok(()),
    }
}

/// Returns the rows that can hold the wanted events. A row that lies wholly behind the cursor is left out: it would fill
/// a small page with events that are not wanted, and the cursor would never move.
fn select_rows(query: EventQuery) -> HostQuery {
    let first = |after: u64| HostSeq(after.saturating_add(1)).row();
    let last = |before: u64| HostSeq(before.saturating_sub(1)).row();
    HostQuery {
        low: query.after_seq.map_or(0, first),
        high: query.before_seq.map_or(u64::MAX, last),
        limit: query.limit,
        order: query.order,
    }
}

fn read_rows(reader: &Reader<'_>, query: HostQuery) -> Result<HostRows, holon_store::Error> {
    let (mut page, mut texts) = (reader.host_events(query)?, BriefTexts::of_page());
    for row in &mut page.rows {
        if let HostRowContent::Events { no, events } = &mut row.content {
            add_labels(reader, *no, events, &mut texts)?;
        }
    }
    Ok(page)
}

/// Returns the entries of a row, oldest first.
fn entries_of(row: HostRow) -> Vec<HostEntry> {
    let HostRow {
        row_no,
        agent_id,
        content,
    } = row;
    match content {
        HostRowContent::Events { events, .. } => {
            let entry = |(event, index)| HostEntry {
                host_seq: HostSeq::in_row(row_no, index).0,
                agent_id: agent_id.clone(),
                content: HostEntryContent::Event(Box::new(event)),
            };
            events.into_iter().zip(0..).map(entry).collect()
        }
        HostRowContent::Removed { event_seq, at } => vec![HostEntry {
            host_seq: HostSeq::in_row(row_no, 0).0,
            agent_id,
            content: HostEntryContent::AgentDeleted { event_seq, at },
        }],
    }
}

fn to_page(query: EventQuery, rows: HostRows, oldest_seq: u64, newest_seq: u64) -> HostPage {
    let removals_oldest_seq =
        (rows.removals_trimmed > rows.trimmed).then(|| HostSeq::end_of(rows.removals_trimmed).0);
    let HostRows { rows, reached, .. } = rows;
    let is_ascending = query.order == EventOrder::Ascending;
    let mut entries = Vec::new();
    for row in rows {
        let mut of_row = entries_of(row);
        if !is_ascending {
            of_row.reverse();
        }
        entries.extend(of_row);
    }
    entries.retain(|entry| {
        query.after_seq.is_none_or(|after| entry.host_seq > after)
            && query
                .before_seq
                .is_none_or(|before| entry.host_seq < before)
    });
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let is_cut = entries.len() > limit;
    entries.truncate(limit);
    let goes_on = is_cut || reached.is_some();
    let last = entries.last().map(|entry| entry.host_seq);
    let next_seq = match (is_cut, reached, is_ascending) {
        (true, _, _) => last,
        (false, Some(row), true) => Some(HostSeq::end_of(row).0),
        (false, Some(row), false) => Some(HostSeq::in_row(row, 0).0),
        (false, None, true) => Some(query.before_seq.map_or(newest_seq, |before| {
            before.saturating_sub(1).min(newest_seq)
        })),
        (false, None, false) => last,
    };
    let bounded_below = query.after_seq.is_some_and(|after| after > oldest_seq);
    let bounded_above = query.before_seq.is_some_and(|before| before <= newest_seq);
    HostPage {
        entries,
        oldest_seq,
        removals_oldest_seq,
        newest_seq,
        next_seq: next_seq.unwrap_or(oldest_seq),
        has_older: bounded_below || (!is_ascending && goes_on),
        has_newer: bounded_above || (is_ascending && goes_on),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_lies_wholly_behind_the_cursor_is_not_selected() {
        let rows = |after_seq, before_seq| {
            let query = EventQuery {
                after_seq,
                before_seq,
                ..EventQuery::default()
            };
            let rows = select_rows(query);
            (rows.low, rows.high)
        };
        assert_eq!(rows(None, None), (0, u64::MAX));
        let (first, last) = (HostSeq::in_row(7, 0).0, HostSeq::end_of(7).0);
        assert_eq!(rows(Some(first), Some(last)), (7, 7), "in the middle of it");
        assert_eq!(rows(Some(last), Some(first)), (8, 6));
        let most = HostSeq(u64::MAX).row();
        assert_eq!(rows(Some(u64::MAX), Some(0)), (most, 0));
    }
}
