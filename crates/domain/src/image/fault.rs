//! Reasons for which an image that an operator sends is not taken, with what a caller is told.

use super::{ImageDigest, ImageDigestError};
use crate::limits::{IMAGE_SIDE, SENT_IMAGE_BYTES, SENT_IMAGES, SENT_IMAGES_BYTES};
use crate::refusal::RefusalText;

/// The reason for which an image is not kept, or cannot be sent with a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageFault {
    #[error("the image has {bytes} bytes and the limit is {SENT_IMAGE_BYTES}")]
    TooLarge {
        /// Size of the file, as far as it was read.
        bytes: usize,
    },
    #[error("the image has {width} x {height} pixels, more than {IMAGE_SIDE} on a side")]
    TooManyPixels { width: usize, height: usize },
    /// The bytes are no image that providers take.
    #[error("the file {defect}")]
    Unreadable { defect: &'static str },
    #[error("{0}")]
    Digest(#[from] ImageDigestError),
    #[error("the host has no image {digest}")]
    Unknown { digest: ImageDigest },
    /// The images of the host take as much as they may.
    #[error(
        "the host keeps {SENT_IMAGES} images or {SENT_IMAGES_BYTES} bytes of them, which is the limit"
    )]
    NoRoom,
    #[error("the image could not be kept: {reason}")]
    NotKept { reason: String },
}

impl ImageFault {
    /// Returns code, meaning and next step.
    #[must_use]
    pub const fn text(&self) -> RefusalText {
        match self {
            Self::TooLarge { .. } => RefusalText::with_hint(
                "image_too_large",
                "the image has more bytes than an image may have",
                "send a smaller copy, or cut out the part that matters",
            ),
            Self::TooManyPixels { .. } => RefusalText::with_hint(
                "image_too_wide",
                "the image has more pixels on a side than models take",
                "send a smaller copy, or cut out the part that matters",
            ),
            Self::Unreadable { .. } => RefusalText::with_hint(
                "invalid_image",
                "the bytes are no image that models take, or the image is damaged",
                "convert it to png, jpeg, gif or webp first",
            ),
            Self::Digest(_) => RefusalText::with_hint(
                "invalid_image_digest",
                "the text is no digest of an image",
                "send the `digest` that the answer to POST /control/images has",
            ),
            Self::Unknown { .. } => RefusalText::with_hint(
                "image_not_found",
                "the host has no image with this digest; one that no message names is removed after an hour",
                "upload it with POST /control/images and send the prompt again",
            ),
            Self::NoRoom => RefusalText::with_hint(
                "images_full",
                "the images that operators have sent take as much space as they may",
                "wait an hour, after which images that no message names are gone, or remove old messages with: holon storage prune --older-than DAYS",
            ),
            Self::NotKept { .. } => RefusalText::without_hint(
                "image_not_kept",
                "the image could not be written",
                "check the disk; the host's log on its standard error has the details",
            ),
        }
    }

    /// Returns one fault of every code, for the reference.
    #[must_use]
    pub fn examples() -> Vec<Self> {
        vec![
            Self::TooLarge { bytes: 6_000_000 },
            Self::TooManyPixels {
                width: 9_000,
                height: 10,
            },
            Self::Unreadable {
                defect: "is no png, jpeg, gif or webp image",
            },
            Self::Digest(ImageDigestError::of("sha256:x")),
            Self::Unknown {
                digest: ImageDigest::of(b"x"),
            },
            Self::NoRoom,
            Self::NotKept {
                reason: "Input/output error (os error 5)".to_owned(),
            },
        ]
    }
}
