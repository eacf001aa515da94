//! Decides which rounds of a long turn give way to a recap.
//!
//! Nothing is folded below the soft limit. Above it, the oldest rounds are folded until the conversation is down to the
//! target, so that the next rounds extend the request and a provider's cache stays valid. If that is not enough, fewer
//! rounds stay as they were, and at last the results in them are shortened.

use super::recap;
use super::{ConversationInput, Span, tokens_of};
use holon_domain::compaction::{Compaction, Recap};
use holon_domain::model::ConversationItem;
use holon_domain::text;

/// Newest rounds that are shown as they were, and the fewest if room is short. The newest round is always shown: its
/// results are what the model asked for.
const EXACT_ROUNDS: [usize; 2] = [2, 1];
/// Largest sizes of a result in the newest rounds, in bytes. The first that makes the conversation fit is taken.
const RESULT_BYTES: [usize; 6] = [16_000, 8_000, 4_000, 2_000, 1_000, 500];
/// Smallest room for recaps, in estimated tokens.
const MIN_RECAP_TOKENS: usize = 256;

/// Limits of a conversation, in estimated tokens.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// All that the conversation may take.
    room: usize,
    /// Size above which rounds are folded.
    soft: usize,
    /// Size that folding aims at.
    target: usize,
    /// Largest size of all recaps together. Above it they are written anew as one.
    recaps: usize,
}

impl Limits {
    const fn of(room: usize) -> Self {
        let quarter = room / 4;
        Self {
            room,
            soft: room - room / 5,
            target: room / 2,
            recaps: if quarter > MIN_RECAP_TOKENS {
                quarter
            } else {
                MIN_RECAP_TOKENS
            },
        }
    }
}

/// A conversation in which older rounds may be folded.
pub(super) struct Fold<'a> {
    pub(super) recaps: Vec<Recap>,
    /// What stands before the first round, then the rounds that are shown.
    pub(super) spans: Vec<Span<'a>>,
    /// Absent if nothing changed.
    pub(super) compaction: Option<Compaction>,
}

impl Fold<'_> {
    fn tokens(&self) -> usize {
        total(&self.recaps, &self.spans)
    }
}

fn total(recaps: &[Recap], spans: &[Span<'_>]) -> usize {
    let written: usize = recaps.iter().map(recap_tokens).sum();
    let shown: usize = spans.iter().map(Span::tokens).sum();
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
    let limits = Limits::of(room);
    let before = total(&recaps, &spans);
    if before <= limits.soft {
        return Fold {
            recaps,
            spans,
            compaction: None,
        };
    }
    let new = EXACT_ROUNDS
        .into_iter()
        .map(|exact| folded(input, &recaps, &spans, exact, limits))
        .reduce(|wide, narrow| {
            if wide.tokens <= limits.room {
                wide
            } else {
                narrow
            }
        });
    let mut fold = Fold {
        recaps,
        spans,
        compaction: None,
    };
    let recap = new.and_then(|new| fold.apply(new));
    let shortened_results = fold.shorten_results(limits.room);
    if recap.is_none() && !shortened_results {
        return fold;
    }
    let count = |tokens: usize| u64::try_from(tokens).unwrap_or(u64::MAX);
    fold.compaction = Some(Compaction {
        recap,
        exact_rounds: fold.exact_rounds(),
        tokens_before: count(before),
        tokens_after: count(fold.tokens()),
        room_tokens: count(limits.room),
        shortened_results,
    });
    fold
}

/// A fold that may be applied.
struct FoldPlan {
    /// Absent if there is no round to fold.
    recap: Option<Recap>,
    /// Size of the conversation after it.
    tokens: usize,
}

/// Plans to fold the fewest oldest rounds that bring the conversation down to its target, and keeps the newest `exact`
/// rounds. All others are folded if the target cannot be reached.
fn folded(
    input: &ConversationInput<'_>,
    recaps: &[Recap],
    spans: &[Span<'_>],
    exact: usize,
    limits: Limits,
) -> FoldPlan {
    let covered = recaps.last().map_or(0, |recap| recap.last_round);
    let before = total(recaps, spans);
    let shown = spans.iter().filter(|span| span.round > covered);
    let foldable: Vec<&Span<'_>> = shown.collect();
    let foldable = foldable
        .get(..foldable.len().saturating_sub(exact))
        .unwrap_or_default();
    let mut tokens = before;
    let mut last_round = None;
    for span in foldable {
        if tokens <= limits.target {
            break;
        }
        tokens = (tokens + recap::line_tokens(input, span)).saturating_sub(span.tokens());
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
        .filter(|span| span.round <= last_round)
        .map(|span| span.tokens())
        .sum();
    let written: usize = recaps.iter().map(recap_tokens).sum();
    let write = |first_round, room| recap::write(input, spans, first_round..=last_round, room);
    let added = write(covered + 1, limits.recaps);
    let (recap, kept) = if written + recap_tokens(&added) <= limits.recaps || recaps.is_empty() {
        (added, written)
    } else {
        (write(1, limits.recaps / 2), 0)
    };
    FoldPlan {
        tokens: before - gone - written + kept + recap_tokens(&recap),
        recap: Some(recap),
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
                span.items.clear();
            }
        }
        self.recaps.push(recap.clone());
        Some(recap)
    }

    /// Shortens results until the conversation fits; returns true if one was shortened.
    fn shorten_results(&mut self, room: usize) -> bool {
        let mut shortened = false;
        for bytes in RESULT_BYTES {
            if self.tokens() <= room {
                break;
            }
            let items = self.spans.iter_mut().flat_map(|span| &mut span.items);
            for item in items {
                shortened |= shorten(item, bytes);
            }
        }
        shortened
    }

    fn exact_rounds(&self) -> u32 {
        let shown = self
            .spans
            .iter()
            .filter(|span| span.round > 0 && tokens_of(&span.items) > 0);
        u32::try_from(shown.count()).unwrap_or(u32::MAX)
    }
}

/// Shortens a result to about `bytes`: its beginning and its end stay. Returns false if it is short enough.
fn shorten(item: &mut ConversationItem, bytes: usize) -> bool {
    let ConversationItem::ToolResult { content, .. } = item else {
        return false;
    };
    // The sentence between the parts is not counted: a result barely above the bound is left as it is.
    if content.len() <= bytes + bytes / 4 {
        return false;
    }
    let (head, tail) = (
        text::prefix(content, bytes / 2),
        text::suffix(content, bytes / 2),
    );
    let left_out = content.len() - head.len() - tail.len();
    *content = format!(
        "{head}\n[{} left out by the runtime, because the context is nearly full]\n{tail}",
        text::pluralize(u64::try_from(left_out).unwrap_or(u64::MAX), "byte"),
    );
    true
}
