//! Decides which turns give way to a recap, and puts the thread of a request together.
//!
//! A prefix of the turns is folded in one step, from the high mark down to a target, so that many turns extend the thread
//! before the next fold. Pinned turns stay whole. Invariant: a fold leaves less than
//! it found, or it is not made, unless the request was refused with the turns as they were.

use super::past::ShownTurn;
use super::{asks, quiet, recap};
use holon_domain::WorkItemId;
use holon_domain::limits::{
    THREAD_HIGH_PERCENT, THREAD_LOW_PERCENT, THREAD_PIN_PERCENT, THREAD_TOKENS_MAX,
    THREAD_TURNS_HIGH,
};
use holon_domain::memory::EpisodeRecord;
use holon_domain::model::ConversationItem;
use holon_domain::text;
use holon_domain::thread::{FoldCause, PinnedTurn, ThreadFold, ThreadState, ThreadTurn, TurnRecap};
use holon_domain::turn::LogSeq;
use std::sync::Arc;

/// Part of a target that the recap may take, as a divisor, and its bounds in estimated tokens.
const RECAP_SHARE: usize = 3;
const RECAP_TOKENS: (usize, usize) = (192, 12_000);
/// Part of the high mark that a recap has even if the turns behind it have no room, as a divisor: what an operator asked
/// for is not given up for the results of one round.
const RECAP_FLOOR_SHARE: usize = 12;
/// Part of the recap's room that the long forms may take, in percent; the rest is for lines.
const LONG_PERCENT: usize = 75;
/// Most turns that stay whole, whatever their size, but for pinned ones.
const TURNS_KEPT: usize = THREAD_TURNS_HIGH / 100 * THREAD_LOW_PERCENT;
/// Most recaps of single turns that a fold keeps.
const TURNS_LISTED: usize = 200;

/// Sizes of a thread, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Size above which the thread is folded.
    pub high: usize,
    /// Size that a fold aims at.
    pub low: usize,
    /// Most that pinned turns may take together.
    pub pins: usize,
}

impl Marks {
    /// Returns the marks for a model's window. `most` is the setting, if there is one.
    #[must_use]
    pub fn of(window_tokens: u32, most: Option<u32>) -> Self {
        let size = |tokens: u32| usize::try_from(tokens).unwrap_or(usize::MAX);
        let share = size(window_tokens) / 100 * THREAD_HIGH_PERCENT;
        let high = share.min(size(most.unwrap_or(THREAD_TOKENS_MAX)));
        Self {
            high,
            low: high / 100 * THREAD_LOW_PERCENT,
            pins: high / 100 * THREAD_PIN_PERCENT,
        }
    }

    /// Returns what a fold that an operator asks for leaves of a thread: the low mark, or half of a thread that is small.
    #[must_use]
    pub fn asked_fold(self, tokens: usize) -> usize {
        self.low.min(tokens / 2)
    }

    /// Returns the size that a recap may have in any case.
    #[must_use]
    pub fn recap_floor(self) -> usize {
        self.high / RECAP_FLOOR_SHARE
    }

    /// Lowers the marks where a request has less room for the thread than the window promises.
    #[must_use]
    pub fn within(self, room: usize) -> Self {
        if room >= self.high {
            return self;
        }
        Self {
            high: room,
            low: room / 100 * THREAD_LOW_PERCENT,
            ..self
        }
    }
}

/// Aim of a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldTarget {
    pub cause: FoldCause,
    /// Estimated tokens that the thread may keep.
    pub tokens: usize,
    /// Estimated tokens that its recap may take in any case. A fold that would leave no less is made without this.
    pub recap_tokens: usize,
    /// Turn whose request folds.
    pub turn_index: u64,
}

/// The thread of a request.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Newest fold. Absent before the first.
    fold: Option<ThreadFold>,
    /// Its recap, as a turn of the thread.
    recap: Option<Arc<ThreadTurn>>,
    /// Turns that are shown, oldest first; pinned ones may be older than the fold.
    turns: Vec<ShownTurn>,
    sealed_from: u64,
    pins: Vec<PinnedTurn>,
    /// Log position from which on turns are shown that are not pinned.
    from_entry: LogSeq,
    /// Episodes for the recap of turns that it does not list, newest first.
    episodes: Vec<EpisodeRecord>,
    /// Turns that the thread has lost, because retention removed them. Zero if it has all since the fold.
    lost: u64,
    /// True if this request made the fold.
    is_folded_now: bool,
}

