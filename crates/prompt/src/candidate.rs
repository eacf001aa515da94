//! A candidate: one part that a prompt may show, with its rank and its shorter forms.
//!
//! Modules of texts make candidates; `plan` chooses among them. A shorter form is rendered only if it is needed.

use holon_domain::WorkItemId;
use holon_domain::prompt_plan::BlockSource;
use holon_domain::text;
use std::borrow::Cow;
use std::fmt;

/// Tokens that joining a part to its neighbours may add.
pub(crate) const BETWEEN: usize = 1;

/// Bytes for which a token stands where a text is not counted.
const TOKEN_BYTES: usize = 4;

/// Rank of a part that may be left out. A smaller one gives way first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    CompletedItems,
    Timers,
    BlockedItems,
    ItemsForOperator,
    ItemTrace,
    QueuedItems,
    DueReminders,
    TriggeredItems,
    Children,
    RunningTasks,
    WorkingMemoryDelta,
    WorkingMemory,
    /// Late, like skills, for the reason that follows.
    Notes,
    /// Last, because the lasting part of the prompt changes with it and no cache serves the rest.
    Skills,
}

/// Renders a part within a number of tokens, or its shortest form if that is longer. Empty if nothing of the part would
/// be shown, so that it is left out.
pub(crate) type Shorten<'a> = Box<dyn Fn(usize) -> String + 'a>;

/// One part that a prompt may show.
pub(crate) struct Candidate<'a> {
    pub(crate) source: BlockSource,
    /// Absent for a pin: a part that is shown as long as a form of it has words.
    pub(crate) priority: Option<Priority>,
    /// Parts of equal priority and group are left out together, the smallest group first.
    pub(crate) group: u64,
    /// Log position of the message, for history.
    pub(crate) log_seq: Option<u64>,
    pub(crate) whole: Cow<'a, str>,
    /// Estimated tokens of `whole`, as the plan counts them.
    pub(crate) tokens: usize,
    /// Estimated tokens that `whole` leaves out, because the text exceeds a bound of its own.
    pub(crate) left_out: usize,
    /// Absent if the part has one form only.
    pub(crate) shorten: Option<Shorten<'a>>,
    /// Largest share of the budget in tokens, if the pins do not fit. Absent if the part has no limit of its own.
    pub(crate) share: Option<usize>,
    /// Work items that the part shows.
    pub(crate) shown: Vec<WorkItemId>,
    /// True if the text is that of an earlier request, whose cuts it already has.
    pub(crate) is_repeated: bool,
}

impl<'a> Candidate<'a> {
    pub(crate) fn pin(source: BlockSource, whole: impl Into<Cow<'a, str>>) -> Self {
        let whole = whole.into();
        let tokens = text::estimate_tokens(&whole);
        Self::pin_of_size(source, whole, tokens)
    }

    /// Creates a pin of a text whose estimated tokens are known.
    pub(crate) fn pin_of_size(source: BlockSource, whole: Cow<'a, str>, tokens: usize) -> Self {
        Self {
            source,
            priority: None,
            group: 0,
            log_seq: None,
            tokens: tokens + BETWEEN,
            whole,
            left_out: 0,
            shorten: None,
            share: None,
            shown: Vec::new(),
            is_repeated: false,
        }
    }

    /// Creates a part that is left out if there is no room for it.
    pub(crate) fn optional(
        source: BlockSource,
        priority: Priority,
        whole: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self {
            priority: Some(priority),
            ..Self::pin(source, whole)
        }
    }

    pub(crate) fn or_shorter(self, shorten: impl Fn(usize) -> String + 'a) -> Self {
        Self {
            shorten: Some(Box::new(shorten)),
            ..self
        }
    }

    /// Notes the bytes of a text that exceed the bound of its whole form.
    pub(crate) fn leaving_out(self, bytes: usize) -> Self {
        Self {
            left_out: bytes.div_ceil(TOKEN_BYTES),
            ..self
        }
    }

    pub(crate) fn repeated(self) -> Self {
        Self {
            is_repeated: true,
            ..self
        }
    }

    pub(crate) fn showing(self, shown: Vec<WorkItemId>) -> Self {
        Self { shown, ..self }
    }

    /// Returns the part within a number of tokens, or its shortest form if that is longer.
    pub(crate) fn form_within(&self, tokens: usize) -> Cow<'_, str> {
        match &self.shorten {
            Some(shorten) if self.tokens > tokens => Cow::Owned(shorten(tokens)),
            Some(_) | None => Cow::Borrowed(&self.whole),
        }
    }

    pub(crate) const fn is_pin(&self) -> bool {
        self.priority.is_none()
    }
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("source", &self.source)
            .field("priority", &self.priority)
            .field("group", &self.group)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

/// Counts the tokens of a part in a prompt.
pub(crate) fn count(words: &str) -> usize {
    text::estimate_tokens(words) + BETWEEN
}

/// Gives a text what its frame leaves of a number of tokens: `render` frames a text of at most so many tokens.
pub(crate) fn fit(tokens: usize, render: impl Fn(usize) -> String) -> String {
    let empty = render(0);
    let room = tokens.saturating_sub(count(&empty));
    if room == 0 { empty } else { render(room) }
}
