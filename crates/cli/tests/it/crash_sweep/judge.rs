//! Checks that every scenario must pass.

use crate::processes::assert_none_left;
use holon_testkit::World;
use holon_testkit::checker::{Story, check};

/// Asserts that the story of an agent is consistent.
pub(super) fn story(story: &Story, what: &str) {
    let wrong = check(story);
    assert!(wrong.is_empty(), "{what}: {wrong:#?}\n{story:#?}");
}

/// Asserts that every command ran once and has no process left.
pub(super) fn marks(world: &World, expected: &[&str], what: &str) {
    let found = std::fs::read_to_string(world.path().join("marks")).unwrap_or_default();
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{what}");
    assert_none_left(world);
}
