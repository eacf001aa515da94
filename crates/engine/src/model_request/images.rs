//! Puts images into a request: those that operators sent behind the texts of their messages, those that calls of the turn
//! viewed beside the results of these calls.
//!
//! Owns which images a request shows. The shell reads their files (`sought`), and `show` puts them into the request. Where
//! one is missing a text says why, so that a model does not speak of what it cannot see. Images that were sent stay as long
//! as the thread shows their turn; those that a turn viewed are shown in that turn only.
//!
//! Invariant: whether a sent image is shown follows from what stands before it. So a later image never takes the place of
//! an earlier one, and two requests between folds begin alike. When there is no room beside those of the thread, the
//! thread is folded.

use super::thread::KnownThread;
use holon_domain::CallId;
use holon_domain::image::{AttachedImage, ImageDigest, SentImage, ShownImage, ViewedImage};
use holon_domain::limits::{IMAGE_REQUEST_BYTES, IMAGES_PER_REQUEST};
use holon_domain::log::LogEntry;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ConversationItem, ModelRequest};
use holon_domain::provider::ModelPolicy;
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
    Read(ShownImage),
    /// The file is gone, or is another.
    Gone,
}

/// Images whose files a request needs, within the bounds of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SoughtImages {
    pub sent: Vec<SentImage>,
    pub viewed: Vec<(CallId, ViewedImage)>,
}

/// Part of the model's window that images may take, as a divisor.
const WINDOW_SHARE: usize = 2;
/// Room that the images of calls have beside any number of sent ones.
const VIEWED_ROOM: (usize, u64) = (4, 4_000_000);

/// Room for the images of a request.
#[derive(Debug, Clone, Copy)]
struct Room {
    images: usize,
    bytes: u64,
    tokens: usize,
}

impl Room {
    fn of(policy: ModelPolicy) -> Self {
        let window = usize::try_from(policy.context_window_tokens).unwrap_or(usize::MAX);
        Self {
            images: IMAGES_PER_REQUEST,
            bytes: IMAGE_REQUEST_BYTES,
            tokens: window / WINDOW_SHARE,
        }
    }

    /// Takes room for an image. Returns false if there is none.
    fn take(&mut self, image: &SentImage) -> bool {
        let tokens = image.estimated_tokens();
        let fits = self.images > 0 && image.bytes <= self.bytes && tokens <= self.tokens;
        if fits {
            self.images -= 1;
            self.bytes -= image.bytes;
            self.tokens -= tokens;
        }
        fits
    }
}

/// Lists the images whose files a request may need: those of earlier turns and those of the turn, each as far as they have
/// room, because the earlier ones may be folded; then the newest that the turn viewed.
#[must_use]
pub fn sought(rows: &TurnRows, thread: &KnownThread, policy: ModelPolicy) -> SoughtImages {
    let mut sent: Vec<SentImage> = Vec::new();
    let mut left = Room::of(policy);
    let mut own = Room::of(policy);
    let earlier = thread.images().filter(|image| left.take(image));
    let earlier: Vec<&SentImage> = earlier.collect();
    let in_turn: Vec<&SentImage> = sent_in_turn(rows).filter(|image| own.take(image)).collect();
    for image in earlier.into_iter().chain(in_turn.iter().copied()) {
        if !sent.contains(image) {
            sent.push(image.clone());
        }
    }
    let (images, bytes) = VIEWED_ROOM;
    let mut images_left = left.images.saturating_sub(in_turn.len()).max(images);
    let of_turn: u64 = in_turn.iter().map(|image| image.bytes).sum();
    let mut bytes_left = left.bytes.saturating_sub(of_turn).max(bytes);
    let mut viewed = Vec::new();
    for (call, image) in images_of_turn(rows).into_iter().rev() {
        if images_left == 0 || image.bytes > bytes_left {
            break;
        }
        images_left -= 1;
        bytes_left -= image.bytes;
        viewed.push((call, image));
    }
    SoughtImages { sent, viewed }
}

/// Returns true if images of the turn's messages have no room beside those of the earlier turns, and would have it alone.
pub(super) fn need_fold(rows: &TurnRows, thread: &KnownThread, policy: ModelPolicy) -> bool {
    let mut beside = Room::of(policy);
    let mut has_earlier = false;
    for image in thread.images() {
        has_earlier |= beside.take(image);
    }
    let mut alone = Room::of(policy);
    has_earlier && sent_in_turn(rows).any(|image| !beside.take(image) && alone.take(image))
}

