//! Queries: the words of a caller as an expression of the full-text index.
//!
//! Pure. Every term is quoted, so nothing a caller writes is an operator of the index. A query asks for all of its
//! terms first; an expression for any of them finds what is left.

use super::text::{Piece, bigrams, fold, pieces, tokens_of};
use holon_domain::limits::{MEMORY_QUERY_BYTES, MEMORY_QUERY_TERMS};
use holon_domain::text::prefix;

/// Characters of a run without spaces that are searched for.
const RUN_CHARS: usize = 24;
/// Most phrases of one expression, over all of its terms.
const PHRASES: usize = 96;
/// Shortest id whose beginning finds it, in bytes.
const ID_PREFIX_BYTES: usize = 5;

/// English words that are in most texts. They are left out of a query that has other words.
const COMMON: [&str; 52] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "did", "do", "does", "for",
    "from", "had", "has", "have", "how", "i", "in", "is", "it", "me", "my", "of", "on", "or",
    "our", "should", "that", "the", "their", "there", "this", "to", "us", "was", "we", "were",
    "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
    "about",
];

/// One term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    /// The term as the caller wrote it, folded.
    pub(super) written: String,
    /// True for an identifier, a path or an id, which a text should hold exactly.
    pub(super) is_exact: bool,
    /// Expression that finds the term.
    all: String,
    /// Expression that finds a part of the term.
    any: String,
    phrases: usize,
}

/// The words and ids of a query, within the bounds of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    /// The part of the caller's text that is searched for.
    pub(super) text: String,
    pub(super) terms: Vec<Term>,
    /// True if a part of the caller's text was left out.
    pub(super) is_cut: bool,
}

impl Query {
    /// Reads the words of a caller.
    pub(super) fn parse(written: &str) -> Self {
        let written = written.trim();
        let text = prefix(written, MEMORY_QUERY_BYTES).trim_end();
        let mut is_cut = text.len() < written.len();
        let mut terms: Vec<Term> = Vec::new();
        let mut phrases = 0;
        for piece in pieces(text) {
            let (piece, is_part) = shorten(piece);
            is_cut |= is_part;
            let term = Term::of(piece);
            if terms.iter().any(|known| known.written == term.written) {
                continue;
            }
            if terms.len() >= MEMORY_QUERY_TERMS || phrases + term.phrases > PHRASES {
                is_cut = true;
                continue;
            }
            phrases += term.phrases;
            terms.push(term);
        }
        let is_common = |term: &Term| COMMON.contains(&term.written.as_str());
        if terms.iter().any(|term| !is_common(term)) {
            terms.retain(|term| !is_common(term));
        }
        Self {
            text: text.to_owned(),
            terms,
            is_cut,
        }
    }

    /// Expression for documents with all terms; `None` if the query has no word.
    pub(super) fn all(&self) -> Option<String> {
        join(&self.terms, " AND ", |term| &term.all)
    }

    /// Expression for documents with any term; `None` if that is the same.
    pub(super) fn any(&self) -> Option<String> {
        let any = join(&self.terms, " OR ", |term| &term.any);
        any.filter(|any| Some(any) != self.all().as_ref())
    }
}

/// Cuts a long run of characters without spaces, so that it leaves room for the other terms. Returns true if it was cut.
fn shorten(piece: Piece<'_>) -> (Piece<'_>, bool) {
    match piece {
        Piece::Run(run) => match run.char_indices().nth(RUN_CHARS) {
            Some((end, _)) => (Piece::Run(prefix(run, end)), true),
            None => (piece, false),
        },
        Piece::Word(_) => (piece, false),
    }
}

fn join(terms: &[Term], operator: &str, form: impl Fn(&Term) -> &String) -> Option<String> {
    let parts: Vec<&str> = terms.iter().map(|term| form(term).as_str()).collect();
    (!parts.is_empty()).then(|| parts.join(operator))
}

impl Term {
    fn of(piece: Piece<'_>) -> Self {
        match piece {
            Piece::Word(word) => Self::of_word(word),
            Piece::Run(run) => Self::of_run(run),
        }
    }

    fn of_word(word: &str) -> Self {
        let tokens = tokens_of(word);
        let written = fold(word);
        let is_id = written.len() >= ID_PREFIX_BYTES && written.chars().any(|c| c.is_ascii_digit());
        let whole = tokens.whole.as_deref().map(|whole| match is_id {
            true => format!("{} *", quoted(whole)),
            false => quoted(whole),
        });
        let parts: Vec<String> = tokens.parts.iter().map(|part| quoted(part)).collect();
        let phrases = usize::from(whole.is_some()) + parts.len();
        let options = |operator: &str| -> String {
            let parts = (!parts.is_empty()).then(|| format!("({})", parts.join(operator)));
            let options: Vec<String> = whole.iter().cloned().chain(parts).collect();
            format!("({})", options.join(" OR "))
        };
        Self {
            is_exact: !tokens.parts.is_empty() || is_id,
            all: options(" AND "),
            any: options(" OR "),
            written,
            phrases,
        }
    }

