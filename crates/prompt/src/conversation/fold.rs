//! Decides which rounds of a long turn give way to a recap.
//!
//! Nothing is folded below the soft limit. Above it, the oldest rounds are folded until the conversation is down to the
//! target, so that the next rounds extend the request and a provider's cache stays valid. If that is not enough, only the
//! newest round stays as it was, and if the conversation does not fit then, its results are shortened. The newest round is folded only if it exceeds
//! the room with results of one line. Operator messages do not count: the limits are shares of the room that they leave,
//! and folding cannot make them shorter.

use super::recap::{self, RecapRoom, RoundNote};
use super::short::short_texts;
use super::{ConversationInput, Span, answer, result, tokens_of};
use holon_domain::compaction::{Compaction, Recap};
use holon_domain::text;

/// Newest rounds that are shown as they were, and the fewest if room is short: the results of the newest one are what
/// the model asked for.
const EXACT_ROUNDS: [usize; 2] = [2, 1];
/// Size up to which the newest round is shown in any room, in estimated tokens. A frame that leaves less room than this
/// leaves the room of the answer too.
const NEWEST_TOKENS: usize = 2_000;
/// Ends a recap that stands for the newest round too.
pub const NEWEST_IS_FOLDED: &str = "\nThe last of these rounds is your newest: its calls were made, and their results do not \
    fit. Call for fewer or smaller results at a time.";
/// Part of the room that one text of an answer may take in a conversation that does not fit, as a divisor.
const ANSWER_SHARE: usize = 8;
/// Distance of the soft limit from the room, as a divisor: about the size of a reminder in a small room. The target lies
/// far below the limit, so that several rounds extend the request before the next fold.
const SOFT_DISTANCE: usize = 12;
/// Part of the room that recaps may take, as a divisor. The newest round and several that follow must fit beside them.
const RECAP_SHARE: usize = 6;
/// Smallest room for recaps, in estimated tokens, and the smallest after a refusal.
const MIN_RECAP_TOKENS: usize = 256;
const MIN_REFUSED_RECAP_TOKENS: usize = 64;
/// Smallest part of the room that operator messages leave to the rest, as a divisor. Messages that take more were let in
/// under a larger room; the rest then exceeds the room rather than being folded anew in every round.
const LEAST_LOOSE_SHARE: usize = 4;

/// Returns the size of a conversation above which its rounds are folded, in estimated tokens.
#[must_use]
pub const fn soft_limit(room: usize) -> usize {
    room - room / SOFT_DISTANCE
}

/// Returns the size that folding aims at, in estimated tokens.
#[must_use]
pub const fn fold_target(room: usize) -> usize {
    room / 8 * 3
}

/// Limits of a conversation, in estimated tokens.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// All that the conversation may take beside operator messages.
    room: usize,
    /// Size above which rounds are folded.
    soft: usize,
    /// Size that folding aims at.
    target: usize,
    /// Largest size of the rounds in all recaps together. Above it they are written anew as one.
    recaps: usize,
    /// Largest size of the current work item in a recap.
    item: usize,
    /// Size above which the newest round is folded too.
    newest: usize,
    /// True if a request of the turn was refused for its length.
    is_refused: bool,
}

impl Limits {
    fn of(room: usize, pinned: usize, is_refused: bool) -> Self {
        let room = room.saturating_sub(pinned).max(room / LEAST_LOOSE_SHARE);
        let (least_recaps, newest) = if is_refused {
            (MIN_REFUSED_RECAP_TOKENS, room)
        } else {
            (MIN_RECAP_TOKENS, room.max(NEWEST_TOKENS))
        };
        Self {
            room,
            soft: soft_limit(room),
            target: fold_target(room),
            recaps: (room / RECAP_SHARE).max(least_recaps),
            item: RecapRoom::item_share(room),
            newest,
            is_refused,
        }
    }

    const fn recap_room(self, rounds: usize) -> RecapRoom {
        RecapRoom {
            rounds,
            item: self.item,
        }
    }
}

