//! The memory of what servers have stated about their models, by provider, endpoint and model.
//!
//! It bounds the time that all requests for one statement take. The memory lives as long as the router, so reloading
//! the settings clears it.

use holon_domain::limits::{PROVIDER_DESCRIPTION_TRIES, PROVIDER_DESCRIPTIONS};
use holon_domain::model::ModelRef;
use reqwest::Url;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// All statements of a router. The model reference names the provider.
#[derive(Debug, Default)]
pub(super) struct Statements(Mutex<HashMap<(Url, ModelRef), SharedStatement>>);

/// A statement that is locked while its server is asked, so that rounds that begin at the same time ask once.
type SharedStatement = Arc<tokio::sync::Mutex<Statement>>;

impl Statements {
    /// Returns the statement about a model. `None` if there is no room for another one.
    pub(super) fn about(&self, url: &Url, model: &ModelRef) -> Option<SharedStatement> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (url.clone(), model.clone());
        if known.len() >= PROVIDER_DESCRIPTIONS && !known.contains_key(&key) {
            return None;
        }
        Some(Arc::clone(known.entry(key).or_default()))
    }
}

/// The outcome of one try to read a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DescriptionOutcome {
    Window(u32),
    /// The window may be smaller once the model is loaded.
    AtMost(u32),
    /// The server states no window.
    Nothing,
    /// The server cannot be reached now, or is busy or starting.
    Trouble,
    /// The server did not answer in time.
    Silence,
}

/// Statements of a server about one model so far.
#[derive(Debug, Default)]
pub(super) struct Statement {
    window: Option<u32>,
    tries: u32,
    is_settled: bool,
}

impl Statement {
    /// Tokens of the window; `None` if none was stated.
    pub(super) const fn window(&self) -> Option<u32> {
        self.window
    }

    /// Returns the time limit of the next try; `None` if there is nothing more to ask. Each try has half of the time of
    /// the one before.
    pub(super) fn next_limit(&self, first: Duration) -> Option<Duration> {
        let open = !self.is_settled && self.tries < PROVIDER_DESCRIPTION_TRIES;
        open.then(|| first / 2_u32.pow(self.tries))
    }

    /// Records the outcome of a try.
    pub(super) const fn record(&mut self, heard: DescriptionOutcome) {
        self.tries += 1;
        match heard {
            DescriptionOutcome::Window(window) => {
                self.window = Some(window);
                self.is_settled = true;
            }
            DescriptionOutcome::AtMost(window) => self.window = Some(window),
            DescriptionOutcome::Trouble => {}
            DescriptionOutcome::Nothing | DescriptionOutcome::Silence => self.is_settled = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(2);

    #[test]
    fn a_statement_is_asked_for_until_it_is_made_and_within_a_bounded_time() {
        for settled in [
            DescriptionOutcome::Window(4_096),
            DescriptionOutcome::Nothing,
            DescriptionOutcome::Silence,
        ] {
            let mut statement = Statement::default();
            statement.record(settled);
            assert_eq!(statement.next_limit(FIRST), None, "{settled:?}");
        }
        for open in [
            DescriptionOutcome::Trouble,
            DescriptionOutcome::AtMost(8_192),
        ] {
            let mut statement = Statement::default();
            let mut spent = Duration::ZERO;
            while let Some(limit) = statement.next_limit(FIRST) {
                spent += limit;
                statement.record(open);
            }
            assert_eq!(statement.tries, PROVIDER_DESCRIPTION_TRIES);
            assert!(spent < 2 * FIRST);
        }
    }

    #[test]
    fn a_later_statement_replaces_a_provisional_one() {
        let mut statement = Statement::default();
        statement.record(DescriptionOutcome::AtMost(131_072));
        assert_eq!(statement.window(), Some(131_072));
        statement.record(DescriptionOutcome::Trouble);
        assert_eq!(statement.window(), Some(131_072));
        statement.record(DescriptionOutcome::Window(4_096));
        assert_eq!(statement.window(), Some(4_096));
    }

    #[test]
    fn the_memory_is_bounded() {
        let statements = Statements::default();
        let url = Url::parse("http://127.0.0.1:1/models").unwrap();
        for number in 0..PROVIDER_DESCRIPTIONS {
            let model = ModelRef::parse(&format!("p/{number}")).unwrap();
            assert!(statements.about(&url, &model).is_some());
        }
        assert!(
            statements
                .about(&url, &ModelRef::parse("p/new").unwrap())
                .is_none()
        );
        assert!(
            statements
                .about(&url, &ModelRef::parse("p/0").unwrap())
                .is_some()
        );
    }
}
