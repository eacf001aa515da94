//! The thread of a request: the ended turns that the caller keeps between requests, and the decision when to fold.
//!
//! An ended turn is rendered once and kept in its rendered form. What is not kept is read and rendered again, so losing it
//! costs time and nothing else.

use holon_domain::WorkItemId;
use holon_domain::agent::AgentRecord;
use holon_domain::block::Block;
use holon_domain::image::SentImage;
use holon_domain::limits::{
    THREAD_COLD_AFTER_MS, THREAD_COLD_PERCENT, THREAD_COLD_TOKENS, THREAD_TURNS_HIGH,
};
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::model::{CacheLives, ConversationItem, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_domain::thread::{FoldCause, ThreadCommand, ThreadState};
use holon_domain::turn::{LogSeq, RequestForm, ShownContent};
use holon_prompt::thread::{FoldTarget, Marks, PastTurn, ShownTurn, Thread, render};
use holon_store::{PastRows, PastTurnRows, TurnRows};

/// The rendered turns of an agent's thread, oldest first.
#[derive(Debug, Clone, Default)]
pub struct KnownThread {
    turns: Vec<ShownTurn>,
    /// Log position up to which ended turns are known; 0 if none is.
    through: LogSeq,
    /// True if the thread has more turns than are read at once. The next request folds it.
    is_cut: bool,
}

impl KnownThread {
    /// Returns the position up to which the next read may leave out turns.
    #[must_use]
    pub const fn through(&self) -> LogSeq {
        self.through
    }

    /// Lists the images that operators sent in these turns, oldest first.
    pub(super) fn images(&self) -> impl Iterator<Item = &SentImage> {
        self.turns.iter().flat_map(ShownTurn::images)
    }

    /// Returns the bytes that the turns take in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.turns.iter().map(ShownTurn::bytes).sum()
    }

    /// Renders the turns that a read found, and drops those that the thread does not show any more.
    pub fn take(&mut self, rows: &mut TurnRows) {
        let turns = std::mem::take(&mut rows.past.turns);
        self.is_cut |= rows.past.is_cut;
        self.add(&rows.agent, &turns, rows.turn.first_entry);
    }

    fn add(&mut self, agent: &AgentRecord, turns: &[PastTurnRows], before: LogSeq) {
        self.turns
            .extend(turns.iter().map(|turn| shown(agent, turn)));
        self.through = before.saturating_sub(1);
        let state = &agent.thread;
        let is_pinned = |turn: &ShownTurn| {
            let mut pins = state.pins.iter();
            pins.any(|pin| pin.turn_index == turn.turn_index)
        };
        let known = self.turns.len();
        self.turns
            .retain(|turn| turn.first_entry >= state.from_entry || is_pinned(turn));
        // Once a fold has taken turns, none of those that stay is missing.
        self.is_cut &= self.turns.len() == known;
    }
}

fn shown(agent: &AgentRecord, turn: &PastTurnRows) -> ShownTurn {
    render(&PastTurn {
        agent,
        turn_index: turn.turn_index,
        first_entry: turn.first_entry,
        began_at: turn.began_at,
        entries: &turn.entries,
        messages: &turn.messages,
        receipt: holon_tools::receipt,
        entered_guidance: holon_tools::use_workspace::entered_guidance,
    })
}

/// Puts together the thread that a stored prompt showed.
pub(crate) fn thread_of(agent: &AgentRecord, state: &ThreadState, past: &PastRows) -> Thread {
    let turns = past.turns.iter().map(|turn| shown(agent, turn));
    Thread::new(state, past.fold.clone(), turns.collect())
}

/// Part of the room beside the fixed part of a request that a turn finds for its rounds when it begins, as a divisor.
const ROUNDS_SHARE: usize = 8;

/// How a thread is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTerms {
    /// Size above which a thread is folded, in estimated tokens. Absent if the model's window alone decides.
    pub most_tokens: Option<u32>,
    /// Milliseconds after which a provider's cache has surely expired. 0 if threads do not get cold; absent if the cache
    /// life of the provider decides.
    pub cold_after_ms: Option<u64>,
    /// How long the provider of the model keeps what it caches.
    pub cache: CacheLives,
    /// Size above which a cold thread is folded before a turn that no operator began, in estimated tokens.
    pub cold_tokens: usize,
}

impl ThreadTerms {
    pub const DEFAULT: Self = Self {
        most_tokens: None,
        cold_after_ms: None,
        cache: CacheLives {
            usual_ms: THREAD_COLD_AFTER_MS,
            long_ms: 0,
        },
        cold_tokens: THREAD_COLD_TOKENS as usize,
    };

    /// Returns the marks of an agent's thread for a model's window. A bound of the agent's own replaces that of the host.
    pub(crate) fn marks(self, window_tokens: u32, own_tokens: Option<u32>) -> Marks {
        Marks::of(window_tokens, own_tokens.or(self.most_tokens))
    }

