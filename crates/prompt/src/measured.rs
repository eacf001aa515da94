//! A text of the prompt with its hash and its token estimate, so that neither is found out twice.

use crate::digest;
use holon_domain::text;
use std::borrow::Cow;

/// A text and its measures.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredText<'a> {
    pub(crate) text: &'a str,
    /// Name under which the text is stored; see [`digest::hash`].
    pub(crate) hash: Cow<'a, str>,
    pub(crate) tokens: usize,
}

impl<'a> MeasuredText<'a> {
    /// Hashes a text and estimates its tokens.
    pub(crate) fn of(text: &'a str) -> Self {
        Self {
            text,
            hash: Cow::Owned(digest::hash(text)),
            tokens: text::estimate_tokens(text),
        }
    }

    /// Returns the same measures without a copy.
    pub(crate) fn borrowed(&self) -> MeasuredText<'_> {
        MeasuredText {
            text: self.text,
            hash: Cow::Borrowed(&self.hash),
            tokens: self.tokens,
        }
    }
}
