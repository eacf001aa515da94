//! What the performer of an effect reads of one agent: the rows of its open turn, the round whose call it runs, and
//! its tasks. Each function runs inside one read transaction.
//!
//! All of them go by the agents that may be worked for: of an agent that was put aside nothing is performed, so reading
//! one is an error. Invariant: rows that a request could not be built without are there, or the read fails.

use crate::error::Error;
use crate::reader::{HistoryItem, Reader};
use crate::row::AgentNo;
use crate::{agents, log, work_rows};
use holon_domain::agent::AgentRecord;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::provider::LearnedLimits;
use holon_domain::queue::QueueEntry;
use holon_domain::task::TaskRecord;
use holon_domain::turn::{OpenTurn, Phase};
use holon_domain::work_item::{WorkItemRecord, WorkOverview};
use holon_domain::{AgentId, TaskId, limits};
use std::collections::HashMap;

/// The texts of a turn's frame, kept from its first round on, so that later rounds repeat them byte for byte.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameTexts {
    /// The part of the prompt that is the same for every agent.
    pub stable: String,
    /// The part that is the same for every turn of the agent.
    pub agent_scoped: String,
    /// What the first request showed of the agent's work. `None` when it showed none.
    pub work: Option<String>,
}

/// Everything a model request of an open turn is built from, as one transaction saw it.
#[derive(Debug, Clone)]
pub struct TurnRows {
    /// The agent's record.
    pub agent: AgentRecord,
    /// Its open turn, the one that was asked for.
    pub turn: OpenTurn,
    /// The turn's entries of the log, in order.
    pub entries: Vec<LogEntry>,
    /// The messages those entries name, by their position in the queue. The one that opened the turn is among them.
    pub messages: HashMap<u64, MessageEnvelope>,
    /// Messages of earlier turns with their answers, oldest first.
    pub history: Vec<HistoryItem>,
    /// `None` in the first round of a turn, and when the texts are not kept any more.
    pub frame: Option<FrameTexts>,
    /// The work of the agent, for the first request of a turn. `None` when the frame is kept.
    pub work: Option<WorkOverview>,
    /// The work item the turn is about, as it is now.
    pub item: Option<WorkItemRecord>,
    /// The tasks an agent is told of (see [`Reader::tasks_to_tell`]), newest first.
    pub tasks: Vec<TaskRecord>,
    /// Messages that wait to enter the turn.
    pub queued: Vec<QueueEntry>,
    /// What the provider of the turn's model has taught.
    pub learned: LearnedLimits,
}

/// A task, and whether a message waits to enter the turn. Read together: the message may be the end of that task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskLook {
    /// `None` when there is no such task, or it was forgotten.
    pub task: Option<TaskRecord>,
    /// Whether a queued message may enter the running turn.
    pub interrupted: bool,
}

/// What a process that is gone left of an agent: for a recovery, which has to know before it decides.
#[derive(Debug, Clone)]
pub struct LeftBehind {
    /// Where the agent's home is.
    pub agent_home: String,
    /// The agent and the round whose call its open turn runs, as [`Store::round_in_hand`](crate::Store::round_in_hand)
    /// has them.
    pub round_in_hand: Option<(AgentRecord, LogEntry)>,
    /// Its tasks that are not over, in the order they began.
    pub tasks: Vec<TaskRecord>,
}

/// The one read here that passes the mark of an agent that was put aside: a start looks before it takes one back.
pub(crate) fn left_behind(reader: &Reader<'_>, id: &AgentId) -> Result<Option<LeftBehind>, Error> {
    let Some((no, agent)) = agents::by_id(reader.conn(), id)? else {
        return Ok(None);
    };
    let tasks = if agent.active_tasks > 0 {
        reader.active_tasks(no)?
    } else {
        Vec::new()
    };
    Ok(Some(LeftBehind {
        agent_home: agent.agent_home.clone(),
        round_in_hand: round_of(reader, no, agent)?,
        tasks,
    }))
}

/// The home of an agent that is put aside; its record may be what cannot be read.
pub(crate) fn home_of_aside(reader: &Reader<'_>, id: &AgentId) -> Result<Option<String>, Error> {
    if reader.aside(id)?.is_none() {
        return Ok(None);
    }
    Ok(reader.settings(id)?.map(|settings| settings.agent_home))
}

pub(crate) fn agent(reader: &Reader<'_>, id: &AgentId) -> Result<Option<AgentRecord>, Error> {
    let found = agents::at_work(reader.conn(), id)?;
    Ok(found.map(|(_, agent)| agent))
}