    /// Adds the cache lives of the model that is asked, which count unless an operator set another time.
    #[must_use]
    pub const fn with_cache(self, cache: CacheLives) -> Self {
        Self { cache, ..self }
    }

    /// Returns the milliseconds of rest after which a thread is cold; 0 if threads do not get cold. `rests_ms` are the
    /// rests before the last turn, which decided about the life that its requests asked for.
    pub(crate) fn cold_after_ms(self, rests_ms: [u64; 2]) -> u64 {
        let asked = self.cache.for_rests(rests_ms);
        let life = self.cache.millis(asked);
        self.cold_after_ms.unwrap_or(life)
    }

    /// Returns true if the provider's cache of a thread has expired after this many milliseconds of rest.
    pub(crate) fn is_cold_after(self, idle_ms: u64, rests_ms: [u64; 2]) -> bool {
        let after_ms = self.cold_after_ms(rests_ms);
        after_ms > 0 && idle_ms > after_ms
    }
}

impl Default for ThreadTerms {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The thread of a turn's request and its bounds.
#[derive(Debug)]
pub(super) struct RequestThread {
    pub(super) thread: Thread,
    marks: Marks,
    turn_index: u64,
    focus: Option<WorkItemId>,
    form: RequestForm,
}

impl RequestThread {
    /// Puts the thread together as the request before showed it.
    pub(super) fn new(
        known: &KnownThread,
        rows: &TurnRows,
        policy: ModelPolicy,
        terms: ThreadTerms,
    ) -> Self {
        let form = rows.turn.request_form();
        let state = &ThreadState {
            sealed_from: match form {
                RequestForm::Whole => rows.agent.thread.sealed_from,
                RequestForm::Unsealed | RequestForm::Folded => u64::MAX,
            },
            ..rows.agent.thread.clone()
        };
        let current = rows.agent.work.current.as_ref();
        let remembered = rows.memory.as_ref();
        let episodes = remembered.map_or_else(Vec::new, |memory| memory.episodes.clone());
        Self {
            thread: Thread::new(state, rows.past.fold.clone(), known.turns.clone())
                .with_episodes(episodes),
            marks: terms.marks(policy.context_window_tokens, rows.agent.thread_tokens),
            turn_index: rows.turn.turn_index,
            focus: current.map(|current| current.id.clone()),
            form,
        }
    }

    /// Returns true if the rounds of the turn are shown without sealed blocks, because what stood before them is not as
    /// it was, or because a provider refused such blocks.
    pub(super) fn is_unsealed(&self, state: &ThreadState) -> bool {
        self.thread.is_folded_now()
            || self.form != RequestForm::Whole
            || state.sealed_from > self.turn_index
    }

    /// Folds the thread before the turn's own rounds are built. `room` is what the fixed part of the request leaves to
    /// both. The first request of a turn folds if an operator asked for that, if the thread exceeds its mark, or if it is
    /// cold; a refused request leaves little of it, or no turn as it was, and `forced` names another cause. Returns true if the request has another thread now.
    pub(super) fn fold_at_start(
        &mut self,
        rows: &TurnRows,
        known: &KnownThread,
        terms: ThreadTerms,
        room: usize,
        forced: Option<FoldCause>,
    ) -> bool {
        self.marks = self.marks.within(room / ROUNDS_SHARE * (ROUNDS_SHARE - 1));
        if self.form == RequestForm::Folded {
            self.fold(FoldCause::Invalid, self.marks.low);
        } else if forced == Some(FoldCause::Refused) {
            self.fold(FoldCause::Refused, room / ROUNDS_SHARE);
        } else if let Some(cause) = forced {
            self.fold(cause, 0);
        } else if rows.frame.is_none() {
            self.fold_if_due(rows, known, terms);
        }
        self.thread.is_folded_now()
    }

    fn fold_if_due(&mut self, rows: &TurnRows, known: &KnownThread, terms: ThreadTerms) {
        match rows.agent.thread.asked_of(self.turn_index) {
            Some(ThreadCommand::Clear) => return self.thread.clear(self.turn_index),
            Some(ThreadCommand::Fold) => {
                let kept = self.marks.asked_fold(self.thread.tokens());
                return self.fold(FoldCause::Operator, kept);
            }
            None => {}
        }
        let current = rows.messages.get(&rows.turn.message_seq);
        let tokens = self.thread.tokens();
        let has_many = known.is_cut || known.turns.len() > THREAD_TURNS_HIGH;
        if tokens > self.marks.high || has_many {
            self.fold(FoldCause::HighMark, self.marks.low);
        } else if tokens > terms.cold_tokens && is_cold(rows, current, terms) {
            let kept = terms.cold_tokens / 100 * THREAD_COLD_PERCENT;
            self.fold(FoldCause::Cold, kept.min(self.marks.low));
        }
    }

