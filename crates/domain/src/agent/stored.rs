//! An agent's row as the store keeps it, and the conversion to a record.

use super::legacy::OldRow;
use super::{
    AgentRecord, AgentSettings, Counters, HomeState, LastFailure, Lifecycle, RestRecord, RestWake,
    StateSignal, Totals, WorkState,
};
use crate::attempt::AttemptRecord;
use crate::continuation::ContinuationResolution;
use crate::delegation::WorktreeEnd;
use crate::delivery::Outbox;
use crate::effect::EffectId;
use crate::guidance::ActiveSkill;
use crate::nesting::parse_stored;
use crate::queue::MessageSeq;
use crate::thread::ThreadState;
use crate::time::Timestamp;
use crate::tool_times::ToolTimes;
use crate::turn::{OpenTurn, TerminalRecord};
use crate::workspace::Occupancy;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Columns of an agent's row in the store.
#[derive(Debug, Clone, Copy)]
pub struct AgentRow<'a> {
    /// Scheduling state as JSON. In rows of earlier builds it holds everything else as well.
    pub record: &'a str,
    /// Settings as JSON. Absent in rows that this build has not written yet.
    pub settings: Option<&'a str>,
    /// Sequence counters. Absent in rows that this build has not written yet.
    pub counters: Option<Counters>,
}

/// Scheduling state as stored.
#[derive(Deserialize)]
pub(super) struct HotState {
    pub(super) lifecycle: Lifecycle,
    pub(super) generation: u64,
    /// Absent in rows of earlier builds; then it is derived from other fields.
    #[serde(default)]
    pub(super) home: HomeState,
    #[serde(default)]
    pub(super) deliveries: Vec<EffectId>,
    #[serde(default)]
    pub(super) patches: Vec<EffectId>,
    #[serde(default)]
    pub(super) cleanups: Vec<EffectId>,
    #[serde(default)]
    pub(super) worktree_end: Option<WorktreeEnd>,
    #[serde(default)]
    pub(super) outbox: Outbox,
    #[serde(default)]
    pub(super) open_turn: Option<OpenTurn>,
    #[serde(default)]
    pub(super) rest: Option<RestRecord>,
    #[serde(default)]
    pub(super) totals: Totals,
    #[serde(default)]
    pub(super) self_caused_turns: u32,
    #[serde(default)]
    pub(super) self_caused_queued: u64,
    #[serde(default)]
    pub(super) active_tasks: u32,
    #[serde(default)]
    pub(super) held: Vec<MessageSeq>,
    #[serde(default)]
    pub(super) acknowledged: Vec<MessageSeq>,
    #[serde(default)]
    pub(super) left_by_caller: Vec<MessageSeq>,
    #[serde(default)]
    pub(super) pace: Option<RestWake>,
    #[serde(default)]
    pub(super) work: WorkState,
    #[serde(default)]
    pub(super) thread: ThreadState,
    #[serde(default)]
    pub(super) active_skills: Vec<ActiveSkill>,
    #[serde(default)]
    pub(super) occupancy: Option<Occupancy>,
    #[serde(default)]
    pub(super) archived_at: Option<Timestamp>,
    #[serde(default)]
    pub(super) last_turn: Option<TerminalRecord>,
    #[serde(default)]
    pub(super) last_failure: Option<LastFailure>,
    #[serde(default)]
    pub(super) operator_seq: Option<MessageSeq>,
    #[serde(default)]
    pub(super) order: Option<String>,
    #[serde(default)]
    pub(super) last_continuation: Option<ContinuationResolution>,
    #[serde(default)]
    pub(super) unsignalled: Option<StateSignal>,
    #[serde(default)]
    pub(super) last_wake_reason: Option<String>,
    #[serde(default)]
    pub(super) last_brief_at: Option<Timestamp>,
    #[serde(default)]
    pub(super) tool_times: BTreeMap<String, ToolTimes>,
}

impl AgentRecord {
    /// Builds a record from the columns of its row. A row of an earlier build is read whole from its JSON.
    ///
    /// # Errors
    /// Fails if a column is not JSON of the expected shape.
    pub fn from_row(row: AgentRow<'_>) -> Result<Self, serde_json::Error> {
        match (row.settings, row.counters) {
            (Some(settings), Some(counters)) => {
                let settings = parse_stored(settings)?;
                let state = parse_stored(row.record)?;
                Ok(Self::of(settings, counters, state))
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => {
                Self::split_legacy_row(row.record).map(|(record, _)| record)
            }
        }
    }

    /// Splits the JSON text of an earlier build into the agent's record and the failed attempts of the current round.
    ///
    /// # Errors
    /// Fails if the text is not JSON of that shape.
    pub fn split_legacy_row(text: &str) -> Result<(Self, Vec<AttemptRecord>), serde_json::Error> {
        let old: OldRow = parse_stored(text)?;
        Ok(old.split())
    }

    pub(super) fn of(settings: AgentSettings, counters: Counters, state: HotState) -> Self {
        Self {
            settings,
            counters,
            lifecycle: state.lifecycle,
            generation: state.generation,
            home: state.home,
            deliveries: state.deliveries,
            patches: state.patches,
            cleanups: state.cleanups,
            worktree_end: state.worktree_end,
            outbox: state.outbox,
            open_turn: state.open_turn,
            rest: state.rest,
            totals: state.totals,
            self_caused_turns: state.self_caused_turns,
            self_caused_queued: state.self_caused_queued,
            active_tasks: state.active_tasks,
            held: state.held,
            acknowledged: state.acknowledged,
            left_by_caller: state.left_by_caller,
            pace: state.pace,
            work: state.work,
            thread: state.thread,
            active_skills: state.active_skills,
            occupancy: state.occupancy,
            archived_at: state.archived_at,
            last_turn: state.last_turn,
            last_failure: state.last_failure,
            operator_seq: state.operator_seq,
            order: state.order,
            last_continuation: state.last_continuation,
            unsignalled: state.unsignalled,
            last_wake_reason: state.last_wake_reason,
            last_brief_at: state.last_brief_at,
            tool_times: state.tool_times,
        }
    }
}
