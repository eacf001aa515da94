//! Images that an operator sends: kept before the message that names them, and claimed for it.

use super::ControlHandle;
use crate::error::Error;
use holon_core::Rejection;
use holon_domain::image::{ImageDigest, ImageFault, SentImage};
use holon_domain::limits::IMAGES_PER_MESSAGE;

impl ControlHandle {
    /// Checks and keeps an image. It stays for an hour, and as long as a message names it. Idempotent.
    ///
    /// # Errors
    /// The bytes are no image that models take, or cannot be kept.
    pub async fn keep_image(&self, content: Vec<u8>) -> Result<SentImage, Error> {
        let kept = self.shell().ports.file.keep_sent_image(content).await;
        Ok(kept?)
    }

    /// Finds the images that a message is to name, by their digests, and keeps them for another hour.
    ///
    /// # Errors
    /// There are too many, a text is no digest, or the host has no such image.
    pub async fn claim_images(&self, digests: &[String]) -> Result<Vec<SentImage>, Error> {
        if digests.len() > IMAGES_PER_MESSAGE {
            let images = digests.len();
            return Err(Rejection::TooManyImages { images }.into());
        }
        let mut claimed = Vec::with_capacity(digests.len());
        for digest in digests {
            let digest = ImageDigest::parse(digest).map_err(ImageFault::from)?;
            let image = self.shell().ports.file.claim_sent_image(&digest).await;
            claimed.push(image.ok_or(ImageFault::Unknown { digest })?);
        }
        Ok(claimed)
    }
}
