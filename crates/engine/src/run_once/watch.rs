//! News of a run while it goes on: the text of its answers, and the events of its agent.
//!
//! A named agent may be at work on other messages. Its deltas are passed only if they belong to a turn of the run.

use super::own_turns::{OwnTurns, TurnRows};
use crate::control::ControlHandle;
use crate::news::wait_for_news;
use crate::reads::{BriefTexts, add_labels};
use crate::request::AdmittedMessage;
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::feed::{EventOrder, EventPage, EventQuery, EventRecord, FeedNotice};
use holon_domain::limits::EVENT_PAGE;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc};

/// One piece of news of a run.
#[derive(Debug, Clone)]
pub enum RunNews {
    /// The agent that answers is ready. Always the first news, and the request is not admitted yet.
    Began(AgentId),
    /// The agent is at work on another message, and the request waits for its turn.
    Queued(AdmittedMessage),
    /// Text of a turn of the run.
    Delta(Arc<AssistantDelta>),
    /// Event of the agent, of any turn.
    Event(Box<EventRecord>),
}

/// Passes the news of one run to its caller.
pub(super) struct RunWatch<'a>(Option<Passing<'a>>);

struct Passing<'a> {
    control: &'a ControlHandle,
    agent_id: AgentId,
    /// Position of the last event that was passed.
    cursor: u64,
    turns: OwnTurns,
    deltas: broadcast::Receiver<Arc<AssistantDelta>>,
    /// A delta that is being passed. The answer may come meanwhile; then it is passed with the last news.
    taken: Option<Arc<AssistantDelta>>,
    notices: broadcast::Receiver<FeedNotice>,
    to: mpsc::Sender<RunNews>,
}

impl<'a> RunWatch<'a> {
    /// Begins to watch an agent. Subscribes before it returns, so that no news of a request admitted later is missed.
    pub(super) async fn begin(
        control: &'a ControlHandle,
        agent_id: &AgentId,
        to: Option<mpsc::Sender<RunNews>>,
    ) -> Self {
        let Some(to) = to else { return Self(None) };
        let began = RunNews::Began(agent_id.clone());
        if to.send(began).await.is_err() {
            return Self(None);
        }
        let mut passing = Passing {
            control,
            agent_id: agent_id.clone(),
            cursor: 0,
            turns: OwnTurns::All,
            deltas: control.shell().deltas.subscribe(agent_id),
            taken: None,
            notices: control.shell().store.subscribe_to(agent_id),
            to,
        };
        match passing.read(EventOrder::Descending, 1).await {
            Some(page) => passing.cursor = page.newest_seq.unwrap_or(0),
            None => return Self(None),
        }
        Self(Some(passing))
    }

    /// Restricts the text to the turns of one message. Without this, every turn of the agent belongs to the run.
    pub(super) fn of_message(mut self, admitted: &AdmittedMessage) -> Self {
        if let Some(passing) = &mut self.0 {
            passing.turns = OwnTurns::of_message(admitted.clone());
        }
        self
    }

    /// Waits for the answer and passes news meanwhile. A receiver that does not read never holds the answer up: it
    /// misses the news that do not fit its queue.
    pub(super) async fn beside<T>(mut self, answer: impl Future<Output = T>) -> T {
        let news = async {
            if let Some(passing) = &mut self.0 {
                passing.pass().await;
            }
            std::future::pending::<Infallible>().await
        };
        let answer = tokio::select! {
            answer = answer => answer,
            never = news => match never {},
        };
        if let Some(passing) = &mut self.0 {
            passing.flush().await;
        }
        answer
    }
}