    fn of_run(run: &str) -> Self {
        let pairs: Vec<String> = bigrams(run).map(|pair| quoted(&pair)).collect();
        let is_single = run.chars().nth(1).is_none();
        let phrase = |operator: &str| match is_single {
            true => format!("({} *)", pairs.join(operator)),
            false => format!("({})", pairs.join(operator)),
        };
        Self {
            written: run.to_owned(),
            is_exact: false,
            all: phrase(" AND "),
            any: phrase(" OR "),
            phrases: pairs.len(),
        }
    }
}

/// Quotes a token, so that the index reads it as a word.
fn quoted(token: &str) -> String {
    format!("\"{}\"", token.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_run_without_spaces_leaves_room_for_the_words_behind_it() {
        let query = Query::parse(&format!("{} session_store.rs", "中文".repeat(49)));
        let written: Vec<&str> = query
            .terms
            .iter()
            .map(|term| term.written.as_str())
            .collect();
        assert_eq!(written, ["中文".repeat(12).as_str(), "session_store.rs"]);
        assert!(query.is_cut);
    }

    #[test]
    fn a_query_asks_for_all_of_its_words_and_then_for_any() {
        let cases = [
            (
                "retry backoff",
                Some(r#"("retry") AND ("backoff")"#),
                Some(r#"("retry") OR ("backoff")"#),
            ),
            (
                "how is the lease renewed",
                Some(r#"("lease") AND ("renewed")"#),
                Some(r#"("lease") OR ("renewed")"#),
            ),
            (
                "what is it",
                Some(r#"("what") AND ("is") AND ("it")"#),
                Some(r#"("what") OR ("is") OR ("it")"#),
            ),
            ("lease", Some(r#"("lease")"#), None),
            (
                "memory_index",
                Some(r#"("memory_index" OR ("memory" AND "index"))"#),
                Some(r#"("memory_index" OR ("memory" OR "index"))"#),
            ),
            ("d48ebd7", Some(r#"("d48ebd7" *)"#), None),
            (
                "数据库",
                Some(r#"("数据" AND "据库")"#),
                Some(r#"("数据" OR "据库")"#),
            ),
            ("图", Some(r#"("图" *)"#), None),
            (
                "a AND \"b\" OR NOT (c*) NEAR^2 -title:x",
                Some(
                    r#"("b") AND ("not") AND ("c") AND ("near") AND ("2") AND ("title:x" OR ("title" AND "x"))"#,
                ),
                Some(
                    r#"("b") OR ("not") OR ("c") OR ("near") OR ("2") OR ("title:x" OR ("title" OR "x"))"#,
                ),
            ),
            ("", None, None),
            ("\" * ( ) ^ ;", None, None),
        ];
        for (written, all, any) in cases {
            let query = Query::parse(written);
            assert_eq!(query.all().as_deref(), all, "{written}");
            assert_eq!(query.any().as_deref(), any, "{written}");
            assert!(!query.is_cut, "{written}");
        }
    }

    #[test]
    fn a_long_query_is_cut_at_a_character_and_says_so() {
        for written in [
            "word ".repeat(20_000),
            "数据".repeat(20_000),
            "ab1/".repeat(30_000),
        ] {
            let query = Query::parse(&written);
            assert!(query.is_cut);
            assert!(query.text.len() <= MEMORY_QUERY_BYTES);
            assert!(query.terms.len() <= MEMORY_QUERY_TERMS);
        }
        let many: Vec<String> = (0..40).map(|n| format!("word{n}")).collect();
        let query = Query::parse(&many.join(" "));
        assert_eq!(
            (query.terms.len(), query.is_cut),
            (MEMORY_QUERY_TERMS, true)
        );
    }

    proptest! {
        #[test]
        fn no_text_of_a_caller_stands_outside_of_quotes(written in any::<String>()) {
            let query = Query::parse(&written);
            for expression in query.all().into_iter().chain(query.any()) {
                let outside: String = expression.split('"').step_by(2).collect();
                let rest = outside.replace("AND", "").replace("OR", "");
                prop_assert!(rest.chars().all(|c| " ()*".contains(c)), "{expression}");
            }
        }
    }
}
