//! What readers add to stored events: the labels of their messages, and the texts of briefs.

use holon_domain::decision::BriefSeq;
use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_domain::limits::{EVENT_BRIEF_BYTES, EVENT_PAGE_BRIEF_BYTES};
use holon_domain::message::MessageLabels;
use holon_domain::queue::MessageSeq;
use holon_domain::text;
use holon_store::{AgentNo, Reader};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The texts of briefs that a page may still take. Beyond its bound an event has its preview only.
#[derive(Debug)]
pub(crate) struct BriefTexts {
    left: usize,
}

impl BriefTexts {
    /// The texts of one page.
    pub(crate) const fn of_page() -> Self {
        Self {
            left: EVENT_PAGE_BRIEF_BYTES,
        }
    }

    /// No text, for readers that show none.
    pub(crate) const fn none() -> Self {
        Self { left: 0 }
    }

    /// Reads the text of a brief, if there is room for one of the greatest length.
    fn read(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        brief_seq: BriefSeq,
    ) -> Result<Option<String>, holon_store::Error> {
        if self.left < EVENT_BRIEF_BYTES {
            return Ok(None);
        }
        let words = reader.brief_text(no, brief_seq)?;
        let words = words.map(|words| text::preview(&words, EVENT_BRIEF_BYTES));
        self.left -= words.as_ref().map_or(0, String::len).min(self.left);
        Ok(words)
    }
}

/// Adds the labels of the messages that events refer to, and the texts of briefs. A page refers to few messages, so each
/// is read once.
pub(crate) fn add_labels(
    reader: &Reader<'_>,
    no: AgentNo,
    events: &mut [EventRecord],
    texts: &mut BriefTexts,
) -> Result<(), holon_store::Error> {
    let mut read: BTreeMap<MessageSeq, Option<Arc<MessageLabels>>> = BTreeMap::new();
    for record in events {
        if let Event::BriefCreated(brief) = &mut record.event {
            brief.text = texts.read(reader, no, brief.brief_seq)?;
        }
        let Some(seq) = record.event.message_seq() else {
            continue;
        };
        let labels = match read.entry(seq) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(reader.message_labels(no, seq)?.map(Arc::new)),
        };
        record.labels.clone_from(labels);
    }
    Ok(())
}
