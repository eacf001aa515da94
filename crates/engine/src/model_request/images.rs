//! Puts images into a request: those that operators sent behind the texts of their messages, those that calls of the turn
//! viewed beside the results of these calls.
//!
//! Owns which images a request shows. The shell reads their files (`sought`), `fit` drops what has no room, and `show` puts
//! the rest into the request. Where one is missing a text says why, so that a model does not speak of what it cannot see.
//! Images that were sent stay as long as the thread shows their turn; those that a turn viewed are shown in that turn only.

use super::thread::KnownThread;
use holon_domain::CallId;
use holon_domain::image::{AttachedImage, ImageDigest, SentImage, ShownImage, ViewedImage};
use holon_domain::limits::{IMAGE_REQUEST_BYTES, IMAGES_PER_REQUEST};
use holon_domain::log::LogEntry;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ConversationItem, ModelRequest};
use holon_domain::thread::ThreadTurn;
use holon_prompt::conversation::image_items;
use holon_store::TurnRows;
use holon_tools::view_image;
use std::collections::HashMap;
use std::sync::Arc;

/// The images that a request may show, as far as their files could be read.
#[derive(Debug, Clone, Default)]
pub struct RequestImages {
    /// Images that the turn viewed, by the calls that viewed them.
    pub viewed: HashMap<CallId, ShownImage>,
    /// Images that operators sent.
    pub sent: HashMap<ImageDigest, SentFile>,
}

/// What became of the file of an image that an operator sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentFile {
    Read {
        image: ShownImage,
        of: SentIn,
    },
    /// The file is gone, or is another.
    Gone,
}

/// Turn with whose message an image was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentIn {
    ThisTurn,
    EarlierTurn,
}

/// Images whose files a request needs, within the bounds of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SoughtImages {
    pub sent: Vec<(SentImage, SentIn)>,
    pub viewed: Vec<(CallId, ViewedImage)>,
}

/// Room for images in a request, by their number and their bytes.
struct Room {
    images: usize,
    bytes: u64,
}

impl Room {
    /// Takes room for an image. Returns false if there is none.
    const fn take(&mut self, bytes: u64) -> bool {
        if self.images == 0 || bytes > self.bytes {
            return false;
        }
        self.images -= 1;
        self.bytes -= bytes;
        true
    }
}

/// Lists the images whose files a request needs: those of the turn's messages, those of earlier turns in half of the room,
/// then the newest that the turn viewed. The order does not change while the turn views more, so neither does what stands
/// before.
#[must_use]
pub fn sought(rows: &TurnRows, thread: &KnownThread) -> SoughtImages {
    let mut sought = SoughtImages::default();
    let mut room = Room {
        images: IMAGES_PER_REQUEST,
        bytes: IMAGE_REQUEST_BYTES,
    };
    let mut seek = |image: &SentImage, of: SentIn, room: &mut Room| {
        let is_new = sought.sent.iter().all(|(known, _)| known != image);
        if is_new && room.take(image.bytes) {
            sought.sent.push((image.clone(), of));
        }
    };
    for image in sent_in_turn(rows) {
        seek(image, SentIn::ThisTurn, &mut room);
    }
    let mut earlier = Room {
        images: room.images.saturating_sub(IMAGES_PER_REQUEST / 2),
        bytes: room.bytes.saturating_sub(IMAGE_REQUEST_BYTES / 2),
    };
    for image in thread.images() {
        if earlier.take(image.bytes) {
            seek(image, SentIn::EarlierTurn, &mut room);
        }
    }
    for (call, viewed) in images_of_turn(rows).into_iter().rev() {
        if !room.take(viewed.bytes) {
            break;
        }
        sought.viewed.push((call, viewed));
    }
    sought
}

/// Iterates over the images of the turn's messages: of the one that began it, then of those that joined, newest first.
fn sent_in_turn(rows: &TurnRows) -> impl Iterator<Item = &SentImage> {
    let opening = rows.messages.get(&rows.turn.message_seq);
    let joined = rows.log.entries.iter().rev();
    let joined = joined.filter_map(|entry| match &**entry {
        LogEntry::Interjection { message_seq, .. } => rows.messages.get(message_seq),
        _ => None,
    });
    let joining = rows.queued.iter().rev().map(|entry| &entry.envelope);
    let messages = opening.into_iter().chain(joining).chain(joined);
    messages.flat_map(|message: &MessageEnvelope| &message.images)
}

