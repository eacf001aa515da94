//! Puts the images of a turn beside the results of the calls that viewed them.
//!
//! A result whose image is not shown says why, so that a model does not speak of what it cannot see.

use holon_domain::CallId;
use holon_domain::image::{ShownImage, ViewedImage};
use holon_domain::log::LogEntry;
use holon_domain::model::ConversationItem;
use holon_store::TurnRows;
use holon_tools::view_image;
use std::collections::HashMap;

/// Images by the calls that viewed them.
pub type RequestImages = HashMap<CallId, ShownImage>;

/// Lists the images that the turn has viewed, oldest first.
#[must_use]
pub fn images_of_turn(rows: &TurnRows) -> Vec<(CallId, ViewedImage)> {
    let results = rows.log.entries.iter().filter_map(|entry| match &**entry {
        LogEntry::ToolResult {
            call_id, envelope, ..
        } => Some((call_id.clone(), view_image::viewed(envelope)?)),
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::RuntimeFailure { .. } => None,
    });
    results.collect()
}

/// Drops the largest images until the rest fits into `room` tokens, and returns the tokens of the rest.
pub(super) fn fit(images: &mut RequestImages, room: usize) -> usize {
    loop {
        let tokens = |image: &ShownImage| image.estimated_tokens();
        let total: usize = images.values().map(tokens).sum();
        if total <= room {
            return total;
        }
        let largest = images
            .iter()
            .max_by_key(|(call, image)| (tokens(image), *call));
        let Some(call) = largest.map(|(call, _)| call.clone()) else {
            return 0;
        };
        images.remove(&call);
    }
}

/// Adds the images to their results, and to a result without one the reason. Returns the tokens that this adds.
pub(super) fn show(
    conversation: &mut [ConversationItem],
    rows: &TurnRows,
    images: &RequestImages,
    sees: bool,
) -> usize {
    let viewed: HashMap<CallId, ViewedImage> = images_of_turn(rows).into_iter().collect();
    if viewed.is_empty() {
        return 0;
    }
    let mut added = 0;
    for item in conversation {
        let before = item.estimated_tokens();
        if let ConversationItem::ToolResult {
            call_id,
            content,
            image,
            ..
        } = item
            && viewed.contains_key(call_id)
        {
            *image = images.get(call_id).cloned();
            if image.is_none() {
                content.push_str(if sees { GONE } else { UNSEEN });
            }
        }
        added += item.estimated_tokens().saturating_sub(before);
    }
    added
}

const UNSEEN: &str = "\n[the image is not shown: this model takes no images]";
const GONE: &str = "\n[the image is not shown any more: there are newer or smaller ones, or its copy is gone; view it again if \
                    it is needed]";

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::image::ImageFormat;

    fn image(width: u32) -> ShownImage {
        ShownImage {
            media_type: ImageFormat::Png,
            width,
            height: 750,
            data: "AA==".into(),
        }
    }

    #[test]
    fn the_largest_images_give_way_until_the_rest_fits() {
        let sizes = [("call_1", 1_000), ("call_2", 100), ("call_3", 2_000)];
        let all = || -> RequestImages {
            let entry = |(id, width): (&str, u32)| (CallId::from_stored(id), image(width));
            sizes.into_iter().map(entry).collect()
        };
        for (room, left, tokens) in [
            (3_100, 3, 3_100),
            (3_099, 2, 1_100),
            (150, 1, 100),
            (0, 0, 0),
        ] {
            let mut images = all();
            assert_eq!(fit(&mut images, room), tokens, "{room}");
            assert_eq!(images.len(), left, "{room}");
        }
    }
}
