//! Shortens a text to its beginning and its end. The operator's request often stands at one of the two.

use holon_domain::text;

/// Most bytes of one token. Text with more bytes in each token is cut shorter than its tokens allow.
const TOKEN_BYTES: usize = 16;

/// The parts of a text that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excerpt<'a> {
    pub(crate) head: &'a str,
    /// Empty if the text is shown whole.
    pub(crate) tail: &'a str,
    /// Bytes between the two; 0 if the text is shown whole.
    pub(crate) left_out: usize,
}

impl<'a> Excerpt<'a> {
    /// Takes at most so many tokens of a text: two thirds from its beginning, one from its end.
    pub(crate) fn of(words: &'a str, tokens: usize) -> Self {
        let whole = Self {
            head: words,
            tail: "",
            left_out: 0,
        };
        // The estimate of a text that is certainly too long need not be made.
        if words.len() <= tokens.saturating_mul(TOKEN_BYTES)
            && text::estimate_tokens(words) <= tokens
        {
            return whole;
        }
        let tail_tokens = tokens / 3;
        let head = longest(words, tokens - tail_tokens, text::prefix);
        let rest = words.get(head.len()..).unwrap_or_default();
        let tail = longest(rest, tail_tokens, text::suffix);
        Self {
            head,
            tail,
            left_out: rest.len() - tail.len(),
        }
    }

    /// Joins the parts with a line about the gap.
    pub(crate) fn render(&self) -> String {
        match (self.left_out, self.head.is_empty()) {
            (0, _) => format!("{}{}", self.head, self.tail),
            (gap, true) => format!("[{gap} bytes left out]"),
            (gap, false) => format!("{}\n[{gap} bytes left out]\n{}", self.head, self.tail),
        }
    }
}

/// Returns the beginning of a text, at most so many tokens of it.
pub(crate) fn beginning(words: &str, tokens: usize) -> &str {
    longest(words, tokens, text::prefix)
}

/// Finds the longest end of a text within a number of tokens; `cut` takes so many bytes of that end.
fn longest<'a>(words: &'a str, tokens: usize, cut: impl Fn(&'a str, usize) -> &'a str) -> &'a str {
    // Bytes that fit, and bytes that do not.
    let (mut fits, mut over) = (0, words.len().min(tokens.saturating_mul(TOKEN_BYTES)) + 1);
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if text::estimate_tokens(cut(words, middle)) <= tokens {
            fits = middle;
        } else {
            over = middle;
        }
    }
    cut(words, fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_fits_is_whole_and_a_longer_one_keeps_both_ends() {
        assert_eq!(Excerpt::of("short", 2).render(), "short");
        let long = format!("first {} last", "x".repeat(1_000));
        let shown = Excerpt::of(&long, 30).render();
        assert!(
            shown.starts_with("first ") && shown.ends_with(" last"),
            "{shown}"
        );
        assert!(shown.contains(" bytes left out]"), "{shown}");
        assert_eq!(Excerpt::of(&long, 0).render(), "[1011 bytes left out]");
    }

    proptest! {
        #[test]
        fn no_excerpt_exceeds_its_tokens_or_loses_bytes(
            words in "(?s)[a-z漢é🦀 \n]{0,300}", tokens in 0_usize..120,
        ) {
            let shown = Excerpt::of(&words, tokens);
            prop_assert_eq!(shown.head.len() + shown.tail.len() + shown.left_out, words.len());
            prop_assert!(words.starts_with(shown.head) && words.ends_with(shown.tail));
            let taken = text::estimate_tokens(shown.head) + text::estimate_tokens(shown.tail);
            prop_assert!(taken <= tokens.max(text::estimate_tokens(&words).min(tokens)));
        }
    }
}
