//! The behaviour of a server, request by request.

use super::fault::Fault;
use super::recorded_request::RecordedRequest;
use super::round::Round;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// The script of a server: its rounds, the models it lists, and the key it requires.
pub struct Script {
    pub(super) source: Source,
    pub(super) listing: Listing,
    /// Reaction to the first request for the models, if it differs from the later ones.
    pub(super) first_listing: Option<Listing>,
    /// By the end of the path. A path without an entry is not there.
    pub(super) descriptions: BTreeMap<String, Listing>,
    pub(super) key: Option<String>,
    pub(super) keeps_requests: bool,
}

/// The source of the next round.
pub(super) enum Source {
    InOrder(VecDeque<Round>),
    Always(Round),
    Chosen(Box<dyn FnMut(&RecordedRequest) -> Round + Send>),
}

/// The answer to a request for the models or for another description of the server.
#[derive(Debug, Clone)]
pub(super) enum Listing {
    Models(Vec<String>),
    Document(Value),
    Fault(Fault),
}

impl Script {
    /// Plays these rounds in order, one per request. All of them must be requested, and nothing after them.
    #[must_use]
    pub fn of(rounds: impl IntoIterator<Item = Round>) -> Self {
        Self::from(Source::InOrder(rounds.into_iter().collect()))
    }

    /// Plays this round for every request.
    #[must_use]
    pub fn always(round: Round) -> Self {
        Self::from(Source::Always(round))
    }

    /// Plays the round chosen for each request, one request at a time.
    #[must_use]
    pub fn choose(choice: impl FnMut(&RecordedRequest) -> Round + Send + 'static) -> Self {
        Self::from(Source::Chosen(Box::new(choice)))
    }

    fn from(source: Source) -> Self {
        Self {
            source,
            listing: Listing::Models(vec!["fake-model".to_owned()]),
            first_listing: None,
            descriptions: BTreeMap::new(),
            key: None,
            keeps_requests: true,
        }
    }

    /// Sets the listed models.
    #[must_use]
    pub fn models(mut self, ids: &[&str]) -> Self {
        self.listing = Listing::Models(ids.iter().map(|id| (*id).to_owned()).collect());
        self
    }

    /// Makes the listing of models fail in this way.
    #[must_use]
    pub fn models_fault(mut self, fault: Fault) -> Self {
        self.listing = Listing::Fault(fault);
        self
    }

    /// Sets the document that lists the models, with all that the server says about them.
    #[must_use]
    pub fn models_document(mut self, document: Value) -> Self {
        self.listing = Listing::Document(document);
        self
    }

    /// Sets the document at a path where servers describe themselves, for example `/props`.
    #[must_use]
    pub fn description(mut self, path: &str, document: Value) -> Self {
        let document = Listing::Document(document);
        self.descriptions.insert(path.to_owned(), document);
        self
    }

    /// Makes only the first request for the models fail in this way.
    #[must_use]
    pub fn first_models_fault(mut self, fault: Fault) -> Self {
        self.first_listing = Some(Listing::Fault(fault));
        self
    }

    /// Makes the description at this path fail in this way.
    #[must_use]
    pub fn description_fault(mut self, path: &str, fault: Fault) -> Self {
        self.descriptions
            .insert(path.to_owned(), Listing::Fault(fault));
        self
    }

    /// Drops each request once it is answered, so that a server that runs for hours needs constant memory.
    /// `Provider::requests` is then empty; requests are numbered and checked as usual.
    #[must_use]
    pub fn forget_requests(mut self) -> Self {
        self.keeps_requests = false;
        self
    }

    /// Requires this key in every request, in the header of its protocol.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl Source {
    /// Returns the round for this request; `None` at the end of the script.
    pub(super) fn next(&mut self, request: &RecordedRequest) -> Option<Round> {
        match self {
            Self::InOrder(rounds) => rounds.pop_front(),
            Self::Always(round) => Some(round.clone()),
            Self::Chosen(choice) => Some(choice(request)),
        }
    }

    /// Number of rounds that were not requested.
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
