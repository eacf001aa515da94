//! The agents and secrets of webhooks, looked up within bounds. A secret is looked up at most once a second for each agent.
//!
//! Whoever knows the name of an agent can send it webhooks, and only its secret tells which of them are proven. A limit
//! of these requests would shut out proven senders, so the lookups are limited instead: requests in between are checked
//! with the secret that the last one found. A change by the routes of this host is seen at once.
//!
//! Whether a name is that of an agent cannot be kept so, because an agent may be removed at any time and another take its
//! name. The store is asked each time, for a few requests at once: a flood of them uses as many of its readers, and the
//! others stay free. The names of agents that accept webhooks are remembered: those of the first look after a start, and
//! those that accepted one since. Any other name is counted as a guess before the store is asked, so a flood of made-up
//! names does not hold up the senders that are known.

use holon_domain::AgentId;
use holon_domain::limits::{READERS, WEBHOOK_SECRET_AGE_MS};
use secrecy::SecretString;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore};

/// What a lookup found.
type Found = Result<Option<SecretString>, String>;

/// Most agents whose secrets are kept. All are forgotten before another one is added.
const AGENTS: usize = 1_024;

/// Most names of receivers that are remembered. Another one is forgotten for each one more.
const RECEIVERS: usize = 16_384;

/// The newest lookup for one agent.
#[derive(Clone)]
struct Lookup {
    /// Number that tells the agent apart from others of its name.
    birth: i64,
    at: Duration,
    found: Found,
}

/// A lookup that is locked while it is made, so that requests at the same time wait for one.
type SharedLookup = Arc<tokio::sync::Mutex<Option<Lookup>>>;

/// Lookups of agents at the same time: half of the readers of one purpose.
const LOOKUPS_AT_ONCE: usize = READERS / 2;

/// The lookups of one host.
pub(crate) struct WebhookSecrets {
    secrets: Mutex<HashMap<AgentId, SharedLookup>>,
    /// Names of agents that accept webhooks, at most `RECEIVERS`.
    receivers: Mutex<HashSet<AgentId>>,
    /// Set once the receivers of an earlier process were looked up.
    filled: OnceCell<()>,
    /// Permits to ask the store for an agent.
    terms: Semaphore,
}

impl Default for WebhookSecrets {
    fn default() -> Self {
        Self {
            secrets: Mutex::default(),
            receivers: Mutex::default(),
            filled: OnceCell::new(),
            terms: Semaphore::new(LOOKUPS_AT_ONCE),
        }
    }
}

impl WebhookSecrets {
    /// Asks the store for the agent of a webhook, after those who asked before.
    pub(crate) async fn find_terms<T>(&self, look_up: impl Future<Output = T>) -> T {
        let _permit = self.terms.acquire().await;
        look_up.await
    }

    /// Notes the agents that accept webhooks, which are looked up once. Requests at the same time wait for it. `Err` has
    /// those that could be read; the next request looks them up again.
    pub(crate) async fn fill(
        &self,
        look_up: impl Future<Output = Result<Vec<AgentId>, Vec<AgentId>>>,
    ) {
        let note_all = |agents: Vec<AgentId>| {
            for agent_id in agents {
                self.note_receiver(&agent_id, true);
            }
        };
        let fill = async { look_up.await.map(note_all).map_err(note_all) };
        // A look that failed leaves the cell empty.
        self.filled.get_or_try_init(|| fill).await.ok();
    }

    /// Returns true if an agent of this name is known to accept webhooks.
    pub(crate) fn is_receiver(&self, agent_id: &AgentId) -> bool {
        let receivers = self.receivers.lock();
        let receivers = receivers.unwrap_or_else(PoisonError::into_inner);
        receivers.contains(agent_id)
    }

    /// Notes that an agent accepts webhooks, or that there is none of this name that does.
    pub(crate) fn note_receiver(&self, agent_id: &AgentId, accepts: bool) {
        let receivers = self.receivers.lock();
        let mut receivers = receivers.unwrap_or_else(PoisonError::into_inner);
        if !accepts {
            receivers.remove(agent_id);
        } else if !receivers.contains(agent_id) {
            if receivers.len() >= RECEIVERS
                && let Some(other) = receivers.iter().next().cloned()
            {
                receivers.remove(&other);
            }
            receivers.insert(agent_id.clone());
        }
    }

