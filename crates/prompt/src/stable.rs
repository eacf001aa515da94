//! The part of the prompt that all agents of a build share: the policy and the execution contract. It has a short form
//! for models with a small window.

use crate::candidate::Candidate;
use crate::measured::MeasuredText;
use crate::{policy, scope};
use holon_domain::prompt_plan::BlockSource;
use std::borrow::Cow;
use std::sync::OnceLock;

/// Rules for a model whose window has no room for the whole policy.
const SHORT: &str = include_str!("policy_short.md");

/// Use of tools for such a model.
pub(crate) const SHORT_TOOLS: &str = "# Your tools\n\n\
    Each tool says what it is for. A tool error says what went wrong and usually what to do next: correct the call or \
    choose another way. An error that says `retryable` may pass by itself.";

/// Makes the stable text a pin with the short form. Its tokens are estimated once in the life of the process.
pub(crate) fn candidate(stable: &str) -> Candidate<'_> {
    let tokens = measure(stable).tokens;
    Candidate::pin_of_size(BlockSource::Policy, Cow::Borrowed(stable), tokens)
        .or_shorter(|_| short().to_owned())
}

/// Returns the whole text.
pub(crate) fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| format!("{}\n\n{}", policy::text(), scope::execution()))
}

/// Returns the short form.
pub(crate) fn short() -> &'static str {
    SHORT.trim_end()
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
    fn the_short_form_names_every_class_of_authority_and_is_a_third_at_most() {
        for class in [
            "operator_instruction",
            "runtime_instruction",
            "integration_signal",
            "external_evidence",
        ] {
            assert!(short().contains(class), "{class}");
        }
        assert!(short().len() * 3 <= text().len(), "{}", short().len());
    }
}
