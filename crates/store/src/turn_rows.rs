//! Reads of one agent for the performer of an effect: the rows of its open turn, the round whose call it runs, and its
//! tasks. Each function runs inside one read transaction.
//!
//! No effect is performed for an agent that was put aside, so reading one is an error. Invariant: the rows that a
//! request needs are present, or the read fails.

use crate::error::Error;
use crate::past_rows::{self, PastRows};
use crate::reader::Reader;
use crate::row::{AgentNo, readable};
use crate::{agents, episodes, log, work_rows};
use holon_domain::agent::AgentRecord;
use holon_domain::delegation::ChildFacts;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::memory::{EpisodeRecord, WorkingMemoryState};
use holon_domain::message::MessageEnvelope;
use holon_domain::prompt_plan::{BlockCut, PartLength};
use holon_domain::provider::StoredLimits;
use holon_domain::queue::{MessageSeq, QueueEntry, QueueStatus};
use holon_domain::task::TaskRecord;
use holon_domain::thread::ToldTexts;
use holon_domain::time::Timestamp;
use holon_domain::timer::LateTick;
use holon_domain::trigger::TriggerRecord;
use holon_domain::turn::{LogSeq, OpenTurn, Phase, TerminalReason};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{WorkItemRecord, WorkOverview};
use holon_domain::{AgentId, RunId, TaskId};
use std::collections::HashMap;
use std::sync::Arc;

/// The texts of a turn's frame, stored from its first round on, so that later rounds repeat them byte for byte.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameTexts {
    /// Part of the prompt that is the same for all agents.
    pub stable: String,
    /// Part that is the same for all turns of the agent.
    pub agent_scoped: String,
    /// Facts about the agent; absent in frames of earlier builds.
    pub surroundings: Option<String>,
    /// Parts of `agent_scoped`; empty in frames of earlier builds.
    pub agent_parts: Vec<PartLength>,
    /// The agent's work as shown in the first request; absent if it showed none.
    pub work: Option<String>,
    /// Parts of `work`; empty in frames of earlier builds.
    pub work_parts: Vec<PartLength>,
    /// What changed in the base of the thread, as the first request told it.
    pub changes: Option<String>,
    /// The moment of the turn as shown in the first request. Absent in frames of earlier builds.
    pub now: Option<String>,
    /// Running tasks as shown in the first request; absent if there were none.
    pub tasks: Option<String>,
    pub told: ToldTexts,
    /// Time that the input names as the turn's beginning. Absent in frames of earlier builds.
    pub opened_at: Option<Timestamp>,
    pub late_tick: Option<LateTick>,
    /// Revision of the working memory that the first request showed.
    pub memory_revision: u64,
    /// Parts that the first request did not show whole.
    pub cuts: Vec<BlockCut>,
    /// Estimated tokens by which it exceeded its budget.
    pub over_tokens: u32,
    /// Tokens that it could take. 0 in frames of earlier builds.
    pub budget_tokens: u32,
    /// Failure that the turn repairs.
    pub repairs: Option<TerminalReason>,
    /// True if the first request offered its tools without the descriptions of their arguments.
    pub brief_tools: bool,
}

/// What an agent remembers of its work, as a prompt may show it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryRows {
    pub state: WorkingMemoryState,
    /// Newest episodes, and newest ones of the current item, newest first.
    pub episodes: Vec<EpisodeRecord>,
}

