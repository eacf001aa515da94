//! Delivery targets of the host.

use super::{ControlHandle, Once, once};
use crate::error::Error;
use crate::ports::{Destination, SubmitReport};
use crate::shell::engine_error;
use holon_domain::delivery::{
    DeliveryContent, DeliveryRecord, DeliveryRoute, DeliveryTarget, DeliveryTrigger, Submission,
};
use holon_domain::visibility::Visibility;
use holon_domain::{DeliveryId, TargetId};
use holon_store::{TargetAddition, WriteOrder};
use tokio::sync::oneshot;

/// Text of a trial.
const TRIAL_TEXT: &str = "This is a trial of Holon's operator delivery. Nothing needs to be done.";

/// The result of adding a delivery target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetMaking {
    /// The target as it is stored, also for a repetition of the request.
    Made(Box<DeliveryTarget>),
    NameTaken,
    TooMany,
}

impl ControlHandle {
    fn mint_target_id(&self) -> TargetId {
        let mut source = self.shell.ports.entropy.source();
        TargetId::mint(source.as_mut())
    }

    /// Adds a delivery target. Its secret, if it has one, is stored first, under a name that no other target has.
    /// Briefs that are written from now on go there. A repetition of a request that has added one adds nothing.
    ///
    /// # Errors
    /// When the secret cannot be stored, the key of the request was used for another request, or storage fails.
    pub async fn add_delivery_target(
        &self,
        mut target: DeliveryTarget,
        secret: Option<&str>,
    ) -> Result<TargetMaking, Error> {
        let id = self.mint_target_id();
        let profile = DeliveryTarget::secret_profile(&target.name, Some(&id));
        target.id = Some(id);
        if let Some(secret) = secret {
            self.keep_secret(&profile, secret).await?;
        }
        let added = self.commit_target(target).await;
        // A commit that cannot be confirmed may have added the target.
        let is_new = match &added {
            Ok((added, _)) => matches!(added, Once::Made(_)),
            Err(error) => error.leaves_doubt(),
        };
        if !is_new && secret.is_some() {
            self.forget_secret(&profile).await;
        }
        let (added, addition) = added?;
        self.reload_targets().await?;
        Ok(match (added.reply(), addition) {
            (Some(target), _) => TargetMaking::Made(Box::new(target)),
            (None, TargetAddition::TooMany) => TargetMaking::TooMany,
            (None, TargetAddition::NameTaken | TargetAddition::Added) => TargetMaking::NameTaken,
        })
    }

    async fn commit_target(
        &self,
        target: DeliveryTarget,
    ) -> Result<(Once<DeliveryTarget>, TargetAddition), Error> {
        let (key, now) = (self.request.clone(), self.now());
        let added = holon_store::commit(
            self.shell.store.as_ref(),
            WriteOrder::client(0),
            move |ledger| {
                let mut addition = TargetAddition::Added;
                let added = once(ledger, key.as_deref(), now, |ledger| {
                    addition = ledger.add_delivery_target(&target)?;
                    Ok((addition == TargetAddition::Added).then(|| target.clone()))
                })?;
                Ok(added.map(|added| (added, addition)))
            },
        );
        added.await.map_err(engine_error)?
    }

    /// Removes a delivery target and its secret, and gives up what waits for it. Returns the number of deliveries that
    /// waited; `None` if there is none of this name. A repetition of a request that has removed one
    /// removes nothing. The removal goes on if the caller goes away.
    ///
    /// # Errors
    /// When the key of the request was used for another request, or storage fails.
    pub async fn remove_delivery_target(&self, name: &str) -> Result<Option<u64>, Error> {
        let (control, name) = (self.clone(), name.to_owned());
        let (done, removed) = oneshot::channel();
        self.shell.spawn(async move {
            // A caller that went away needs no answer.
            drop(done.send(control.remove_target(&name).await));
        });
        removed.await.unwrap_or(Err(Error::ShuttingDown))
    }