/// A conversation in which older rounds may be folded.
pub(super) struct Fold<'a> {
    pub(super) recaps: Vec<Recap>,
    /// What stands before the first round, then the rounds that are shown.
    pub(super) spans: Vec<Span<'a>>,
    /// Tokens of the operator messages among them.
    pinned: usize,
    /// Absent if nothing changed.
    pub(super) compaction: Option<Compaction>,
}

impl Fold<'_> {
    /// Returns the size of the conversation.
    pub(super) fn tokens(&self) -> usize {
        self.loose_tokens() + self.pinned
    }

    fn loose_tokens(&self) -> usize {
        loose_total(&self.recaps, &self.spans)
    }
}

/// Returns the size of a conversation without the operator messages.
fn loose_total(recaps: &[Recap], spans: &[Span<'_>]) -> usize {
    let written: usize = recaps.iter().map(recap_tokens).sum();
    let shown: usize = spans.iter().map(|span| span.loose_tokens).sum();
    written + shown
}

fn recap_tokens(recap: &Recap) -> usize {
    text::estimate_tokens(&recap.text)
}

/// Folds the oldest rounds if the conversation exceeds its soft limit. `spans` holds every round of the turn; those that
/// `recaps` cover have no items.
pub(super) fn fold<'a>(
    input: &ConversationInput<'_>,
    recaps: Vec<Recap>,
    spans: Vec<Span<'a>>,
    room: usize,
) -> Fold<'a> {
    let pinned = spans.iter().map(|span| span.pinned_tokens).sum();
    let limits = Limits::of(room, pinned, input.is_refused);
    let before = loose_total(&recaps, &spans);
    if before <= limits.soft {
        return Fold {
            recaps,
            spans,
            pinned,
            compaction: None,
        };
    }
    let notes = recap::notes(input, &spans);
    let plans = EXACT_ROUNDS.map(|exact| folded(input, &recaps, &spans, &notes, exact, limits));
    // A fold that stays above the target leaves room for few rounds until the next one, and only rounds between two folds
    // extend the request before.
    let fitting = plans.into_iter().reduce(|wide, narrow| {
        if wide.tokens <= limits.target {
            wide
        } else {
            narrow
        }
    });
    let mut fold = Fold {
        recaps: recaps.clone(),
        spans,
        pinned,
        compaction: None,
    };
    // A recap of few short rounds is longer than they are. A refused request must become smaller.
    let fitting = fitting.filter(|plan| !limits.is_refused || plan.tokens < before);
    let recap = fitting.and_then(|plan| fold.apply(plan));
    fold.shorten_answers(limits.room);
    fold.shorten_results(input, limits.room);
    let recap = fold.fold_newest(input, recaps, &notes, limits).or(recap);
    let shortened = short_texts(&fold.spans);
    if recap.is_none() && shortened.is_empty() {
        return fold;
    }
    let count = |tokens: usize| u64::try_from(tokens).unwrap_or(u64::MAX);
    fold.compaction = Some(Compaction {
        recap,
        exact_rounds: fold.exact_rounds(),
        tokens_before: count(before + pinned),
        tokens_after: count(fold.tokens()),
        room_tokens: count(room),
        shortened,
    });
    fold
}

/// A fold that may be applied.
struct FoldPlan {
    /// Absent if there is no round to fold.
    recap: Option<Recap>,
    /// Size of the conversation after it, without the operator messages.
    tokens: usize,
}

