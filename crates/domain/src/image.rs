//! Images that a model looks at: what is kept of one, and what a request holds.
//!
//! The log keeps the name and the digest of an image. Its bytes are in a file of the agent's home and are read again for
//! every request that shows them.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Format of an image that every protocol takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    fn the_tokens_of_an_image_grow_with_its_pixels_up_to_the_size_that_is_sent() {
        assert_eq!(estimate(0, 0), 0);
        assert_eq!(estimate(1, 1), 1);
        assert_eq!(estimate(1_000, 750), 1_000);
        assert_eq!(estimate(u32::MAX, u32::MAX), 4_800);
    }
}
