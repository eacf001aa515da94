//! The feed of one agent: its newest events, then those that follow, over restarts of the host.
//!
//! The stream is opened first and the history is read up to the position at which it begins, so that no event is missed
//! between the two. The stream resumes by its cursor. If its store was replaced or the cursor is too old, everything is
//! read anew.

use super::ask::is_unauthorized;
use crate::msg::{Msg, News};
use holon_api::{EventEnvelope, PageOrder};
use holon_client::{Client, Error, EventStream, EventsQuery, StreamItem};
use holon_domain::AgentId;
use holon_domain::limits::EVENT_PAGE_MAX;
use std::time::Duration;
use tokio::sync::mpsc;

/// Pages of events that are read at the start. Older ones are read when the operator scrolls to them.
const FIRST_PAGES: u32 = 3;
/// Pause before the host is tried again. The stream itself has tried for a while by then.
const PAUSE: Duration = Duration::from_secs(2);

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Go on from the cursor.
    Resume,
    /// The cursor is of no use; read everything anew.
    Restart,
    /// The host refuses for good.
    End,
}

/// Feed with its number, and the queue it fills.
struct Feed {
    client: Client,
    agent: AgentId,
    feed: u64,
    sender: mpsc::Sender<Msg>,
}

/// The console is closed or shows another agent.
struct Closed;

/// Follows an agent until the console is closed or the host refuses.
pub(super) async fn follow(client: Client, agent: AgentId, feed: u64, sender: mpsc::Sender<Msg>) {
    let feed = Feed {
        client,
        agent,
        feed,
        sender,
    };
    // An ended feed needs no word: there is no reader, or it was told.
    feed.run().await.ok();
}

impl Feed {
    async fn tell(&self, news: News) -> Result<(), Closed> {
        let message = Msg::Feed {
            feed: self.feed,
            news,
        };
        self.sender.send(message).await.map_err(|_| Closed)
    }

    async fn run(&self) -> Result<(), Closed> {
        loop {
            let stream = self.client.events_stream(self.agent.clone(), None);
            let mut stream = stream.with_deltas();
            let mut opened = self.open(&mut stream).await;
            if let Ok(history) = opened {
                self.tell(history).await?;
                opened = Err(self.pass_on(&mut stream).await?);
            }
            let Err(error) = opened else { continue };
            match next(&error) {
                Next::Restart => {}
                Next::Resume => self.pause(&error).await?,
                Next::End if is_unauthorized(&error) => {
                    return self.tell(News::Unauthorized(words(&error))).await;
                }
                Next::End => return self.tell(News::Ended(words(&error))).await,
            }
        }
    }

    /// Opens the stream and reads the history before it.
    async fn open(&self, stream: &mut EventStream) -> Result<News, Error> {
        stream.open().await?;
        let mut before_seq = stream.cursor().map(|cursor| cursor.saturating_add(1));
        let mut events: Vec<EventEnvelope> = Vec::new();
        let mut has_older = false;
        for _ in 0..FIRST_PAGES {
            let query = EventsQuery {
                before_seq,
                limit: Some(EVENT_PAGE_MAX),
                order: Some(PageOrder::Desc),
                ..EventsQuery::default()
            };
            let page = self.client.events(&self.agent, query).await?;
            before_seq = page.events.last().map(|event| event.event_seq);
            has_older = page.has_older;
            events.extend(page.events);
            if !has_older || before_seq.is_none() {
                break;
            }
        }
        events.reverse();
        Ok(News::History { events, has_older })
    }

    /// Passes items of the stream on. Returns the error after which the stream is of no use.
    async fn pass_on(&self, stream: &mut EventStream) -> Result<Error, Closed> {
        let mut is_lost = false;
        loop {
            match stream.next_item().await {
                Ok(item) => {
                    if std::mem::take(&mut is_lost) {
                        self.tell(News::Back).await?;
                    }
                    self.tell(match item {
                        StreamItem::Event(event) => News::Event(event),
                        StreamItem::Delta(delta) => News::Delta(delta),
                    })
                    .await?;
                }
                Err(error) if next(&error) == Next::Resume => {
                    is_lost = true;
                    self.pause(&error).await?;
                    // The stream is open again before it has news.
                    if stream.open().await.is_ok() {
                        is_lost = false;
                        self.tell(News::Back).await?;
                    }
                }
                Err(error) => return Ok(error),
            }
        }
    }

    async fn pause(&self, error: &Error) -> Result<(), Closed> {
        self.tell(News::Lost(words(error))).await?;
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

fn next(error: &Error) -> Next {
    match error {
        Error::Unreachable { .. } | Error::Interrupted { .. } | Error::Protocol { .. } => {
            Next::Resume
        }
        Error::StoreReplaced { .. } => Next::Restart,
        Error::Token | Error::AgentDeleted { .. } => Next::End,
        Error::Api { status, code, .. } => match (status, code.as_deref()) {
            (_, Some("cursor_too_old" | "cursor_ahead")) => Next::Restart,
            (401 | 403 | 404 | 410, _) => Next::End,
            _ => Next::Resume,
        },
    }
}

fn words(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: &str) -> Error {
        Error::Api {
            status,
            code: Some(code.to_owned()),
            message: String::new(),
            hint: None,
            extra: serde_json::Map::new(),
        }
    }

    #[test]
    fn a_failure_leads_to_what_mends_it() {
        let endpoint = String::new;
        let gone = Error::Unreachable {
            endpoint: endpoint(),
            reason: String::new(),
        };
        assert_eq!(next(&gone), Next::Resume);
        let replaced = Error::StoreReplaced {
            endpoint: endpoint(),
        };
        assert_eq!(next(&replaced), Next::Restart);
        assert_eq!(next(&refused(410, "cursor_too_old")), Next::Restart);
        assert_eq!(next(&refused(404, "agent_not_found")), Next::End);
        assert_eq!(next(&refused(401, "unauthorized")), Next::End);
        assert_eq!(next(&refused(503, "overloaded")), Next::Resume);
    }
}
