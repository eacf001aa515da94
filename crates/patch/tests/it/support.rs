//! Short ways to say what a patch does to one file.

use holon_patch::{Applied, Diagnostic, Error, Patch};

/// A modification of `f` with these hunks.
pub(crate) fn modify(hunks: &str) -> String {
    format!("--- a/f\n+++ b/f\n{hunks}")
}

/// Applies a patch of one file.
pub(crate) fn apply(patch: &str, old: Option<&str>) -> Result<Applied, Error> {
    let patch = Patch::parse(patch)?;
    assert_eq!(patch.files.len(), 1, "one file expected");
    patch.files[0].apply(old.map(str::as_bytes))
}

/// The content a modification of `f` leaves, and what was remarked.
pub(crate) fn outcome(hunks: &str, old: &str) -> Result<(String, Vec<Diagnostic>), Error> {
    match apply(&modify(hunks), Some(old))? {
        Applied::Write {
            content,
            diagnostics,
        } => Ok((String::from_utf8(content).expect("text"), diagnostics)),
        Applied::Delete { .. } => panic!("a modification deletes nothing"),
    }
}

/// The content a modification of `f` leaves.
pub(crate) fn modified(hunks: &str, old: &str) -> String {
    match outcome(hunks, old) {
        Ok((content, _)) => content,
        Err(error) => panic!("{error}\n{:?}", error.nearest),
    }
}

/// The error a modification of `f` gets.
pub(crate) fn refused(hunks: &str, old: &str) -> Error {
    match outcome(hunks, old) {
        Err(error) => error,
        // The content may be large, so it is not shown.
        Ok((content, _)) => panic!(
            "the patch should be refused; it left {} bytes",
            content.len()
        ),
    }
}

/// The names of the remarks a modification of `f` gets.
pub(crate) fn remarks(hunks: &str, old: &str) -> Vec<&'static str> {
    let (_, diagnostics) = outcome(hunks, old).expect("the patch should apply");
    diagnostics
        .iter()
        .map(|remark| remark.kind.as_str())
        .collect()
}

/// Numbered lines `first` to `last`.
pub(crate) fn numbered(first: usize, last: usize) -> String {
    (first..=last).map(|n| format!("line {n}\n")).collect()
}
