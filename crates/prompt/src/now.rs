//! Renders what is true at the moment a turn begins: the operator's date and time, and the state of the repository.
//!
//! It is rendered once and stored with the frame, so that later requests and the past turn show the same.

use crate::visible;
use holon_domain::Timestamp;
use holon_domain::place::{Place, RepositoryWork};
use holon_domain::zone;

/// Renders when and on what a turn begins, in one line.
pub(crate) fn text(at: Timestamp, place: &Place) -> String {
    let time = zone::spell(at, &place.zone);
    let repository = place.repository.as_ref().map_or_else(String::new, |state| {
        let work = state
            .work
            .as_ref()
            .map_or_else(|| "its state could not be read".to_owned(), describe);
        format!("\nRepository: {work}.")
    });
    format!("{time}.{repository}")
}

fn describe(work: &RepositoryWork) -> String {
    let branch = match &work.branch {
        Some(branch) => format!("branch {}", visible::name(branch)),
        None => "no branch (detached head)".to_owned(),
    };
    let head = match &work.head {
        Some(head) => format!(" at {}", visible::line(head)),
        None => " without a commit".to_owned(),
    };
    let files = if work.is_dirty {
        "with changes that are not committed"
    } else {
        "no changes"
    };
    format!("{branch}{head}, {files}")
}
