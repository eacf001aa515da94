//! What must be true of every scenario.

use crate::processes::assert_none_left;
use holon_testkit::World;
use holon_testkit::checker::{Story, check};

/// An agent's story has nothing wrong.
pub(super) fn story(story: &Story, what: &str) {
    let wrong = check(story);
    assert!(wrong.is_empty(), "{what}: {wrong:#?}\n{story:#?}");
}

/// Every command ran, and none twice; no process of any is left.
pub(super) fn marks(world: &World, expected: &[&str], what: &str) {
    let found = std::fs::read_to_string(world.path().join("marks")).unwrap_or_default();
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{what}");
    assert_none_left(world);
}