    fn fold(&mut self, cause: FoldCause, tokens: usize) {
        let target = FoldTarget {
            cause,
            tokens,
            recap_tokens: self.marks.recap_floor(),
            turn_index: self.turn_index,
        };
        self.thread.fold(target, self.focus.as_ref());
    }

    /// Returns the room that the thread leaves to the rounds of the turn. `room` is what the fixed part of the request
    /// leaves to both, and `least` is what the turn has in any case.
    pub(super) fn rounds_room(&self, room: usize, least: usize) -> usize {
        let left = room.min(self.marks.high.max(least));
        left.saturating_sub(self.thread.tokens()).max(least)
    }

    /// Makes room for the rounds of the turn, which would take this many tokens: down to the low mark, and if rounds have
    /// to give way even so, all that may go. Returns true if something gave way.
    pub(super) fn make_room(&mut self, rounds_tokens: usize, rounds_gave_way: bool) -> bool {
        let exceeds = self.thread.tokens() + rounds_tokens > self.marks.high;
        if !(exceeds || rounds_gave_way) || !self.thread.can_fold(self.turn_index) {
            return false;
        }
        let left = self.marks.low.saturating_sub(rounds_tokens);
        let kept = if self.thread.is_folded_now() { 0 } else { left };
        let before = self.thread.tokens();
        self.fold(FoldCause::Room, kept);
        self.thread.tokens() < before
    }
}

/// Returns what a request holds that another form of it would leave out.
pub(super) fn shown_content(request: &ModelRequest) -> ShownContent {
    let lineage = request.model.to_string();
    let is_sealed = |block: &Block| match block {
        Block::Reasoning { opaque, .. } => {
            opaque.as_ref().is_some_and(|seal| seal.lineage == lineage)
        }
        Block::Text { .. } | Block::ToolCall(_) => false,
    };
    let holds_seal = |item: &ConversationItem| match item {
        ConversationItem::Assistant { blocks, .. } => blocks.iter().any(is_sealed),
        ConversationItem::ToolResult { .. }
        | ConversationItem::User { .. }
        | ConversationItem::Image(_) => false,
    };
    let mut earlier = request.thread.iter().flat_map(|turn| &turn.items);
    ShownContent {
        seals: earlier.any(holds_seal) || request.conversation.iter().any(holds_seal),
        turns: request.thread.iter().any(|turn| turn.turn_index.is_some()),
    }
}

/// Returns the milliseconds for which the agent rested before the turn and before the one before it.
pub(super) fn rests_before(rows: &TurnRows) -> [u64; 2] {
    let [newest, _] = rows.agent.thread.rested_ms;
    [rest_before(rows), newest]
}

fn rest_before(rows: &TurnRows) -> u64 {
    let last = rows.agent.last_turn.as_ref().map(|last| last.completed_at);
    last.map_or(0, |last| rows.turn.started_at.millis_since(last))
}

/// Returns true if the provider's cache has expired and something other than an operator began the turn.
fn is_cold(rows: &TurnRows, current: Option<&MessageEnvelope>, terms: ThreadTerms) -> bool {
    terms.is_cold_after(rest_before(rows), rows.agent.thread.rested_ms)
        && current.is_some_and(|message| begins_by_itself(message.kind))
}

const fn begins_by_itself(kind: MessageKind) -> bool {
    match kind {
        MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::CallbackEvent
        | MessageKind::WebhookEvent => true,
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_an_operator_set_wins_over_the_cache_life_of_the_provider() {
        let minutes = |minutes: u64| minutes * 60_000;
        let table = [
            // (set, usual life, long life, rest before the last turn) and (cold after, is cold after 7 minutes)
            ((None, 60, 0, 0), (60, false)),
            ((None, 5, 0, 0), (5, true)),
            ((None, 0, 0, 0), (0, false)),
            ((Some(1), 60, 0, 0), (1, true)),
            ((Some(0), 5, 0, 0), (0, false)),
            // The last turn asked for the long life, because its agent had rested longer than the usual one.
            ((None, 5, 60, 30), (60, false)),
            ((None, 5, 60, 5), (5, true)),
            ((None, 5, 60, 61), (5, true)),
            // A life of 0 turns the fold off, whatever else is offered.
            ((None, 0, 60, 30), (0, false)),
            ((Some(6), 5, 60, 30), (6, true)),
        ];
        for ((set, usual, long, rested), (after, is_cold)) in table {
            let terms = ThreadTerms {
                cold_after_ms: set.map(minutes),
                ..ThreadTerms::DEFAULT
            }
            .with_cache(CacheLives {
                usual_ms: minutes(usual),
                long_ms: minutes(long),
            });
            let case = format!("{set:?} {usual} {long} {rested}");
            assert_eq!(
                terms.cold_after_ms([minutes(rested), 0]),
                minutes(after),
                "{case}"
            );
            let found = terms.is_cold_after(minutes(7), [minutes(rested), 0]);
            assert_eq!(found, is_cold, "{case}");
        }
    }
}