/// Lists the images that the turn has viewed, oldest first.
fn images_of_turn(rows: &TurnRows) -> Vec<(CallId, ViewedImage)> {
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

/// Name of an image among those of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ImageName {
    Viewed(CallId),
    Sent(ImageDigest),
}

impl RequestImages {
    /// Lists the images with their tokens. Those of earlier turns are marked, because they give way first.
    fn sizes(&self) -> impl Iterator<Item = (bool, usize, ImageName)> {
        let viewed = self.viewed.iter().map(|(call, image)| {
            let name = ImageName::Viewed(call.clone());
            (false, image.estimated_tokens(), name)
        });
        let sent = self.sent.iter().filter_map(|(digest, file)| match file {
            SentFile::Read { image, of } => {
                let name = ImageName::Sent(digest.clone());
                let is_earlier = *of == SentIn::EarlierTurn;
                Some((is_earlier, image.estimated_tokens(), name))
            }
            SentFile::Gone => None,
        });
        viewed.chain(sent)
    }
}

/// Drops images until the rest fits into `room` tokens, those of earlier turns and larger ones first, and returns the tokens
/// of the rest.
pub(super) fn fit(images: &mut RequestImages, room: usize) -> usize {
    loop {
        let total: usize = images.sizes().map(|(_, tokens, _)| tokens).sum();
        if total <= room {
            return total;
        }
        match images.sizes().max().map(|(_, _, name)| name) {
            None => return total,
            Some(ImageName::Viewed(call)) => drop(images.viewed.remove(&call)),
            Some(ImageName::Sent(digest)) => drop(images.sent.remove(&digest)),
        }
    }
}

/// Puts the images into a request, behind the input and beside the results and messages that they belong to. Returns the
/// tokens that this adds.
pub(super) fn show(
    request: &mut ModelRequest,
    rows: &TurnRows,
    images: &RequestImages,
    sees: bool,
) -> usize {
    let opening = rows.messages.get(&rows.turn.message_seq);
    let of_input = opening.into_iter().flat_map(image_items);
    request.conversation.splice(0..0, of_input);
    show_earlier(&mut request.thread, images, sees)
        + show_viewed(&mut request.conversation, rows, images, sees)
        + show_sent(&mut request.conversation, images, sees)
}

/// Adds the images that the turn viewed to their results, and to a result without its image the reason. Returns the tokens
/// that this adds.
fn show_viewed(
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
            *image = images.viewed.get(call_id).cloned();
            if image.is_none() {
                content.push_str(if sees { GONE } else { UNSEEN });
            }
        }
        added += item.estimated_tokens().saturating_sub(before);
    }
    added
}

/// Adds the images that operators sent, and puts a text in place of one that is not shown. Returns the tokens that this
/// adds.
fn show_sent(conversation: &mut [ConversationItem], images: &RequestImages, sees: bool) -> usize {
    let mut added = 0;
    for item in conversation {
        let ConversationItem::Image(attached) = item else {
            continue;
        };
        match images.sent.get(&attached.image.digest) {
            Some(SentFile::Read { image, .. }) if sees => attached.shown = Some(image.clone()),
            file => {
                let reason = match file {
                    _ if !sees => "this model takes no images",
                    Some(SentFile::Gone) => "the image is gone",
                    Some(SentFile::Read { .. }) | None => "the request has no room for it",
                };
                let text = not_shown(attached, reason);
                *item = ConversationItem::User { text };
            }
        }
        added += item.estimated_tokens();
    }
    added
}

/// The same for earlier turns. Turns without images stay shared with the thread that the caller keeps.
fn show_earlier(turns: &mut [Arc<ThreadTurn>], images: &RequestImages, sees: bool) -> usize {
    let has_image = |turn: &Arc<ThreadTurn>| {
        let mut items = turn.items.iter();
        items.any(|item| matches!(item, ConversationItem::Image(_)))
    };
    let mut added = 0;
    for turn in turns.iter_mut().filter(|turn| has_image(turn)) {
        added += show_sent(&mut Arc::make_mut(turn).items, images, sees);
    }
    added
}

fn not_shown(attached: &AttachedImage, reason: &str) -> String {
    format!("[image {} is not shown: {reason}]", attached.number)
}

const UNSEEN: &str = "\n[the image is not shown: this model takes no images]";
const GONE: &str = "\n[the image is not shown any more: there are newer or smaller ones, or its copy is gone; view it again if \
                    it is needed]";

#[cfg(test)]
mod tests;
