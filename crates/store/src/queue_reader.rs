//! Reads of queues, of their messages and of the answers to these. Reading changes nothing.

use crate::error::Error;
use crate::joining::JoiningMessages;
use crate::reader::Reader;
use crate::row::{AgentNo, Unreadable, readable};
use crate::{agents, briefs, interjections, queue};
use holon_domain::brief::BriefRecord;
use holon_domain::message::MessageLabels;
use holon_domain::needs::{Needs, Part};
use holon_domain::queue::{MessageSeq, QueueEntry, QueueView};

impl Reader<'_> {
    /// Reads the head of an agent's queue and the number of messages behind it.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn queue(&self, no: AgentNo) -> Result<QueueView, Error> {
        let needs = Needs {
            queue_head: true,
            operators: true,
            ..Needs::default()
        };
        let tally = agents::tally(self.conn(), no)?;
        let whole = queue::view(self.conn(), no, &tally, &needs);
        let found = match self.unreadable() {
            Unreadable::Fails => Some(whole?),
            Unreadable::IsPassedOver => readable(self.conn(), whole)?,
        };
        match found {
            Some(view) => Ok(view),
            None => Ok(QueueView {
                head: Part::Loaded(None),
                ..self.queue_lengths(no)?
            }),
        }
    }

    /// Reads the length of an agent's queue without its head.
    ///
    /// # Errors
    /// When the database fails.
    pub fn queue_lengths(&self, no: AgentNo) -> Result<QueueView, Error> {
        queue::view(
            self.conn(),
            no,
            &agents::tally(self.conn(), no)?,
            &Needs::default(),
        )
    }

    /// Reads one message of an agent; `None` if its queue holds no entry of this number.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn message(&self, no: AgentNo, seq: MessageSeq) -> Result<Option<QueueEntry>, Error> {
        queue::message(self.conn(), no, seq)
    }

    /// Reads the origin and correlation of one message without its body. `None` if the message is gone or its row is
    /// unreadable; an event about it is shown without them.
    ///
    /// # Errors
    /// When the database fails.
    pub fn message_labels(
        &self,
        no: AgentNo,
        seq: MessageSeq,
    ) -> Result<Option<MessageLabels>, Error> {
        let found = readable(self.conn(), queue::labels(self.conn(), no, seq))?;
        Ok(found.flatten())
    }

    /// Lists the messages that a request includes beside the log: queued ones that may enter a running turn, then held
    /// ones, within the count and size limits of one request.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn joining(&self, no: AgentNo, held: &[MessageSeq]) -> Result<Vec<QueueEntry>, Error> {
        self.joining_except(no, held, |_| false)
    }

    /// Lists the newest queued message that may enter a running turn, if it is short.
    pub(crate) fn newest_joining(&self, no: AgentNo) -> Result<Vec<QueueEntry>, Error> {
        let mut joining = JoiningMessages::default();
        joining.seat_newest(interjections::newest(self.conn(), no)?);
        Ok(joining.taken)
    }

    /// Lists the same without the messages that do not join the turn.
    pub(crate) fn joining_except(
        &self,
        no: AgentNo,
        held: &[MessageSeq],
        is_apart: impl Fn(MessageSeq) -> bool,
    ) -> Result<Vec<QueueEntry>, Error> {
        let mut joining = JoiningMessages::default();
        interjections::each(self.conn(), no, |entry| {
            is_apart(entry.seq) || joining.take(entry)
        })?;
        if joining.is_full() {
            let newest = interjections::newest(self.conn(), no)?;
            joining.seat_newest(newest.filter(|entry| !is_apart(entry.seq)));
        }
        for seq in held.iter().filter(|seq| !is_apart(**seq)) {
            if joining.is_full() {
                break;
            }
            if let Some(entry) = self.message(no, *seq)? {
                joining.take(entry);
            }
        }
        Ok(joining.taken)
    }

    /// Reads the brief that settled a message, once there is one.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn outcome(&self, no: AgentNo, seq: MessageSeq) -> Result<Option<BriefRecord>, Error> {
        match queue::outcome(self.conn(), no, seq)? {
            Some(brief) => briefs::one(self.conn(), no, brief),
            None => Ok(None),
        }
    }

    /// Returns true if a message is there and not settled yet. False for one that retention removed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_open(&self, no: AgentNo, seq: MessageSeq) -> Result<bool, Error> {
        queue::is_open(self.conn(), no, seq)
    }
}
