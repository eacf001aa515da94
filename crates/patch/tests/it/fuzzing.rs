//! The body of the fuzz target on inputs of every shape, a bounded number of them.

use crate::diffs::unified;
use holon_patch::fuzzing::{check, check_on};
use proptest::prelude::*;

/// Pieces of patches, ends included.
const PARTS: &[&str] = &[
    "--- a/f\n",
    "+++ b/f\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "--- \"a/\\303\\244\"\n",
    "diff --git a/f b/f\n",
    "diff --git a/f b/g\n",
    "rename from f\n",
    "rename to g\n",
    "new file mode 100644\n",
    "deleted file mode 100644\n",
    "old mode 100644\n",
    "index 1..2\n",
    "@@\n",
    "@@ -1 +1 @@\n",
    "@@ -1,3 +1,3 @@\n",
    "@@ -0,0 +1,4294967295 @@\n",
    "@@ -4294967295,4294967295 +0,0 @@\n",
    " a\n",
    "-a\n",
    "+b\n",
    "a\n",
    "\n",
    "\r\n",
    " \n",
    "\\ No newline at end of file\n",
    "-- \n",
    "```\n",
    "\r",
    "-a\r\n",
    "+b\r\n",
    "é",
    "+",
    "-",
    " ",
];

fn parts(most: usize) -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(PARTS), 0..most);
    parts.prop_map(|parts| parts.concat())
}

/// A change of some bytes of an input.
#[derive(Debug, Clone)]
enum Edit {
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Repeat(prop::sample::Index, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        any::<(prop::sample::Index, u8)>().prop_map(|(at, byte)| Edit::Replace(at, byte)),
        any::<(prop::sample::Index, u8)>().prop_map(|(at, byte)| Edit::Insert(at, byte)),
        any::<prop::sample::Index>().prop_map(Edit::Remove),
        (any::<prop::sample::Index>(), 1..40_usize).prop_map(|(at, len)| Edit::Repeat(at, len)),
    ];
    prop::collection::vec(edit, 0..6)
}

fn edited(mut input: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for edit in edits {
        if input.is_empty() {
            break;
        }
        match edit {
            Edit::Replace(at, byte) => {
                let at = at.index(input.len());
                input[at] = *byte;
            }
            Edit::Insert(at, byte) => input.insert(at.index(input.len()), *byte),
            Edit::Remove(at) => drop(input.remove(at.index(input.len()))),
            Edit::Repeat(at, len) => {
                let at = at.index(input.len());
                let again = input[at..(at + len).min(input.len())].to_vec();
                input.splice(at..at, again);
            }
        }
    }
    input
}

/// A diff that fits its file, as the fuzz target takes the two.
fn fitting() -> impl Strategy<Value = Vec<u8>> {
    let lines = || {
        prop::collection::vec(
            prop::sample::select(&["a\n", "b\n", "c\r\n", "}\n"][..]),
            0..20,
        )
    };
    (lines(), lines(), 0..4_usize).prop_map(|(old, new, context)| {
        let (old, new) = (old.concat(), new.concat());
        let patch = unified(&old, &new, context);
        [patch.as_bytes(), b"\0", old.as_bytes()].concat()
    })
}

fn holds(checked: Result<(), String>) -> Result<(), TestCaseError> {
    checked.map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_must_hold_holds_for_any_bytes(input in any::<Vec<u8>>()) {
        holds(check(&input))?;
    }

    #[test]
    fn what_must_hold_holds_for_any_text_and_any_file(text in any::<String>(), old in any::<Vec<u8>>()) {
        holds(check_on(&text, &old))?;
    }

    #[test]
    fn what_must_hold_holds_for_texts_made_of_parts_of_patches(text in parts(30), old in parts(10)) {
        holds(check_on(&text, old.as_bytes()))?;
        holds(check_on(&text, b"a\nb\na"))?;
    }

    #[test]
    fn what_must_hold_holds_for_diffs_with_a_few_bytes_changed(input in fitting(), edits in edits()) {
        holds(check(&edited(input, &edits)))?;
    }
}

#[test]
fn what_must_hold_holds_for_a_deletion_that_shows_nothing_of_a_file_that_is_no_text() {
    let deletion = "--- a/f\n+++ /dev/null\n";
    check_on(deletion, b"a\0b\n").unwrap();
    check_on(deletion, &vec![b'x'; holon_patch::MAX_BYTES + 1]).unwrap();
}

#[test]
fn what_must_hold_holds_at_the_limits() {
    let section = |n: usize| format!("--- a/{n}\n+++ b/{n}\n@@\n-a\n+b\n");
    let files = |count: usize| (0..count).map(section).collect::<String>();
    let hunks = |count: usize| format!("--- a/f\n+++ b/f\n{}", "@@\n-a\n+b\n".repeat(count));
    for text in [
        files(holon_patch::MAX_FILES),
        files(holon_patch::MAX_FILES + 1),
        hunks(holon_patch::MAX_HUNKS),
        hunks(holon_patch::MAX_HUNKS + 1),
        "\n".repeat(holon_patch::MAX_LINES),
        "x".repeat(holon_patch::MAX_BYTES + 1),
    ] {
        check_on(&text, b"a\n").unwrap();
    }
    let wide = "y".repeat(1 << 20);
    check_on(
        &format!("--- a/f\n+++ b/f\n@@\n-{wide}\n+b\n"),
        format!("{wide}z\n").as_bytes(),
    )
    .unwrap();
}