/// None when the agent has no such turn open.
pub(crate) fn turn(
    reader: &Reader<'_>,
    id: &AgentId,
    turn_index: u64,
) -> Result<Option<TurnRows>, Error> {
    let Some((no, agent)) = agents::at_work(reader.conn(), id)? else {
        return Ok(None);
    };
    let is_asked_for = |turn: &OpenTurn| turn.turn_index == turn_index;
    let Some(turn) = agent.open_turn.clone().filter(is_asked_for) else {
        return Ok(None);
    };
    let entries: Vec<LogEntry> = reader
        .turn_entries(no, turn.first_entry)?
        .into_iter()
        .map(|(_, entry)| entry)
        .collect();
    let mut messages = HashMap::new();
    for seq in entries.iter().filter_map(LogEntry::message_seq) {
        if let Some(entry) = reader.message(no, seq)? {
            messages.insert(seq, entry.envelope);
        }
    }
    if !messages.contains_key(&turn.message_seq) {
        return Err(Error::Row {
            table: "messages",
            key: turn.message_seq.to_string(),
            reason: "the open turn answers it, but it is not there".to_owned(),
        });
    }
    let frame = match entries.iter().find_map(frame_of) {
        Some(frame) => frame_texts(reader, frame)?,
        None => None,
    };
    let work = match &frame {
        Some(_) => None,
        None => Some(work_rows::shown(reader, no, &agent)?),
    };
    let item = match &turn.work_item_id {
        Some(id) => reader.work_item(no, id)?,
        None => None,
    };
    Ok(Some(TurnRows {
        work,
        item,
        history: reader.history(no, turn.first_entry, limits::RECENT_MESSAGES)?,
        tasks: reader.tasks_to_tell(no)?,
        queued: joining(reader, no, &agent, &turn)?,
        learned: reader.model_limits(&turn.model_ref())?,
        agent,
        turn,
        entries,
        messages,
        frame,
    }))
}

/// What the next request takes in of the queue and of what is held.
fn joining(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
    turn: &OpenTurn,
) -> Result<Vec<QueueEntry>, Error> {
    if turn.closed_to_joining {
        return Ok(Vec::new());
    }
    reader.joining(no, &agent.held)
}

fn frame_texts(reader: &Reader<'_>, frame: &FrameRecord) -> Result<Option<FrameTexts>, Error> {
    let (stable, agent_scoped) = (
        reader.blob(&frame.stable)?,
        reader.blob(&frame.agent_scoped)?,
    );
    Ok(stable
        .zip(agent_scoped)
        .map(|(stable, agent_scoped)| FrameTexts {
            stable,
            agent_scoped,
            work: frame.work.clone(),
        }))
}

const fn frame_of(entry: &LogEntry) -> Option<&FrameRecord> {
    match entry {
        LogEntry::Frame(frame) => Some(frame),
        LogEntry::IncomingMessage { .. }
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ToolResult { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::RuntimeFailure { .. } => None,
    }
}

/// The agent and the round whose call its open turn runs; none when it runs no call, or the log does not hold it.
pub(crate) fn round_in_hand(
    reader: &Reader<'_>,
    id: &AgentId,
) -> Result<Option<(AgentRecord, LogEntry)>, Error> {
    match agents::at_work(reader.conn(), id)? {
        Some((no, agent)) => round_of(reader, no, agent),
        None => Ok(None),
    }
}

fn round_of(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: AgentRecord,
) -> Result<Option<(AgentRecord, LogEntry)>, Error> {
    let phase = agent.open_turn.as_ref().map(|turn| &turn.phase);
    let Some(Phase::RunningTool { round_entry, .. }) = phase else {
        return Ok(None);
    };
    let entry = log::entry(reader.conn(), no, *round_entry)?;
    Ok(entry.map(|entry| (agent, entry)))
}

pub(crate) fn task(reader: &Reader<'_>, id: &AgentId, task: &TaskId) -> Result<TaskLook, Error> {
    let Some((no, _)) = agents::at_work(reader.conn(), id)? else {
        return Ok(TaskLook {
            task: None,
            interrupted: false,
        });
    };
    Ok(TaskLook {
        interrupted: reader.queue_lengths(no)?.interjections > 0,
        task: reader.task(no, task)?,
    })
}

pub(crate) fn active_tasks(reader: &Reader<'_>, id: &AgentId) -> Result<Vec<TaskRecord>, Error> {
    match agents::at_work(reader.conn(), id)? {
        Some((no, agent)) if agent.active_tasks > 0 => reader.active_tasks(no),
        Some(_) | None => Ok(Vec::new()),
    }
}
