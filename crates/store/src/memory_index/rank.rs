//! The order of search results. Pure: features of a document in, a score out.
//!
//! The order of the index (bm25) is the base. Documents with all terms, with the caller's words as they were written,
//! and with exact identifiers go ahead; so do curated sources and recent ones.

use super::query::Query;
use super::text::fold;
use holon_domain::Timestamp;
use holon_domain::memory::MemoryKind;

/// Added for a document that has all terms of the query.
const ALL_TERMS: f64 = 0.6;
/// Added for a document with the whole query as it was written.
const PHRASE: f64 = 0.5;
/// Added for a document with every identifier, path or id of the query as it was written; a part for some of them.
const EXACT: f64 = 0.6;
/// Added for a document of this moment. Halves every `HALF_LIFE_DAYS`.
const RECENT: f64 = 0.25;
const HALF_LIFE_DAYS: f64 = 21.0;
const DAY_MS: f64 = 86_400_000.0;

/// What is known about a document that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Features {
    /// The index's own score in relation to the best one: 1 for the best.
    pub(super) relevance: f64,
    pub(super) has_all_terms: bool,
    pub(super) has_phrase: bool,
    /// Part of the exact terms that the document has; 0 if the query has none.
    pub(super) exact: f64,
    pub(super) kind: MemoryKind,
    pub(super) age_ms: i64,
}

/// Value of a kind of source. Curated text was written to be found; a brief is one line of a log.
const fn curated(kind: MemoryKind) -> f64 {
    match kind {
        MemoryKind::AgentMemory => 0.75,
        MemoryKind::WorkspaceProfile => 0.4,
        MemoryKind::WorkItem => 0.15,
        MemoryKind::Episode => 0.05,
        MemoryKind::Brief => 0.0,
    }
}

/// Returns the score of a document. Larger is better.
pub(super) fn score(found: &Features) -> f64 {
    let flag = |is_set: bool, value: f64| if is_set { value } else { 0.0 };
    let days = found.age_ms.max(0) as f64 / DAY_MS;
    let recency = RECENT * (-days / HALF_LIFE_DAYS).exp2();
    let total = found.relevance
        + flag(found.has_all_terms, ALL_TERMS)
        + flag(found.has_phrase, PHRASE)
        + EXACT * found.exact
        + recency
        // Curated text without the words is no better than another.
        + curated(found.kind) * found.relevance.max(flag(found.has_all_terms, 1.0));
    (total * 10_000.0).round() / 10_000.0
}

/// Looks for the words of a query in the text of a document.
pub(super) fn verbatim(query: &Query, title: &str, body: &str) -> (bool, f64) {
    let text = format!("{}\n{}", fold(title), fold(body));
    let phrase = fold(&query.text);
    let has_phrase = phrase.chars().nth(1).is_some() && text.contains(&phrase);
    let exact: Vec<&str> = query
        .terms
        .iter()
        .filter(|term| term.is_exact)
        .map(|term| term.written.as_str())
        .collect();
    if exact.is_empty() {
        return (has_phrase, 0.0);
    }
    let found = exact.iter().filter(|word| text.contains(**word)).count();
    (has_phrase, found as f64 / exact.len() as f64)
}

/// Age of a document in milliseconds. One from the future has none.
pub(super) const fn age_ms(now: Timestamp, updated_at: Timestamp) -> i64 {
    let age = now.as_millis().saturating_sub(updated_at.as_millis());
    if age < 0 { 0 } else { age }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Features = Features {
        relevance: 0.5,
        has_all_terms: false,
        has_phrase: false,
        exact: 0.0,
        kind: MemoryKind::Brief,
        age_ms: 60 * 86_400_000,
    };

    #[test]
    fn each_advantage_puts_a_document_ahead_of_an_equal_one_without_it() {
        let better = [
            Features {
                relevance: 0.6,
                ..PLAIN
            },
            Features {
                has_all_terms: true,
                ..PLAIN
            },
            Features {
                has_phrase: true,
                ..PLAIN
            },
            Features {
                exact: 0.5,
                ..PLAIN
            },
            Features {
                kind: MemoryKind::AgentMemory,
                ..PLAIN
            },
            Features {
                kind: MemoryKind::WorkItem,
                ..PLAIN
            },
            Features {
                age_ms: 86_400_000,
                ..PLAIN
            },
        ];
        for features in better {
            assert!(score(&features) > score(&PLAIN), "{features:?}");
        }
    }

    #[test]
    fn a_recent_or_curated_source_goes_ahead_of_an_old_log_that_matches_slightly_better() {
        let old = Features {
            relevance: 1.0,
            has_all_terms: true,
            age_ms: 365 * 86_400_000,
            ..PLAIN
        };
        let recent = Features {
            relevance: 0.9,
            age_ms: 3_600_000,
            ..old
        };
        let curated = Features {
            relevance: 0.8,
            kind: MemoryKind::AgentMemory,
            ..old
        };
        assert!(score(&recent) > score(&old));
        assert!(score(&curated) > score(&old));
        let irrelevant = Features {
            relevance: 0.05,
            has_all_terms: false,
            kind: MemoryKind::AgentMemory,
            ..old
        };
        assert!(
            score(&irrelevant) < score(&old),
            "curated alone is not enough"
        );
    }

    #[test]
    fn words_are_found_as_they_were_written_whatever_their_case() {
        let query = Query::parse("Where is Crates/Store/tx.rs");
        let (phrase, exact) = verbatim(&query, "t", "see crates/store/tx.rs");
        assert!(!phrase && (exact - 1.0).abs() < f64::EPSILON);
        let query = Query::parse("index is disposable");
        assert!(verbatim(&query, "The index is disposable", "").0);
        assert!(!verbatim(&query, "disposable", "index").0);
    }
}