    /// Nothing goes to the target from the first commit on. What waits for it may be of many agents and takes longer.
    async fn remove_target(&self, name: &str) -> Result<Option<u64>, Error> {
        let key = self.request.clone();
        let waiting = match self.delivery_target(name).await? {
            Some(target) => self.count_waiting(target.route()).await?,
            None => 0,
        };
        let removed = self.shell.remove_target(name.to_owned(), key, waiting);
        let removed = removed.await?;
        let (removed, gone) = removed;
        let reloaded = self.reload_targets().await;
        let removed = removed.reply();
        if let Some((target_id, _)) = &removed {
            let profile = DeliveryTarget::secret_profile(name, target_id.as_ref());
            self.forget_secret(&profile).await;
        }
        if let Some(route) = gone {
            self.shell.end_route(&route, name).await?;
        }
        reloaded?;
        Ok(removed.map(|(_, given_up)| given_up))
    }

    /// Tries what waits for a target at once instead of after its pause. Returns the number of deliveries that wait;
    /// `None` if there is none of this name.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn retry_delivery_target(&self, name: &str) -> Result<Option<u64>, Error> {
        let Some(target) = self.delivery_target(name).await? else {
            return Ok(None);
        };
        let route = target.route();
        self.shell.retry_route(&route).await?;
        Ok(Some(self.count_waiting(route).await?))
    }

    /// Counts what waits for a route. It may be much, so a reader counts it and not the writer.
    async fn count_waiting(&self, route: DeliveryRoute) -> Result<u64, Error> {
        let count = self
            .readers()
            .read(move |reader| reader.waiting_deliveries(&route));
        Ok(count.await?)
    }

    /// Makes one attempt with a trial text. Nothing is written. `None` if there is no target of this name.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn try_delivery_target(&self, name: &str) -> Result<Option<SubmitReport>, Error> {
        let Some(target) = self.delivery_target(name).await? else {
            return Ok(None);
        };
        let mut source = self.shell.ports.entropy.source();
        let trial = Submission {
            agent_id: (*self.default_agent).clone(),
            text: TRIAL_TEXT.to_owned(),
            attempt: 1,
            record: DeliveryRecord {
                id: DeliveryId::mint(source.as_mut()),
                route: target.route(),
                seq: 0,
                trigger: DeliveryTrigger::Notification,
                visibility: Visibility::ActionRequired,
                content: DeliveryContent::Words(TRIAL_TEXT.to_owned()),
                created_at: self.now(),
                route_id: None,
                next_step: None,
                work_item_id: None,
                notification_id: None,
                correlation_id: None,
                causation_id: None,
                attachments: Vec::new(),
            },
        };
        let destination = Destination::Target(target);
        let report = self.shell.ports.outbound.submit(&destination, &trial).await;
        Ok(Some(report))
    }

    async fn delivery_target(&self, name: &str) -> Result<Option<DeliveryTarget>, Error> {
        let targets = self
            .readers
            .read(|reader| reader.delivery_targets())
            .await?;
        Ok(targets.into_iter().find(|target| target.name == name))
    }

    /// Brings the targets that decisions read in line with the store. This process alone changes them.
    async fn reload_targets(&self) -> Result<(), Error> {
        let targets = self
            .readers
            .read(|reader| reader.delivery_targets())
            .await?;
        self.shell.kernel.conditions().set_delivery_targets(targets);
        Ok(())
    }

    async fn forget_secret(&self, profile: &str) {
        if let Err(reason) = self.shell.ports.outbound.forget_secret(profile).await {
            tracing::warn!(
                profile,
                reason,
                "the secret of a delivery target stays stored"
            );
        }
    }

    pub(super) async fn keep_secret(&self, profile: &str, secret: &str) -> Result<(), Error> {
        let kept = self.shell.ports.outbound.keep_secret(profile, secret).await;
        kept.map_err(|reason| Error::SecretNotKept { reason })
    }
}