/// Reads what an agent remembers.
pub(crate) fn memory(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<MemoryRows, Error> {
    if agent.is_temporary() {
        return Ok(MemoryRows::default());
    }
    let state = episodes::memory(reader.conn(), no)?;
    let item = agent.work.current.as_ref().map(|current| &current.id);
    let episodes = match state.archived_episode_count {
        0 => Vec::new(),
        _ => episodes::candidates(reader.conn(), no, item)?,
    };
    Ok(MemoryRows { state, episodes })
}

/// All rows that a model request of an open turn is built from, read in one transaction.
#[derive(Debug, Clone)]
pub struct TurnRows {
    pub agent: AgentRecord,
    /// Open turn that the caller asked for.
    pub turn: OpenTurn,
    pub log: TurnLog,
    /// Messages named by those entries, by their position in the queue. Includes the one that opened the turn.
    pub messages: HashMap<u64, MessageEnvelope>,
    /// The agent's thread before the turn.
    pub past: PastRows,
    /// Newest message of the operator before the turn, as far as the agent's record or the frame names it.
    pub operator: Option<(MessageSeq, MessageEnvelope)>,
    /// Absent in the first round of a turn, and when the texts are no longer stored.
    pub frame: Option<FrameTexts>,
    /// The agent's work, for the first request of a turn; absent once the frame is stored.
    pub work: Option<WorkOverview>,
    /// What the agent remembers, for the first request of a turn; absent once the frame is stored.
    pub memory: Option<MemoryRows>,
    /// Tasks that stand for children, with what the agent is shown of each, oldest first. Read with `work`.
    pub children: Vec<(TaskRecord, Box<ChildFacts>)>,
    /// The work item of the turn in its current state.
    pub item: Option<WorkItemRecord>,
    /// The tasks shown to an agent (see [`Reader::tasks_to_tell`]), newest first.
    pub tasks: Vec<TaskRecord>,
    /// Messages that wait to enter the turn.
    pub queued: Vec<QueueEntry>,
    /// The agent's active waits, if an operator's message waits to enter the turn.
    pub waits: Vec<WaitRecord>,
    /// Limits learned from the provider of the turn's model. They hold for one base URL of the provider.
    pub learned: StoredLimits,
}

/// The entries of an open turn's log, in order. The log only grows, so a caller that keeps them passes them to the next
/// read, which adds what is new.
#[derive(Debug, Clone, Default)]
pub struct TurnLog {
    /// Run that the entries belong to. Absent if there are none.
    pub run_id: Option<RunId>,
    pub entries: Vec<Arc<LogEntry>>,
    /// Size of their rows.
    pub bytes: usize,
    /// Log position up to which the caller knows the ended turns of the thread; 0 if it knows none.
    pub past_through: LogSeq,
}

impl TurnLog {
    /// Reads the entries of a turn that are not known yet. What is known of another run is dropped.
    fn read(reader: &Reader<'_>, no: AgentNo, turn: &OpenTurn, known: Self) -> Result<Self, Error> {
        let mut log = if known.run_id.as_ref() == Some(&turn.run_id) {
            known
        } else {
            Self {
                run_id: Some(turn.run_id.clone()),
                past_through: known.past_through,
                ..Self::default()
            }
        };
        // Positions are dense, and an open turn has every entry from its first on.
        let next = turn.first_entry + u64::try_from(log.entries.len()).unwrap_or(u64::MAX);
        for (entry, bytes) in reader.turn_entries_with_size(no, next)? {
            log.entries.push(Arc::new(entry));
            log.bytes += bytes;
        }
        Ok(log)
    }
}

/// A task, and if a message waits to enter the turn. Read together, because the message may be the end of that task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskLook {
    /// Absent if there is no such task, or it was removed.
    pub task: Option<TaskRecord>,
    /// True if a queued message may enter the running turn.
    pub interrupted: bool,
}

/// The rows of an agent that a recovery needs before it decides.
#[derive(Debug, Clone)]
pub struct RecoveryRows {
    pub agent_home: String,
    /// The agent and the round whose call its open turn runs, as from
    /// [`Store::round_in_hand`](crate::Store::round_in_hand).
    pub round_in_hand: Option<(AgentRecord, LogEntry)>,
    /// Unfinished tasks in the order they began.
    pub tasks: Vec<TaskRecord>,
}