/// Returns the tokens of the turn's images. Those that operators sent have them in any case, and viewed ones are dropped
/// until all have `room` tokens at most.
pub(super) fn reserve(
    rows: &TurnRows,
    policy: ModelPolicy,
    images: &mut RequestImages,
    room: usize,
) -> usize {
    let mut left = Room::of(policy);
    let taken = sent_in_turn(rows).filter(|image| left.take(image));
    let sent: usize = taken.map(SentImage::estimated_tokens).sum();
    sent + fit(images, room.saturating_sub(sent))
}

/// Iterates over the images of the turn's messages, oldest first: of the one that began it, of those that joined, and of
/// those that may join.
fn sent_in_turn(rows: &TurnRows) -> impl Iterator<Item = &SentImage> {
    let opening = rows.messages.get(&rows.turn.message_seq);
    let joined = rows.log.entries.iter().filter_map(|entry| match &**entry {
        LogEntry::Interjection { message_seq, .. } => rows.messages.get(message_seq),
        _ => None,
    });
    let joining = rows.queued.iter().map(|entry| &entry.envelope);
    let messages = opening.into_iter().chain(joined).chain(joining);
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

/// Drops the largest viewed images until the rest fits into `room` tokens, and returns the tokens of the rest.
fn fit(images: &mut RequestImages, room: usize) -> usize {
    let viewed = &mut images.viewed;
    loop {
        let total: usize = viewed.values().map(ShownImage::estimated_tokens).sum();
        if total <= room {
            return total;
        }
        let largest = viewed
            .iter()
            .max_by_key(|(call, image)| (image.estimated_tokens(), *call));
        match largest.map(|(call, _)| call.clone()) {
            None => return total,
            Some(call) => drop(viewed.remove(&call)),
        }
    }
}

/// Puts the images into a request, behind the input and beside the results and messages that they belong to. Returns the
/// tokens that this adds.
pub(super) fn show(
    request: &mut ModelRequest,
    rows: &TurnRows,
    images: &RequestImages,
    policy: ModelPolicy,
) -> usize {
    let opening = rows.messages.get(&rows.turn.message_seq);
    let of_input: Vec<ConversationItem> = opening.into_iter().flat_map(image_items).collect();
    let tokens = of_input.iter().map(ConversationItem::estimated_tokens);
    let added: usize = tokens.sum();
    request.conversation.splice(0..0, of_input);
    let sees = policy.image_input;
    let mut room = Room::of(policy);
    show_earlier(&mut request.thread, images, &mut room, sees);
    show_sent(&mut request.conversation, images, &mut room, sees);
    added + show_viewed(&mut request.conversation, rows, images, sees)
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

/// Adds the images that operators sent, and puts a text in place of one that is not shown.
fn show_sent(
    conversation: &mut [ConversationItem],
    images: &RequestImages,
    room: &mut Room,
    sees: bool,
) {
    for item in conversation {
        let ConversationItem::Image(attached) = item else {
            continue;
        };
        let has_room = room.take(&attached.image);
        let reason = match images.sent.get(&attached.image.digest) {
            _ if !sees => "this model takes no images",
            _ if !has_room => "the request has no room for it",
            Some(SentFile::Read(image)) => {
                attached.shown = Some(image.clone());
                continue;
            }
            Some(SentFile::Gone) | None => "the image is gone",
        };
        let text = not_shown(attached, reason);
        *item = ConversationItem::User { text };
    }
}

/// The same for earlier turns. Turns without images stay shared with the thread that the caller keeps.
fn show_earlier(
    turns: &mut [Arc<ThreadTurn>],
    images: &RequestImages,
    room: &mut Room,
    sees: bool,
) {
    let has_image = |turn: &Arc<ThreadTurn>| {
        let mut items = turn.items.iter();
        items.any(|item| matches!(item, ConversationItem::Image(_)))
    };
    for turn in turns.iter_mut().filter(|turn| has_image(turn)) {
        show_sent(&mut Arc::make_mut(turn).items, images, room, sees);
    }
}

fn not_shown(attached: &AttachedImage, reason: &str) -> String {
    format!("[image {} is not shown: {reason}]", attached.number)
}

const UNSEEN: &str = "\n[the image is not shown: this model takes no images]";
const GONE: &str = "\n[the image is not shown any more: the request has no room for it beside newer ones, or its copy is gone]";

#[cfg(test)]
mod tests;