/// Plans to fold the fewest oldest rounds that bring the conversation down to its target, and keeps the newest `exact`
/// rounds. All others are folded if the target cannot be reached.
fn folded(
    input: &ConversationInput<'_>,
    recaps: &[Recap],
    spans: &[Span<'_>],
    notes: &[RoundNote],
    exact: usize,
    limits: Limits,
) -> FoldPlan {
    let covered = recaps.last().map_or(0, |recap| recap.last_round);
    let before = loose_total(recaps, spans);
    let shown = spans.iter().zip(notes);
    let shown = shown.filter(|(span, _)| span.round > covered);
    let foldable: Vec<(&Span<'_>, &RoundNote)> = shown.collect();
    let foldable = foldable
        .get(..foldable.len().saturating_sub(exact))
        .unwrap_or_default();
    let mut tokens = before;
    let mut last_round = None;
    for (span, note) in foldable {
        if tokens <= limits.target {
            break;
        }
        tokens = (tokens + note.tokens).saturating_sub(span.foldable_tokens());
        last_round = Some(span.round);
    }
    let Some(last_round) = last_round else {
        return FoldPlan {
            recap: None,
            tokens: before,
        };
    };
    let gone: usize = foldable
        .iter()
        .filter(|(span, _)| span.round <= last_round)
        .map(|(span, _)| span.foldable_tokens())
        .sum();
    let written: usize = recaps.iter().map(recap_tokens).sum();
    let write = |first_round, tokens, kept: &[Recap]| {
        let room = limits.recap_room(tokens);
        recap::write(input, notes, first_round..=last_round, room, kept)
    };
    let added = write(covered + 1, limits.recaps, recaps);
    let most = limits.recaps + limits.item;
    let added_tokens = recap_tokens(&added);
    // Each recap has a heading of its own, which a refused request has no room for.
    let exceeds = limits.is_refused && before - gone + added_tokens > limits.room;
    let is_added = written + added_tokens <= most && !exceeds;
    let (recap, kept) = if is_added || (recaps.is_empty() && !exceeds) {
        (added, written)
    } else {
        (write(1, limits.recaps / 2, &[]), 0)
    };
    FoldPlan {
        tokens: before - gone - written + kept + recap_tokens(&recap),
        recap: Some(recap),
    }
}

impl FoldPlan {
    /// Ends the recap with a note.
    fn with_note(mut self, note: &str) -> Self {
        if let Some(recap) = &mut self.recap {
            recap.text.push_str(note);
        }
        self
    }
}

impl Fold<'_> {
    /// Puts the recap of a plan in place of its rounds, and returns it.
    fn apply(&mut self, plan: FoldPlan) -> Option<Recap> {
        let recap = plan.recap?;
        if recap.first_round == 1 {
            self.recaps.clear();
        }
        for span in &mut self.spans {
            if span.is_covered(recap.last_round) {
                span.fold();
            }
        }
        self.recaps.push(recap.clone());
        Some(recap)
    }

    /// Folds the newest round as well if the conversation does not fit otherwise. `recaps` are those of earlier requests.
    fn fold_newest(
        &mut self,
        input: &ConversationInput<'_>,
        recaps: Vec<Recap>,
        notes: &[RoundNote],
        limits: Limits,
    ) -> Option<Recap> {
        let before = self.loose_tokens();
        if before <= limits.newest {
            return None;
        }
        let plan =
            folded(input, &recaps, &self.spans, notes, 0, limits).with_note(NEWEST_IS_FOLDED);
        let told: usize = plan.recap.as_ref().map(recap_tokens)?;
        let kept: usize = self.spans.iter().map(|span| span.guidance_tokens).sum();
        if limits.is_refused && told + kept >= before {
            return None;
        }
        self.recaps = recaps;
        self.apply(plan)
    }

    /// Shortens what the model itself wrote to a part of the room if the conversation does not fit. Its calls stay, so
    /// that their results are read beside them.
    fn shorten_answers(&mut self, room: usize) {
        if self.loose_tokens() <= room {
            return;
        }
        for span in &mut self.spans {
            answer::shorten(span, room / ANSWER_SHARE);
        }
    }

    /// Shortens results until the conversation fits.
    fn shorten_results(&mut self, input: &ConversationInput<'_>, room: usize) {
        for form in result::FORMS {
            if self.loose_tokens() <= room {
                break;
            }
            for span in &mut self.spans {
                result::shorten_all(span, form, input);
            }
        }
    }

    fn exact_rounds(&self) -> u32 {
        let shown = self
            .spans
            .iter()
            .filter(|span| span.round > 0 && tokens_of(&span.items) > 0);
        u32::try_from(shown.count()).unwrap_or(u32::MAX)
    }
}
