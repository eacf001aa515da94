//! Measures the thread that an agent's next turn would show, and single turns of it for a pin.
//!
//! Sizes are taken from the same rendering that requests use, so a meter and the next request agree.

use super::ReadHandle;
use super::prompt::{DraftedTurn, operator_message};
use crate::error::Error;
use crate::model_request::thread_of;
use holon_core::input::MeasuredTurn;
use holon_domain::agent::AgentRecord;
use holon_domain::context_view::{ColdThread, ContextTurn, ContextView, FoldView};
use holon_domain::log::LogEntry;
use holon_domain::model::{ModelRef, Stability};

use holon_domain::prompt_view::DraftPrompt;
use holon_domain::provider::ModelPolicy;
use holon_domain::thread::{PinnedTurn, ThreadFold, ThreadTurn};
use holon_domain::{AgentId, text};
use holon_prompt::thread::{Marks, Thread};
use holon_store::{AgentNo, DraftRows, Reader};
use std::sync::Arc;

/// A turn that an operator wants to pin, as it was measured before the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnMeasure {
    pub(crate) turn_index: u64,
    pub(crate) measured: Option<MeasuredTurn>,
    /// Estimated tokens that all pinned turns may take together.
    pub(crate) room: u64,
}

/// What a turn of the agent would be built from now.
struct ThreadRows {
    agent: AgentRecord,
    rows: DraftRows,
    /// Absent if no model is configured.
    model: Option<(ModelRef, ModelPolicy)>,
}

impl ReadHandle {
    /// Returns the sizes of an agent's thread with its turns, its marks, and what an operator asked to be done with it.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn context(&self, agent_id: &AgentId) -> Result<ContextView, Error> {
        // Rows and a whole prompt are too large for the stack of every caller.
        Box::pin(self.read_context(agent_id)).await
    }

    async fn read_context(&self, agent_id: &AgentId) -> Result<ContextView, Error> {
        let found = self.thread_rows(agent_id, |_, _| Ok(())).await?;
        let (read, ()) = found;
        let thread = thread_of(&read.agent, &read.agent.thread, &read.rows.past);
        let marks = self.marks(&read);
        let cold = self.coldness(&read);
        let turns = turns(&read, &thread);
        let own_tokens = read.agent.thread_tokens;
        let ThreadRows { agent, rows, model } = read;
        let (fold, has_more) = (rows.past.fold.clone(), rows.past.is_cut);
        let state = agent.thread.clone();
        let window_tokens = model
            .as_ref()
            .map(|(_, policy)| policy.context_window_tokens);
        let draft = match model {
            Some((model, policy)) => {
                let drafted = DraftedTurn {
                    agent,
                    rows,
                    model,
                    policy,
                    triggers: Vec::new(),
                };
                Some(Box::pin(self.draft_empty(drafted)).await)
            }
            None => None,
        };
        Ok(ContextView {
            agent_id: agent_id.clone(),
            model_ref: draft.as_ref().map(|draft| draft.model_ref.clone()),
            window_tokens,
            thread_tokens: count(thread.tokens()),
            base_tokens: draft.as_ref().map(base_tokens),
            tools_tokens: draft.as_ref().map(|draft| draft.tools_tokens),
            own_thread_tokens: own_tokens,
            high_tokens: count(marks.high),
            low_tokens: count(marks.low),
            pin_tokens: count(marks.pins),
            pinned_tokens: active(&state.pins).map(|pin| pin.tokens).sum(),
            cold,
            asked: state.asked,
            fold: fold.map(|fold| FoldView {
                cause: fold.cause,
                // Every fold moves this to the turn that folded.
                turn_index: state.sealed_from,
                last_turn: fold.last_turn,
                tokens_before: fold.tokens_before,
                tokens_after: fold.tokens_after,
                omitted: fold.omitted,
            }),
            turns,
            has_more,
        })
    }

    /// Measures a turn that an operator wants to pin.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn measure_turn(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
    ) -> Result<TurnMeasure, Error> {
        let read = self.thread_rows(agent_id, move |reader, no| {
            reader.first_entry_of_turn(no, turn_index)
        });
        let (read, first_entry) = read.await?;
        let thread = thread_of(&read.agent, &read.agent.thread, &read.rows.past);
        let shown = thread.shown_turns().into_iter();
        let mut shown = shown.filter(|turn| turn.turn_index == Some(turn_index));
        let tokens = shown.next().map(|turn| count(turn.tokens));
        Ok(TurnMeasure {
            turn_index,
            measured: first_entry.map(|first_entry| MeasuredTurn {
                first_entry,
                tokens,
            }),
            room: count(self.marks(&read).pins),
        })
    }

    async fn thread_rows<T: Send + 'static>(
        &self,
        agent_id: &AgentId,
        beside: impl FnOnce(&Reader<'_>, AgentNo) -> Result<T, holon_store::Error> + Send + 'static,
    ) -> Result<(ThreadRows, T), Error> {
        let (facts, ask) = (self.facts.now(), Arc::clone(&self.model));
        let read = self.read_agent(agent_id, move |reader, no, agent| {
            let model = facts.models.first(agent.model_override.as_ref()).cloned();
            let model = match model {
                Some(model) => {
                    let stored = reader.model_limits(&model.to_string())?;
                    let learned = stored.at(ask.endpoint(&model)).limits;
                    let policy = ask.policy(&model).with(learned);
                    Some((model, policy))
                }
                None => None,
            };
            let beside = beside(reader, no)?;
            let rows = reader.draft_rows(no, &agent)?;
            Ok((ThreadRows { agent, rows, model }, beside))
        });
        read.await
    }

    /// Returns the marks of a thread. Without a model only the settings bound it.
    fn marks(&self, read: &ThreadRows) -> Marks {
        let window = read.model.as_ref();
        let window = window.map_or(u32::MAX, |(_, policy)| policy.context_window_tokens);
        self.thread_terms.marks(window, read.agent.thread_tokens)
    }

    fn coldness(&self, read: &ThreadRows) -> ColdThread {
        let agent = &read.agent;
        let model = read.model.as_ref().map(|(model, _)| model);
        let terms = match model {
            Some(model) => self.thread_terms.with_cache(self.model.cache_lives(model)),
            None => self.thread_terms,
        };
        let last = agent.last_turn.as_ref().map(|last| last.completed_at);
        let idle = last.map_or(0, |last| self.clock.now().millis_since(last));
        let rested = agent.thread.rested_ms;
        let is_at_rest = agent.open_turn.is_none();
        ColdThread {
            is_cold: is_at_rest && terms.is_cold_after(idle, rested),
            after_ms: terms.cold_after_ms(rested),
            fold_above_tokens: count(terms.cold_tokens),
        }
    }

    /// Drafts the prompt that an empty message would begin.
    async fn draft_empty(&self, drafted: DraftedTurn) -> DraftPrompt {
        let now = self.clock.now();
        let agent_id = &drafted.agent.identity.agent_id;
        let current = operator_message(agent_id, String::new(), None, now);
        self.draft_with(&drafted, &current, now).await
    }
}

