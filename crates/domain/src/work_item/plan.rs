//! Stored facts about a plan file: its hash, its size and its beginning.

use crate::limits::{PLAN_BYTES, PLAN_PREVIEW_BYTES};
use crate::text;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Facts about the plan file of an item as the runtime last read it. The file itself is authoritative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanArtifact {
    /// SHA-256 of the whole file in hex. Empty for a file above `limits::PLAN_BYTES`, which is not read.
    pub hash: String,
    pub bytes: u64,
    /// Time at which the runtime first saw this content.
    pub updated_at: Timestamp,
    /// Beginning of the file. Empty for a file that is too large or not text.
    pub preview: String,
    /// True if the preview is the whole file.
    pub preview_complete: bool,
}

impl PlanArtifact {
    /// Describes a file with this content.
    #[must_use]
    pub fn of_content(content: &[u8], at: Timestamp) -> Self {
        let words = std::str::from_utf8(content).ok();
        let words = words.filter(|words| !words.contains('\0'));
        let preview = words.map_or("", |words| text::prefix(words, PLAN_PREVIEW_BYTES));
        Self {
            hash: text::sha256_hex(content),
            bytes: content.len() as u64,
            updated_at: at,
            preview: preview.to_owned(),
            preview_complete: words.is_some_and(|words| words.len() == preview.len()),
        }
    }

    /// Describes a file that is too large to be read.
    #[must_use]
    pub const fn of_size(bytes: u64, at: Timestamp) -> Self {
        Self {
            hash: String::new(),
            bytes,
            updated_at: at,
            preview: String::new(),
            preview_complete: false,
        }
    }

    /// Returns true if both describe the same content, as far as the runtime reads it.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.hash == other.hash && self.bytes == other.bytes
    }

    /// Returns true if the file is above `limits::PLAN_BYTES`, so that only its size is known.
    #[must_use]
    pub const fn is_too_large(&self) -> bool {
        self.bytes > PLAN_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_000);

    #[test]
    fn a_preview_ends_at_the_border_of_a_character() {
        let long = "ä".repeat(PLAN_PREVIEW_BYTES);
        let odd = format!("x{long}");
        for (words, complete) in [
            ("# Plan\n", true),
            ("", true),
            (&long, false),
            (&odd, false),
        ] {
            let plan = PlanArtifact::of_content(words.as_bytes(), AT);
            assert!(words.starts_with(&plan.preview));
            assert!(plan.preview.len() <= PLAN_PREVIEW_BYTES);
            assert_eq!(plan.preview_complete, complete, "{}", words.len());
            assert_eq!(plan.bytes, words.len() as u64);
            assert_eq!(plan.hash.len(), 64);
        }
    }

    #[test]
    fn a_file_that_is_no_text_has_a_hash_and_no_preview() {
        for content in [b"a\0b".as_slice(), b"\xff\xfe\x00".as_slice()] {
            let plan = PlanArtifact::of_content(content, AT);
            assert_eq!((plan.preview.as_str(), plan.preview_complete), ("", false));
            assert_eq!(plan.hash.len(), 64);
        }
    }
}
