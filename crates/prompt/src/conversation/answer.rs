//! Shortens what a model wrote in a round.
//!
//! An answer can be longer than the window in which the next request must fit. Its calls are kept whole, and each text
//! keeps its beginning and its end.

use super::{Span, tokens_of};
use crate::excerpt::Excerpt;
use holon_domain::block::Block;
use holon_domain::model::ConversationItem;
use holon_domain::text;

/// Shortens every text of a span's answer to so many tokens.
pub(super) fn shorten(span: &mut Span<'_>, tokens: usize) {
    let mut is_shorter = false;
    for (place, item) in span.items.iter_mut().enumerate() {
        let ConversationItem::Assistant { blocks, .. } = item else {
            continue;
        };
        for block in blocks {
            let Block::Text { text: words } = block else {
                continue;
            };
            let excerpt = Excerpt::of(words, tokens);
            let short = excerpt.render();
            if excerpt.left_out > 0 && text::estimate_tokens(&short) < text::estimate_tokens(words)
            {
                *words = short;
                span.shortened.insert(place);
                is_shorter = true;
            }
        }
    }
    if is_shorter {
        span.loose_tokens = tokens_of(&span.items).saturating_sub(span.pinned_tokens);
    }
}
