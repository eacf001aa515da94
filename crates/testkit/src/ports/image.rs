//! Images that operators sent, in memory. Any bytes are an image of 8 x 6 pixels.

use holon_domain::Timestamp;
use holon_domain::image::{ImageDigest, ImageFormat, SentImage, ShownImage};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct Kept {
    image: SentImage,
    at: Timestamp,
}

/// A store of images whose time the test sets.
#[derive(Debug)]
pub struct SentImagesInMemory {
    kept: Mutex<BTreeMap<ImageDigest, Kept>>,
    now: Mutex<Timestamp>,
}

impl Default for SentImagesInMemory {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            now: Mutex::new(Timestamp::from_millis(0)),
        }
    }
}

impl SentImagesInMemory {
    fn all(&self) -> MutexGuard<'_, BTreeMap<ImageDigest, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the time at which images are kept and claimed from now on.
    pub fn set_time(&self, now: Timestamp) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Lists the images that are kept.
    #[must_use]
    pub fn digests(&self) -> Vec<ImageDigest> {
        self.all().keys().cloned().collect()
    }

    /// Loses an image, as if its file had been deleted.
    pub fn lose(&self, digest: &ImageDigest) {
        self.all().remove(digest);
    }

    /// Keeps an image as an upload does.
    pub fn keep(&self, content: &[u8]) -> SentImage {
        let image = SentImage {
            digest: ImageDigest::of(content),
            media_type: ImageFormat::Png,
            width: 8,
            height: 6,
            bytes: content.len() as u64,
        };
        let kept = Kept {
            image: image.clone(),
            at: *self.now.lock().unwrap_or_else(PoisonError::into_inner),
        };
        self.all().insert(image.digest.clone(), kept);
        image
    }

    pub(super) fn claim(&self, digest: &ImageDigest) -> Option<SentImage> {
        let now = *self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.all();
        let kept = all.get_mut(digest)?;
        kept.at = now;
        Some(kept.image.clone())
    }

    pub(super) fn load(&self, image: &SentImage) -> Option<ShownImage> {
        let shown = ShownImage {
            media_type: image.media_type,
            width: image.width,
            height: image.height,
            data: image.digest.hex().into(),
        };
        self.all().contains_key(&image.digest).then_some(shown)
    }

    pub(super) fn before(&self, before: Timestamp) -> Vec<ImageDigest> {
        let all = self.all();
        let old = all.iter().filter(|(_, kept)| kept.at < before);
        old.map(|(digest, _)| digest.clone()).collect()
    }

    pub(super) fn remove_before(&self, digest: &ImageDigest, before: Timestamp) -> bool {
        let mut all = self.all();
        let is_old = all.get(digest).is_some_and(|kept| kept.at < before);
        is_old && all.remove(digest).is_some()
    }
}
