//! The notices of commits, sent to those whom they concern: a commit wakes only the readers of its own agent, those of
//! all public agents if it is one of them, and those of all commits.
//!
//! A notice carries no event. A receiver that misses one because it is slow learns that it lags, and reads on by cursor.

use holon_domain::AgentId;
use holon_domain::agent::Visibility;
use holon_domain::feed::FeedNotice;
use holon_domain::limits::STREAM_LAG;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::broadcast::{Receiver, Sender, channel};

/// Notices that a receiver of one agent may be behind. One more than one makes no difference to it: it reads by cursor.
const AGENT_LAG: usize = 4;

/// The sending side. Clones share it; the receivers learn when the last one is gone.
#[derive(Debug, Clone)]
pub(crate) struct Feed(Arc<Channels>);

#[derive(Debug)]
struct Channels {
    all: Sender<FeedNotice>,
    public: Sender<FeedNotice>,
    /// Commits that change what a memory index holds.
    memory: Sender<FeedNotice>,
    /// Only agents that somebody listens to.
    agents: Mutex<HashMap<AgentId, Sender<FeedNotice>>>,
}

impl Channels {
    fn subscribe_to(&self, agent_id: &AgentId) -> Receiver<FeedNotice> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.retain(|_, sender| sender.receiver_count() > 0);
        let sender = agents.entry(agent_id.clone());
        sender.or_insert_with(|| channel(AGENT_LAG).0).subscribe()
    }
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Channels {
            all: channel(STREAM_LAG).0,
            public: channel(STREAM_LAG).0,
            memory: channel(STREAM_LAG).0,
            agents: Mutex::default(),
        }))
    }

    /// Sends a notice. Without a receiver it is dropped; readers start from a cursor.
    pub(crate) fn send(&self, notice: FeedNotice) {
        let agents = self.0.agents.lock();
        let agents = agents.unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = agents.get(&notice.agent_id) {
            drop(sender.send(notice.clone()));
        }
        drop(agents);
        if notice.visibility == Visibility::Public {
            drop(self.0.public.send(notice.clone()));
        }
        if notice.changes_memory {
            drop(self.0.memory.send(notice.clone()));
        }
        drop(self.0.all.send(notice));
    }

    /// Subscribes to the commits of all agents.
    pub(crate) fn subscribe(&self) -> Receiver<FeedNotice> {
        self.0.all.subscribe()
    }

    /// Subscribes to the commits that change what a memory index holds.
    pub(crate) fn subscribe_to_memory(&self) -> Receiver<FeedNotice> {
        self.0.memory.subscribe()
    }

    /// Subscribes to the commits of one agent.
    pub(crate) fn subscribe_to(&self, agent_id: &AgentId) -> Receiver<FeedNotice> {
        self.0.subscribe_to(agent_id)
    }

    /// Returns the side of readers, which does not keep the feed open.
    pub(crate) fn source(&self) -> FeedSource {
        FeedSource(Arc::downgrade(&self.0))
    }
}

/// The side of readers. It can only subscribe, and it does not keep the feed open: after its end, receivers are closed.
#[derive(Debug, Clone)]
pub struct FeedSource(Weak<Channels>);

impl FeedSource {
    /// Subscribes to the commits of all agents.
    #[must_use]
    pub fn subscribe(&self) -> Receiver<FeedNotice> {
        self.0
            .upgrade()
            .map_or_else(closed, |feed| feed.all.subscribe())
    }

    /// Subscribes to the commits of all public agents.
    #[must_use]
    pub fn subscribe_public(&self) -> Receiver<FeedNotice> {
        self.0
            .upgrade()
            .map_or_else(closed, |feed| feed.public.subscribe())
    }

    /// Subscribes to the commits of one agent.
    #[must_use]
    pub fn subscribe_to(&self, agent_id: &AgentId) -> Receiver<FeedNotice> {
        self.0
            .upgrade()
            .map_or_else(closed, |feed| feed.subscribe_to(agent_id))
    }
}

/// Returns a receiver whose feed has ended.
fn closed() -> Receiver<FeedNotice> {
    channel(1).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};
    use tokio::sync::broadcast::error::{RecvError, TryRecvError};

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn notice(name: &str, visibility: Visibility) -> FeedNotice {
        FeedNotice {
            agent_id: id(name),
            newest_seq: 1,
            visibility,
            changes_memory: false,
        }
    }

    fn id(name: &str) -> AgentId {
        AgentId::parse(name).expect("an agent id")
    }

    #[test]
    fn a_commit_wakes_only_the_readers_that_it_concerns() {
        let feed = Feed::new();
        let names: Vec<String> = (0..50).map(|number| format!("agent-{number}")).collect();
        let source = feed.source();
        let mut receivers: Vec<_> = names
            .iter()
            .map(|name| source.subscribe_to(&id(name)))
            .collect();
        receivers.push(source.subscribe_public());
        receivers.push(source.subscribe());
        receivers.push(feed.subscribe_to_memory());
        let wakes: Vec<Arc<Wakes>> = receivers.iter().map(|_| Arc::default()).collect();
        let mut waiting: Vec<_> = receivers
            .iter_mut()
            .map(|from| Box::pin(from.recv()))
            .collect();
        let mut poll_all = || {
            for (future, wakes) in waiting.iter_mut().zip(&wakes) {
                let waker = Waker::from(Arc::clone(wakes));
                let polled = Pin::new(future).poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
            }
        };
        poll_all();
        feed.send(notice("agent-7", Visibility::Private));
        let woken = || -> Vec<usize> {
            let counts = wakes.iter().map(|wakes| wakes.0.load(Ordering::Relaxed));
            let counts = counts.enumerate().filter(|(_, count)| *count > 0);
            counts
                .map(|(at, count)| {
                    assert_eq!(count, 1);
                    at
                })
                .collect()
        };
        assert_eq!(woken(), [7, 51], "its own reader and that of all commits");
        feed.send(notice("agent-9", Visibility::Public));
        assert_eq!(woken(), [7, 9, 50, 51]);
        feed.send(FeedNotice {
            changes_memory: true,
            ..notice("agent-11", Visibility::Private)
        });
        assert_eq!(woken(), [7, 9, 11, 50, 51, 52]);
    }

    #[test]
    fn a_channel_lasts_as_long_as_it_has_a_reader() {
        let feed = Feed::new();
        let channels = || feed.0.agents.lock().expect("unpoisoned").len();
        let mut first = feed.subscribe_to(&id("a"));
        let second = feed.subscribe_to(&id("a"));
        assert_eq!(channels(), 1);
        drop(second);
        feed.send(notice("a", Visibility::Public));
        assert_eq!(first.try_recv(), Ok(notice("a", Visibility::Public)));
        assert_eq!(first.try_recv(), Err(TryRecvError::Empty));
        drop(first);
        drop(feed.subscribe_to(&id("b")));
        assert_eq!(channels(), 1, "the one without a reader is gone");
    }

    #[test]
    fn the_end_of_the_feed_closes_its_receivers_and_later_ones() {
        let feed = Feed::new();
        let source = feed.source();
        let mut before = source.subscribe_to(&id("a"));
        drop(feed);
        let mut context = Context::from_waker(Waker::noop());
        for mut receiver in [source.subscribe_to(&id("a")), source.subscribe()] {
            let ended = pin!(receiver.recv()).poll(&mut context);
            assert_eq!(ended, Poll::Ready(Err(RecvError::Closed)));
        }
        assert_eq!(before.try_recv(), Err(TryRecvError::Closed));
    }
}
