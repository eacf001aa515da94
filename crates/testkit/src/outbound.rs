//! An outbound host that records what it is given and answers as told.

use async_trait::async_trait;
use holon_domain::delivery::{Submission, SubmitResult};
use holon_engine::ports::{Destination, OutboundHost, SubmitReport};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Barrier, watch};

/// Records attempts. Each takes the next scripted result; without one it is accepted.
#[derive(Debug)]
pub struct ScriptedOutbound {
    results: Mutex<VecDeque<SubmitResult>>,
    attempts: watch::Sender<Vec<(Destination, Submission)>>,
    secrets: Mutex<BTreeMap<String, String>>,
    /// Holds callers that store a secret until enough of them came. Absent if none is held.
    meeting: Mutex<Option<Arc<Barrier>>>,
    /// Holds callers that forget a secret. Absent if none is held.
    forgetting: Mutex<Option<Arc<Barrier>>>,
}

impl Default for ScriptedOutbound {
    fn default() -> Self {
        Self {
            results: Mutex::default(),
            attempts: watch::Sender::new(Vec::new()),
            secrets: Mutex::default(),
            meeting: Mutex::default(),
            forgetting: Mutex::default(),
        }
    }
}

impl ScriptedOutbound {
    /// Adds results of the next attempts.
    pub fn script(&self, results: impl IntoIterator<Item = SubmitResult>) {
        let mut queue = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        queue.extend(results);
    }

    /// Waits until this many attempts were made, and returns them.
    pub async fn attempts(&self, count: usize) -> Vec<(Destination, Submission)> {
        let mut made = self.attempts.subscribe();
        let enough = made.wait_for(|made| made.len() >= count).await;
        enough.map(|made| made.clone()).unwrap_or_default()
    }

    /// Returns the number of attempts so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.attempts.borrow().len()
    }

    /// Returns the stored secrets by their names.
    #[must_use]
    pub fn secrets(&self) -> BTreeMap<String, String> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.clone()
    }

    /// Stores from now on no secret before this many callers have one to store.
    pub fn let_callers_meet(&self, count: usize) {
        let mut meeting = self.meeting.lock().unwrap_or_else(PoisonError::into_inner);
        *meeting = Some(Arc::new(Barrier::new(count)));
    }
}

impl ScriptedOutbound {
    /// Holds the next caller that forgets a secret. The test waits at the returned barrier twice: until the caller has
    /// come, and to let it go on.
    pub fn hold_forgetting(&self) -> Arc<Barrier> {
        let barrier = Arc::new(Barrier::new(2));
        let mut held = self
            .forgetting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held = Some(Arc::clone(&barrier));
        barrier
    }
}

#[async_trait]
impl OutboundHost for ScriptedOutbound {
    async fn submit(&self, destination: &Destination, delivery: &Submission) -> SubmitReport {
        let accepted = SubmitResult::Accepted {
            transport_delivery_id: None,
        };
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let result = results.pop_front().unwrap_or(accepted);
        drop(results);
        let made = (destination.clone(), delivery.clone());
        self.attempts.send_modify(|attempts| attempts.push(made));
        SubmitReport {
            result,
            sent: delivery.text.clone(),
            received: String::new(),
        }
    }

    async fn keep_secret(&self, profile: &str, secret: &str) -> Result<(), String> {
        let meeting = {
            let meeting = self.meeting.lock().unwrap_or_else(PoisonError::into_inner);
            meeting.clone()
        };
        if let Some(meeting) = meeting {
            meeting.wait().await;
        }
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.insert(profile.to_owned(), secret.to_owned());
        Ok(())
    }

    async fn forget_secret(&self, profile: &str) -> Result<(), String> {
        let held = {
            let mut held = self
                .forgetting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            held.take()
        };
        if let Some(held) = held {
            held.wait().await;
            held.wait().await;
        }
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.remove(profile);
        Ok(())
    }

    async fn forget_secrets(&self, prefix: &str, kept: &[String]) -> Result<(), String> {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.retain(|profile, _| !profile.starts_with(prefix) || kept.contains(profile));
        Ok(())
    }

    async fn has_secret(&self, profile: &str) -> Result<bool, String> {
        Ok(self.secrets().contains_key(profile))
    }
}
