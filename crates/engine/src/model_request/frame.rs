//! The prompt frame of a request: built from the rows in the first round of a turn, and rebuilt in later ones from the
//! texts that the first one kept.

use super::RequestFiles;
use super::budget::{PromptBudget, needs_brief_tools};
use holon_core::delegation::active_child;
use holon_core::input::ContextSize;
use holon_domain::Timestamp;
use holon_domain::delegation::{ActiveChild, ChildFacts};
use holon_domain::log::FrameRecord;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::ModelRef;
use holon_domain::task::{TaskListEntry, TaskRecord};
use holon_domain::timer::LateTick;
use holon_domain::tool_set::ToolSet;
use holon_domain::turn::TerminalReason;
use holon_domain::work_item::WorkOverview;
use holon_prompt::thread::Thread;
use holon_prompt::{BuiltFrame, FrameInput, KeptFrame, Memory, PlanFile, Tasks, Work};
use holon_store::{FrameTexts, MemoryRows, TurnRows};

/// Part of a prompt's budget that the frame leaves to the recap of a thread, as a divisor.
const RECAP_SHARE: u32 = 16;

/// The tools of a request.
pub(super) struct RequestTools {
    pub(super) set: ToolSet,
    /// True if the arguments are not described.
    is_brief: bool,
}

/// Chooses the tools of a request, and builds its frame beside them. The first request of a turn describes their
/// arguments unless pins would give way to that, and later ones offer the same tools, so that every request of a turn
/// begins like the one before. After a refusal for length the arguments are not described.
pub(super) fn with_tools(
    rows: &TurnRows,
    budget: PromptBudget,
    offer: impl Fn(bool) -> ToolSet,
    build: impl Fn(&ToolSet) -> Option<BuiltFrame>,
) -> Option<(RequestTools, BuiltFrame)> {
    let built_with = |is_brief| {
        let set = offer(is_brief);
        let built = build(&set)?;
        Some((RequestTools { set, is_brief }, built))
    };
    let kept = rows.frame.as_ref().map(|kept| kept.brief_tools);
    if budget.ceiling.is_some() {
        return built_with(true);
    }
    let (tools, built) = built_with(kept.unwrap_or(false))?;
    if kept.is_none() && needs_brief_tools(&built, budget.is_assumed) {
        return built_with(true);
    }
    Some((tools, built))
}

pub(super) fn frame_record(
    rows: &TurnRows,
    built: &BuiltFrame,
    tools: &RequestTools,
) -> FrameRecord {
    let cache = &built.frame.cache;
    let operator = rows.operator.as_ref().map(|(seq, _)| *seq);
    FrameRecord {
        prompt_cache_key: cache.prompt_cache_key.clone(),
        context_fingerprint: cache.context_fingerprint.clone(),
        working_memory_revision: cache.working_memory_revision,
        compression_epoch: cache.compression_epoch,
        stable: built.stable_hash.clone(),
        agent_scoped: built.agent_scoped_hash.clone(),
        surroundings: built.surroundings_hash.clone(),
        work: built.work.clone(),
        episodes: None,
        agent_parts: built.agent_parts.clone(),
        work_parts: built.work_parts.clone(),
        work_item_id: rows.turn.work_item_id.clone(),
        waits: rows.turn.waits.clone(),
        operator_seq: operator.filter(|_| built.shows_operator_words),
        repairs: repairs(rows),
        cuts: built.cuts.clone(),
        over_tokens: u32::try_from(built.over_tokens).unwrap_or(u32::MAX),
        brief_tools: tools.is_brief,
        tools_tokens: u32::try_from(tools.set.estimated_tokens()).unwrap_or(u32::MAX),
        budget_tokens: built.budget_tokens,
        opened_at: Some(opened_at(rows)),
        late_tick: late_tick(rows),
        changes: built.changes.clone(),
        now: built.now.clone(),
        tasks: built.tasks.clone(),
        told: built.told.clone(),
    }
}

/// Returns the time that the input names as the turn's beginning.
fn opened_at(rows: &TurnRows) -> Timestamp {
    let stored = rows.frame.as_ref().and_then(|kept| kept.opened_at);
    stored.unwrap_or(rows.turn.started_at)
}

/// Returns how late the tick of the turn began.
const fn late_tick(rows: &TurnRows) -> Option<LateTick> {
    rows.turn.late_tick
}

/// Returns the failure that the turn repairs, as its first request found it.
fn repairs(rows: &TurnRows) -> Option<TerminalReason> {
    match &rows.frame {
        Some(kept) => kept.repairs,
        None => {
            let current = rows.messages.get(&rows.turn.message_seq)?;
            holon_prompt::repaired_failure(current, rows.agent.work.failed_turn.as_ref())
        }
    }
}

pub(super) fn context_size(built: &BuiltFrame) -> ContextSize {
    let blocks = built.frame.context_blocks.iter();
    ContextSize {
        sections: built.sections,
        context_chars: blocks.map(|block| block.text.len()).sum(),
        system_chars: built.frame.system_prompt.len(),
    }
}