impl Passing<'_> {
    /// Passes news until the receiver is gone or the host ends.
    async fn pass(&mut self) {
        if !self.pass_queued().await {
            return;
        }
        loop {
            let go_on = tokio::select! {
                biased;
                delta = self.deltas.recv() => match delta {
                    Ok(delta) if delta.agent_id == self.agent_id => self.pass_delta(delta).await,
                    // A slow receiver misses pieces; their offsets tell it.
                    Ok(_) | Err(RecvError::Lagged(_)) => true,
                    Err(RecvError::Closed) => false,
                },
                heard = wait_for_news(&mut self.notices) => {
                    heard.is_ok() && self.pass_events().await
                }
            };
            if !go_on {
                return;
            }
        }
    }

    /// Tells that another turn comes first, if one does.
    async fn pass_queued(&mut self) -> bool {
        let Some(rows) = self.turn_rows().await else {
            return true;
        };
        match self.turns.queued(&rows) {
            Some(admitted) => self.to.send(RunNews::Queued(admitted)).await.is_ok(),
            None => true,
        }
    }

    /// Passes a delta if it belongs to the run. False if the receiver is gone.
    async fn pass_delta(&mut self, delta: Arc<AssistantDelta>) -> bool {
        self.taken = Some(Arc::clone(&delta));
        let is_passed =
            !self.is_own(&delta).await || self.to.send(RunNews::Delta(delta)).await.is_ok();
        self.taken = None;
        is_passed
    }

    /// Returns true if a delta belongs to a turn of the run. The rows are read once for each turn.
    async fn is_own(&mut self, delta: &AssistantDelta) -> bool {
        if let Some(known) = self.turns.known(delta.turn_index) {
            return known;
        }
        match self.turn_rows().await {
            Some(rows) => self.turns.judge(delta.turn_index, &rows),
            None => false,
        }
    }

    /// Passes all new events. Deltas that came before them go first, so that a recorded round follows its own deltas.
    async fn pass_events(&mut self) -> bool {
        loop {
            let Some(page) = self.read(EventOrder::Ascending, EVENT_PAGE).await else {
                return false;
            };
            while let Some(delta) = self.ready_delta() {
                if !self.pass_delta(delta).await {
                    return false;
                }
            }
            let Some(last) = page.events.last() else {
                return true;
            };
            self.cursor = last.event_seq;
            for record in page.events {
                if self
                    .to
                    .send(RunNews::Event(Box::new(record)))
                    .await
                    .is_err()
                {
                    return false;
                }
            }
        }
    }

    /// Passes the news that have come until the answer, as far as they fit the receiver's queue.
    async fn flush(&mut self) {
        let page = self.read(EventOrder::Ascending, EVENT_PAGE).await;
        let mut fits = true;
        while fits && let Some(delta) = self.taken.take().or_else(|| self.ready_delta()) {
            fits = !self.is_own(&delta).await || self.to.try_send(RunNews::Delta(delta)).is_ok();
        }
        for record in page.into_iter().flat_map(|page| page.events) {
            if !fits {
                return;
            }
            fits = self.to.try_send(RunNews::Event(Box::new(record))).is_ok();
        }
    }

    /// Returns the next delta of the agent that has already come.
    fn ready_delta(&mut self) -> Option<Arc<AssistantDelta>> {
        loop {
            match self.deltas.try_recv() {
                Ok(delta) if delta.agent_id == self.agent_id => return Some(delta),
                Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }

    /// Reads events after the cursor, also those of a temporary agent. `None` if they cannot be read; the run reports
    /// the reason.
    async fn read(&self, order: EventOrder, limit: u64) -> Option<EventPage> {
        let id = self.agent_id.clone();
        let query = EventQuery {
            after_seq: (order == EventOrder::Ascending).then_some(self.cursor),
            before_seq: None,
            limit,
            order,
        };
        let read = self.control.readers().read(move |reader| {
            let Some((no, _)) = reader.agent(&id)? else {
                return Ok(None);
            };
            let mut page = reader.events(no, query)?;
            // The answer of the run has its text.
            add_labels(reader, no, &mut page.events, &mut BriefTexts::none())?;
            Ok(Some(page))
        });
        read.await.ok().flatten()
    }

    /// Reads what tells whose turn it is. `None` if every turn is the run's, or if the rows cannot be read.
    async fn turn_rows(&self) -> Option<TurnRows> {
        let seq = self.turns.message_seq()?;
        let id = self.agent_id.clone();
        let read = self.control.readers().read(move |reader| {
            let Some((no, agent)) = reader.agent(&id)? else {
                return Ok(None);
            };
            Ok(Some(TurnRows {
                open: agent.open_turn,
                outcome: reader.outcome(no, seq)?,
            }))
        });
        read.await.ok().flatten()
    }
}
