//! Reads the images that requests show, and removes those that no message names.

use super::Shell;
use crate::model_request::{self, KnownThread, RequestImages, SentFile};
use holon_domain::limits::UNNAMED_IMAGE_MS;
use holon_domain::provider::ModelPolicy;
use holon_store::TurnRows;
use std::collections::HashSet;

impl Shell {
    /// Reads the images of a request, if the model takes images.
    pub(super) async fn load_images(
        &self,
        rows: &TurnRows,
        thread: &KnownThread,
        policy: ModelPolicy,
    ) -> RequestImages {
        let mut images = RequestImages::default();
        if !policy.image_input {
            return images;
        }
        let sought = model_request::sought(rows, thread, policy.with(rows.learned.limits));
        for image in sought.sent {
            let file = match self.ports.file.load_sent_image(&image).await {
                Some(image) => SentFile::Read(image),
                None => SentFile::Gone,
            };
            images.sent.insert(image.digest, file);
        }
        let home = &rows.agent.settings.agent_home;
        for (call, viewed) in sought.viewed {
            if let Some(image) = self.ports.file.load_image(home, &viewed).await {
                images.viewed.insert(call, image);
            }
        }
        images
    }

    /// Removes images that were uploaded or claimed an hour ago and that no message names.
    ///
    /// A prompt claims its images before it is admitted, which makes them new again, and a removal looks at the age once
    /// more. So an image is never removed between the two.
    pub(super) async fn remove_unnamed_images(&self) {
        let before = self.ports.clock.now().minus_millis(UNNAMED_IMAGE_MS);
        let old = self.ports.file.sent_images_before(before).await;
        if old.is_empty() {
            return;
        }
        let named = match self.store.named_images(&old).await {
            Ok(named) => HashSet::<_>::from_iter(named),
            Err(error) => {
                return tracing::warn!(%error, "images that no message names could not be found");
            }
        };
        let mut removed: u64 = 0;
        for digest in old.iter().filter(|digest| !named.contains(*digest)) {
            removed += u64::from(self.ports.file.remove_sent_image(digest, before).await);
        }
        if removed > 0 {
            tracing::info!(removed, "images that no message names were removed");
        }
    }
}
