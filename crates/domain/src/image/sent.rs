//! Images that an operator sent with a message: their digests, what the message keeps of each, and how it is named.
//!
//! A message names digests and no bytes, with the size of each image, so that neither an estimate nor a page of history
//! has to open the file.

use super::{ImageFormat, ShownImage, estimate};
use crate::text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Begins every digest and names its algorithm.
const PREFIX: &str = "sha256:";
/// Characters of a SHA-256 in hexadecimal.
const HEX_CHARS: usize = 64;
/// Characters of the digest that a person or a model is shown, without the prefix.
const SHOWN_CHARS: usize = 12;

/// Digest of an image's bytes, spelled `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageDigest(String);

/// Error for a text that is no digest of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no digest of an image, which is sha256: and 64 digits from 0 to 9 and a to f")]
pub struct ImageDigestError {
    /// The text, cut to the length of a digest.
    text: String,
}

impl ImageDigestError {
    /// Keeps the beginning of a text that is no digest.
    pub(super) fn of(text: &str) -> Self {
        Self {
            text: text::preview(text, PREFIX.len() + HEX_CHARS),
        }
    }
}

impl ImageDigest {
    /// Computes the digest of an image's bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{PREFIX}{}", text::sha256_hex(bytes)))
    }

    /// Parses a digest.
    ///
    /// # Errors
    /// The text is spelled otherwise.
    pub fn parse(text: &str) -> Result<Self, ImageDigestError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.strip_prefix(PREFIX) {
            Some(hex) if hex.len() == HEX_CHARS && hex.bytes().all(is_digit) => {
                Ok(Self(text.to_owned()))
            }
            Some(_) | None => Err(ImageDigestError::of(text)),
        }
    }

    /// Returns the digest as requests and stored messages spell it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the digits alone, which are the name of the image's file.
    #[must_use]
    pub fn hex(&self) -> &str {
        self.0.strip_prefix(PREFIX).unwrap_or_default()
    }
}

impl std::fmt::Display for ImageDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ImageDigest {
    type Error = ImageDigestError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<ImageDigest> for String {
    fn from(digest: ImageDigest) -> Self {
        digest.0
    }
}

/// An image that an operator sent, as its message keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentImage {
    /// SHA-256 of the bytes, spelled `sha256:` and 64 hexadecimal digits.
    #[schemars(with = "String")]
    pub digest: ImageDigest,
    pub media_type: ImageFormat,
    pub width: u32,
    pub height: u32,
    /// Size of the file in bytes.
    pub bytes: u64,
}

impl SentImage {
    /// Estimates the tokens of the image.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        estimate(self.width, self.height)
    }

    /// Names the image on one line: the beginning of its digest, its size in pixels and its format.
    #[must_use]
    pub fn label(&self) -> String {
        format!(
            "{PREFIX}{}… {} x {} {}",
            text::prefix(self.digest.hex(), SHOWN_CHARS),
            self.width,
            self.height,
            self.media_type.name()
        )
    }
}

/// An image of a message in a conversation. It stands behind the text of its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedImage {
    pub image: SentImage,
    /// Place of the image among those of its message, counted from 1.
    pub number: usize,
    /// The image as a request shows it. Absent until it is read, and in everything that is kept between requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<ShownImage>,
}

impl AttachedImage {
    /// Lists the images of a message without their bytes.
    pub fn of_message(images: &[SentImage]) -> impl Iterator<Item = Self> {
        images.iter().zip(1..).map(|(image, number)| Self {
            image: image.clone(),
            number,
            shown: None,
        })
    }

    /// Estimates the tokens that the image takes in a request, also before it is read.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        self.image.estimated_tokens()
    }
}

/// Says how many images a message has, for lines that show only the beginning of its text. `None` for a message without.
#[must_use]
pub fn mention(images: &[SentImage]) -> Option<String> {
    let count = images.len() as u64;
    (count > 0).then(|| format!("[with {}]", text::pluralize(count, "image")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_taken_only_as_it_is_spelled_here() {
        let digest = ImageDigest::of(b"x");
        let hex = digest.hex().to_owned();
        assert_eq!(ImageDigest::parse(digest.as_str()), Ok(digest.clone()));
        assert_eq!(
            digest.as_str(),
            "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
        );
        for bad in [
            String::new(),
            hex.clone(),
            format!("md5:{hex}"),
            format!("sha256:{}", hex.to_uppercase()),
            format!("sha256:{hex}0"),
            format!("sha256:{}", hex.trim_start_matches('2')),
            format!("sha256:../{}", hex.replace("2d7", "")),
        ] {
            let refused = ImageDigest::parse(&bad).expect_err("no digest");
            assert!(refused.to_string().contains("is no digest"), "{refused}");
        }
    }

    #[test]
    fn an_image_is_named_by_the_beginning_of_its_digest_and_its_size() {
        let image = SentImage {
            digest: ImageDigest::of(b"x"),
            media_type: ImageFormat::Png,
            width: 800,
            height: 600,
            bytes: 1,
        };
        assert_eq!(image.label(), "sha256:2d711642b726… 800 x 600 png");
        let of = |images: &[SentImage]| mention(images).unwrap_or_default();
        assert_eq!(of(&[]), "");
        assert_eq!(of(std::slice::from_ref(&image)), "[with 1 image]");
        assert_eq!(of(&[image.clone(), image]), "[with 2 images]");
    }
}
