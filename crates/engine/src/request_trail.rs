//! Measures how much of a request repeats the one before it of the same agent.
//!
//! A request is a row of parts in the order in which providers cache them: model, tools, system text, earlier turns, the
//! context of the current turn, and its rounds. A trail holds, for the end of each part, a hash of everything up to there
//! and the bytes of it. Two requests begin alike up to the last end at which their trails agree, so a part that differs in
//! one byte counts as different as a whole. Trails are kept in memory for a bounded number of agents: they cost one pass
//! over the request and 16 bytes per part, and nothing on disk. The first request of an agent after a start has nothing to
//! be compared with.

use holon_domain::AgentId;
use holon_domain::attempt::RequestOverlap;
use holon_domain::block::Block;
use holon_domain::limits::REQUEST_TRAILS;
use holon_domain::model::{ConversationItem, ModelRequest};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::sync::{Mutex, PoisonError};

/// End of one part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartEnd {
    /// Hash of everything up to here.
    hash: u64,
    /// Bytes up to here.
    bytes: u64,
}

/// Ends of the parts of a request, in their order.
#[derive(Debug, Default)]
pub(crate) struct RequestTrail {
    ends: Vec<PartEnd>,
}

impl RequestTrail {
    /// Walks over a request.
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let mut walk = Walk::default();
        // Another model, or the same one with other tools, shares nothing with what a provider has cached.
        walk.hasher.write(request.model.to_string().as_bytes());
        walk.hasher.write(request.tools.digest().as_bytes());
        walk.bytes = request.tools.bytes();
        walk.end_part();
        for block in &request.frame.system_blocks {
            walk.part("system", &block.text);
        }
        for item in request.thread.iter().flat_map(|turn| &turn.items) {
            walk.item(item);
        }
        for block in &request.frame.context_blocks {
            walk.part(USER, &block.text);
        }
        for item in &request.conversation {
            walk.item(item);
        }
        Self { ends: walk.ends }
    }

    /// Compares the request with the one before it, if that is known.
    fn overlap(&self, before: Option<&Self>) -> RequestOverlap {
        let same = |before: &Self| {
            let pairs = self.ends.iter().zip(&before.ends);
            let alike = pairs.take_while(|(now, then)| now == then);
            alike.last().map_or(0, |(now, _)| now.bytes)
        };
        RequestOverlap {
            bytes: self.ends.last().map_or(0, |end| end.bytes),
            same_bytes: before.map(same),
        }
    }
}

/// Role of the context of a turn and of what users say; a past turn shows its context as such items.
const USER: &str = "user";

#[derive(Default)]
struct Walk {
    hasher: DefaultHasher,
    bytes: u64,
    ends: Vec<PartEnd>,
}

impl Walk {
    fn end_part(&mut self) {
        self.ends.push(PartEnd {
            hash: self.hasher.finish(),
            bytes: self.bytes,
        });
    }

    fn part(&mut self, role: &str, text: &str) {
        self.hasher.write(role.as_bytes());
        self.text(text);
        self.end_part();
    }

    fn text(&mut self, text: &str) {
        self.hasher.write(text.as_bytes());
        self.hasher.write_u8(0xff);
        self.bytes += text.len() as u64;
    }

    fn item(&mut self, item: &ConversationItem) {
        match item {
            ConversationItem::User { text } => return self.part(USER, text),
            ConversationItem::ToolResult {
                call_id,
                content,
                is_error,
                image,
            } => {
                self.hasher.write(call_id.as_str().as_bytes());
                self.hasher.write_u8(u8::from(*is_error));
                self.text(content);
                if let Some(image) = image {
                    // The call names the image, which never changes.
                    self.hasher.write_usize(image.data.len());
                    self.bytes += image.data.len() as u64;
                }
            }
            ConversationItem::Assistant { blocks, .. } => {
                blocks.iter().for_each(|block| self.block(block));
            }
            ConversationItem::Image(attached) => {
                let data = attached.shown.as_ref().map_or("", |shown| &shown.data);
                self.hasher.write(attached.image.digest.as_str().as_bytes());
                self.hasher.write_usize(data.len());
                self.bytes += data.len() as u64;
            }
        }
        self.end_part();
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text { text } => self.text(text),
            Block::Reasoning { text, opaque } => {
                self.text(text);
                if let Some(opaque) = opaque {
                    self.text(&opaque.data);
                }
            }
            Block::ToolCall(call) => {
                self.text(&call.name);
                serde_json::to_writer(self, &call.input).ok();
            }
        }
    }
}

impl io::Write for &mut Walk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.write(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The trail of each agent's last request. Beyond `limits::REQUEST_TRAILS` the one that was noted longest ago is forgotten.
#[derive(Debug, Default)]
pub(crate) struct RequestTrails(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    count: u64,
    by_agent: BTreeMap<AgentId, (u64, RequestTrail)>,
}

impl RequestTrails {
    /// Compares a request with the one before it of the agent, and keeps its trail for the next one.
    pub(crate) fn note(&self, agent_id: &AgentId, trail: RequestTrail) -> RequestOverlap {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.count += 1;
        let (number, known) = (noted.count, &mut noted.by_agent);
        let overlap = trail.overlap(known.get(agent_id).map(|(_, before)| before));
        known.insert(agent_id.clone(), (number, trail));
        if known.len() > REQUEST_TRAILS {
            let oldest = known.iter().min_by_key(|(_, (number, _))| *number);
            if let Some(oldest) = oldest.map(|(agent_id, _)| agent_id.clone()) {
                known.remove(&oldest);
            }
        }
        overlap
    }
}

#[cfg(test)]
mod tests;