    /// Returns the secret of an agent. `now` is the time of the host's monotonic clock.
    pub(crate) async fn find(
        &self,
        agent_id: &AgentId,
        birth: i64,
        now: Duration,
        look_up: impl Future<Output = Found>,
    ) -> Found {
        let shared = self.of(agent_id);
        let mut newest = shared.lock().await;
        let age = Duration::from_millis(WEBHOOK_SECRET_AGE_MS);
        let is_fresh = |known: &&Lookup| known.birth == birth && now.saturating_sub(known.at) < age;
        if let Some(known) = newest.as_ref().filter(is_fresh) {
            return known.found.clone();
        }
        let found = look_up.await;
        *newest = Some(Lookup {
            birth,
            at: now,
            found: found.clone(),
        });
        found
    }

    /// Forgets the secret of an agent. A lookup that has begun is waited for, because it may have found an older one.
    pub(crate) async fn forget(&self, agent_id: &AgentId) {
        *self.of(agent_id).lock().await = None;
    }

    fn of(&self, agent_id: &AgentId) -> SharedLookup {
        let mut known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= AGENTS && !known.contains_key(agent_id) {
            known.clear();
        }
        Arc::clone(known.entry(agent_id.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test]
    async fn a_flood_of_webhooks_leaves_readers_of_the_store_free() {
        let secrets = WebhookSecrets::default();
        let (asking, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let look_up = || async {
            let now = asking.fetch_add(1, Ordering::Relaxed) + 1;
            most.fetch_max(now, Ordering::Relaxed);
            tokio::task::yield_now().await;
            asking.fetch_sub(1, Ordering::Relaxed);
        };
        tokio::join!(
            secrets.find_terms(look_up()),
            secrets.find_terms(look_up()),
            secrets.find_terms(look_up()),
        );
        assert_eq!(most.into_inner(), LOOKUPS_AT_ONCE as u64);
    }

    #[tokio::test]
    async fn receivers_that_could_not_be_listed_are_listed_again() {
        let secrets = WebhookSecrets::default();
        let name = |name: &str| AgentId::parse(name).expect("a name");
        let looks = AtomicU64::new(0);
        let look = |found: Result<Vec<AgentId>, Vec<AgentId>>| async {
            looks.fetch_add(1, Ordering::Relaxed);
            found
        };
        secrets.fill(look(Err(vec![name("first")]))).await;
        assert!(secrets.is_receiver(&name("first")), "it could be read");
        secrets.fill(look(Ok(vec![name("second")]))).await;
        assert!(secrets.is_receiver(&name("second")));
        secrets.fill(look(Ok(vec![name("third")]))).await;
        assert_eq!(looks.into_inner(), 2, "a whole list is not asked for again");
    }

    #[test]
    fn receivers_are_remembered_in_bounded_memory_and_forgotten_with_their_agents() {
        let secrets = WebhookSecrets::default();
        let name = |number: usize| AgentId::parse(&format!("a{number}")).expect("a name");
        for number in 0..=RECEIVERS {
            secrets.note_receiver(&name(number), true);
            assert!(secrets.is_receiver(&name(number)));
        }
        let kept = secrets.receivers.lock().expect("a lock").len();
        assert_eq!(kept, RECEIVERS, "one makes room for one");
        secrets.note_receiver(&name(RECEIVERS), false);
        assert!(!secrets.is_receiver(&name(RECEIVERS)));
    }

    #[tokio::test]
    async fn a_flood_looks_up_a_secret_once_a_second_and_a_change_is_seen_at_once() {
        let secrets = WebhookSecrets::default();
        let agent = AgentId::parse("dev").expect("an id");
        let lookups = AtomicU64::new(0);
        let ask = |birth: i64, millis: u64| {
            let look_up = async {
                let number = lookups.fetch_add(1, Ordering::Relaxed) + 1;
                Ok(Some(SecretString::from(format!("secret {number}"))))
            };
            let found = secrets.find(&agent, birth, Duration::from_millis(millis), look_up);
            async move {
                let found = found.await.expect("found").expect("a secret");
                found.expose_secret().to_owned()
            }
        };
        for millis in 0..WEBHOOK_SECRET_AGE_MS {
            assert_eq!(ask(1, millis).await, "secret 1");
        }
        assert_eq!(ask(1, WEBHOOK_SECRET_AGE_MS).await, "secret 2");
        assert_eq!(
            ask(2, WEBHOOK_SECRET_AGE_MS).await,
            "secret 3",
            "another agent"
        );
        secrets.forget(&agent).await;
        assert_eq!(ask(2, WEBHOOK_SECRET_AGE_MS).await, "secret 4");
    }
}