/// Builds the prompt frame in the first round of a turn; later rounds rebuild it from the stored texts. `thread` is what
/// the request shows before it.
pub(super) fn build_frame(
    rows: &TurnRows,
    thread: &Thread,
    model: &ModelRef,
    tools: &ToolSet,
    budget: PromptBudget,
    files: &RequestFiles,
) -> Option<BuiltFrame> {
    let tasks = tasks_running_at(&rows.tasks, rows.turn.started_at);
    let children = shown_children(&rows.children);
    let nothing = WorkOverview::default();
    let no_memory = MemoryRows::default();
    let memory = match &rows.frame {
        Some(kept) => kept_memory(kept),
        None => Memory::Rows(&rows.memory.as_ref().unwrap_or(&no_memory).state),
    };
    let work = match &rows.frame {
        Some(kept) => Work::Kept(kept.work.as_deref()),
        None => Work::Rows(
            rows.work.as_ref().unwrap_or(&nothing),
            current_plan(rows, &files.plan),
        ),
    };
    let current = rows.messages.get(&rows.turn.message_seq)?;
    // A thread can always be folded to this.
    let recap = if thread.is_empty() {
        0
    } else {
        budget.tokens / RECAP_SHARE
    };
    let input = FrameInput {
        work,
        memory,
        repairs: repairs(rows),
        agent: &rows.agent,
        guidance: &files.guidance,
        place: &files.place,
        model,
        answer_tokens: budget.answer_tokens,
        turn_index: rows.turn.turn_index,
        current,
        waits: &rows.turn.waits,
        operator: operator_apart(rows, thread),
        // A fold renews the base.
        base: rows.past.base.as_ref().filter(|_| !thread.is_folded_now()),
        tasks: match &rows.frame {
            Some(kept) => Tasks::Kept(kept.tasks.as_deref()),
            None => Tasks::Rows(&tasks),
        },
        children: &children,
        now: opened_at(rows),
        late: late_tick(rows),
        tools,
        budget_tokens: budget.tokens - recap,
        budget_is_assumed: budget.is_assumed,
        is_refused: budget.ceiling.is_some(),
    };
    Some(match &rows.frame {
        Some(kept) => holon_prompt::rebuild(&input, kept_frame(kept)),
        None => holon_prompt::build(&input),
    })
}

/// Returns the operator's newest message before the turn if the thread does not show it. Later requests of the turn show
/// what the first one showed.
fn operator_apart<'a>(rows: &'a TurnRows, thread: &Thread) -> Option<&'a MessageEnvelope> {
    let (seq, message) = rows.operator.as_ref()?;
    (rows.frame.is_some() || !thread.shows_operator_message(*seq)).then_some(message)
}

/// Returns what the first request of a turn showed of the agent's memory.
pub(crate) const fn kept_memory(texts: &FrameTexts) -> Memory<'static> {
    Memory::Kept {
        revision: texts.memory_revision,
    }
}

pub(crate) fn kept_frame(texts: &FrameTexts) -> KeptFrame<'_> {
    KeptFrame {
        stable: &texts.stable,
        agent_scoped: &texts.agent_scoped,
        agent_parts: &texts.agent_parts,
        work_parts: &texts.work_parts,
        surroundings: texts.surroundings.as_deref(),
        cuts: &texts.cuts,
        over_tokens: texts.over_tokens,
        budget_tokens: texts.budget_tokens,
        changes: texts.changes.as_deref(),
        now: texts.now.as_deref(),
        told: &texts.told,
    }
}

/// Uses the plan look at the turn's item for the current item if both are the same.
fn current_plan<'a>(rows: &TurnRows, plan: &'a PlanFile) -> &'a PlanFile {
    let current = rows.work.as_ref().and_then(|work| work.current.as_ref());
    let same = current
        .zip(rows.item.as_ref())
        .is_some_and(|(current, item)| current.id == item.id);
    if same { plan } else { &PlanFile::Known }
}

/// Describes the children of an agent for its prompt.
pub(crate) fn shown_children(rows: &[(TaskRecord, Box<ChildFacts>)]) -> Vec<ActiveChild> {
    let shown = rows.iter().map(|(task, facts)| active_child(task, facts));
    shown.collect()
}

/// Lists the tasks that ran at a time, oldest first. Every round of a turn lists the same ones, even after some have
/// ended.
pub(crate) fn tasks_running_at(newest_first: &[TaskRecord], at: Timestamp) -> Vec<TaskListEntry> {
    let ran = |task: &TaskRecord| {
        task.created_at < at && task.end.as_ref().is_none_or(|end| end.ended_at > at)
    };
    let mut ran: Vec<TaskListEntry> = newest_first
        .iter()
        .filter(|task| ran(task))
        .map(TaskRecord::list_entry)
        .collect();
    ran.reverse();
    ran
}