/// Sums up what stands before the thread of a prompt.
fn base_tokens(draft: &DraftPrompt) -> u64 {
    let shown = draft.blocks.iter().filter(|block| {
        let stability = block.decision.stability;
        block.text.is_some() && stability != Stability::TurnScoped
    });
    shown.map(|block| u64::from(block.decision.to_tokens)).sum()
}

fn active(pins: &[PinnedTurn]) -> impl Iterator<Item = &PinnedTurn> {
    pins.iter().filter(|pin| pin.released_in.is_none())
}

/// Lists the turns of a thread: the recaps of its fold, then the turns that are shown as they were.
fn turns(read: &ThreadRows, thread: &Thread) -> Vec<ContextTurn> {
    let folded = read.rows.past.fold.as_ref();
    let folded = folded.map_or_else(Vec::new, recapped);
    let shown = thread.shown_turns();
    let shown = shown.iter().filter_map(|turn| {
        let turn_index = turn.turn_index?;
        Some(shown_turn(read, turn_index, turn))
    });
    let mut turns: Vec<ContextTurn> = folded.into_iter().chain(shown).collect();
    turns.sort_by_key(|turn| turn.turn_index);
    turns
}

fn recapped(fold: &ThreadFold) -> Vec<ContextTurn> {
    let turns = fold.turns.iter().map(|recap| ContextTurn {
        turn_index: recap.turn_index,
        began_at: None,
        kind: None,
        origin: None,
        tokens: count(text::estimate_tokens(
            recap.text.as_deref().unwrap_or(&recap.line),
        )),
        pinned: false,
        folded: true,
        open: false,
        released: false,
    });
    turns.collect()
}

fn shown_turn(read: &ThreadRows, turn_index: u64, shown: &ThreadTurn) -> ContextTurn {
    let mut past = read.rows.past.turns.iter();
    let rows = past.find(|rows| rows.turn_index == turn_index);
    let message = rows.and_then(|rows| {
        let seq = rows.entries.first().and_then(|first| began_by(first))?;
        rows.messages.get(&seq)
    });
    let mut pins = read.agent.thread.pins.iter();
    let pin = pins.find(|pin| pin.turn_index == turn_index);
    let open = read.agent.open_turn.as_ref();
    ContextTurn {
        turn_index,
        began_at: rows.map(|rows| rows.began_at),
        kind: message.map(|message| message.kind),
        origin: message.map(|message| message.origin.clone()),
        tokens: count(shown.tokens),
        pinned: pin.is_some_and(|pin| pin.released_in.is_none()),
        folded: false,
        open: open.is_some_and(|open| open.turn_index == turn_index),
        released: pin.is_some_and(|pin| pin.released_in.is_some()),
    }
}

/// Returns the message with which a turn's log begins.
fn began_by(entry: &LogEntry) -> Option<u64> {
    match entry {
        LogEntry::IncomingMessage { .. } => entry.message_seq(),
        _ => None,
    }
}

fn count(tokens: usize) -> u64 {
    u64::try_from(tokens).unwrap_or(u64::MAX)
}
