//! The memory of servers that answer in one piece although a stream is asked for.
//!
//! Such an answer begins when the model is done, so its first byte may take longer than that of a stream. The memory
//! lives as long as the router.

use holon_domain::model::ModelRef;
use reqwest::Url;
use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// Most endpoints and models that are remembered. Further ones get the time of a stream.
const MOST: usize = 1_000;

/// Endpoints and models whose last answer came in one piece.
#[derive(Debug, Default)]
pub(super) struct WholeAnswers(RwLock<HashSet<(Url, ModelRef)>>);

impl WholeAnswers {
    /// Returns true if the last answer of this model came in one piece.
    pub(super) fn contains(&self, url: &Url, model: &ModelRef) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.contains(&(url.clone(), model.clone()))
    }

    /// Records the form of an answer.
    pub(super) fn note(&self, url: &Url, model: &ModelRef, is_whole: bool) {
        if self.contains(url, model) == is_whole {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let key = (url.clone(), model.clone());
        if !is_whole {
            known.remove(&key);
        } else if known.len() < MOST {
            known.insert(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_form_counts_and_the_memory_is_bounded() {
        let answers = WholeAnswers::default();
        let url = Url::parse("http://127.0.0.1:1/v1").unwrap();
        let model = |number: usize| ModelRef::parse(&format!("p/{number}")).unwrap();
        assert!(!answers.contains(&url, &model(0)));
        for number in 0..=MOST {
            answers.note(&url, &model(number), true);
        }
        assert!(answers.contains(&url, &model(0)));
        assert!(!answers.contains(&url, &model(MOST)), "there is no room");
        answers.note(&url, &model(0), false);
        assert!(!answers.contains(&url, &model(0)));
    }
}
