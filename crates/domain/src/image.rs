//! Images that a model looks at: what is kept of one, and what a request holds.
//!
//! The log and the messages keep the name and the digest of an image. Its bytes are in a file and are read again for every
//! request that shows them: those of an image that a call viewed in a file of the agent, those of one that an operator
//! sent (`sent`) in a file of the host.

mod fault;
mod sent;

pub use fault::ImageFault;
pub use sent::{AttachedImage, ImageDigest, ImageDigestError, SentImage, mention};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Format of an image that every protocol takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ImageFormat {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageFormat {
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// Returns the media type on the wire.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// Finds the format of a file by its first bytes. `None` if it is no image of these formats.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Some(Self::Webp),
            _ => None,
        }
    }

    /// Returns the name that people use for the format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }
}

/// An image that a call viewed, as its result keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewedImage {
    /// Path as the call names it.
    pub file_path: String,
    pub media_type: ImageFormat,
    pub width: u32,
    pub height: u32,
    pub bytes: u64,
    /// SHA-256 of the bytes in hex, by which the copy in the agent's home is found and checked.
    pub sha256: String,
}

/// An image as a request holds it. Clones share the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownImage {
    pub media_type: ImageFormat,
    pub width: u32,
    pub height: u32,
    /// The bytes in base64.
    pub data: Arc<str>,
}

/// Pixels for which providers count about one token.
const PIXELS_PER_TOKEN: u64 = 750;
/// Tokens of the largest image: providers scale larger ones down to this.
const MOST_TOKENS: u64 = 4_800;

impl ViewedImage {
    /// Estimates the tokens of the image.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        estimate(self.width, self.height)
    }
}

impl ShownImage {
    /// Estimates the tokens of the image.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        estimate(self.width, self.height)
    }

    /// Returns the image as a `data:` address.
    #[must_use]
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type.media_type(), self.data)
    }
}

fn estimate(width: u32, height: u32) -> usize {
    let pixels = u64::from(width) * u64::from(height);
    let tokens = pixels.div_ceil(PIXELS_PER_TOKEN).min(MOST_TOKENS);
    usize::try_from(tokens).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_first_bytes() {
        for (bytes, format) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some(ImageFormat::Png)),
            (b"\xff\xd8\xff\xe0", Some(ImageFormat::Jpeg)),
            (b"GIF89a", Some(ImageFormat::Gif)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some(ImageFormat::Webp)),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg>", None),
            (b"", None),
        ] {
            assert_eq!(ImageFormat::of_bytes(bytes), format, "{bytes:?}");
        }
    }

    #[test]
    fn the_tokens_of_an_image_grow_with_its_pixels_up_to_the_size_that_is_sent() {
        assert_eq!(estimate(0, 0), 0);
        assert_eq!(estimate(1, 1), 1);
        assert_eq!(estimate(1_000, 750), 1_000);
        assert_eq!(estimate(u32::MAX, u32::MAX), 4_800);
    }
}
