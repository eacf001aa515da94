//! The stable part of the prompt: the policy every agent of this build works under.
//!
//! The text is in `policy.md`, in the order: identity, turns, work, precedence, trust boundary, work items, waiting,
//! delegation, memory, reporting. It does not depend on an agent, a workspace or a turn, so a provider may cache it
//! across all of these. The use of tools is in `tools.md`, because it follows the instruction files in the prompt.

/// Returns the policy text.
pub(crate) fn text() -> &'static str {
    include_str!("policy.md").trim_end()
}

/// Returns the text about the use of tools.
pub(crate) fn tools() -> &'static str {
    include_str!("tools.md").trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_stays_within_its_size() {
        let words = text().split_whitespace().count();
        assert!((1_000..=2_000).contains(&words), "{words} words");
    }
}
