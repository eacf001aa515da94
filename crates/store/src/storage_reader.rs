//! Reads sizes for reports about storage: the database file, and the texts of the history rows by agent.
//!
//! Sums over a table are read in pieces, each in a transaction of its own with a deadline, so a report of a large store
//! is no picture of one moment.

use crate::agents;
use crate::error::Error;
use crate::history;
use crate::image_refs;
use crate::passed_over;
use crate::reader::Reader;
use crate::readers::Readers;
use crate::row::{AgentNo, all, first, limit, readable};
use holon_domain::AgentId;
use holon_domain::image::ImageDigest;
use holon_domain::storage::{
    DatabaseSize, HistoryHolder, HistoryPosition, HistoryRule, HistoryStep, HistorySums,
    PassedOverRows, RowSum,
};
use rusqlite::params;
use std::collections::BTreeMap;

/// Rows whose sizes are summed up in one read.
const PIECE: usize = 20_000;

/// Table of history rows.
#[derive(Debug, Clone, Copy)]
enum HistoryTable {
    Log,
    Messages,
    Briefs,
    Events,
}

const TABLES: [HistoryTable; 4] = [
    HistoryTable::Log,
    HistoryTable::Messages,
    HistoryTable::Briefs,
    HistoryTable::Events,
];

impl HistoryTable {
    /// Sums up the next rows behind a number, by agent. The length of a text is read without the text.
    const fn sql(self) -> &'static str {
        match self {
            Self::Log => {
                "SELECT agent_no, count(*), sum(bytes), max(no) FROM (SELECT agent_no, octet_length(entry) AS bytes, \
                 entry_no AS no FROM log WHERE entry_no > ?1 ORDER BY entry_no LIMIT ?2) GROUP BY agent_no"
            }
            Self::Messages => {
                "SELECT agent_no, count(*), sum(bytes), max(no) FROM (SELECT agent_no, octet_length(envelope) AS bytes, \
                 message_no AS no FROM messages WHERE message_no > ?1 ORDER BY message_no LIMIT ?2) GROUP BY agent_no"
            }
            Self::Briefs => {
                "SELECT agent_no, count(*), sum(bytes), max(no) FROM (SELECT agent_no, octet_length(row) AS bytes, \
                 brief_no AS no FROM briefs WHERE brief_no > ?1 ORDER BY brief_no LIMIT ?2) GROUP BY agent_no"
            }
            Self::Events => {
                "SELECT agent_no, count(*), sum(bytes), max(no) FROM (SELECT agent_no, octet_length(data) AS bytes, \
                 row_no AS no FROM events WHERE row_no > ?1 ORDER BY row_no LIMIT ?2) GROUP BY agent_no"
            }
        }
    }

    const fn of(self, sums: &mut HistorySums) -> &mut RowSum {
        match self {
            Self::Log => &mut sums.transcript,
            Self::Messages => &mut sums.messages,
            Self::Briefs => &mut sums.briefs,
            Self::Events => &mut sums.events,
        }
    }
}

/// Sums of a piece of a table.
struct Piece {
    sums: Vec<(AgentNo, RowSum)>,
    /// Number of its last row; absent if it is the last piece.
    last: Option<i64>,
}

impl Reader<'_> {
    /// Returns the size of the database file, without its write-ahead log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn database_size(&self) -> Result<DatabaseSize, Error> {
        let number = |sql: &str| -> Result<u64, Error> {
            Ok(first(self.conn(), sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
        };
        let page = number("PRAGMA page_size")?;
        Ok(DatabaseSize {
            file_bytes: number("PRAGMA page_count")?.saturating_mul(page),
            free_bytes: number("PRAGMA freelist_count")?.saturating_mul(page),
            wal_bytes: 0,
        })
    }

    /// Returns the rows that readers and the writer passed over since this process began.
    #[must_use]
    pub fn passed_over(&self) -> PassedOverRows {
        passed_over::of(self.conn())
    }

    /// Returns those of the images that a message names.
    ///
    /// # Errors
    /// When the database fails.
    pub fn named_images(&self, digests: &[ImageDigest]) -> Result<Vec<ImageDigest>, Error> {
        image_refs::named(self.conn(), digests)
    }

    /// Lists the agents with history, in no order. Agents that were put aside are left out.
    ///
    /// # Errors
    /// When the database fails.
    pub fn history_holders(&self) -> Result<Vec<HistoryHolder>, Error> {
        history::holders(self.conn())
    }

    /// Returns the next step of a removal of an agent's history, as it would be done. `None` if nothing would go.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn history_step(
        &self,
        id: &AgentId,
        from: &HistoryPosition,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, Error> {
        let Some((no, agent)) = agents::read_unless_aside(self.conn(), id)? else {
            return Ok(None);
        };
        let plan = history::plan(self.conn(), no, &agent, from, rule)?;
        Ok(plan.map(|plan| plan.step))
    }

    /// Returns the positions of the oldest log entry and the oldest brief of an agent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn oldest_history(&self, no: AgentNo) -> Result<(Option<u64>, Option<u64>), Error> {
        Ok((
            history::oldest_entry(self.conn(), no)?,
            history::oldest_brief(self.conn(), no)?,
        ))
    }

    fn piece(&self, table: HistoryTable, after: i64) -> Result<Piece, Error> {
        let rows = all(
            self.conn(),
            table.sql(),
            params![after, limit(PIECE)],
            |row| {
                let sum = RowSum {
                    rows: row.get(1)?,
                    bytes: row.get(2)?,
                };
                Ok((AgentNo(row.get(0)?), sum, row.get::<_, i64>(3)?))
            },
        )?;
        let count: u64 = rows.iter().map(|(_, sum, _)| sum.rows).sum();
        let last = rows.iter().map(|(_, _, last)| *last).max();
        Ok(Piece {
            last: last.filter(|_| count >= PIECE as u64),
            sums: rows.into_iter().map(|(no, sum, _)| (no, sum)).collect(),
        })
    }
}

impl Readers {
    /// Returns the size of the database file and of its write-ahead log.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn database_size(&self) -> Result<DatabaseSize, Error> {
        let size = self.read(|reader| reader.database_size()).await?;
        Ok(DatabaseSize {
            wal_bytes: self.wal_bytes(),
            ..size
        })
    }

    /// Sums up the history rows of each agent. Rows of agents that are being removed stand under no name.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn history_sums(&self) -> Result<BTreeMap<Option<AgentId>, HistorySums>, Error> {
        let mut by_no: BTreeMap<AgentNo, HistorySums> = BTreeMap::new();
        for table in TABLES {
            let mut after = Some(0);
            while let Some(from) = after {
                let piece = self.read(move |reader| reader.piece(table, from)).await?;
                for (no, sum) in piece.sums {
                    *table.of(by_no.entry(no).or_default()) += sum;
                }
                after = piece.last;
            }
        }
        self.read(move |reader| {
            let mut named: BTreeMap<Option<AgentId>, HistorySums> = BTreeMap::new();
            for (no, sums) in by_no {
                let id = readable(reader.conn(), agents::known_id_of(reader.conn(), no))?.flatten();
                *named.entry(id).or_default() += sums;
            }
            Ok(named)
        })
        .await
    }
}