impl Thread {
    /// Puts a thread together from the newest fold and the turns since.
    #[must_use]
    pub fn new(state: &ThreadState, fold: Option<ThreadFold>, turns: Vec<ShownTurn>) -> Self {
        let recapped = fold.as_ref().map_or(0, |fold| fold.last_turn);
        let lost = turns
            .iter()
            .find(|turn| turn.first_entry >= state.from_entry)
            .map_or(0, |turn| turn.turn_index.saturating_sub(recapped + 1));
        Self {
            recap: recap_turn(fold.as_ref(), lost),
            fold,
            turns,
            sealed_from: state.sealed_from,
            pins: state.pins.clone(),
            from_entry: state.from_entry,
            episodes: Vec::new(),
            lost,
            is_folded_now: false,
        }
    }

    /// Adds episodes, newest first, from which a fold summarises turns that its recap does not list.
    #[must_use]
    pub fn with_episodes(self, episodes: Vec<EpisodeRecord>) -> Self {
        Self { episodes, ..self }
    }

    /// Returns the size of the thread in estimated tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        let recap = self.recap.as_ref().map_or(0, |turn| turn.tokens);
        let turns = self.turns.iter().map(|turn| self.shown(turn).tokens);
        recap + turns.sum::<usize>()
    }

    /// Returns true if there is nothing before the current turn.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.recap.is_none() && self.turns.is_empty()
    }

    /// Lists what a request shows, oldest first.
    #[must_use]
    pub fn shown_turns(&self) -> Vec<Arc<ThreadTurn>> {
        let turns = self.turns.iter().map(|turn| Arc::clone(self.shown(turn)));
        self.recap.iter().map(Arc::clone).chain(turns).collect()
    }

    fn shown<'t>(&self, turn: &'t ShownTurn) -> &'t Arc<ThreadTurn> {
        if turn.turn_index < self.sealed_from {
            &turn.open
        } else {
            &turn.sealed
        }
    }

    /// Returns true if the thread shows a message of the operator, or a newer one.
    #[must_use]
    pub fn shows_operator_message(&self, seq: u64) -> bool {
        let shown = self.turns.iter().filter_map(|turn| turn.operator);
        let recaps = self.fold.iter().flat_map(|fold| &fold.turns);
        let told = recaps.filter(|recap| recap.text.is_some());
        let told = told.filter_map(|recap| recap.operator);
        shown.chain(told).any(|newest| newest >= seq)
    }

    /// Returns the fold that this request made.
    #[must_use]
    pub fn into_new_fold(self) -> Option<ThreadFold> {
        self.fold.filter(|_| self.is_folded_now)
    }

    /// Returns true if this request folded the thread.
    #[must_use]
    pub const fn is_folded_now(&self) -> bool {
        self.is_folded_now
    }

    /// Returns true if a turn stays whole when the turn `by` folds.
    fn is_pinned(&self, turn: &ShownTurn, by: u64) -> bool {
        let mut pins = self.pins.iter();
        pins.any(|pin| pin.turn_index == turn.turn_index && pin.is_kept_by(by))
    }

    /// Returns true if a turn is left that a fold of the turn `by` may take.
    #[must_use]
    pub fn can_fold(&self, by: u64) -> bool {
        self.turns.iter().any(|turn| !self.is_pinned(turn, by))
    }

    /// Folds the oldest turns down to the target; returns false if that would leave no less. Turns of the item that has the
    /// focus keep their long recaps first. After a refusal for length the recap lists no turn if it must; after a refusal as
    /// invalid every turn is folded, whatever that leaves.
    pub fn fold(&mut self, target: FoldTarget, focus: Option<&WorkItemId>) -> bool {
        let (low, high) = RECAP_TOKENS;
        let takes_all = target.cause.takes_pins();
        let share = target.tokens / RECAP_SHARE;
        let rooms = if target.cause == FoldCause::Refused {
            [share.min(high), 0]
        } else {
            [
                share.max(target.recap_tokens).clamp(low, high),
                share.clamp(low, high),
            ]
        };
        for room in rooms {
            let mut folded = self.clone();
            if folded.fold_with(target, room, focus)
                && (takes_all || folded.tokens() < self.tokens())
            {
                *self = folded;
                return true;
            }
        }
        false
    }

    /// Folds with a recap of at most this size; returns false if there is nothing to fold.
    fn fold_with(
        &mut self,
        target: FoldTarget,
        recap_room: usize,
        focus: Option<&WorkItemId>,
    ) -> bool {
        let before = self.tokens();
        let mut left = target.tokens.saturating_sub(recap_room);
        let takes_all = target.cause.takes_pins();
        let is_kept = |turn: &ShownTurn| !takes_all && self.is_pinned(turn, target.turn_index);
        let pinned = self.turns.iter().filter(|turn| is_kept(turn));
        left = left.saturating_sub(pinned.map(|turn| turn.open.tokens).sum());
        let mut first_kept = self.turns.len();
        let mut kept = 0;
        for (place, turn) in self.turns.iter().enumerate().rev() {
            if !is_kept(turn) {
                // A turn whose pin was taken back is shown only until the next fold.
                let was_released = turn.first_entry < self.from_entry;
                if takes_all || was_released || turn.open.tokens > left || kept == TURNS_KEPT {
                    break;
                }
                left -= turn.open.tokens;
                kept += 1;
            }
            first_kept = place;
        }
        let folded: Vec<&ShownTurn> = self
            .turns
            .iter()
            .take(first_kept)
            .filter(|turn| !is_kept(turn))
            .collect();
        let lists = self
            .fold
            .as_ref()
            .is_some_and(|fold| !fold.turns.is_empty());
        if folded.is_empty() && !(lists && recap_room == 0) {
            return false;
        }
        let last_folded = self.fold.as_ref().map_or(0, |fold| fold.last_turn);
        let newest = folded.last().map_or(0, |turn| turn.turn_index);
        let last_turn = newest.max(last_folded);
        let from_entry = self.turns.get(first_kept).map(|turn| turn.first_entry);
        // A pinned turn that stays may be older than the thread's beginning.
        let from_entry = from_entry.map(|first| first.max(self.from_entry));
        let earlier = self.fold.iter().flat_map(|fold| &fold.turns);
        let new = folded.iter().map(|turn| &turn.recap);
        let mut recaps: Vec<TurnRecap> = earlier.chain(new).cloned().collect();
        let shown: Vec<&TurnRecap> = self.turns.iter().map(|turn| &turn.recap).collect();
        asks::settle(&mut recaps, &shown);
        // Room that the next turn was too large for is the recap's.
        let spare = left.min(RECAP_TOKENS.1.saturating_sub(recap_room));
        let room = if recap_room == 0 {
            0
        } else {
            recap_room + spare
        };
        let (turns, unlisted) = choose(recaps, room, focus);
        // The recaps of lost turns cannot be written any more.
        let omitted = self.fold.as_ref().map_or(0, |fold| fold.omitted) + unlisted + self.lost;
        let is_kept: Vec<bool> = self
            .turns
            .iter()
            .enumerate()
            .map(|(place, turn)| place >= first_kept || is_kept(turn))
            .collect();
        let mut keeps = is_kept.into_iter();
        self.turns.retain(|_| keeps.next().unwrap_or(true));
        if takes_all {
            self.pins.clear();
        }
        self.sealed_from = target.turn_index;
        let first_listed = turns.first().map_or(u64::MAX, |turn| turn.turn_index);
        let episodes = match (omitted, self.episodes.as_slice(), &self.fold) {
            _ if recap_room == 0 => Vec::new(),
            (0, ..) => Vec::new(),
            (_, [], Some(fold)) => fold.episodes.clone(),
            (_, episodes, _) => recap::episode_lines(episodes, first_listed),
        };
        self.put(ThreadFold {
            cause: target.cause,
            // Without a turn that stays the caller names the position, which is that of its own turn.
            from_entry: from_entry.unwrap_or(LogSeq::MAX),
            last_turn,
            turns,
            omitted,
            episodes,
            kept_messages: self.turns.iter().map(|turn| turn.messages).sum(),
            tokens_before: u64::try_from(before).unwrap_or(u64::MAX),
            tokens_after: 0,
        });
        true
    }

    /// Empties the thread. Its recap says so and lists nothing; pinned turns go too.
    pub fn clear(&mut self, turn_index: u64) {
        let before = self.tokens();
        let last_turn = self.turns.last().map(|turn| turn.turn_index);
        let last_folded = self.fold.as_ref().map_or(0, |fold| fold.last_turn);
        self.turns.clear();
        self.pins.clear();
        self.sealed_from = turn_index;
        self.put(ThreadFold {
            cause: FoldCause::Cleared,
            from_entry: LogSeq::MAX,
            last_turn: last_turn.unwrap_or(last_folded),
            turns: Vec::new(),
            omitted: 0,
            episodes: Vec::new(),
            kept_messages: 0,
            tokens_before: u64::try_from(before).unwrap_or(u64::MAX),
            tokens_after: 0,
        });
    }

    fn put(&mut self, fold: ThreadFold) {
        self.lost = 0;
        self.from_entry = fold.from_entry;
        self.recap = recap_turn(Some(&fold), 0);
        self.fold = Some(fold);
        self.is_folded_now = true;
        let after = u64::try_from(self.tokens()).unwrap_or(u64::MAX);
        if let Some(fold) = &mut self.fold {
            fold.tokens_after = after;
        }
    }
}

