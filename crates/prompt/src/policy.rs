//! The stable part of the prompt: the policy every agent of this build works under.
//!
//! The words stand in `policy.md`, in the order: identity, turn, work, precedence, trust boundary, inspection,
//! recovery, tools, work items, reporting. Nothing in them depends on an agent, a workspace or a turn, so a provider may cache
//! them across all of these.

/// The policy text.
pub(crate) fn text() -> &'static str {
    include_str!("policy.md").trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_stays_within_its_size() {
        let words = text().split_whitespace().count();
        assert!((600..=1_800).contains(&words), "{words} words");
    }
}
