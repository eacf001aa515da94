//! The stable part of the prompt: the policy every agent of this build works under.
//!
//! The text is in `policy.md`, in the order: identity, turn, work, precedence, trust boundary, inspection, recovery,
//! work items, reporting. It does not depend on an agent, a workspace or a turn, so a provider may cache it across all
//! of these. The use of tools is in `tools.md`, because it follows the instruction files in the prompt.

use crate::measured::MeasuredText;
use std::sync::OnceLock;

/// Returns the policy text.
pub(crate) fn text() -> &'static str {
    include_str!("policy.md").trim_end()
}

/// Measures the stable text of a frame. The text of this build is measured once; another build may have stored another.
pub(crate) fn measure(stable: &str) -> MeasuredText<'_> {
    static OWN: OnceLock<MeasuredText<'static>> = OnceLock::new();
    if stable == text() {
        OWN.get_or_init(|| MeasuredText::of(text())).borrowed()
    } else {
        MeasuredText::of(stable)
    }
}

/// Returns the text about the use of tools.
pub(crate) fn tools() -> &'static str {
    include_str!("tools.md").trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_another_build_has_measures_of_its_own() {
        let own = measure(text());
        let kept = text().to_owned();
        assert_eq!(measure(&kept).hash, own.hash);
        let other = measure("Work well.");
        assert_eq!((other.text, other.tokens), ("Work well.", 3));
        assert_ne!(other.hash, own.hash);
    }

    #[test]
    fn the_policy_stays_within_its_size() {
        let words = text().split_whitespace().count();
        assert!((600..=1_800).contains(&words), "{words} words");
    }
}
