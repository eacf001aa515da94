//! What a server does, request by request.

use super::fault::Fault;
use super::recorded::Recorded;
use super::round::Round;
use std::collections::VecDeque;
use std::fmt;

/// What a server does: its rounds, the models it lists, the key it asks for.
pub struct Script {
    pub(super) source: Source,
    pub(super) listing: Listing,
    pub(super) key: Option<String>,
    pub(super) keeps_requests: bool,
}

/// Where the next round comes from.
pub(super) enum Source {
    InOrder(VecDeque<Round>),
    Always(Round),
    Chosen(Box<dyn FnMut(&Recorded) -> Round + Send>),
}

/// What is answered to whoever asks for the models.
#[derive(Debug, Clone)]
pub(super) enum Listing {
    Models(Vec<String>),
    Fault(Fault),
}

impl Script {
    /// These rounds, one for each request, in order. All of them must be asked for, and nothing after them.
    #[must_use]
    pub fn of(rounds: impl IntoIterator<Item = Round>) -> Self {
        Self::from(Source::InOrder(rounds.into_iter().collect()))
    }

    /// This round, whatever is asked and how often.
    #[must_use]
    pub fn always(round: Round) -> Self {
        Self::from(Source::Always(round))
    }

    /// The round that is chosen for each request, one request at a time.
    #[must_use]
    pub fn choose(choice: impl FnMut(&Recorded) -> Round + Send + 'static) -> Self {
        Self::from(Source::Chosen(Box::new(choice)))
    }

    fn from(source: Source) -> Self {
        Self {
            source,
            listing: Listing::Models(vec!["fake-model".to_owned()]),
            key: None,
            keeps_requests: true,
        }
    }

    /// Lists these models.
    #[must_use]
    pub fn models(mut self, ids: &[&str]) -> Self {
        self.listing = Listing::Models(ids.iter().map(|id| (*id).to_owned()).collect());
        self
    }

    /// Goes wrong in this way when asked for its models.
    #[must_use]
    pub fn models_fault(mut self, fault: Fault) -> Self {
        self.listing = Listing::Fault(fault);
        self
    }

    /// Keeps no request once it is answered, so that a server that is asked for hours needs no more memory with time.
    /// `Provider::requests` is then empty; requests are numbered and checked as usual.
    #[must_use]
    pub fn forget_requests(mut self) -> Self {
        self.keeps_requests = false;
        self
    }

    /// Every request must bring this key, in the header its protocol has for it.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl Source {
    /// The round for this request; none when the script is at its end.
    pub(super) fn next(&mut self, request: &Recorded) -> Option<Round> {
        match self {
            Self::InOrder(rounds) => rounds.pop_front(),
            Self::Always(round) => Some(round.clone()),
            Self::Chosen(choice) => Some(choice(request)),
        }
    }

    /// How many rounds nobody asked for.
    pub(super) fn left(&self) -> usize {
        match self {
            Self::InOrder(rounds) => rounds.len(),
            Self::Always(_) | Self::Chosen(_) => 0,
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("rounds_left", &self.source.left())
            .field("listing", &self.listing)
            .finish_non_exhaustive()
    }
}