/// Renders what stands before the first turn: the recap of a fold, and a line about lost turns.
fn recap_turn(fold: Option<&ThreadFold>, lost: u64) -> Option<Arc<ThreadTurn>> {
    let lost = (lost > 0).then(|| recap::lost_turns(lost));
    let items: Vec<ConversationItem> = fold
        .map(recap::text)
        .into_iter()
        .chain(lost)
        .map(|text| ConversationItem::User { text })
        .collect();
    (!items.is_empty()).then(|| Arc::new(ThreadTurn::new(None, items)))
}

/// Chooses the forms of the recaps, newest first. Those without room for a line are counted only.
fn choose(
    mut turns: Vec<TurnRecap>,
    room: usize,
    focus: Option<&WorkItemId>,
) -> (Vec<TurnRecap>, u64) {
    // A turn whose pin was taken back is older than turns that were folded before it.
    turns.sort_by_key(|turn| turn.turn_index);
    let mut turns = quiet::join(turns);
    let mut long = room / 100 * LONG_PERCENT;
    let is_focused = |turn: &TurnRecap| focus.is_some() && turn.work_item_id.as_ref() == focus;
    let mut keeps_text = vec![false; turns.len()];
    for pass in [true, false] {
        for (place, turn) in turns.iter().enumerate().rev() {
            let Some(text) = turn.text.as_deref() else {
                continue;
            };
            let tokens = text::estimate_tokens(text);
            if is_focused(turn) == pass && tokens <= long {
                long -= tokens;
                keeps_text[place] = true;
            }
        }
    }
    let mut left = room;
    let mut first_listed = turns.len();
    for (place, (turn, keeps)) in turns.iter_mut().zip(&keeps_text).enumerate().rev() {
        if !keeps {
            turn.text = None;
        }
        let words = turn.text.as_deref().unwrap_or(&turn.line);
        let tokens = text::estimate_tokens(words);
        if tokens > left || turns_behind(first_listed, keeps_text.len()) >= TURNS_LISTED {
            break;
        }
        left -= tokens;
        first_listed = place;
    }
    let listed = turns.split_off(first_listed);
    let unlisted = turns.iter().map(TurnRecap::turns).sum();
    (listed, unlisted)
}

const fn turns_behind(first: usize, all: usize) -> usize {
    all - first
}
