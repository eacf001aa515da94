//! Snippets: the part of an exact body around the first match of a query. Pure.

use super::query::Query;
use super::text::{bigrams, fold, tokens_of};
use holon_domain::limits::MEMORY_SNIPPET_CHARS;

/// Characters before the match.
const BEFORE: usize = 60;

/// Returns the part of a body that shows why it was found. Line ends and runs of spaces become one space.
pub(super) fn snippet(query: &Query, body: &str) -> String {
    let words: Vec<&str> = body.split_whitespace().collect();
    let text = words.join(" ");
    let at = first_match(query, &text).unwrap_or(0);
    let skipped = text
        .char_indices()
        .take_while(|(position, _)| *position < at)
        .count()
        .saturating_sub(BEFORE);
    let shown: String = text
        .chars()
        .skip(skipped)
        .take(MEMORY_SNIPPET_CHARS)
        .collect();
    let is_cut = text.chars().nth(skipped + MEMORY_SNIPPET_CHARS).is_some();
    let (head, tail) = (
        if skipped > 0 { "…" } else { "" },
        if is_cut { "…" } else { "" },
    );
    format!("{head}{shown}{tail}")
}

/// Finds the earliest position of the query as it was written, else of a term, else of a part of one.
fn first_match(query: &Query, text: &str) -> Option<usize> {
    let lowered = text.to_lowercase();
    // Lowering can change the length of a text; a position is only used where it did not.
    let haystack = if lowered.len() == text.len() {
        lowered.as_str()
    } else {
        text
    };
    let whole = fold(&query.text);
    if let Some(at) = haystack.find(&whole) {
        return Some(at);
    }
    let terms = query.terms.iter().map(|term| term.written.as_str());
    if let Some(at) = terms.clone().filter_map(|term| haystack.find(term)).min() {
        return Some(at);
    }
    terms
        .flat_map(|term| {
            let pairs = bigrams(term).filter(|pair| !pair.is_ascii());
            let pairs: Vec<String> = pairs.map(std::borrow::Cow::into_owned).collect();
            tokens_of(term).parts.into_iter().chain(pairs)
        })
        .filter_map(|part| haystack.find(&part))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_match_in_the_exact_text() {
        let body = format!(
            "{} The Lease is\n  renewed here. {}",
            "x ".repeat(200),
            "y ".repeat(400)
        );
        let shown = snippet(&Query::parse("lease"), &body);
        assert!(shown.contains("The Lease is renewed here."), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert!(shown.chars().count() <= MEMORY_SNIPPET_CHARS + 2);
        assert_eq!(snippet(&Query::parse("nothing"), "short"), "short");
        let chinese = format!("{}配置数据库连接{}", "无".repeat(300), "关".repeat(300));
        assert!(snippet(&Query::parse("数据库"), &chinese).contains("数据库"));
    }
}
