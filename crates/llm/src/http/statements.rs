//! The memory of what servers have stated about their models, by provider, endpoint and model.
//!
//! It decides when a server is asked again, so that a silent one seldom delays a round. The memory lives as long as the
//! router, so reloading the settings clears it.

use holon_domain::limits::{
    PROVIDER_DESCRIPTION_AGE_MS, PROVIDER_DESCRIPTION_PAUSE_MS, PROVIDER_DESCRIPTIONS,
};
use holon_domain::model::ModelRef;
use holon_domain::provider::StatedWindow;
use reqwest::Url;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Pause after the first silent try.
const PAUSE: Duration = Duration::from_millis(PROVIDER_DESCRIPTION_PAUSE_MS);
/// Time that a statement is believed, and the longest pause between two tries.
const AGE: Duration = Duration::from_millis(PROVIDER_DESCRIPTION_AGE_MS);
/// Ratio of the pause after a silent try to the one after a try that failed at once.
const QUICK_RATIO: u32 = 60;

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
    /// The server states a window. An upper bound is provisional: the server may state more once the model is loaded.
    Stated(StatedWindow),
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
    window: Option<StatedWindow>,
    /// Tries since the last one that settled the statement.
    failures: u32,
    /// Time before which the server is not asked, on the caller's monotonic clock. Absent before the first try.
    not_before: Option<Duration>,
}

impl Statement {
    /// The stated window; `None` if none was stated.
    pub(super) const fn window(&self) -> Option<StatedWindow> {
        self.window
    }

    /// Returns true if the newest try got no answer that settles it.
    pub(super) const fn is_unsettled(&self) -> bool {
        self.failures > 0
    }

    /// Returns true if the server is to be asked.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.not_before.is_none_or(|time| time <= now)
    }

    /// Records the outcome of a try that began at `now`.
    pub(super) fn record(&mut self, heard: DescriptionOutcome, now: Duration) {
        let is_settled = match heard {
            DescriptionOutcome::Stated(StatedWindow::Exactly(_)) | DescriptionOutcome::Nothing => {
                true
            }
            DescriptionOutcome::Stated(StatedWindow::AtMost(_))
            | DescriptionOutcome::Trouble
            | DescriptionOutcome::Silence => false,
        };
        if let DescriptionOutcome::Stated(stated) = heard {
            self.window = Some(self.with(stated));
        }
        self.failures = if is_settled { 0 } else { self.failures + 1 };
        let wait = match heard {
            _ if is_settled => AGE,
            DescriptionOutcome::Silence => doubled(PAUSE, self.failures - 1),
            // The next round may find the server started or the model loaded.
            _ if self.failures == 1 => Duration::ZERO,
            _ => doubled(PAUSE / QUICK_RATIO, self.failures - 2),
        };
        self.not_before = Some(now + wait);
    }

    /// A bound does not replace an exact window within it: the model was unloaded.
    const fn with(&self, stated: StatedWindow) -> StatedWindow {
        match (self.window, stated) {
            (Some(StatedWindow::Exactly(known)), StatedWindow::AtMost(most)) if known <= most => {
                StatedWindow::Exactly(known)
            }
            _ => stated,
        }
    }
}

/// Doubles a pause some times, up to the longest one.
fn doubled(pause: Duration, times: u32) -> Duration {
    let factor = 2_u32.saturating_pow(times);
    pause.saturating_mul(factor).min(AGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Records the same outcome several times, each as soon as the server is asked again. Returns the pauses.
    fn pauses(statement: &mut Statement, heard: DescriptionOutcome, tries: u32) -> Vec<Duration> {
        let mut now = statement.not_before.unwrap_or_default();
        let mut pauses = Vec::new();
        for _ in 0..tries {
            assert!(statement.is_due(now), "{heard:?}");
            statement.record(heard, now);
            let next = statement.not_before.unwrap();
            assert_eq!(statement.is_due(now), next == now, "{heard:?}");
            pauses.push(next - now);
            now = next;
        }
        pauses
    }

    #[test]
    fn a_silent_server_is_asked_again_after_pauses_that_grow_up_to_a_bound() {
        let mut statement = Statement::default();
        let waited = pauses(&mut statement, DescriptionOutcome::Silence, 40);
        assert_eq!(waited[..3], [PAUSE, PAUSE * 2, PAUSE * 4]);
        assert!(waited.iter().all(|pause| *pause <= AGE));
        assert_eq!(waited.last(), Some(&AGE));
    }

    #[test]
    fn a_server_that_fails_at_once_or_has_not_loaded_the_model_is_asked_again_soon() {
        for heard in [
            DescriptionOutcome::Trouble,
            DescriptionOutcome::Stated(StatedWindow::AtMost(8_192)),
        ] {
            let mut statement = Statement::default();
            let waited = pauses(&mut statement, heard, 40);
            assert_eq!(
                waited[..4],
                [Duration::ZERO, SECOND, SECOND * 2, SECOND * 4]
            );
            assert_eq!(waited.last(), Some(&AGE), "{heard:?}");
        }
    }

    #[test]
    fn a_settled_statement_is_believed_for_a_time_and_forgets_earlier_failures() {
        for settled in [
            DescriptionOutcome::Stated(StatedWindow::Exactly(4_096)),
            DescriptionOutcome::Nothing,
        ] {
            let mut statement = Statement::default();
            pauses(&mut statement, DescriptionOutcome::Silence, 3);
            assert_eq!(pauses(&mut statement, settled, 2), [AGE, AGE]);
            let silent = pauses(&mut statement, DescriptionOutcome::Silence, 1);
            assert_eq!(silent, [PAUSE], "{settled:?}");
        }
    }

    #[test]
    fn a_later_statement_replaces_an_earlier_one_and_a_failure_does_not() {
        let mut statement = Statement::default();
        let mut hear = |heard| {
            statement.record(heard, Duration::ZERO);
            statement.window()
        };
        let exactly = |tokens| Some(StatedWindow::Exactly(tokens));
        let at_most = |tokens| Some(StatedWindow::AtMost(tokens));
        let stated = |window: Option<StatedWindow>| DescriptionOutcome::Stated(window.unwrap());
        assert_eq!(hear(stated(at_most(131_072))), at_most(131_072));
        assert_eq!(hear(DescriptionOutcome::Trouble), at_most(131_072));
        assert_eq!(hear(stated(exactly(4_096))), exactly(4_096));
        assert_eq!(hear(DescriptionOutcome::Silence), exactly(4_096));
        assert_eq!(hear(DescriptionOutcome::Nothing), exactly(4_096));
        assert_eq!(hear(stated(at_most(131_072))), exactly(4_096));
        assert_eq!(hear(stated(at_most(2_048))), at_most(2_048));
        assert_eq!(hear(stated(exactly(8_192))), exactly(8_192));
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