/// Reads the rows for a recovery. The one read here that ignores the mark of an agent that was put aside, because a
/// start reads before it brings one back.
pub(crate) fn recovery_rows(
    reader: &Reader<'_>,
    id: &AgentId,
) -> Result<Option<RecoveryRows>, Error> {
    let Some((no, agent)) = agents::by_id(reader.conn(), id)? else {
        return Ok(None);
    };
    let tasks = if agent.active_tasks > 0 {
        reader.active_tasks(no)?
    } else {
        Vec::new()
    };
    Ok(Some(RecoveryRows {
        agent_home: agent.agent_home.clone(),
        round_in_hand: round_of(reader, no, agent)?,
        tasks,
    }))
}

/// Returns the home of an agent that is put aside, whose record may be unreadable.
pub(crate) fn home_of_aside(
    reader: &Reader<'_>,
    id: &AgentId,
) -> Result<Option<HomeOfAside>, Error> {
    if reader.aside(id)?.is_none() {
        return Ok(None);
    }
    let settings = readable(reader.conn(), reader.settings(id))?.flatten();
    Ok(Some(settings.map_or(HomeOfAside::Unreadable, |settings| {
        HomeOfAside::Known(settings.agent_home)
    })))
}

/// The home of an agent that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeOfAside {
    Known(String),
    /// The settings of the agent, which name it, cannot be read.
    Unreadable,
}

pub(crate) fn agent(reader: &Reader<'_>, id: &AgentId) -> Result<Option<AgentRecord>, Error> {
    let found = agents::read_unless_aside(reader.conn(), id)?;
    Ok(found.map(|(_, agent)| agent))
}

