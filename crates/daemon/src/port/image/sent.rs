//! Images that operators send with their messages: one file for each, named by its digest, in the host's state.
//!
//! An image is uploaded before the message that names it, so it belongs to no agent. The time of its file says when it was
//! uploaded or claimed last. Invariant: an image that was claimed is not removed by a look that began before; one lock
//! stands over all changes.

use super::measure::{ImageDefect, measure};
use super::{UNFINISHED, read, write};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holon_domain::Timestamp;
use holon_domain::image::{ImageDigest, ImageFault, SentImage, ShownImage};
use holon_domain::limits::{SENT_IMAGE_BYTES, SENT_IMAGES, SENT_IMAGES_BYTES};
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Directory of the images, in the state of a home.
const IMAGES: &str = "images";

/// The images of a host. Clones share the lock.
#[derive(Debug, Clone)]
pub(crate) struct SentImages {
    dir: PathBuf,
    changing: Arc<Mutex<()>>,
}

impl SentImages {
    /// Keeps images in the state of a home.
    pub(crate) fn in_state(state: &Path) -> Self {
        Self {
            dir: state.join(IMAGES),
            changing: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, digest: &ImageDigest) -> PathBuf {
        self.dir.join(digest.hex())
    }

    /// Checks and keeps an image. One that is kept already counts as new.
    pub(crate) fn keep(&self, content: &[u8]) -> Result<SentImage, ImageFault> {
        if content.len() > SENT_IMAGE_BYTES {
            return Err(ImageFault::TooLarge {
                bytes: content.len(),
            });
        }
        let image = describe(content)?;
        let _alone = self.lock();
        if self.renew(&image.digest).is_some() {
            return Ok(image);
        }
        let (images, bytes) = self.size();
        if images >= SENT_IMAGES || bytes + image.bytes > SENT_IMAGES_BYTES {
            return Err(ImageFault::NoRoom);
        }
        let written = write(&self.dir, image.digest.hex(), content);
        written.map_err(|error| ImageFault::NotKept {
            reason: error.to_string(),
        })?;
        Ok(image)
    }

    /// Returns an image and makes it as new. `None` if it is gone or was changed.
    pub(crate) fn claim(&self, digest: &ImageDigest) -> Option<SentImage> {
        let _alone = self.lock();
        describe(&self.renew(digest)?).ok()
    }

    /// Reads an image and makes its file as new.
    fn renew(&self, digest: &ImageDigest) -> Option<Vec<u8>> {
        let content = self.content(digest)?;
        let file = File::options().write(true).open(self.path(digest)).ok()?;
        file.set_modified(SystemTime::now()).ok()?;
        Some(content)
    }

    fn content(&self, digest: &ImageDigest) -> Option<Vec<u8>> {
        read(&self.dir, digest.hex(), SENT_IMAGE_BYTES as u64)
    }

    /// Reads an image for a request. `None` if it is gone or was changed.
    pub(crate) fn load(&self, image: &SentImage) -> Option<ShownImage> {
        let content = self.content(&image.digest)?;
        Some(ShownImage {
            media_type: image.media_type,
            width: image.width,
            height: image.height,
            data: STANDARD.encode(&content).into(),
        })
    }

    /// Lists the images that were kept or claimed before a time, and removes what an interrupted upload left before it.
    pub(crate) fn before(&self, before: Timestamp) -> Vec<ImageDigest> {
        let mut old = Vec::new();
        for file in self.files() {
            let is_old = is_before(&file.path(), before);
            let name = file.file_name();
            let Some(name) = name.to_str().filter(|_| is_old) else {
                continue;
            };
            match ImageDigest::parse(&format!("sha256:{name}")) {
                Ok(digest) => old.push(digest),
                Err(_) if name.ends_with(UNFINISHED) => {
                    if let Err(error) = fs::remove_file(file.path()) {
                        tracing::warn!(%error, name, "an unfinished image could not be removed");
                    }
                }
                Err(_) => {}
            }
        }
        old
    }

    /// Removes an image unless it was kept or claimed since. Returns true if it was removed.
    pub(crate) fn remove(&self, digest: &ImageDigest, before: Timestamp) -> bool {
        let _alone = self.lock();
        let path = self.path(digest);
        if !is_before(&path, before) {
            return false;
        }
        let removed = fs::remove_file(&path);
        if let Err(error) = &removed {
            tracing::warn!(%error, %digest, "an image could not be removed");
        }
        removed.is_ok()
    }

    fn files(&self) -> impl Iterator<Item = DirEntry> {
        let found = fs::read_dir(&self.dir).into_iter().flatten();
        found.filter_map(io::Result::ok)
    }

    /// Counts the images and adds up their sizes.
    fn size(&self) -> (usize, u64) {
        let sizes = self.files().filter_map(|file| file.metadata().ok());
        sizes.fold((0, 0), |(images, bytes), found| {
            (images + 1, bytes + found.len())
        })
    }
}

fn describe(content: &[u8]) -> Result<SentImage, ImageFault> {
    let image = measure(content).map_err(|defect| match defect {
        ImageDefect::Unreadable(defect) => ImageFault::Unreadable { defect },
        ImageDefect::TooManyPixels { width, height } => ImageFault::TooManyPixels { width, height },
    })?;
    Ok(SentImage {
        digest: ImageDigest::of(content),
        media_type: image.format,
        width: image.width,
        height: image.height,
        bytes: content.len() as u64,
    })
}

/// Returns true if a file was last changed before a time. A file that cannot be looked at was not.
fn is_before(path: &Path, before: Timestamp) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|found| found.modified());
    let age = modified
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    age.and_then(|age| i64::try_from(age.as_millis()).ok())
        .is_some_and(|at| Timestamp::from_millis(at) < before)
}

#[cfg(test)]
mod tests;
