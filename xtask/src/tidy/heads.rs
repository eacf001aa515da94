//! Every file opens with what it owns.

use crate::finding::Finding;
use crate::repo::Source;

/// Refuses a file whose first line is not a head comment.
pub(crate) fn check(source: &Source) -> Option<Finding> {
    let opens = source.text.starts_with("//!");
    let message = "open the file with //!: what it owns, what it does not, the invariant it keeps";
    (!opens).then(|| Finding::refusal(&source.path, 1, message))
}