/// Reads the rows of a turn. `known` holds what the caller has read of its log. `None` if the agent has no such open
/// turn.
pub(crate) fn turn(
    reader: &Reader<'_>,
    id: &AgentId,
    turn_index: u64,
    known: TurnLog,
) -> Result<Option<TurnRows>, Error> {
    let Some((no, agent)) = agents::read_unless_aside(reader.conn(), id)? else {
        return Ok(None);
    };
    let is_asked_for = |turn: &OpenTurn| turn.turn_index == turn_index;
    let Some(turn) = agent.open_turn.clone().filter(is_asked_for) else {
        return Ok(None);
    };
    let log = TurnLog::read(reader, no, &turn, known)?;
    let mut messages = HashMap::new();
    for seq in log.entries.iter().filter_map(|entry| entry.message_seq()) {
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
    let record = log.entries.iter().find_map(|entry| frame_of(entry));
    let frame = match record {
        Some(frame) => frame_texts(reader, frame)?,
        None => None,
    };
    let work = match &frame {
        Some(_) => None,
        None => Some(work_rows::shown(reader, no, &agent, turn.first_entry)?),
    };
    let memory = match &frame {
        Some(_) => None,
        None => Some(memory(reader, no, &agent)?),
    };
    let children = match &frame {
        Some(_) => Vec::new(),
        None => reader.children_at_work(no, &agent)?,
    };
    let (thread, known) = (&agent.thread, log.past_through);
    let past = PastRows {
        base: match &frame {
            Some(_) => None,
            None => past_rows::base(reader, no, thread, turn.first_entry)?,
        },
        ..past_rows::read(reader, no, thread, known, turn.first_entry)?
    };
    let operator = match record {
        Some(frame) => frame.operator_seq,
        None => agent.operator_seq.filter(|seq| !messages.contains_key(seq)),
    };
    let operator = match operator {
        Some(seq) => reader.message(no, seq)?,
        None => None,
    };
    // A dropped message is one that no model accepts.
    let operator = operator
        .filter(|entry| entry.status != QueueStatus::Dropped)
        .map(|entry| (entry.seq, entry.envelope));
    let item = match turn.work_item_id.as_ref().or(turn.ticked_item.as_ref()) {
        Some(id) => reader.work_item(no, id)?,
        None => None,
    };
    let queued = joining(reader, no, &agent, &turn)?;
    let may_touch_waits =
        agent.work.active_waits > 0 && queued.iter().any(|entry| entry.envelope.owes_outcome());
    let waits = match may_touch_waits {
        true => reader.active_waits(no)?,
        false => Vec::new(),
    };
    Ok(Some(TurnRows {
        work,
        memory,
        children,
        item,
        past,
        operator,
        tasks: reader.tasks_to_tell(no)?,
        queued,
        waits,
        learned: reader.model_limits(&turn.model_ref())?,
        agent,
        turn,
        log,
        messages,
        frame,
    }))
}

/// Lists the queued and held messages that the next request includes. A turn that keeps too many apart hears only the
/// newest one, if it is short.
fn joining(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
    turn: &OpenTurn,
) -> Result<Vec<QueueEntry>, Error> {
    if turn.closed_to_joining {
        return reader.newest_joining(no);
    }
    reader.joining_except(no, &agent.held, |seq| turn.keeps_apart(seq))
}

pub(crate) fn frame_texts(
    reader: &Reader<'_>,
    frame: &FrameRecord,
) -> Result<Option<FrameTexts>, Error> {
    let (stable, agent_scoped) = (
        reader.blob(&frame.stable)?,
        reader.blob(&frame.agent_scoped)?,
    );
    let surroundings = match &frame.surroundings {
        Some(hash) => reader.blob(hash)?,
        None => None,
    };
    let is_complete = surroundings.is_some() == frame.surroundings.is_some();
    let lasting = stable.zip(agent_scoped).filter(|_| is_complete);
    Ok(lasting.map(|(stable, agent_scoped)| FrameTexts {
        stable,
        agent_scoped,
        surroundings,
        agent_parts: frame.agent_parts.clone(),
        work: frame.work.clone(),
        work_parts: frame.work_parts.clone(),
        changes: frame.changes.clone(),
        now: frame.now.clone(),
        tasks: frame.tasks.clone(),
        told: frame.told.clone(),
        opened_at: frame.opened_at,
        late_tick: frame.late_tick,
        memory_revision: frame.working_memory_revision,
        cuts: frame.cuts.clone(),
        over_tokens: frame.over_tokens,
        budget_tokens: frame.budget_tokens,
        repairs: frame.repairs,
        brief_tools: frame.brief_tools,
    }))
}

const fn frame_of(entry: &LogEntry) -> Option<&FrameRecord> {
    match entry {
        LogEntry::Frame(frame) => Some(frame),
        LogEntry::IncomingMessage { .. }
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ToolResult { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::RuntimeFailure { .. } => None,
    }
}

/// Reads the agent and the round whose call its open turn runs. `None` if no call runs, or the log does not hold it.
pub(crate) fn round_in_hand(
    reader: &Reader<'_>,
    id: &AgentId,
) -> Result<Option<(AgentRecord, LogEntry)>, Error> {
    match agents::read_unless_aside(reader.conn(), id)? {
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
    let Some((no, agent)) = agents::read_unless_aside(reader.conn(), id)? else {
        return Ok(TaskLook {
            task: None,
            interrupted: false,
        });
    };
    let turn = agent.open_turn.as_ref();
    let apart = turn.map_or(0, |turn| turn.apart.len());
    let waiting = usize::try_from(reader.queue_lengths(no)?.interjections).unwrap_or(usize::MAX);
    Ok(TaskLook {
        interrupted: waiting > apart,
        task: reader.task_with_child(no, task)?,
    })
}

pub(crate) fn active_tasks(reader: &Reader<'_>, id: &AgentId) -> Result<Vec<TaskRecord>, Error> {
    match agents::read_unless_aside(reader.conn(), id)? {
        Some((no, agent)) if agent.active_tasks > 0 => reader.active_tasks(no),
        Some(_) | None => Ok(Vec::new()),
    }
}

/// Lists an agent's external triggers.
pub(crate) fn triggers(reader: &Reader<'_>, id: &AgentId) -> Result<Vec<TriggerRecord>, Error> {
    match reader.agent(id)? {
        Some((no, _)) => reader.triggers(no),
        None => Ok(Vec::new()),
    }
}
